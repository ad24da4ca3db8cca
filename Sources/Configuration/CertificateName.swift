/// The name of a caller's client certificate in the configuration.
enum CertificateName {
  private static let (uri, dns) = ("uri:", "dns:")

  /// Returns the error of a name, or `nil` if it can match. An empty name means that the caller has no certificate.
  static func fault(of name: String) -> String? {
    if name.isEmpty { return nil }
    guard name.utf8.count <= 2_048, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return "it must have at most 2048 visible ASCII characters"
    }
    if name.contains("*") { return "names must match exactly: * is not a wildcard" }
    if name.hasPrefix(uri) {
      return name.dropFirst(uri.count).contains(/^[A-Za-z][A-Za-z0-9+.\-]*:./)
        ? nil : "uri: must precede a complete URI, such as uri:spiffe://example.org/web"
    }
    if name.hasPrefix(dns) {
      return name.dropFirst(dns.count).contains(/^[A-Za-z0-9_]([A-Za-z0-9_.\-]*[A-Za-z0-9_])?$/)
        ? nil : "dns: must precede a DNS name, such as dns:web.example.org"
    }
    return "it must start with the type of the name: uri:\(name) or dns:\(name)"
  }

  /// Returns the form used in comparisons: DNS names in lower case (RFC 4343).
  static func normal(_ name: String) -> String { name.hasPrefix(dns) ? name.lowercased() : name }
}
