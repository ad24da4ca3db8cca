internal import Admission
internal import GRPC
internal import HTTP2
internal import Reactor
internal import Services
internal import Store
internal import Synchronization
internal import TLS
internal import Wire

/// What reaches a worker from other threads.
enum WorkerLetter: Sendable {
  case accepted(descriptor: Int32, address: String)
  case answered(Ticket, streamID: Int32, Result<any WireEncodable, any Error>)
  /// Stop taking work, let calls finish.
  case drain
  /// End now.
  case stop
}

/// Everything the workers share: immutable, or made for sharing.
final class Shared: Sendable {
  let limits: Limits
  let methods: [Method]
  /// Numbers in `methods`.
  let methodTable: MethodTable
  let callers: CallerTable
  let tls: CurrentContext
  let store: any Store
  let log: Log
  let metrics: ServerMetrics
  let census: Census

  init(
    limits: Limits, methods: [Method], callers: CallerTable, tls: CurrentContext, store: any Store, log: Log,
    metrics: ServerMetrics
  ) {
    self.limits = limits
    self.methods = methods
    methodTable = MethodTable(methods.map(\.path))
    self.callers = callers
    self.tls = tls
    self.store = store
    self.log = log
    self.metrics = metrics
    census = Census(limits)
  }

  /// A stranger met a limit.
  func reached(_ limit: LimitKind, _ address: String) {
    metrics.reached(limit)
    log.reached(limit, address)
  }
}

/// How loaded one worker is, for who hands out connections.
final class Load: Sendable {
  let connections = Atomic<Int>(0)
  /// Of them, those that the worker has yet to look at. What a client then leaves unsaid costs no time, so a handshake
  /// that stands still does not count: a few hundred silent sockets would keep everybody else out.
  let newcomers = Atomic<Int>(0)
}

/// The driver of one reactor: its connections, and the order of a turn.
@safe final class Worker: ReactorDriver {
  typealias Letter = WorkerLetter

  static let lifeTimer: UInt32 = 1 << 31
  static let handshakeTimer: UInt32 = lifeTimer + 1
  static let begunTimer: UInt32 = lifeTimer + 2
  static let untakenTimer: UInt32 = lifeTimer + 3

  private struct Slot {
    var generation: UInt32 = 0
    var connection: Connection?
  }

  let arena: Arena
  let readBuffer: UnsafeMutableRawBufferPointer
  let shared: Shared
  let meter: CallMeter
  let sessionPool = SessionPool()
  private let mailbox: Mailbox<WorkerLetter>
  private let reactor: Reactor<Worker>
  private let load: Load
  private var slots: [Slot] = []
  private var freeSlots: [Int] = []
  private var touched: [Connection] = []
  private var readers = ReadyList<Connection>()
  private var handshakes = ReadyList<Connection>()
  private var undecided: [(Connection, ServerCall, Message)] = []
  private var writeBuffer: [UInt8] = []
  private var draining = false
  /// Bytes kept for messages that are not whole, of all connections.
  var heldBytes = 0

  init(shared: Shared, mailbox: Mailbox<WorkerLetter>, load: Load, meter: CallMeter) throws {
    self.shared = shared
    self.meter = meter
    self.mailbox = mailbox
    self.load = load
    reactor = try Reactor(mailbox: mailbox)
    arena = Arena(budgetBytes: shared.limits.messageBytesMax * shared.limits.arenaFactor)
    unsafe readBuffer = .allocate(byteCount: shared.limits.readBytesMax, alignment: 16)
  }

  deinit { unsafe readBuffer.deallocate() }

  /// Runs until it was told to drain and the last connection is gone, or to stop.
  func run() throws {
    try shared.store.attachThread()
    reactor.run(self)
    shared.store.detachThread()
  }

  var nowMillis: Int64 { reactor.nowMillis }
  var nowNanos: Int64 { reactor.nowNanos }
  var limits: Limits { shared.limits }
  var log: Log { shared.log }
  var metrics: ServerMetrics { shared.metrics }

  // MARK: The turn

  func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    connection(ticket)?.ready(readable: readable, writable: writable)
  }

  func timerFired(_ ticket: Ticket, kind: UInt32) {
    guard let connection = connection(ticket) else { return }
    switch kind {
    case Worker.lifeTimer: connection.lifeFired()
    case Worker.handshakeTimer:
      guard connection.isHandshaking else { return }
      metrics.handshake(.timedOut)
      reached(.handshake, on: connection)
      connection.close()
    case Worker.begunTimer: connection.begunFired()
    case Worker.untakenTimer: connection.untakenFired()
    default: connection.deadlineFired(streamID: Int32(kind))
    }
  }

  func received(_ letter: WorkerLetter) {
    switch letter {
    case .accepted(let descriptor, let address): adopt(descriptor, address)
    case .answered(let ticket, let streamID, let result): answered(ticket, streamID, result)
    case .drain:
      draining = true
      for slot in slots {
        guard let connection = slot.connection else { continue }
        connection.wakeStreams()
        // nghttp2 sends DATA after any GOAWAY: who watches must read NOT_SERVING before that.
        connection.flush()
        connection.drain()
      }
      stopWhenEmpty()
    case .stop:
      for slot in slots { slot.connection?.close() }
      reactor.stop()
    }
  }

  /// Everybody who waits is read up to his share; then all calls that became whole are decided on one snapshot of the
  /// store.
  func decide() {
    var left = min(readers.count, limits.connectionsPerTurnMax)
    while left > 0, let connection = readers.next() {
      left -= 1
      connection.isQueued = false
      connection.readPhase()
    }
    guard !undecided.isEmpty else { return }
    for (connection, call, message) in undecided where call.stage == .ready { run(call, message, on: connection) }
    undecided.removeAll(keepingCapacity: true)
  }

  func endTurn() {
    shared.store.endTurn()
    var index = 0
    // Flushing can touch again (streams told that the server goes): they are appended and served in the same pass.
    while index < touched.count {
      touched[index].isTouched = false
      touched[index].flush()
      index += 1
    }
    touched.removeAll(keepingCapacity: true)
    meter.endTurn()
    shakeHands()
  }

  /// After the answers, so that who is known does not wait for strangers.
  private func shakeHands() {
    var left = min(handshakes.count, limits.handshakesPerTurnMax)
    while left > 0, let connection = handshakes.next() {
      left -= 1
      connection.isQueued = false
      looked(at: connection)
      connection.handshake()
    }
  }

  private func looked(at connection: Connection) {
    guard connection.isNewcomer else { return }
    connection.isNewcomer = false
    load.newcomers.subtract(1, ordering: .relaxed)
  }

  var hasLeftovers: Bool { !readers.isEmpty || !handshakes.isEmpty || !undecided.isEmpty || !touched.isEmpty }

  private func run(_ call: ServerCall, _ message: Message, on connection: Connection) {
    guard case .unary(let start) = call.method.handler else { return }
    do {
      switch try start(message, call.context, arena) {
      case .answer(let bytes): connection.answer(call, bytes)
      case .task(let work):
        call.stage = .running
        connection.awaitTask(call)
        launch(work, connection.ticket, call.stream.id)
      }
    } catch {
      fail(call, error, on: connection)
    }
  }

  /// The call's one task: it begins right here, and whatever resumes it does so on this thread.
  private func launch(
    _ work: @escaping @Sendable () async throws -> any WireEncodable, _ ticket: Ticket, _ streamID: Int32
  ) {
    let mailbox = mailbox
    Task.immediate(executorPreference: mailbox) {
      let result: Result<any WireEncodable, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      mailbox.post(.answered(ticket, streamID: streamID, result))
    }
  }

  private func answered(_ ticket: Ticket, _ streamID: Int32, _ result: Result<any WireEncodable, any Error>) {
    guard let connection = connection(ticket),
      let call = connection.session?.sink.stream(streamID)?.call as? ServerCall
    else { return }
    switch result {
    case .success(let message):
      log.call(call.context, outcome: "OK")
      connection.answer(call, message.encode(arena: arena))
    case .failure(let error): fail(call, error, on: connection)
    }
  }

  private func fail(_ call: ServerCall, _ error: any Error, on connection: Connection) {
    let status = Failures.status(of: error, arena: arena)
    log.call(call.context, error: error)
    metrics.failed(error, status.code)
    connection.fail(call, status)
  }

  // MARK: For connections

  /// Room for what is to be written; a connection whose socket takes it all gives it back for the next.
  func takeWriteBuffer() -> [UInt8] {
    defer { writeBuffer = [] }
    return writeBuffer
  }

  func giveWriteBuffer(_ buffer: [UInt8]) {
    writeBuffer = buffer.capacity <= 2 * limits.writeBufferBytes ? buffer : []
  }

  func touch(_ connection: Connection) {
    guard !connection.isTouched else { return }
    connection.isTouched = true
    touched.append(connection)
  }

  func queueRead(_ connection: Connection) {
    guard !connection.isQueued else { return }
    connection.isQueued = true
    readers.append(connection)
  }

  func queueHandshake(_ connection: Connection) {
    guard !connection.isQueued else { return }
    connection.isQueued = true
    handshakes.append(connection)
  }

  func decideLater(_ connection: Connection, _ call: ServerCall, _ message: Message) {
    undecided.append((connection, call, message))
  }

  func startTimer(_ connection: Connection, kind: UInt32, delayMillis: Int64) {
    reactor.startTimer(connection.ticket, kind: kind, delayMillis: delayMillis)
  }

  func watch(_ connection: Connection, read: Bool, write: Bool) {
    do {
      try reactor.change(connection.descriptor, connection.ticket, read: read, write: write)
    } catch {
      log.error("epoll refuses a change", ["why": "\(error)"])
      connection.close()
    }
  }

  func reached(_ limit: LimitKind, on connection: Connection) { shared.reached(limit, connection.address) }

  /// A connection was ended for what its client did.
  func offended(_ connection: Connection, _ fault: Fault) {
    if let limit = LimitKind(rawValue: fault.debugData) { reached(limit, on: connection) }
    if fault.isOffence { shared.census.offended(connection.address, nowMillis: nowMillis) }
  }

  func closed(_ connection: Connection) {
    do {
      try reactor.unwatch(connection.descriptor)
    } catch {
      log.error("epoll refuses a removal", ["why": "\(error)"])
    }
    closeDescriptor(connection.descriptor)
    let slot = Int(connection.ticket.slot)
    slots[slot].connection = nil
    slots[slot].generation &+= 1
    freeSlots.append(slot)
    looked(at: connection)
    load.connections.subtract(1, ordering: .relaxed)
    shared.census.left(connection.address)
    stopWhenEmpty()
  }

  // MARK: The table of connections

  private func connection(_ ticket: Ticket) -> Connection? {
    let slot = Int(ticket.slot)
    guard slot < slots.count, slots[slot].generation == ticket.generation else { return nil }
    return slots[slot].connection
  }

  /// The census counted it already; `load` too.
  private func adopt(_ descriptor: Int32, _ address: String) {
    guard !draining, let channel = Channel(shared.tls.context, descriptor: descriptor) else {
      closeDescriptor(descriptor)
      load.newcomers.subtract(1, ordering: .relaxed)
      load.connections.subtract(1, ordering: .relaxed)
      shared.census.left(address)
      return stopWhenEmpty()
    }
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    let ticket = Ticket(slot: UInt32(slot), generation: slots[slot].generation)
    let connection = Connection(
      ticket: ticket, descriptor: descriptor, address: address, channel: channel, worker: self)
    slots[slot].connection = connection
    do {
      try reactor.watch(descriptor, ticket, read: true, write: false)
    } catch {
      log.error("epoll refuses a connection", ["why": "\(error)"])
      return connection.close()
    }
    startTimer(connection, kind: Worker.handshakeTimer, delayMillis: limits.handshakeMillis)
    // The client hello is often here already.
    connection.ready(readable: true, writable: false)
  }

  private func stopWhenEmpty() {
    if draining, load.connections.load(ordering: .relaxed) == 0 { reactor.stop() }
  }
}
