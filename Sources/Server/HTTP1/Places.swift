/// Which connections of an HTTP endpoint have a place.
///
/// A client that holds many connections must stop neither the others nor a probe, whose failure would restart the
/// server: an address has fewer places than there are, and where all are taken, the busiest address gives one up.
enum HTTPPlaces {
  struct Held: Equatable {
    /// What `Census.network` makes of the address.
    var network: String
    /// Counts the accepted connections.
    var number: UInt64
  }

  enum Decision: Equatable {
    case take(Int)
    /// The connection that has this place is closed.
    case replace(Int)
    case refuse
  }

  /// - Parameters:
  ///   - isLocal: whether the new connection comes from 127.0.0.1 or ::1, as those of a sidecar or a forwarded port do.
  ///     It always finds room.
  ///   - places: nil: a free one.
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
