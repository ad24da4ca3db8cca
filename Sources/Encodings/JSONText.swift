/// A text as a JSON string (RFC 8259 7): the two characters that end or escape one, and the control characters, are
/// escaped.
package enum JSONText {
  package static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    // Nearly every text can be taken as it is, in one piece.
    if isPlain(text.utf8Span.span) {
      bytes.append(contentsOf: text.utf8)
    } else {
      for byte in text.utf8 { append(escaped: byte, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func isPlain(_ text: Span<UInt8>) -> Bool {
    for index in text.indices where !isPlain(text[index]) { return false }
    return true
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private static func append(escaped byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
    case UInt8(ascii: "\n"): bytes += "\\n".utf8
    case ..<0x20: bytes += Array("\\u00".utf8) + Hexadecimal.encode([byte])
    default: bytes.append(byte)
    }
  }
}
