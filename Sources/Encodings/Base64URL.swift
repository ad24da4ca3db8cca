// Encodings: bytes as text, for every module that reads or writes such text.
//
// Owns: base64 in its two alphabets, base32, hexadecimal, forms, and timestamps as text.
// Does not own: what the bytes mean, or the percent encodings that gRPC and providers write.
// Read next: Base64.swift, FormEncoding.swift.

/// base64url without padding (RFC 7515 2), with one valid text for each value.
///
/// RFC 4648 3.5 lets a decoder reject non-zero unused bits in the last character. This one does, so that no two texts
/// are the same token.
///
/// Every token passes through here. libsodium's functions take 5 times as long to encode, and 9 times to decode.
package enum Base64URL {
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns nil for padding, whitespace, the `+` and `/` of plain base64, an impossible length, and non-zero unused
  /// bits.
  package static func decode(_ text: String) -> [UInt8]? {
    decode(text.utf8Span.span)
  }

  package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? { decode(text.span) }

  package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    let (bytes, alphabet) = (bytes.span, alphabet.span)
    var at = text.count
    // Make room first: a token has hundreds of characters, and appending them one by one costs three times as much.
    text.append(contentsOf: repeatElement(0, count: (bytes.count * 4 + 2) / 3))
    var letters = text.mutableSpan
    var index = 0
    while index + 2 < bytes.count {
      let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
      letters[at] = alphabet[group >> 18]
      letters[at + 1] = alphabet[group >> 12 & 63]
      letters[at + 2] = alphabet[group >> 6 & 63]
      letters[at + 3] = alphabet[group & 63]
      index += 3
      at += 4
    }
    guard index < bytes.count else { return }
    let first = Int(bytes[index])
    let second = index + 1 < bytes.count ? Int(bytes[index + 1]) : 0
    letters[at] = alphabet[first >> 2]
    letters[at + 1] = alphabet[(first & 3) << 4 | second >> 4]
    if index + 1 < bytes.count { letters[at + 2] = alphabet[(second & 15) << 2] }
  }

  private static func decode(_ letters: Span<UInt8>) -> [UInt8]? {
    let values = values.span
    let rest = letters.count % 4
    guard rest != 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: letters.count * 3 / 4)
    var out = bytes.mutableSpan
    // A character outside the alphabet has the value 255, which sets bits above the sixth.
    var seen: UInt8 = 0
    func value(_ index: Int) -> UInt32 {
      let value = values[Int(letters[index])]
      seen |= value
      return UInt32(value)
    }
    var (index, at) = (0, 0)
    while index + 3 < letters.count {
      let group = value(index) << 18 | value(index + 1) << 12 | value(index + 2) << 6 | value(index + 3)
      out[at] = UInt8(truncatingIfNeeded: group >> 16)
      out[at + 1] = UInt8(truncatingIfNeeded: group >> 8)
      out[at + 2] = UInt8(truncatingIfNeeded: group)
      index += 4
      at += 3
    }
    var stray: UInt32 = 0
    if rest >= 2 {
      let group = value(index) << 12 | value(index + 1) << 6 | (rest == 3 ? value(index + 2) : 0)
      out[at] = UInt8(truncatingIfNeeded: group >> 10)
      if rest == 3 { out[at + 1] = UInt8(truncatingIfNeeded: group >> 2) }
      stray = rest == 3 ? group & 3 : group & 0x3FF
    }
    return seen < 64 && stray == 0 ? bytes : nil
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()
}
