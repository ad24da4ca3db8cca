/// A network that rate limits count as one client: an IPv4 address or an IPv6 prefix (check 104).
package struct Network: Hashable, Sendable {
  /// The name of the network that counts as one address.
  package static func name(_ address: String) -> String { Network(address)?.text ?? address }


  package let text: String

  private init(text: String) { self.text = text }

  /// Creates the narrowest network of an address. Returns nil if `address` is empty.
  package init?(_ address: String) {
    guard let narrowest = Network.counting(address).first else { return nil }
    self = narrowest.network
  }

  /// Returns the networks that count an address, from the narrowest to the widest.
  ///
  /// A host may have all 64 bits of an IPv6 network. A household often has a /56, and an organisation a /48.
  ///
  /// - Returns: each network with its share, the multiple of one host's limit that it may use. Empty if `address` is
  ///   empty.
  package static func counting(_ address: String) -> [(network: Network, share: Int)] {
    guard !address.isEmpty else { return [] }
    // The services reject invalid addresses earlier. Invalid text still counts as itself, so that it disables no limit.
    guard let parsed = IPAddress(address) else { return [(Network(text: address), 1)] }
    guard let groups = parsed.groups else { return [(Network(text: parsed.text), 1)] }
    return [(64, 1), (56, 4), (48, 16)].map { bits, share in
      (Network(text: prefix(of: groups, bits: bits)), share)
    }
  }

  /// Returns the region of an address for records that must not name the client: its /24 or /48. Empty if `address` is
  /// not an address.
  package static func region(_ address: String) -> String {
    guard let parsed = IPAddress(address) else { return "" }
    guard let groups = parsed.groups else {
      return parsed.text.split(separator: ".").prefix(3).joined(separator: ".") + ".0/24"
    }
    return groups.prefix(3).map { String($0, radix: 16) }.joined(separator: ":") + "::/48"
  }

  /// Formats the prefix of an address in CIDR notation.
  /// - Parameter bits: the length of the prefix, 48 to 64.
  private static func prefix(of groups: [UInt16], bits: Int) -> String {
    let masked = groups[..<3] + [groups[3] & ~UInt16((1 << (64 - bits)) - 1)]
    return masked.map { String($0, radix: 16) }.joined(separator: ":") + "::/\(bits)"
  }
}
