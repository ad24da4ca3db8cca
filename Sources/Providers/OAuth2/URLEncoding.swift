import Encodings

/// One parameter of a request. Requests have lists of them, because a name may occur twice in OAuth 1.0a.
package struct Parameter: Hashable, Sendable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The two encodings of request parameters.
package enum URLEncoding {
  /// Encodes as RFC 5849, 3.6 requires for signatures. The result is valid in every query.
  static func percentEncoded(_ text: String) -> String { PercentEncoding.encode(text) }

  /// Encodes as application/x-www-form-urlencoded (RFC 6749, Appendix B): a space becomes a plus.
  static func formEncoded(_ text: String) -> String {
    text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { percentEncoded(String(decoding: Array($0), as: UTF8.self)) }.joined(separator: "+")
  }

  package static func form(_ parameters: [Parameter]) -> [UInt8] {
    Array(parameters.map { "\(formEncoded($0.name))=\(formEncoded($0.value))" }.joined(separator: "&").utf8)
  }

  /// Adds parameters to a URL. An existing query stays in front (RFC 6749, 3.1).
  static func url(_ base: String, adding parameters: [Parameter]) -> String {
    guard !parameters.isEmpty else { return base }
    let query = parameters.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }.joined(separator: "&")
    let isOpen = base.hasSuffix("?") || base.hasSuffix("&")
    return base + (isOpen ? "" : base.contains("?") ? "&" : "?") + query
  }
}
