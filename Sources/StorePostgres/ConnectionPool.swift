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
  private let inbox: RequestQueue
  private let poll: Poll
  private var pipelines: [(ticket: UInt64, pipeline: Pipeline)] = []
  private var tickets: UInt64 = 0
  private var readings = Queue()
  private var writings = Queue()
  private var isAlarmSet = false
  private var isClosed = false

  init(
    _ options: Options, _ availability: Availability, _ connector: Connector, _ counters: StoreCounters,
    _ inbox: RequestQueue
  )
    throws(StoreError)
  {
    self.options = options
    self.availability = availability
    self.connector = connector
    self.counters = counters
    self.inbox = inbox
    poll = try Poll(wake: inbox.wakeDescriptor)
    availability.poolOpened()
    for _ in 0..<options.connections { connector.want(inbox) }
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
  /// - Parameter waitMillis: how long to wait for the first event.
  func turn(waitMillis: Int32 = 0) {
    for event in poll.take(waitMillis: waitMillis) {
      switch event {
      case .woken: takeInbox()
      case .alarm:
        isAlarmSet = false
        tick()
      case .pipeline(let ticket):
        if pipelines.first(where: { $0.ticket == ticket })?.pipeline.receive() == true { availability.answered() }
      }
    }
    replaceLost()
  }

  /// Sends waiting requests while connections are available.
  func send() {
    dispatch()
    for (ticket, pipeline) in pipelines where !pipeline.isIdle { flush(pipeline, ticket) }
    replaceLost()
    if !isAlarmSet, !isIdle {
      isAlarmSet = true
      poll.setAlarm(millis: ConnectionPool.tickMillis)
    }
  }

  /// Rejects all waiting requests and closes the connections.
  func close() {
    isClosed = true
    inbox.close()
    takeInbox()
    for queue in [readings, writings] { for request in queue.requests { leave(request).refuse(.closed) } }
    (readings, writings) = (Queue(), Queue())
    while let (_, pipeline) = pipelines.popLast() { leave(pipeline) }
    availability.poolClosed()
  }

  private func takeInbox() {
    let (requests, made) = inbox.take()
    for made in made {
      let connection = Connection(made)
      guard !isClosed else { continue }
      tickets += 1
      guard poll.watch(connection.socket, ticket: tickets) else {
        connector.want(inbox)
        continue
      }
      pipelines.append((tickets, Pipeline(connection)))
      availability.gained(isFirst: pipelines.count == 1)
    }
    for request in requests { take(request) }
  }

  // MARK: Sending

  /// Assigns waiting requests to connections. Lookups share the first connections. The others stay free for changes,
  /// each of which needs a connection of its own.
  private func dispatch() {
    while let kind = nextKind() {
      let pipeline = kind == .reading ? pipelineForReading : pipelines.last { $0.pipeline.takesChange }?.pipeline
      guard let pipeline else { return }
      let request = leave(kind == .reading ? readings.removeFirst() : writings.removeFirst())
      guard let roundTrip = request.begin() else { continue }
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

  private func flush(_ pipeline: Pipeline, _ ticket: UInt64) {
    let awaitsRoom: Bool
    switch pipeline.connection.flush() {
    case .done: awaitsRoom = false
    case .more: awaitsRoom = true
    case .broken: return pipeline.lose(pipeline.connection.fault)
    }
    if awaitsRoom != pipeline.awaitsRoom {
      pipeline.awaitsRoom = awaitsRoom
      poll.change(pipeline.connection.socket, ticket: ticket, awaitsRoom: awaitsRoom)
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
    while let why = readings.first.flatMap({ gone ?? overdue($0, now) }) { leave(readings.removeFirst()).refuse(why) }
    while let why = writings.first.flatMap({ gone ?? overdue($0, now) }) { leave(writings.removeFirst()).refuse(why) }
  }

  private func overdue(_ request: StoreRequest, _ now: Int64) -> StoreError? {
    now - request.sinceMillis < options.waitMillis ? nil : .unavailable("no connection was free in time")
  }

  private func replaceLost() {
    while let index = pipelines.firstIndex(where: { $0.pipeline.isLost || ($0.pipeline.isWorn && $0.pipeline.isIdle) })
    {
      leave(pipelines.remove(at: index).pipeline)
      connector.want(inbox)
    }
  }

  private func leave(_ pipeline: Pipeline) {
    poll.unwatch(pipeline.connection.socket)
    pipeline.abandon()
    availability.lost(isLast: pipelines.isEmpty)
  }
}

/// Waiting requests, oldest first.
private struct Queue {
  private(set) var requests: ArraySlice<StoreRequest> = []

  var isEmpty: Bool { requests.isEmpty }
  var count: Int { requests.count }
  var first: StoreRequest? { requests.first }

  mutating func append(_ request: StoreRequest) { requests.append(request) }
  mutating func removeFirst() -> StoreRequest { requests.removeFirst() }
}
