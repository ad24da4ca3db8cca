/// Allocation of an HTTP endpoint's connection slots.
///
/// A client with many connections must block neither other clients nor a probe, whose failure would restart the server.
/// Therefore an address can use only some of the slots. If all are used, the busiest address loses one.
enum HTTPPlaces {
  struct Held: Equatable {
    /// Network of the address, from `Network.name`.
    var network: String
    /// Sequence number of the accepted connection.
    var number: UInt64
  }

  enum Decision: Equatable {
    case take(Int)
    /// Close the connection in this slot and use the slot.
    case replace(Int)
    case refuse
  }

  /// Decides about a new connection.
  /// - Parameters:
  ///   - isLocal: whether the connection comes from 127.0.0.1 or ::1, as those of a sidecar or a forwarded port do.
  ///     Such a connection is always admitted.
  ///   - places: the slots; `nil` is a free one.
  static func decide(network: String, isLocal: Bool, in places: [Held?], perAddressMax: Int) -> Decision {
    var counts: [String: Int] = [:]
    for case let held? in places { counts[held.network, default: 0] += 1 }
    let own = counts[network, default: 0]
    let most = counts.values.max() ?? 0
    if own < perAddressMax {
      if let free = places.firstIndex(of: nil) { return .take(free) }
      if own < most { return oldest(of: places) { counts[$0] == most } }
    }
    return isLocal ? oldest(of: places) { $0 == network } : .refuse
  }

  private static func oldest(of places: [Held?], where isMeant: (String) -> Bool) -> Decision {
    let meant = places.enumerated().filter { $1.map { isMeant($0.network) } ?? false }
    let oldest = meant.min { $0.element?.number ?? 0 < $1.element?.number ?? 0 }
    return oldest.map { .replace($0.offset) } ?? .refuse
  }

  static func isLocal(_ address: String) -> Bool { ["127.0.0.1", "::1", "::ffff:127.0.0.1"].contains(address) }
}
