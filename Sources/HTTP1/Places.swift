internal import Reactor

/// Allocation of an HTTP endpoint's places for connections.
///
/// A client with many connections must block neither other clients nor a probe, whose failure would restart the server.
/// Therefore an address can use only some of the places. If all are used, the busiest address loses one.
enum HTTPPlaces {
  struct Held {
    var ticket: Ticket
    /// Network of the address, from `Network.name`.
    var network: String
    /// Sequence number of the accepted connection.
    var number: UInt64
  }

  enum Decision: Equatable {
    case take
    /// Close this connection and use its place.
    case replace(Ticket)
    case refuse
  }

  /// Decides about a new connection.
  /// - Parameters:
  ///   - isLocal: whether the connection comes from 127.0.0.1 or ::1, as those of a sidecar or a forwarded port do.
  ///     Such a connection is always admitted.
  ///   - places: the places in use.
  static func decide(
    network: String, isLocal: Bool, in places: [Held], placesMax: Int, perAddressMax: Int
  ) -> Decision {
    var counts: [String: Int] = [:]
    for held in places { counts[held.network, default: 0] += 1 }
    let own = counts[network, default: 0]
    let most = counts.values.max() ?? 0
    if own < perAddressMax {
      if places.count < placesMax { return .take }
      if own < most { return oldest(of: places) { counts[$0] == most } }
    }
    return isLocal ? oldest(of: places) { $0 == network } : .refuse
  }

  private static func oldest(of places: [Held], where isMeant: (String) -> Bool) -> Decision {
    let oldest = places.filter { isMeant($0.network) }.min { $0.number < $1.number }
    return oldest.map { .replace($0.ticket) } ?? .refuse
  }

  static func isLocal(_ address: String) -> Bool { ["127.0.0.1", "::1", "::ffff:127.0.0.1"].contains(address) }
}
