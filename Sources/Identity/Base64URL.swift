/// RFC 4648 section 5 without padding, read strictly: exactly one text stands for a sequence of bytes, so that a token
/// with changed unused bits is another token and is refused.
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var letters: [UInt8] = []
    letters.reserveCapacity((bytes.count * 4 + 2) / 3)
    var buffer: UInt32 = 0
    var bits = 0
    for byte in bytes {
      buffer = (buffer << 8 | UInt32(byte)) & 0xFFFF
      bits += 8
      while bits >= 6 {
        bits -= 6
        letters.append(alphabet[Int(buffer >> UInt32(bits) & 63)])
      }
    }
    if bits > 0 { letters.append(alphabet[Int(buffer << UInt32(6 - bits) & 63)]) }
    return String(decoding: letters, as: UTF8.self)
  }

  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count * 3 / 4)
    var buffer: UInt32 = 0
    var bits = 0
    for letter in text.utf8 {
      guard let value = value(of: letter) else { return nil }
      buffer = (buffer << 6 | UInt32(value)) & 0xFFFF
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
      }
    }
    let unused = buffer & (1 << UInt32(bits) - 1)
    return bits < 6 && unused == 0 ? bytes : nil
  }

  private static func value(of letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): letter - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
