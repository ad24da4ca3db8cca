internal import CSodium

package enum Hexadecimal {
  /// Encodes in lower case, as is usual for digests.
  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    // libsodium writes a zero byte after the digits.
    let room = bytes.count * 2 + 1
    return unsafe [UInt8](unsafeUninitializedCapacity: room) { digits, count in
      unsafe lk_hex_encode(digits.baseAddress, room, bytes, bytes.count)
      count = room - 1
    }
  }

  /// Returns nil for characters that are not hexadecimal digits, and for an odd number of digits.
  package static func decode(_ text: String) -> [UInt8]? {
    let room = text.utf8.count / 2
    var isValid = text.utf8.isEmpty
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: room) { bytes, count in
      guard room > 0 else { return }
      isValid = unsafe text.utf8Span.span.withUnsafeBufferPointer { text in
        unsafe lk_hex_decode(bytes.baseAddress, room, text.baseAddress, text.count)
      }
      count = isValid ? room : 0
    }
    return isValid ? bytes : nil
  }

  /// Returns nil if the byte is not a hexadecimal digit.
  package static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
