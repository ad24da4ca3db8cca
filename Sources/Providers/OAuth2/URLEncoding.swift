/// One parameter of a request; a list of them, because OAuth 1.0a knows names that occur twice.
package struct Parameter: Hashable, Sendable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The two spellings in which parameters travel.
package enum URLEncoding {
  /// All but the unreserved characters (RFC 3986, 2.3) as UTF-8 in capital hexadecimal digits: the one spelling that
  /// RFC 5849, 3.6 signs, and a good one for every query.
  static func percentEncoded(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if isUnreserved(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// application/x-www-form-urlencoded (RFC 6749, Appendix B): a space is a plus.
  static func formEncoded(_ text: String) -> String {
    text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { percentEncoded(String(decoding: Array($0), as: UTF8.self)) }.joined(separator: "+")
  }

  package static func form(_ parameters: [Parameter]) -> [UInt8] {
    Array(parameters.map { "\(formEncoded($0.name))=\(formEncoded($0.value))" }.joined(separator: "&").utf8)
  }

  /// The query that the URL has already stays in front (RFC 6749, 3.1).
  static func url(_ base: String, adding parameters: [Parameter]) -> String {
    guard !parameters.isEmpty else { return base }
    let query = parameters.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }.joined(separator: "&")
    let isOpen = base.hasSuffix("?") || base.hasSuffix("&")
    return base + (isOpen ? "" : base.contains("?") ? "&" : "?") + query
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
}
