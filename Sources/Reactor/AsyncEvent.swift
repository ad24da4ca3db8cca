internal import Synchronization

/// An event that wakes one waiting task, from any thread. It remembers a signal without a waiting task.
package final class AsyncEvent: Sendable {
  private struct State {
    var isSignalled = false
    var waiting: CheckedContinuation<Void, Never>?
    /// Number of waits so far. It identifies the wait that an alarm belongs to.
    var waits = 0
  }

  private let state = Mutex(State())

  package init() {}

  package func signal() {
    let waiting = state.withLock { state in
      defer { state.waiting = nil }
      state.isSignalled = state.waiting == nil
      return state.waiting
    }
    waiting?.resume()
  }

  /// Waits for a signal or the timeout. Only one task may wait at a time.
  package func wait(millis: Int64) async {
    var alarm: Task<Void, Never>?
    await withCheckedContinuation { continuation in
      let number = state.withLock { state -> Int? in
        if state.isSignalled {
          state.isSignalled = false
          return nil
        }
        state.waiting = continuation
        state.waits += 1
        return state.waits
      }
      guard let number else { return continuation.resume() }
      alarm = Task.detached { [self] in
        do { try await Task.sleep(nanoseconds: UInt64(millis) * 1_000_000) } catch { return }
        timeOut(number)
      }
    }
    alarm?.cancel()
  }

  /// Ends one wait. An alarm that rings late must not end the next wait, which would look like a signal.
  func timeOut(_ number: Int) {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waits == number else { return nil }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }
}
