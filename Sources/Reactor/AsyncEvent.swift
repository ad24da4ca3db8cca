internal import Synchronization

/// An event that wakes one waiting task, from any thread. It remembers a signal without a waiting task.
package final class AsyncEvent: Sendable {
  private struct State {
    var signalled = false
    var ended = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  package func signal() {
    let waiting = state.withLock { state in
      defer { state.waiting = nil }
      state.signalled = state.waiting == nil
      return state.waiting
    }
    waiting?.resume()
  }

  package var hasEnded: Bool { state.withLock(\.ended) }

  /// Wakes the waiting task; later waits return immediately.
  package func end() {
    state.withLock { $0.ended = true }
    signal()
  }

  /// Waits for a signal or the timeout. Only one task may wait at a time.
  package func wait(millis: Int64) async {
    let alarm = Task.detached { [self] in
      try? await Task.sleep(nanoseconds: UInt64(millis) * 1_000_000)
      if !Task.isCancelled { signal() }
    }
    await withCheckedContinuation { continuation in
      let isSignalled = state.withLock { state in
        if state.signalled || state.ended {
          state.signalled = false
          return true
        }
        state.waiting = continuation
        return false
      }
      if isSignalled { continuation.resume() }
    }
    alarm.cancel()
  }
}
