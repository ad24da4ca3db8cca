package import Protobuf
package import Reactor
internal import Services
package import Synchronization

/// Commands that other threads send to a worker.
package enum WorkerCommand: Sendable {
  /// `isProxied`: the address is that of a proxy, which sends a PROXY header.
  case accepted(descriptor: Int32, address: String, isProxied: Bool)
  /// The result of a unary call's task, by its ticket in `Worker.running`.
  case answered(task: Ticket, Result<any ProtobufEncodable, any Error>)
  /// The result of a streaming call's task.
  case worked(task: Ticket, Result<any Sendable, any Error>)
  /// The store has new events for calls that follow it.
  case news
  /// The health changed: calls that watch it must check again.
  case healthChanged
  /// The configuration was reloaded: further calls use this table.
  case configured(CallTable)
  /// Confirm that the worker still processes commands.
  case beat
  /// Stop accepting work and let calls finish.
  case drain
  /// Stop immediately.
  case stop
}

/// Load of one worker, for the distribution of connections.
package final class Load: Sendable {
  package init() {}

  package let connections = Atomic<Int>(0)
  /// Connections that the worker has not processed yet. A stalled handshake does not count, since it uses no CPU time.
  /// Otherwise a few hundred silent sockets would block all new connections.
  let newcomers = Atomic<Int>(0)
  /// Monotonic time of a `beat` that the worker has not processed yet; 0 if there is none.
  let beatMillis = Atomic<Int64>(0)
  /// Calls that follow the store.
  let following = Atomic<Int>(0)
  /// A `news` command is queued and not processed yet.
  let hasNews = Atomic<Bool>(false)

  /// Returns the index of the worker for the next connection: the one with the fewest connections among those below
  /// `newcomersMax`.
  static func least(of loads: [Load], newcomersMax: Int) -> Int? {
    loads.indices.filter { loads[$0].newcomers.load(ordering: .relaxed) < newcomersMax }
      .min { loads[$0].connections.load(ordering: .relaxed) < loads[$1].connections.load(ordering: .relaxed) }
  }
}
