/// JSON strings (RFC 8259, 7). The encoder escapes the quotation mark, the backslash, and every control character of
/// `ShownText`, because a terminal may show the line unchanged.
package enum JSONText {
  package static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    // Nearly every text is copied in one piece.
    if isPlain(text.utf8Span.span) {
      bytes.append(contentsOf: text.utf8)
    } else {
      for scalar in text.unicodeScalars { append(escaped: scalar, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func isPlain(_ text: Span<UInt8>) -> Bool {
    for index in text.indices where !isPlain(text[index]) { return false }
    return true
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    0x20...0x7E ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private static func append(escaped scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    switch scalar {
    case "\"", "\\": bytes += [UInt8(ascii: "\\"), UInt8(truncatingIfNeeded: scalar.value)]
    case "\n": bytes += "\\n".utf8
    case _ where ShownText.isControl(scalar):
      for unit in String(scalar).utf16 {
        bytes += Array("\\u".utf8) + Hexadecimal.encode([UInt8(unit >> 8), UInt8(unit & 0xFF)])
      }
    default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
  }
}
