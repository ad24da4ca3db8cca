import Observability
import Reactor
import Server
import Synchronization

/// The server of the process, from before it exists, and its reactions to signals.
final class Served: Sendable {
  private enum State {
    /// Starting, with the signals received so far.
    case starting([ServerSignal])
    case serving(Server)
    case draining
  }

  private let lines: JSONLines
  private let state = Mutex(State.starting([]))
  private let reloads = DemandedReloads()

  init(_ lines: JSONLines) { self.lines = lines }

  func begin(_ server: Server) {
    let waiting = state.withLock { state -> [ServerSignal] in
      guard case .starting(let waiting) = state else { return [] }
      state = .serving(server)
      return waiting
    }
    for signal in waiting { pass(signal, to: server) }
  }

  /// Handles a signal. SIGTERM lets calls in flight finish. A second SIGTERM ends the process immediately, and so does
  /// one during the start.
  func heed(_ signal: ServerSignal) {
    enum Step {
      case wait, pass(Server), drain(Server), end(Int32)
    }
    let step = state.withLock { state -> Step in
      switch (state, signal) {
      case (.starting, .terminate): return .end(0)
      case (.starting(let waiting), _):
        state = .starting(waiting + [signal])
        return .wait
      case (.serving(let server), .terminate):
        state = .draining
        return .drain(server)
      case (.serving(let server), _): return .pass(server)
      case (.draining, .terminate): return .end(1)
      case (.draining, _): return .wait
      }
    }
    switch step {
    case .wait: break
    case .pass(let server): pass(signal, to: server)
    case .drain(let server): drain(server)
    case .end(let code): exitNow(code)
    }
  }

  private func pass(_ signal: ServerSignal, to server: Server) {
    switch signal {
    case .reload: reloads.demand { server.reloadFiles() }
    case .rotateKeys: server.rotateSigningKeys()
    case .terminate: break
    }
  }

  private func drain(_ server: Server) {
    Task.detached { [self] in
      let haveEnded = await server.drain { [self] in end(1) }
      end(haveEnded ? 0 : 1)
    }
  }

  /// Writes the last lines of the log and ends the process.
  private func end(_ code: Int32) -> Never {
    startThread(named: "last-lines") { [lines] in
      lines.flush()
      exitNow(code)
    }
    // A blocked pipe or terminal must not keep the process alive.
    sleepThread(millis: 1_000)
    exitNow(code)
  }
}
