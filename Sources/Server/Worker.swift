internal import Admission
internal import Fetch
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
  /// What a streaming call wanted done.
  case worked(Ticket, streamID: Int32, Result<any Sendable, any Error>)
  /// The store has more for calls that follow it.
  case news
  /// Those who watch the health are to look again.
  case healthChanged
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
  /// Calls that follow the store.
  let following = Atomic<Int>(0)
  /// A letter says so, and has yet to be looked at.
  let hasNews = Atomic<Bool>(false)
}

/// The driver of one reactor: its connections, and the order of a turn.
@safe final class Worker: ReactorDriver {
  typealias Letter = WorkerLetter

  static let lifeTimer: UInt32 = 1 << 31
  static let handshakeTimer: UInt32 = lifeTimer + 1
  static let begunTimer: UInt32 = lifeTimer + 2
  static let untakenTimer: UInt32 = lifeTimer + 3
  static let followTimer: UInt32 = lifeTimer + 4

  private static let fetchTicket = Ticket(slot: .max - 1, generation: 0)
  private static let storeTicket = Ticket(slot: .max - 2, generation: 0)

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
  private let fetches: FetchDriver
  private let load: Load
  private var slots: [Slot] = []
  private var freeSlots: [Int] = []
  private var touched: [Connection] = []
  private var readers = ReadyList<Connection>()
  private var handshakes = ReadyList<Connection>()
  /// Those with calls that follow the store.
  private var following: [ObjectIdentifier: Connection] = [:]
  private var beginning: [(Connection, ServerCall, StreamWork)] = []
  private var undecided: [(Connection, ServerCall, Message)] = []
  private var writeBuffer: [UInt8] = []
  private var draining = false
  /// Bytes kept of messages that nobody was handed, of all connections.
  var heldBytes = 0

  init(
    shared: Shared, mailbox: Mailbox<WorkerLetter>, load: Load, meter: CallMeter, fetches: FetchDriver
  ) throws {
    self.shared = shared
    self.meter = meter
    self.mailbox = mailbox
    self.load = load
    self.fetches = fetches
    reactor = try Reactor(mailbox: mailbox)
    arena = Arena(budgetBytes: shared.limits.messageBytesMax * shared.limits.arenaFactor)
    unsafe readBuffer = .allocate(byteCount: shared.limits.readBytesMax, alignment: 16)
    try reactor.watch(fetches.descriptor, Worker.fetchTicket, read: true, write: false)
  }

  deinit { unsafe readBuffer.deallocate() }

  /// On the thread that is to run it, and before it is given connections: without the store it can answer none.
  func attach() throws {
    try shared.store.attachThread()
    guard let descriptor = shared.store.watchedDescriptor else { return }
    try reactor.watch(descriptor, Worker.storeTicket, read: true, write: false)
  }

  /// Runs until it was told to drain and the last connection and fetch are gone, or to stop.
  func run() {
    reactor.run(self)
    fetches.close()
    shared.store.detachThread()
  }

  var nowMillis: Int64 { reactor.nowMillis }
  var nowNanos: Int64 { reactor.nowNanos }
  var limits: Limits { shared.limits }
  var log: Log { shared.log }
  var metrics: ServerMetrics { shared.metrics }

  // MARK: The turn

  func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    if let connection = connection(ticket) {
      connection.ready(readable: readable, writable: writable)
    } else if ticket == Worker.fetchTicket {
      fetches.turn()
      stopWhenEmpty()
    } else if ticket == Worker.storeTicket {
      shared.store.turn()
    }
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
    case Worker.followTimer: connection.followFired()
    default: connection.deadlineFired(streamID: Int32(kind))
    }
  }

  func received(_ letter: WorkerLetter) {
    switch letter {
    case .accepted(let descriptor, let address): adopt(descriptor, address)
    case .answered(let ticket, let streamID, let result): answered(ticket, streamID, result)
    case .worked(let ticket, let streamID, let result):
      guard let (connection, call) = call(ticket, streamID) else { return }
      connection.worked(call, result)
    case .news:
      // First, so that what is committed from here on comes with a letter of its own.
      load.hasNews.store(false, ordering: .sequentiallyConsistent)
      for connection in following.values { connection.hearNews() }
    case .healthChanged: for slot in slots { slot.connection?.wakeStreams() }
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
    if !undecided.isEmpty {
      for (connection, call, message) in undecided where call.stage == .ready { run(call, message, on: connection) }
      undecided.removeAll(keepingCapacity: true)
    }
    if !beginning.isEmpty {
      for (connection, call, work) in beginning where call.stage == .receiving {
        launch(work, for: connection, call.stream.id)
      }
      beginning.removeAll(keepingCapacity: true)
    }
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

  var hasLeftovers: Bool {
    !readers.isEmpty || !handshakes.isEmpty || !undecided.isEmpty || !touched.isEmpty || !beginning.isEmpty
  }

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
      refuse(call, error, on: connection)
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

  /// The same for a call that goes on after it, and has one at a time.
  private func launch(_ work: @escaping StreamWork, for connection: Connection, _ streamID: Int32) {
    let (mailbox, ticket) = (mailbox, connection.ticket)
    Task.immediate(executorPreference: mailbox) {
      let result: Result<any Sendable, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      mailbox.post(.worked(ticket, streamID: streamID, result))
    }
  }

  /// nil: it has ended since.
  private func call(_ ticket: Ticket, _ streamID: Int32) -> (Connection, ServerCall)? {
    guard let connection = connection(ticket),
      let call = connection.session?.sink.stream(streamID)?.call as? ServerCall
    else { return nil }
    return (connection, call)
  }

  private func answered(_ ticket: Ticket, _ streamID: Int32, _ result: Result<any WireEncodable, any Error>) {
    guard let (connection, call) = call(ticket, streamID) else { return }
    switch result {
    case .success(let message):
      log.call(call.context, outcome: "OK")
      connection.answer(call, message.encode(arena: arena))
    case .failure(let error): refuse(call, error, on: connection)
    }
  }

  func refuse(_ call: ServerCall, _ error: any Error, on connection: Connection) {
    let status = Failures.status(of: error, arena: arena)
    log.call(call.context, error: error)
    metrics.failed(error, status.code)
    connection.fail(call, status)
  }

  // MARK: Calls that follow the store

  func startsFollowing(_ connection: Connection) {
    load.following.add(1, ordering: .sequentiallyConsistent)
    following[ObjectIdentifier(connection)] = connection
  }

  func stopsFollowing(_ connection: Connection) {
    load.following.subtract(1, ordering: .relaxed)
    if connection.followingCalls == 0 { following[ObjectIdentifier(connection)] = nil }
  }

  // MARK: For connections

  /// What a streaming call wants done.
  func beginLater(_ work: @escaping StreamWork, of call: ServerCall, on connection: Connection) {
    beginning.append((connection, call, work))
  }

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
    // A fetch may be for a call of another reactor: keys are fetched for everybody.
    if draining, load.connections.load(ordering: .relaxed) == 0, fetches.isIdle { reactor.stop() }
  }
}
