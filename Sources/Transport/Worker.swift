internal import GRPC
internal import HTTP2
package import HTTPClient
package import Observability
internal import Protobuf
package import Reactor
internal import Services
internal import Store
internal import Synchronization

/// The driver of one reactor: its connections and the order of a turn.
@safe package final class Worker: ReactorDriver {
  package typealias Command = WorkerCommand

  static let lifeTimer: UInt32 = 1 << 31
  static let handshakeTimer: UInt32 = lifeTimer + 1
  static let begunTimer: UInt32 = lifeTimer + 2
  static let untakenTimer: UInt32 = lifeTimer + 3
  static let followTimer: UInt32 = lifeTimer + 4
  static let lingerTimer: UInt32 = lifeTimer + 5

  private static let fetchTicket = Ticket(slot: .max - 1, generation: 0)
  private static let storeTicket = Ticket(slot: .max - 2, generation: 0)

  let arena: Arena
  let readBuffer: UnsafeMutableRawBufferPointer
  let shared: Shared
  let meter: CallMeter
  let sessionPool = SessionPool()
  let commandQueue: CommandQueue<WorkerCommand>
  let reactor: Reactor<Worker>
  let load: Load
  var connections = SlotTable<Connection>()
  /// Closed connections whose client may not have read all output.
  var lingering: [Ticket: Lingering] = [:]
  var queues = TurnQueues()
  /// The calls with a running task. If the client disconnects, the call stays until its task ends, so that the log
  /// states its outcome.
  var running = SlotTable<(call: ServerCall, connection: Connection)>()
  /// Connections with calls that follow the store.
  var following: [ObjectIdentifier: Connection] = [:]
  var writeBuffer = WriteBuffer()
  let heads = ResponseHeads()
  var traces = CallTraceMaker()
  private(set) var draining = false
  private(set) var callTable: CallTable
  private let fetches: FetchDriver
  /// Buffered bytes of undelivered messages of all connections.
  var heldBytes = 0

  package init(
    shared: Shared, commandQueue: CommandQueue<WorkerCommand>, load: Load, meter: CallMeter, fetches: FetchDriver
  ) throws {
    self.shared = shared
    self.meter = meter
    self.commandQueue = commandQueue
    self.load = load
    self.fetches = fetches
    callTable = shared.initialCallTable
    reactor = try Reactor(commandQueue: commandQueue)
    arena = Arena(budgetBytes: shared.limits.messageBytesMax * shared.limits.arenaFactor)
    unsafe readBuffer = .allocate(byteCount: shared.limits.readBytesMax, alignment: 16)
    try reactor.watch(fetches.descriptor, Worker.fetchTicket, read: true, write: false)
  }

  deinit { unsafe readBuffer.deallocate() }

  /// Attaches the store. Call it on the worker's thread before it receives connections, because it cannot answer calls
  /// without the store.
  package func attach() throws {
    try shared.store.attachThread()
    guard let descriptor = shared.store.watchedDescriptor else { return }
    try reactor.watch(descriptor, Worker.storeTicket, read: true, write: false)
  }

  /// Runs until a drain has completed (no connection, task or fetch left), or until `stop`.
  package func run() {
    reactor.run(self)
    // The results of remaining tasks are discarded.
    running = SlotTable()
    fetches.close()
    shared.store.detachThread()
  }

  var nowMillis: Int64 { reactor.nowMillis }
  var nowNanos: Int64 { reactor.nowNanos }
  var limits: Limits { shared.limits }
  var log: Log { shared.log }
  var metrics: ServerMetrics { shared.metrics }

  // MARK: The turn

  package func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    if let connection = connections[ticket] {
      connection.ready(readable: readable, writable: writable)
    } else if lingering[ticket] != nil {
      drop(ticket)
    } else if ticket == Worker.fetchTicket {
      fetches.turn()
      stopWhenEmpty()
    } else if ticket == Worker.storeTicket {
      shared.store.turn()
    }
  }

  package func timerFired(_ ticket: Ticket, kind: UInt32) {
    if kind == Worker.lingerTimer { return lingered(ticket) }
    guard let connection = connections[ticket] else { return }
    switch kind {
    case Worker.lifeTimer: connection.lifeFired()
    case Worker.handshakeTimer:
      guard connection.isHandshaking else { return }
      metrics.handshake(.timedOut)
      reached(.handshake, on: connection)
      connection.close()
    case Worker.begunTimer: connection.begunFired()
    case Worker.untakenTimer: connection.untakenFired()
    case Worker.followTimer: connection.followFired()
    default: connection.deadlineFired(streamID: Int32(kind))
    }
  }

  package func received(_ command: WorkerCommand) {
    switch command {
    case .accepted(let descriptor, let address, let isProxied): adopt(descriptor, address, isProxied: isProxied)
    case .answered(let task, let result): answered(task, result)
    case .worked(let task, let result): worked(task, result)
    case .news:
      // First, so that later commits send a new command.
      load.hasNews.store(false, ordering: .sequentiallyConsistent)
      for connection in following.values { connection.hearNews() }
    case .beat: load.beatMillis.store(0, ordering: .releasing)
    case .healthChanged: for connection in connections.all { connection.wakeStreams() }
    case .configured(let table):
      callTable = table
      for connection in connections.all { connection.checkCaller(table.callers) }
    case .drain:
      draining = true
      for connection in connections.all {
        connection.wakeStreams()
        // nghttp2 sends DATA after any GOAWAY. Watching clients must read NOT_SERVING before it.
        connection.flush()
        connection.drain()
      }
      stopWhenEmpty()
    case .stop:
      for connection in connections.all { connection.close() }
      for ticket in lingering.keys { endLingering(ticket) }
      reactor.stop()
    }
  }

  /// Reads each ready connection up to its fair share, then decides all complete calls on one store snapshot.
  package func decide() {
    var left = min(queues.readers.count, limits.connectionsPerTurnMax)
    while left > 0, let connection = queues.nextReader() {
      left -= 1
      connection.readPhase()
    }
    if !queues.undecided.isEmpty {
      for (connection, call, message) in queues.undecided where call.stage.isReady {
        run(call, message, on: connection)
      }
      queues.haveDecided()
    }
    if !queues.beginning.isEmpty {
      for (connection, call, work) in queues.beginning where call.stage.isStarting {
        launch(work, of: call, on: connection)
      }
      queues.haveBegun()
    }
  }

  package func endTurn() {
    shared.store.endTurn()
    // A flush can touch connections again, for example when the server ends their streams. The same loop flushes those.
    while let connection = queues.nextTouched() { connection.flush() }
    meter.endTurn()
    shakeHands()
  }

  /// Continues handshakes. Runs after the responses, so that established connections do not wait for new ones.
  private func shakeHands() {
    var left = min(queues.handshakes.count, limits.handshakesPerTurnMax)
    while left > 0, let connection = queues.nextHandshake() {
      left -= 1
      connection.processed()
      connection.handshake()
    }
  }

  package var hasLeftovers: Bool { !queues.isEmpty }

  func stopWhenEmpty() {
    // A fetch may serve a call of another reactor, because keys are fetched once for all of them.
    guard draining, load.connections.load(ordering: .relaxed) == 0, fetches.isIdle, running.isEmpty else { return }
    reactor.stop()
  }
}
