internal import CSodium

/// Base64 (RFC 4648 4). Decoding accepts text with and without padding. Encoding omits it, as in binary metadata.
package enum Base64 {
  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    encode(bytes, sodium_base64_VARIANT_ORIGINAL_NO_PADDING)
  }

  /// Encodes with padding, as in credentials and signatures.
  package static func padded(_ bytes: [UInt8]) -> String {
    String(decoding: encode(bytes, sodium_base64_VARIANT_ORIGINAL), as: UTF8.self)
  }

  private static func encode(_ bytes: [UInt8], _ variant: Int32) -> [UInt8] {
    // Includes the zero byte that libsodium writes after the text.
    let room = sodium_base64_encoded_len(bytes.count, variant)
    return unsafe [UInt8](unsafeUninitializedCapacity: room) { text, count in
      unsafe lk_base64_encode(text.baseAddress, room, bytes, bytes.count, variant)
      count = room - 1
    }
  }

  /// Returns nil if the text is not base64. Ignores unused bits in the last character, which some encoders set.
  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard !text.contains(where: isBetweenValues), isValidList(text.span) else { return nil }
    var letters = Array(text.prefix { $0 != UInt8(ascii: "=") })
    let byteCount = letters.count * 3 / 4
    // libsodium rejects unused bits. In a whole group of four there are none, and `byteCount` drops the added bytes.
    letters.append(contentsOf: repeatElement(UInt8(ascii: "A"), count: (4 - letters.count % 4) % 4))
    let room = letters.count * 3 / 4
    var isDecoded = true
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: room) { bytes, count in
      guard room > 0 else { return }
      isDecoded = unsafe lk_base64_decode(bytes.baseAddress, room, letters, letters.count)
      count = isDecoded ? byteCount : 0
    }
    return isDecoded ? bytes : nil
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
