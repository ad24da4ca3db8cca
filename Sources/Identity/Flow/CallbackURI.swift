import Encodings

/// The redirect as the caller saw it, taken apart.
enum CallbackURI {
  static let parametersMax = 32

  /// The parameters that the provider added to `redirectURI`, decoded as a form (RFC 6749, 4.1.2). nil: another
  /// address, broken encoding, a parameter twice (RFC 6749, 3.1), or more of them than any provider sends.
  static func parameters(of callback: String, at redirectURI: String) -> [String: String]? {
    let bytes = Array(callback.utf8)
    let address = Array(redirectURI.utf8)
    guard bytes.starts(with: address), bytes.count > address.count else { return nil }
    let separator = address.contains(UInt8(ascii: "?")) ? UInt8(ascii: "&") : UInt8(ascii: "?")
    guard bytes[address.count] == separator else { return nil }
    var query = bytes[(address.count + 1)...]
    // What browsers and pages add behind it says nothing.
    if let fragment = query.firstIndex(of: UInt8(ascii: "#")) { query = query[..<fragment] }
    guard let pairs = FormEncoding.pairs(query), pairs.count <= parametersMax else { return nil }
    var parameters: [String: String] = [:]
    for (name, value) in pairs {
      // A C string ends at U+0000.
      guard !(name + value).utf8.contains(0), parameters.updateValue(value, forKey: name) == nil else { return nil }
    }
    return parameters
  }
}
