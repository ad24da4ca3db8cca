/// Distinguishes public IP addresses from those of this machine or its network.
///
/// The check applies to the address of each connection, after name resolution. A name can resolve to any address, and
/// to another one at each lookup. The lists are the IANA special-purpose address registries (RFC 6890). In IPv6, only
/// global unicast (2000::/3) is public.
enum AddressRule {
  /// Returns whether an address is public.
  /// - Parameter address: 4 or 16 bytes in network order. Any other length is not public.
  static func isPublic(_ address: [UInt8]) -> Bool {
    switch address.count {
    case 4: !reserved4.contains { $0.contains(address) }
    case 16: isPublic6(address)
    default: false
    }
  }

  static func isLoopback(_ address: [UInt8]) -> Bool {
    switch address.count {
    case 4: address[0] == 127
    case 16: address == [UInt8](repeating: 0, count: 15) + [1]
    default: false
    }
  }

  private static func isPublic6(_ address: [UInt8]) -> Bool {
    // Both forms embed an IPv4 address as the destination (RFC 4291, 2.5.5.2; RFC 6052, 2.1).
    if mapped.contains(address) || translated.contains(address) { return isPublic(Array(address[12...])) }
    return globalUnicast.contains(address) && !reserved6.contains { $0.contains(address) }
  }

  private struct Prefix: Sendable {
    let bytes: [UInt8]
    let bits: Int

    init(_ bytes: [UInt8], _ bits: Int) {
      self.bytes = bytes
      self.bits = bits
    }

    func contains(_ address: [UInt8]) -> Bool {
      for index in 0..<(bits + 7) / 8 {
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, bits - index * 8))
        let expected = index < bytes.count ? bytes[index] : 0
        if address[index] & mask != expected { return false }
      }
      return true
    }
  }

  private static let reserved4 = [
    Prefix([0], 8), Prefix([10], 8), Prefix([100, 64], 10), Prefix([127], 8), Prefix([169, 254], 16),
    Prefix([172, 16], 12), Prefix([192, 0, 0], 24), Prefix([192, 0, 2], 24), Prefix([192, 88, 99], 24),
    Prefix([192, 168], 16), Prefix([198, 18], 15), Prefix([198, 51, 100], 24), Prefix([203, 0, 113], 24),
    Prefix([224], 4), Prefix([240], 4),
  ]
  private static let mapped = Prefix([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96)
  private static let translated = Prefix([0x00, 0x64, 0xFF, 0x9B], 96)
  private static let globalUnicast = Prefix([0x20], 3)
  /// Protocol assignments (Teredo among them), documentation, 6to4 (which carries any IPv4 address), documentation.
  private static let reserved6 = [
    Prefix([0x20, 0x01], 23), Prefix([0x20, 0x01, 0x0D, 0xB8], 32), Prefix([0x20, 0x02], 16), Prefix([0x3F, 0xFF], 20),
  ]
}
