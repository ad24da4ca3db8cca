import CPostgres
import Reactor
import Store
import Synchronization

/// The connecting thread: makes the connections that desks want, one after the other, for each desk in turn.
///
/// libpq looks up names without a way to do so aside, and connecting takes several round trips: none of that may hold
/// up a reactor.
final class Connector: Sendable {
  private struct State {
    var wanted = Wants<DeskInbox>()
    var isClosed = false
  }

  private let options: Options
  private let reach: Reach
  private let state = Mutex(State())
  private let wakeups = Wakeups()

  init(_ options: Options, _ reach: Reach) {
    self.options = options
    self.reach = reach
  }

  /// One connection for this inbox, as soon as there is one.
  func want(_ inbox: DeskInbox) {
    state.withLock { $0.wanted.add(inbox) }
    wakeups.signal()
  }

  func close() {
    state.withLock { $0.isClosed = true }
    wakeups.signal()
  }

  /// Until it is closed.
  func run() {
    var pauseMillis: Int64 = 0
    var hosts = HostMemory()
    while true {
      wakeups.wait()
      while let inbox = next() {
        let begun = monotonicMillis()
        switch MadeConnection.make(options, at: hosts.preferred) {
        case .success(let made):
          pauseMillis = 0
          hosts.connected(to: made.host, tookMillis: monotonicMillis() - begun)
          reach.made()
          if !inbox.put(made) { made.abandon() }
        case .failure(let error):
          state.withLock { $0.wanted.add(inbox) }
          if hosts.preferred != nil {
            // It may be another by now.
            hosts.failed()
            continue
          }
          reach.failed(error.text)
          pauseMillis = min(options.pauseMillisMax, max(50, 2 * pauseMillis))
          sleepThread(millis: UInt32(Int64.random(in: pauseMillis / 2...pauseMillis)))
        }
      }
      if state.withLock(\.isClosed) { return }
    }
  }

  /// Of a desk that still wants it.
  private func next() -> DeskInbox? {
    state.withLock { state in
      if state.isClosed { state.wanted = Wants() }
      state.wanted.removeAll(where: \.isClosed)
      return state.wanted.next()
    }
  }
}
