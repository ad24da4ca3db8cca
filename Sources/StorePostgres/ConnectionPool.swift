import Reactor
import Store

/// One thread's connections to the database, driven by an epoll of the thread.
///
/// The thread watches `descriptor`, calls `turn` when it is readable, and `send` at the end of each of its own turns.
/// No method blocks, except `turn` with a wait. Created, driven and closed on one thread.
final class ConnectionPool {
  /// The interval between checks for timeouts, while any request waits.
  private static let tickMillis: Int64 = 250

  private let options: Options
  private let availability: Availability
  private let connector: Connector
  private let counters: StoreCounters
  private let queue: CommandQueue<PoolCommand>
  private let poll: Poll
  private var pipelines: [(ticket: Ticket, pipeline: Pipeline)] = []
  private var lastTicket = Ticket(slot: 0, generation: 0)
  private var readings = FIFOQueue<StoreRequest>()
  private var writings = FIFOQueue<StoreRequest>()
  private var isAlarmSet = false
  /// What `counters` has of this pool.
  private var counted = (open: 0, inUse: 0)
  private var isClosed = false

  init(
    _ options: Options, _ availability: Availability, _ connector: Connector, _ counters: StoreCounters,
    _ queue: CommandQueue<PoolCommand>
  ) throws(StoreError) {
    self.options = options
    self.availability = availability
    self.connector = connector
    self.counters = counters
    self.queue = queue
    poll = try orUnavailable { () throws(SystemError) in try Poll(queue) }
    availability.poolOpened()
    for _ in 0..<options.connections { connector.want(queue) }
  }

  /// Readable when `turn` has work.
  var descriptor: Int32 { poll.descriptor }

  var isIdle: Bool { readings.isEmpty && writings.isEmpty && pipelines.allSatisfy(\.pipeline.isIdle) }

  /// Takes a request from the pool's own thread. The next `send` sends it.
  func take(_ request: StoreRequest) {
    guard !isClosed else { return request.refuse(.closed) }
    if pipelines.isEmpty, let refusal = availability.refusal(afterMillis: options.goneMillis) {
      return request.refuse(refusal)
    }
    let waiting = request.kind == .reading ? readings.count : writings.count
    guard waiting < options.queueMax else {
      counters.refusedByFullQueue()
      return request.refuse(.unavailable("store queue full"))
    }
    counters.queued(request.kind, 1)
    if request.kind == .reading { readings.append(request) } else { writings.append(request) }
  }

  /// Processes all events that are ready.
  ///
  /// - Parameter waitMillis: how long to wait for the first event; -1: without limit.
  func turn(waitMillis: Int32 = 0) {
    for event in poll.take(waitMillis: waitMillis) {
      switch event {
      case .commands: takeRequests()
      case .alarm:
        isAlarmSet = false
        tick()
      case .socket(let ticket, _, _, _):
        if pipelines.first(where: { $0.ticket == ticket })?.pipeline.receive() == true { availability.answered() }
      }
    }
    replaceLost()
    countConnections()
  }

  private func countConnections() {
    let now = (open: pipelines.count, inUse: pipelines.count { !$0.pipeline.isIdle })
    counters.changed(open: now.open - counted.open, inUse: now.inUse - counted.inUse)
    counted = now
  }

  /// Sends waiting requests while connections are available.
  func send() {
    dispatch()
    for (ticket, pipeline) in pipelines where !pipeline.isIdle { flush(pipeline, ticket) }
    replaceLost()
    countConnections()
    if !isAlarmSet, !isIdle {
      isAlarmSet = true
      poll.setAlarm(millis: ConnectionPool.tickMillis)
    }
  }

  /// Rejects all waiting requests and closes the connections.
  func close() {
    isClosed = true
    queue.close()
    takeRequests()
    refuse(\.readings) { _ in .closed }
    refuse(\.writings) { _ in .closed }
    while let (_, pipeline) = pipelines.popLast() { leave(pipeline) }
    countConnections()
    availability.poolClosed()
  }

  private func takeRequests() {
    let commands = queue.takeFromPoll()
    // The connections first: without one, a request may be rejected.
    for case .connection(let made) in commands {
      let connection = Connection(made)
      if !isClosed { add(connection) }
    }
    for case .request(let request) in commands { take(request) }
  }

  private func add(_ connection: Connection) {
    lastTicket.generation &+= 1
    do throws(SystemError) {
      try poll.watch(connection.socket, lastTicket, read: true, write: false)
    } catch {
      return connector.want(queue)
    }
    pipelines.append((lastTicket, Pipeline(connection, counters)))
    availability.gained(isFirst: pipelines.count == 1)
  }

  // MARK: Sending

  /// Assigns waiting requests to connections. Lookups share the first connections. The others stay free for changes,
  /// each of which needs a connection of its own.
  private func dispatch() {
    while let kind = nextKind() {
      let pipeline = kind == .reading ? pipelineForReading : pipelines.last { $0.pipeline.takesChange }?.pipeline
      guard let pipeline else { return }
      let request = kind == .reading ? readings.popFirst() : writings.popFirst()
      guard let request, let roundTrip = leave(request).begin() else { continue }
      pipeline.carry(roundTrip, change: kind == .writing)
    }
  }

  /// The connection for the next lookup.
  ///
  /// While a change waits, the last connection takes no further lookups, so that it becomes free. With more lookups
  /// than all connections take, none ever would.
  private var pipelineForReading: Pipeline? {
    let shared = writings.isEmpty || pipelines.count == 1 ? pipelines[...] : pipelines.dropLast()
    return shared.first { $0.pipeline.takesReading(options.readsPerConnectionMax) }?.pipeline
  }

  /// The kind of request to send now: the one that has waited longer, or the other if no connection takes the first.
  ///
  /// A single connection goes to the kind that has waited longer, so that neither starves the other.
  private func nextKind() -> StoreRequest.Kind? {
    let reads = readings.first.map { _ in pipelineForReading != nil }
    let writes = writings.first.map { _ in pipelines.contains { $0.pipeline.takesChange } }
    guard let reads, let writes, let reading = readings.first, let writing = writings.first else {
      return reads == true ? .reading : writes == true ? .writing : nil
    }
    let readsFirst = reading.sinceMillis <= writing.sinceMillis
    if readsFirst ? reads : writes { return readsFirst ? .reading : .writing }
    if pipelines.count == 1 { return nil }
    return reads ? .reading : writes ? .writing : nil
  }

  private func leave(_ request: StoreRequest) -> StoreRequest {
    counters.queued(request.kind, -1)
    return request
  }

  private func flush(_ pipeline: Pipeline, _ ticket: Ticket) {
    let awaitsRoom: Bool
    switch pipeline.connection.flush() {
    case .done: awaitsRoom = false
    case .more: awaitsRoom = true
    case .broken: return pipeline.lose(pipeline.connection.fault)
    }
    if awaitsRoom != pipeline.awaitsRoom {
      pipeline.awaitsRoom = awaitsRoom
      try? poll.watch(pipeline.connection.socket, ticket, read: true, write: awaitsRoom)
    }
    // libpq reads while the socket accepts no data, and no event would report what it has read.
    pipeline.collect()
  }

  // MARK: Timeouts

  private func tick() {
    let now = monotonicMillis()
    for (_, pipeline) in pipelines where pipeline.isSilent(at: now, options) {
      pipeline.lose("the server did not answer")
    }
    let gone = pipelines.isEmpty ? availability.refusal(afterMillis: options.goneMillis) : nil
    refuse(\.readings) { gone ?? overdue($0, now) }
    refuse(\.writings) { gone ?? overdue($0, now) }
  }

  /// Rejects the oldest requests, up to the first without a reason.
  private func refuse(
    _ queue: ReferenceWritableKeyPath<ConnectionPool, FIFOQueue<StoreRequest>>, _ reason: (StoreRequest) -> StoreError?
  ) {
    while let request = self[keyPath: queue].first, let why = reason(request) {
      _ = self[keyPath: queue].popFirst()
      leave(request).refuse(why)
    }
  }

  private func overdue(_ request: StoreRequest, _ now: Int64) -> StoreError? {
    now - request.sinceMillis < options.waitMillis ? nil : .unavailable("no connection was free in time")
  }

  private func replaceLost() {
    while let index = pipelines.firstIndex(where: { $0.pipeline.isLost || ($0.pipeline.isWorn && $0.pipeline.isIdle) })
    {
      leave(pipelines.remove(at: index).pipeline)
      connector.want(queue)
    }
  }

  private func leave(_ pipeline: Pipeline) {
    try? poll.unwatch(pipeline.connection.socket)
    pipeline.abandon()
    availability.lost(isLast: pipelines.isEmpty)
  }
}
