/// What counts as one place on the network: an IPv4 address, or an IPv6 prefix (check 104).
package struct Network: Hashable, Sendable {
  package let text: String

  private init(text: String) { self.text = text }

  /// The narrowest. Nil: no address was given.
  package init?(_ address: String) {
    guard let narrowest = Network.counting(address).first else { return nil }
    self = narrowest.network
  }

  /// The networks that count an address, from the narrowest to the widest. A host may have all 64 bits of an IPv6
  /// network, a household is often given a /56, and an organisation a /48.
  ///
  /// - Returns: each network, and how many times the limit of one host it may use. Empty: no address was given.
  package static func counting(_ address: String) -> [(network: Network, share: Int)] {
    guard !address.isEmpty else { return [] }
    // Text that is not an address counts as itself, so that no limit is switched off. The services reject it before.
    guard let parsed = IPAddress(address) else { return [(Network(text: address), 1)] }
    guard let groups = parsed.groups else { return [(Network(text: parsed.text), 1)] }
    return [(64, 1), (56, 4), (48, 16)].map { bits, share in
      (Network(text: prefix(of: groups, bits: bits)), share)
    }
  }

  /// - Parameter bits: 48 to 64.
  private static func prefix(of groups: [UInt16], bits: Int) -> String {
    let masked = groups[..<3] + [groups[3] & ~UInt16((1 << (64 - bits)) - 1)]
    return masked.map { String($0, radix: 16) }.joined(separator: ":") + "::/\(bits)"
  }
}
