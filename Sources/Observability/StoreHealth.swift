package import Services
internal import Synchronization

/// Health of the store as the health service reports it. A short loss of the database is tolerated. After `graceMillis`
/// the service reports NOT_SERVING until the database is reachable again.
package final class StoreHealth: Sendable {
  private struct State {
    var isGone = false
    /// Counts state changes, so that an outdated wait is recognised.
    var turns = 0
    var tell: (@Sendable () -> Void)?
  }

  private let health: HealthState
  private let graceMillis: Int64
  private let log: Log
  private let state = Mutex(State())

  package init(_ health: HealthState, graceMillis: Int64, log: Log) {
    self.health = health
    self.graceMillis = graceMillis
    self.log = log
  }

  /// Sets the function that notifies health watchers of a change.
  package func tell(_ changed: @escaping @Sendable () -> Void) { state.withLock { $0.tell = changed } }

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
        health.storeIsGone(true)
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
      health.storeIsGone(false)
      return state.tell
    }
    tell?()
  }

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
