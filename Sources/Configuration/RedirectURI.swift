/// Rules for redirect URIs.
enum RedirectURI {
  /// Whether a redirect URI is allowed. Authorization codes travel to it over TLS, or on the same machine to an app in
  /// development (RFC 8252, 7.3; RFC 9700, 2.6). A mobile app has a private-use scheme, which is a reverse domain name
  /// (RFC 8252, 7.1).
  static func isAllowed(_ uri: String) -> Bool {
    guard uri.utf8.count <= 2_048, uri.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !uri.contains("#"),
      let colon = uri.firstIndex(of: ":")
    else { return false }
    let scheme = uri[..<colon]
    guard scheme == "https" || scheme == "http" else { return isPrivate(scheme) }
    guard uri[colon...].hasPrefix("://") else { return false }
    let authority = uri[colon...].dropFirst(3).prefix { $0 != "/" && $0 != "?" }
    guard !authority.isEmpty, !authority.contains("@") else { return false }
    return scheme == "https" || isLoopback(authority)
  }

  private static func isPrivate(_ scheme: Substring) -> Bool {
    scheme.contains(".") && scheme.first?.isLetter == true
      && scheme.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
  }

  private static func isLoopback(_ authority: Substring) -> Bool {
    if authority.hasPrefix("[") { return authority == "[::1]" || authority.hasPrefix("[::1]:") }
    let host = authority.prefix { $0 != ":" }
    return host == "127.0.0.1" || host == "localhost"
  }
}
