internal import Reactor
internal import Synchronization

/// Reloads on demand, on a thread of their own: a slow file must not keep the thread that demands one from noticing a
/// signal to stop.
package final class DemandedReloads: Sendable {
  private enum State {
    case idle
    case running
    /// A demand came during the reload, which may have read the files before their last change.
    case runningAgain(@Sendable () -> Void)
  }

  private let state = Mutex(State.idle)

  package init() {}

  /// Runs `reload` soon. Demands during a reload lead to one more reload after it.
  package func demand(_ reload: @escaping @Sendable () -> Void) {
    let isIdle = state.withLock { state -> Bool in
      if case .idle = state {
        state = .running
        return true
      }
      state = .runningAgain(reload)
      return false
    }
    guard isIdle else { return }
    let work = { @Sendable [self] in
      reload()
      while let next = next() { next() }
    }
    // Without a thread, a late signal is better than a lost reload.
    do { try tryStartThread(named: "reload", work) } catch { work() }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard case .runningAgain(let reload) = state else {
        state = .idle
        return nil
      }
      state = .running
      return reload
    }
  }
}
