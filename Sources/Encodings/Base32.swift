/// Base32 (RFC 4648 6), for secrets that users type: upper-case letters and the digits 2 to 7.
package enum Base32 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  /// Encodes without padding, because authenticator apps do not expect it.
  package static func encode(_ bytes: [UInt8]) -> String {
    var letters: [UInt8] = []
    letters.reserveCapacity((bytes.count * 8 + 4) / 5)
    var (group, bits) = (UInt32(0), UInt32(0))
    for byte in bytes {
      group = group << 8 | UInt32(byte)
      bits += 8
      while bits >= 5 {
        bits -= 5
        letters.append(alphabet[Int(group >> bits & 31)])
      }
    }
    if bits > 0 { letters.append(alphabet[Int(group << (5 - bits) & 31)]) }
    return String(decoding: letters, as: UTF8.self)
  }
  /// Returns nil for padding, lower-case letters, an impossible length, and non-zero unused bits in the last letter.
  package static func decode(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (group, bits) = (UInt32(0), UInt32(0))
    for letter in text.utf8 {
      guard let value = alphabet.firstIndex(of: letter) else { return nil }
      group = group << 5 | UInt32(value)
      bits += 5
      guard bits >= 8 else { continue }
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: group >> bits))
    }
    let stray = group & ((1 << bits) - 1)
    return bits < 5 && stray == 0 ? bytes : nil
  }
}
