package enum Hexadecimal {
  package static let digits = Array("0123456789abcdef".utf8)

  /// Encodes in lower case, as is usual for digests.
  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }

  /// Returns nil for characters that are not hexadecimal digits, and for an odd number of digits.
  package static func decode(_ text: String) -> [UInt8]? {
    guard text.utf8.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let first = rest.popFirst(), let second = rest.popFirst() {
      guard let high = value(of: first), let low = value(of: second) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
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
