/// application/x-www-form-urlencoded, in which forms and the queries of redirects travel (RFC 6749, Appendix B).
package enum FormEncoding {
  /// One name or value; nil for a broken escape, and for what is no UTF-8.
  package static func decode(_ text: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(Hexadecimal.value),
          let low = rest.popFirst().flatMap(Hexadecimal.value)
        else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The pairs in their order. A name without a sign of equality has an empty value.
  package static func pairs(_ form: ArraySlice<UInt8>) -> [(name: String, value: String)]? {
    var pairs: [(name: String, value: String)] = []
    for piece in form.split(separator: UInt8(ascii: "&")) {
      let sign = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
      guard let name = decode(piece[..<sign]), let value = decode(piece[sign...].dropFirst()) else { return nil }
      pairs.append((name, value))
    }
    return pairs
  }
}
