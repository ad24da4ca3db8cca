import Reactor
import Store
import Synchronization

/// Whether the database can be reached: what the last attempt to connect has found, and whether everybody is answered.
final class Reach: Sendable {
  private struct State {
    /// Since when no connection could be made, and why.
    var failingSinceMillis: Int64?
    var why = ""
    /// The observer was told that connections are refused.
    var isWarned = false
    /// The observer was told that the database is gone.
    var isGone = false
  }

  /// A database that has no place for one more connection goes on answering those that it has.
  private static let silenceMillis: Int64 = 2_000
  /// Connections that were all ended at once are refused for a moment while others have not noticed their end.
  private static let warningMillis: Int64 = 1_000

  /// The observer is told under its lock, so that it hears of comings and goings in their order.
  private let state = Mutex(State())
  /// Desks without any connection, who have to refuse their callers whoever else is answered.
  private let desksWithout = Atomic<Int>(0)
  private let answeredMillis = Atomic<Int64>(-Reach.silenceMillis)
  /// As in the state, for a look in passing.
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
    state.withLock { state in
      let since = state.failingSinceMillis ?? now
      state.failingSinceMillis = since
      state.why = why
      let isAnswered = desksWithout.load(ordering: .relaxed) == 0
        && now - answeredMillis.load(ordering: .relaxed) < Reach.silenceMillis
      if !isAnswered, !state.isGone {
        state.isGone = true
        isGone.store(true, ordering: .relaxed)
        observer?.lostDatabase(why)
      } else if isAnswered, !state.isWarned, now - since >= Reach.warningMillis {
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

  func deskOpened() { desksWithout.add(1, ordering: .relaxed) }

  /// One without a connection, as it is once all of them were lost.
  func deskClosed() { desksWithout.subtract(1, ordering: .relaxed) }

  func gained(isFirst: Bool) { if isFirst { desksWithout.subtract(1, ordering: .relaxed) } }

  func lost(isLast: Bool) { if isLast { desksWithout.add(1, ordering: .relaxed) } }

  func answered() {
    answeredMillis.store(monotonicMillis(), ordering: .relaxed)
    guard isGone.load(ordering: .relaxed), desksWithout.load(ordering: .relaxed) == 0 else { return }
    state.withLock { find(&$0) }
  }

  private func find(_ state: inout State) {
    guard state.isGone else { return }
    state.isGone = false
    isGone.store(false, ordering: .relaxed)
    observer?.foundDatabase()
  }
}
