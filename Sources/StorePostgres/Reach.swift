import Reactor
import Store
import Synchronization

/// Whether the database can be reached, as the last attempt to connect has found.
final class Reach: Sendable {
  private struct State {
    var goneSinceMillis: Int64?
    var why = ""
  }

  private let state = Mutex(State())
  private let observer: (any StoreObserver)?

  init(_ observer: (any StoreObserver)?) { self.observer = observer }

  /// nil: it can, or could not for a shorter time than this.
  func refusal(afterMillis: Int64) -> StoreError? {
    state.withLock { state in
      guard let since = state.goneSinceMillis, monotonicMillis() - since >= afterMillis else { return nil }
      return .unavailable("the database cannot be reached: \(state.why)")
    }
  }

  func failed(_ why: String) {
    let isNew = state.withLock { state in
      defer { state.goneSinceMillis = state.goneSinceMillis ?? monotonicMillis() }
      state.why = why
      return state.goneSinceMillis == nil
    }
    if isNew { observer?.lostDatabase(why) }
  }

  func made() {
    let isNew = state.withLock { state in
      defer { state = State() }
      return state.goneSinceMillis != nil
    }
    if isNew { observer?.foundDatabase() }
  }
}
