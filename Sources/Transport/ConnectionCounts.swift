internal import Observability
internal import Synchronization
internal import Text

/// Connection counts, in total and per address, and the addresses with recent abuse.
final class ConnectionCounts: Sendable {
  private struct Offences {
    var sinceMillis: Int64
    var count = 0
  }

  private struct Counts {
    var total = 0
    var byAddress: [String: Int] = [:]
    var offences: [String: Offences] = [:]
  }

  /// Maximum number of remembered addresses with abuse. Past it, expired entries are removed, and all entries if none
  /// has expired.
  private static let offendersMax = 4_096

  private let counts = Mutex(Counts())
  private let limits: Limits

  init(_ limits: Limits) { self.limits = limits }

  /// Counts a new connection. Returns `nil` if it is admitted, otherwise the limit that rejects it.
  /// - Parameter isProxied: a proxy opened it. It counts for no address until `admit`.
  func enter(_ address: String, isProxied: Bool = false, nowMillis: Int64) -> LimitKind? {
    counts.withLock { counts in
      guard counts.total < limits.connectionsMax else { return .connections }
      if !isProxied, let limit = take(address, nowMillis, &counts) { return limit }
      counts.total += 1
      return nil
    }
  }

  /// Counts a proxied connection for its client. Returns `nil` if it is admitted, otherwise the limit that rejects it.
  func admit(_ address: String, nowMillis: Int64) -> LimitKind? {
    counts.withLock { take(address, nowMillis, &$0) }
  }

  private func take(_ address: String, _ nowMillis: Int64, _ counts: inout Counts) -> LimitKind? {
    let network = Network.name(address)
    let held = counts.byAddress[network, default: 0]
    guard held < limits.connectionsPerAddressMax else { return .connectionsPerAddress }
    if let offences = counts.offences[network], offences.count > limits.offencesPerAddressMax {
      guard nowMillis - offences.sinceMillis >= limits.offencesMillis else { return .offencesPerAddress }
      counts.offences[network] = nil
    }
    counts.byAddress[network] = held + 1
    return nil
  }

  /// - Parameter address: the address for which the connection counted; `nil` for a proxied one without a client.
  func left(_ address: String?) {
    let network = address.map(Network.name)
    counts.withLock { counts in
      counts.total -= 1
      guard let network else { return }
      let held = counts.byAddress[network, default: 0] - 1
      counts.byAddress[network] = held > 0 ? held : nil
    }
  }

  /// Records that the server ended a connection of the address for abuse.
  func offended(_ address: String, nowMillis: Int64) {
    let network = Network.name(address)
    counts.withLock { counts in
      if counts.offences.count >= ConnectionCounts.offendersMax {
        counts.offences = counts.offences.filter { nowMillis - $1.sinceMillis < limits.offencesMillis }
        if counts.offences.count >= ConnectionCounts.offendersMax { counts.offences = [:] }
      }
      var offences = counts.offences[network] ?? Offences(sinceMillis: nowMillis)
      if nowMillis - offences.sinceMillis >= limits.offencesMillis { offences = Offences(sinceMillis: nowMillis) }
      offences.count += 1
      counts.offences[network] = offences
    }
  }
}
