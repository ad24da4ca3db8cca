import CPostgres
import Reactor
import Store
import Synchronization

/// The connector thread. It makes the connections that pools need, one after the other, for each pool in turn.
///
/// libpq cannot resolve names asynchronously, and connecting takes several round trips. Neither may block a reactor.
final class Connector: Sendable {
  private struct State {
    var wanted = ConnectionWaiters<CommandQueue<PoolCommand>>()
    var isClosed = false
  }

  private let options: Options
  private let availability: Availability
  private let state = Mutex(State())
  private let wakeups = Wakeups()

  init(_ options: Options, _ availability: Availability) {
    self.options = options
    self.availability = availability
  }

  /// Requests one connection for the pool of this queue.
  func want(_ queue: CommandQueue<PoolCommand>) {
    state.withLock { $0.wanted.add(queue) }
    wakeups.signal()
  }

  func close() {
    state.withLock { $0.isClosed = true }
    wakeups.signal()
  }

  /// Runs until the connector is closed.
  func run() {
    var pauseMillis: Int64 = 0
    var hosts = HostMemory()
    while true {
      wakeups.wait()
      while let queue = next() {
        let begun = monotonicMillis()
        switch ReadyConnection.make(options, at: hosts.preferred) {
        case .success(let made):
          pauseMillis = 0
          hosts.connected(to: made.host, tookMillis: monotonicMillis() - begun)
          availability.made()
          if !queue.post(.connection(made)) { made.abandon() }
        case .failure(let error):
          state.withLock { $0.wanted.add(queue) }
          if hosts.preferred != nil {
            // The primary may be another host by now.
            hosts.failed()
            continue
          }
          availability.failed(error.text)
          pauseMillis = min(options.pauseMillisMax, max(50, 2 * pauseMillis))
          sleepThread(millis: UInt32(Int64.random(in: pauseMillis / 2...pauseMillis)))
        }
      }
      if state.withLock(\.isClosed) { return }
    }
  }

  /// Returns the queue of the next pool that still needs a connection.
  private func next() -> CommandQueue<PoolCommand>? {
    state.withLock { state in
      if state.isClosed { state.wanted = ConnectionWaiters() }
      state.wanted.removeAll(where: \.isClosed)
      return state.wanted.next()
    }
  }
}
