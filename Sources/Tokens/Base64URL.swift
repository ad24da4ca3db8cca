/// base64url without padding (RFC 7515 2), in its one spelling: RFC 4648 3.5 lets a decoder refuse stray bits in the
/// last character, and here it does, so that no two texts are the same token.
package enum Base64URL {
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil for padding, white space, the characters of plain base64, an impossible length, and stray bits.
  package static func decode(_ text: String) -> [UInt8]? {
    decode(Array(text.utf8)[...])
  }

  static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    let alphabet = alphabet
    text.reserveCapacity(text.count + (bytes.count * 4 + 2) / 3)
    var index = 0
    while index + 2 < bytes.count {
      let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
      text.append(alphabet[group >> 18])
      text.append(alphabet[group >> 12 & 63])
      text.append(alphabet[group >> 6 & 63])
      text.append(alphabet[group & 63])
      index += 3
    }
    guard index < bytes.count else { return }
    let first = Int(bytes[index])
    let second = index + 1 < bytes.count ? Int(bytes[index + 1]) : 0
    text.append(alphabet[first >> 2])
    text.append(alphabet[(first & 3) << 4 | second >> 4])
    if index + 1 < bytes.count { text.append(alphabet[(second & 15) << 2]) }
  }

  static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    let values = values
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var bits: UInt32 = 0
    var bitCount = 0
    for character in text {
      let value = values[Int(character)]
      guard value < 64 else { return nil }
      bits = bits << 6 | UInt32(value)
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
      }
    }
    guard bits & (1 << UInt32(bitCount) - 1) == 0 else { return nil }
    return bytes
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()
}
