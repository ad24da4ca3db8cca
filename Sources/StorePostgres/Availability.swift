import Reactor
import Store
import Synchronization

/// Whether the database is reachable: the result of the last attempt to connect, and whether all callers are answered.
final class Availability: Sendable {
  private struct State {
    /// The time since which no connection could be made, and the reason.
    var failingSinceMillis: Int64?
    var why = ""
    /// Whether the observer was notified that connections are refused.
    var isWarned = false
    /// Whether the observer was notified that the database is unreachable.
    var isGone = false
  }

  /// The time without a response after which a database that refuses connections counts as unreachable. A database
  /// without room for another connection still answers on the existing ones.
  private static let silenceMillis: Int64 = 2_000
  /// The time after which the observer is notified of refused connections. If all connections end at the same time, the
  /// database refuses new ones until it has noticed the end of the old ones.
  private static let warningMillis: Int64 = 1_000

  /// Also held while the observer is notified, so that it receives events in order.
  private let state = Mutex(State())
  /// The number of pools without a connection. They must reject their callers even if others are answered.
  private let poolsWithout = Atomic<Int>(0)
  private let answeredMillis = Atomic<Int64>(-Availability.silenceMillis)
  /// A copy of the state's `isGone` that can be read without the lock.
  private let isGone = Atomic<Bool>(false)
  private let observer: (any StoreObserver)?

  init(_ observer: (any StoreObserver)?) { self.observer = observer }

  /// Returns the error for a pool without a connection. nil: connections succeed, or have failed for less than this
  /// time.
  func refusal(afterMillis: Int64) -> StoreError? {
    state.withLock { state in
      guard let since = state.failingSinceMillis, monotonicMillis() - since >= afterMillis else { return nil }
      return .unavailable("the database cannot be reached: \(state.why)")
    }
  }

  // MARK: Attempts to connect

  func failed(_ why: String) {
    let now = monotonicMillis()
    state.withLock { state in
      let since = state.failingSinceMillis ?? now
      state.failingSinceMillis = since
      state.why = why
      let isAnswered = poolsWithout.load(ordering: .relaxed) == 0
        && now - answeredMillis.load(ordering: .relaxed) < Availability.silenceMillis
      if !isAnswered, !state.isGone {
        state.isGone = true
        isGone.store(true, ordering: .relaxed)
        observer?.lostDatabase(why)
      } else if isAnswered, !state.isWarned, now - since >= Availability.warningMillis {
        state.isWarned = true
        observer?.lacksConnections(why)
      }
    }
  }

  func made() {
    state.withLock { state in
      (state.failingSinceMillis, state.isWarned) = (nil, false)
      find(&state)
    }
  }

  // MARK: Connections in use

  func poolOpened() { poolsWithout.add(1, ordering: .relaxed) }

  /// Removes a pool without a connection, as every pool is once it has lost all of them.
  func poolClosed() { poolsWithout.subtract(1, ordering: .relaxed) }

  func gained(isFirst: Bool) { if isFirst { poolsWithout.subtract(1, ordering: .relaxed) } }

  func lost(isLast: Bool) { if isLast { poolsWithout.add(1, ordering: .relaxed) } }

  func answered() {
    answeredMillis.store(monotonicMillis(), ordering: .relaxed)
    guard isGone.load(ordering: .relaxed), poolsWithout.load(ordering: .relaxed) == 0 else { return }
    state.withLock { find(&$0) }
  }

  private func find(_ state: inout State) {
    guard state.isGone else { return }
    state.isGone = false
    isGone.store(false, ordering: .relaxed)
    observer?.foundDatabase()
  }
}
