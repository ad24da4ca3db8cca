import Encodings

/// Parser for the redirect URI that the caller received.
enum CallbackURI {
  static let parametersMax = 32

  /// Returns the parameters that the provider added to `redirectURI`, decoded as a form (RFC 6749, 4.1.2).
  ///
  /// nil: another URI, invalid encoding, a repeated parameter (RFC 6749, 3.1), more than `parametersMax` parameters, or
  /// text that contains U+0000 or is not stream-safe.
  static func parameters(of callback: String, at redirectURI: String) -> [String: String]? {
    let bytes = Array(callback.utf8)
    let separator = redirectURI.utf8.contains(UInt8(ascii: "?")) ? UInt8(ascii: "&") : UInt8(ascii: "?")
    let openings = spellings(of: redirectURI).map { $0 + [separator] }
    guard let opening = openings.first(where: { bytes.starts(with: $0) }) else { return nil }
    var query = bytes[opening.count...]
    // Browsers and pages may add a fragment, which has no meaning here.
    if let fragment = query.firstIndex(of: UInt8(ascii: "#")) { query = query[..<fragment] }
    guard let pairs = FormEncoding.pairs(query), pairs.count <= parametersMax else { return nil }
    var parameters: [String: String] = [:]
    for (name, value) in pairs {
      // A C string ends at U+0000.
      guard !(name + value).utf8.contains(0), StreamSafeText.holds(name), StreamSafeText.holds(value),
        parameters.updateValue(value, forKey: name) == nil
      else { return nil }
    }
    return parameters
  }

  /// Returns the registered URI and, if it has no path, also the form that browsers send with the path `/`
  /// (RFC 3986, 6.2.3).
  private static func spellings(of redirectURI: String) -> [[UInt8]] {
    let address = Array(redirectURI.utf8)
    let scheme = address.prefix { $0 != UInt8(ascii: ":") }
    guard address[scheme.count...].starts(with: Array("://".utf8)) else { return [address] }
    let authority = address[(scheme.count + 3)...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    guard authority.endIndex == address.endIndex || address[authority.endIndex] == UInt8(ascii: "?") else {
      return [address]
    }
    var slashed = address
    slashed.insert(UInt8(ascii: "/"), at: authority.endIndex)
    return [address, slashed]
  }
}
