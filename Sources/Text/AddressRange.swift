/// A range of IP addresses in CIDR notation, such as `10.0.0.0/8`, or one address.
package struct AddressRange: Hashable, Sendable {
  private let bytes: [UInt8]
  private let bits: Int

  /// Returns nil if the text is not a literal with an optional prefix length, or has bits beyond the prefix.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let literal = parts.first, let address = IPAddress(literal), address.isLiteral(literal) else { return nil }
    bytes = address.bytes
    guard parts.count == 2 else {
      bits = bytes.count * 8
      return
    }
    let digits = parts[1]
    guard let bits = Int(digits), String(bits) == digits, 0...bytes.count * 8 ~= bits else { return nil }
    self.bits = bits
    guard AddressRange.masked(bytes, bits: bits) == bytes else { return nil }
  }

  package func contains(_ address: IPAddress) -> Bool {
    let other = address.bytes
    return other.count == bytes.count && AddressRange.masked(other, bits: bits) == bytes
  }

  private static func masked(_ bytes: [UInt8], bits: Int) -> [UInt8] {
    bytes.enumerated().map { index, byte in
      let kept = min(8, max(0, bits - index * 8))
      return byte & (kept == 0 ? 0 : UInt8.max << UInt8(8 - kept))
    }
  }
}

extension IPAddress {
  /// The address in network order: 4 or 16 bytes.
  package var bytes: [UInt8] {
    if let groups { return groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } }
    return text.split(separator: ".").compactMap { UInt8($0) }
  }

  /// Creates the address of 4 or 16 bytes in network order.
  package init?(bytes: some Collection<UInt8>) {
    switch bytes.count {
    case 4: self.init(bytes.map { String($0) }.joined(separator: "."))
    case 16:
      let bytes = Array(bytes)
      let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
      self.init(groups.map { String($0, radix: 16) }.joined(separator: ":"))
    default: return nil
    }
  }

  /// Whether the text is only the address: without port, brackets, zone or whitespace.
  package func isLiteral(_ text: String) -> Bool {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
        UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"): true
      default: false
      }
    }
    // An IPv4 address with a colon has a port, unless it is the tail of an IPv6 address.
    return isPlain && (text.utf8.count { $0 == UInt8(ascii: ":") } != 1)
  }
}
