internal import Reactor
package import Services
package import Store
internal import Synchronization

/// Health of the store as the health service and `/readyz` report it.
///
/// A short loss of the database is tolerated. After `graceMillis` the service reports NOT_SERVING until the database is
/// reachable again. A full disk and disk errors take effect immediately, and end when a probe of the store succeeds.
/// Corruption lasts until the next start. The log has one line about the begin and one about the end of each.
package final class StoreHealth: Sendable {
  /// A condition that ended, or has not ended yet.
  private struct Episode {
    var isOver = false
    var overMillis: Int64 = 0
    var pauseMillis: Int64
  }

  private struct State {
    var isGone = false
    /// Counts state changes, so that an outdated wait is recognised.
    var turns = 0
    var tell: (@Sendable () -> Void)?
    var probe: (@Sendable () async throws -> Void)?
    var episodes: [StoreTrouble: Episode] = [:]
  }

  /// Time after a recovery in which the same condition doubles the pause between probes. A disk with little room could
  /// otherwise change the state every second.
  private static let relapseMillis: Int64 = 60_000
  private static let pauseMillisMax: Int64 = 60_000

  private let health: HealthState
  private let graceMillis: Int64
  private let probeMillis: Int64
  private let log: Log
  private let nowMillis: @Sendable () -> Int64
  private let state = Mutex(State())

  /// - Parameter probeMillis: pause before each probe of a store that failed.
  package init(
    _ health: HealthState, graceMillis: Int64, probeMillis: Int64 = 1_000, log: Log,
    nowMillis: @escaping @Sendable () -> Int64 = { monotonicMillis() }
  ) {
    self.health = health
    self.graceMillis = graceMillis
    self.probeMillis = probeMillis
    self.log = log
    self.nowMillis = nowMillis
  }

  /// Sets the function that notifies health watchers of a change.
  package func tell(_ changed: @escaping @Sendable () -> Void) { state.withLock { $0.tell = changed } }

  /// Sets the function that succeeds if the store can be written and read.
  package func probe(_ probe: @escaping @Sendable () async throws -> Void) { state.withLock { $0.probe = probe } }

  // MARK: Conditions of the store

  /// The conditions that last.
  package var troubles: Set<StoreTrouble> {
    state.withLock { Set($0.episodes.filter { !$0.value.isOver }.keys) }
  }

  /// The pause between probes in the last episode of a condition.
  func pauseMillis(of trouble: StoreTrouble) -> Int64? { state.withLock { $0.episodes[trouble]?.pauseMillis } }

  func met(_ trouble: StoreTrouble, _ why: String) {
    let (tell, pauseMillis) = state.withLock { state -> ((@Sendable () -> Void)?, Int64?) in
      let last = state.episodes[trouble]
      guard last?.isOver ?? true else { return (nil, nil) }
      let isRelapse = last.map { nowMillis() - $0.overMillis < StoreHealth.relapseMillis } ?? false
      let pauseMillis = last.map { isRelapse ? min($0.pauseMillis * 2, StoreHealth.pauseMillisMax) : probeMillis }
      let episode = Episode(pauseMillis: pauseMillis ?? probeMillis)
      state.episodes[trouble] = episode
      health.set(trouble.reason, true)
      log.error(trouble.begins, ["why": why, "fix": trouble.fix])
      return (state.tell, episode.pauseMillis)
    }
    tell?()
    guard let pauseMillis, trouble != .corrupt else { return }
    Task.detached { [self] in await recover(from: trouble, everyMillis: pauseMillis) }
  }

  private func recover(from trouble: StoreTrouble, everyMillis pauseMillis: Int64) async {
    while true {
      try? await Task.sleep(nanoseconds: UInt64(pauseMillis) * 1_000_000)
      do {
        guard let probe = state.withLock({ $0.probe }) else { continue }
        try await probe()
        break
      } catch StoreError.closed {
        return
      } catch {
        continue
      }
    }
    let tell = state.withLock { state in
      state.episodes[trouble]?.isOver = true
      state.episodes[trouble]?.overMillis = nowMillis()
      health.set(trouble.reason, false)
      log.info(trouble.ends)
      return state.tell
    }
    tell?()
  }

  // MARK: Reachability of the database

  package func lost(_ why: String) {
    log.error("the database cannot be reached", ["why": why])
    let turn = state.withLock { state in
      state.isGone = true
      state.turns += 1
      return state.turns
    }
    Task.detached { [self] in
      try? await Task.sleep(nanoseconds: UInt64(graceMillis) * 1_000_000)
      // Under the lock: if the database returns between the check and the update, the return must have the last word.
      let tell = state.withLock { state -> (@Sendable () -> Void)? in
        guard state.isGone, state.turns == turn else { return nil }
        health.set(.storeUnreachable, true)
        return state.tell
      }
      tell?()
    }
  }

  package func found() {
    log.info("the database can be reached again")
    let tell = state.withLock { state in
      state.isGone = false
      state.turns += 1
      health.set(.storeUnreachable, false)
      return state.tell
    }
    tell?()
  }

  // MARK: Lines of the log

  func reachedHalf(of limit: String) {
    log.warning("a caller has used half of a limit that all its users share", ["limit": limit])
  }

  func lacksConnections(_ why: String) {
    log.warning("the database refuses further connections", ["why": why])
  }

  func heldUpEvents(_ why: String) { log.error("event delivery is blocked", ["why": why]) }

  func freedEvents() { log.info("event delivery has resumed") }

  func leftUnswept(_ what: String, _ why: String) { log.error("the sweep failed", ["what": what, "why": why]) }
}

extension StoreHealth {
  /// Reports whether the server serves, and the conditions of the store.
  package func report(to registry: MetricsRegistry) {
    registry.collect(Catalogue.ready) { [health] in [(.none, .count(health.isServing ? 1 : 0))] }
    registry.collect(Catalogue.storeTrouble) { [self] in
      let troubles = troubles
      return StoreTrouble.allCases.map {
        (Labels([("trouble", $0.rawValue)]), .count(troubles.contains($0) ? 1 : 0))
      }
    }
  }
}

extension StoreTrouble {
  fileprivate var reason: NotServing {
    switch self {
    case .corrupt: .storeCorrupt
    case .full: .storeFull
    case .unreadable: .storeUnreadable
    }
  }

  fileprivate var begins: String {
    switch self {
    case .corrupt: "the store is corrupt"
    case .full: "the disk of the store is full"
    case .unreadable: "the disk of the store returns errors"
    }
  }

  fileprivate var ends: String {
    switch self {
    case .corrupt: "the store is sound again"
    case .full: "the disk of the store has room again"
    case .unreadable: "the disk of the store works again"
    }
  }

  fileprivate var fix: String {
    switch self {
    case .corrupt: "Stop the server, restore the newest backup, and replace the disk if it is at fault."
    case .full: "Free space on the disk of the store; the server then continues without a restart."
    case .unreadable: "Check the disk and the kernel's log; the server continues when the disk works."
    }
  }
}
