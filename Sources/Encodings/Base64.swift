/// Base64 (RFC 4648 4). Decoding accepts text with and without padding. Encoding omits it, as in binary metadata.
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let group = UInt32(bytes[index]) << 16
        | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0) | (left > 2 ? UInt32(bytes[index + 2]) : 0)
      for position in 0..<min(4, left + 1) {
        text.append(alphabet[Int(group >> (18 - 6 * UInt32(position)) & 63)])
      }
      index += 3
    }
    return text
  }

  /// Encodes with padding, as in credentials and signatures.
  package static func padded(_ bytes: [UInt8]) -> String {
    let letters = encode(bytes)
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - letters.count % 4) % 4)
    return String(decoding: letters + padding, as: UTF8.self)
  }

  /// Returns nil if the text is not base64.
  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard !text.contains(where: isBetweenValues), isValidList(text.span) else { return nil }
    var (group, bits) = (UInt32(0), UInt32(0))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    for digit in text {
      guard let value = alphabet.firstIndex(of: digit) else { break }
      group = group << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: group >> bits))
      }
    }
    return bytes
  }

  /// Reports whether all values of a list are base64.
  ///
  /// Commas may join values of one name, with whitespace around each (RFC 9110 5.3, 5.6.1). The function checks each
  /// value separately. It makes one pass, because a header block can repeat one long value many times at a cost of one
  /// byte each.
  package static func isValidList(_ value: Span<UInt8>) -> Bool {
    var (digits, padding, isOver) = (0, 0, false)
    for index in value.indices {
      switch value[index] {
      case UInt8(ascii: ","):
        guard isWhole(digits, padding) else { return false }
        (digits, padding, isOver) = (0, 0, false)
      case let byte where isBetweenValues(byte): isOver = digits + padding > 0
      case _ where isOver: return false
      case UInt8(ascii: "="): padding += 1
      case _ where padding > 0: return false
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        digits += 1
      default: return false
      }
    }
    return isWhole(digits, padding)
  }

  private static func isBetweenValues(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  /// Reports whether a value is complete: padding fills the last group of four, or there is none.
  private static func isWhole(_ digits: Int, _ padding: Int) -> Bool {
    digits % 4 != 1 && (padding == 0 || (padding <= 2 && (digits + padding) % 4 == 0))
  }
}
