/// Base64 (RFC 4648 4): accepted with and without padding, written without as binary metadata has it.
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

  /// As credentials and signatures have it.
  package static func padded(_ bytes: [UInt8]) -> String {
    let letters = encode(bytes)
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - letters.count % 4) % 4)
    return String(decoding: letters + padding, as: UTF8.self)
  }

  /// nil: no base64.
  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard isValid(text[...]) else { return nil }
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

  /// Values of one name may be joined by commas: each is judged by itself.
  package static func isValidList(_ value: ArraySlice<UInt8>) -> Bool {
    value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).allSatisfy(isValid)
  }

  private static func isValid(_ text: ArraySlice<UInt8>) -> Bool {
    let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let digits = text.dropLast(padding)
    // Padding fills up the last group of four, or is left out altogether.
    guard digits.count % 4 != 1, padding == 0 || (padding <= 2 && text.count % 4 == 0) else { return false }
    return digits.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        true
      default: false
      }
    }
  }
}
