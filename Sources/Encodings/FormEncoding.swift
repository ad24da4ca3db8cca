/// The `application/x-www-form-urlencoded` format of forms and redirect queries (RFC 6749, Appendix B).
package enum FormEncoding {
  /// Decodes one name or value. Returns nil for a broken escape and for invalid UTF-8.
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

  /// Decodes the pairs in their order. A name without an equals sign has an empty value.
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
