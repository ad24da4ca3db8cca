import Reactor
import Store
import Synchronization

/// Whether the database can be reached: what the last attempt to connect has found, and whether anybody is answered.
final class Reach: Sendable {
  private struct State {
    /// Since when no connection could be made, and why.
    var failingSinceMillis: Int64?
    var why = ""
  }

  /// A database that has no place for one more connection goes on answering those that it has.
  private static let silenceMillis: Int64 = 2_000

  private let state = Mutex(State())
  private let connections = Atomic<Int>(0)
  private let answeredMillis = Atomic<Int64>(-Reach.silenceMillis)
  private let isGone = Atomic<Bool>(false)
  private let observer: (any StoreObserver)?

  init(_ observer: (any StoreObserver)?) { self.observer = observer }

  /// Of who has no connection. nil: one can be had, or could not for a shorter time than this.
  func refusal(afterMillis: Int64) -> StoreError? {
    state.withLock { state in
      guard let since = state.failingSinceMillis, monotonicMillis() - since >= afterMillis else { return nil }
      return .unavailable("the database cannot be reached: \(state.why)")
    }
  }

  // MARK: Attempts to connect

  func failed(_ why: String) {
    let now = monotonicMillis()
    let isFirst = state.withLock { state in
      defer { state.failingSinceMillis = state.failingSinceMillis ?? now }
      state.why = why
      return state.failingSinceMillis == nil
    }
    let isAnswered = connections.load(ordering: .relaxed) > 0
      && now - answeredMillis.load(ordering: .relaxed) < Reach.silenceMillis
    if isAnswered {
      if isFirst { observer?.lacksConnections(why) }
    } else if !isGone.exchange(true, ordering: .relaxed) {
      observer?.lostDatabase(why)
    }
  }

  func made() {
    state.withLock { $0 = State() }
    find()
  }

  // MARK: Connections in use

  func gained() { connections.add(1, ordering: .relaxed) }

  func lost() { connections.subtract(1, ordering: .relaxed) }

  func answered() {
    answeredMillis.store(monotonicMillis(), ordering: .relaxed)
    if isGone.load(ordering: .relaxed) { find() }
  }

  private func find() {
    if isGone.exchange(false, ordering: .relaxed) { observer?.foundDatabase() }
  }
}
