/// The name of a caller's client certificate, as configuration has it.
enum CertificateName {
  private static let (uri, dns) = ("uri:", "dns:")

  /// What is wrong with it; nil: it can match. Empty: the caller has no certificate.
  static func fault(of name: String) -> String? {
    if name.isEmpty { return nil }
    guard name.utf8.count <= 2_048, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return "it must have at most 2048 characters of visible ASCII"
    }
    if name.contains("*") { return "names are compared whole: * stands for nothing else" }
    if name.hasPrefix(uri) {
      return name.dropFirst(uri.count).contains(/^[A-Za-z][A-Za-z0-9+.\-]*:./)
        ? nil : "behind uri: must stand a whole URI, such as uri:spiffe://example.org/web"
    }
    if name.hasPrefix(dns) {
      return name.dropFirst(dns.count).contains(/^[A-Za-z0-9_]([A-Za-z0-9_.\-]*[A-Za-z0-9_])?$/)
        ? nil : "behind dns: must stand a DNS name, such as dns:web.example.org"
    }
    return "it must begin with the type of the name: uri:\(name) or dns:\(name)"
  }

  /// As a certificate's name is compared: a DNS name in lower case (RFC 4343).
  static func normal(_ name: String) -> String { name.hasPrefix(dns) ? name.lowercased() : name }
}
