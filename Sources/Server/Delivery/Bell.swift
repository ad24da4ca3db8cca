internal import Synchronization

/// Wakes one task that waits, from any thread. Rung while nobody waits, it is remembered.
final class Bell: Sendable {
  private struct State {
    var rung = false
    var ended = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func ring() {
    let waiting = state.withLock { state in
      defer { state.waiting = nil }
      state.rung = state.waiting == nil
      return state.waiting
    }
    waiting?.resume()
  }

  /// Wakes the task that waits, and from then on every task that would wait.
  func end() {
    state.withLock { $0.ended = true }
    ring()
  }

  /// Returns once it is rung, or after so long. One task at a time.
  func wait(millis: Int64) async {
    let alarm = Task.detached { [self] in
      try? await Task.sleep(nanoseconds: UInt64(millis) * 1_000_000)
      if !Task.isCancelled { ring() }
    }
    await withCheckedContinuation { continuation in
      let isRung = state.withLock { state in
        if state.rung || state.ended {
          state.rung = false
          return true
        }
        state.waiting = continuation
        return false
      }
      if isRung { continuation.resume() }
    }
    alarm.cancel()
  }
}
