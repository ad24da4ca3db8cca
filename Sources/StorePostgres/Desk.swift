import Reactor
import Store

/// One thread's share of the database: a few connections, turned by the thread's own epoll.
///
/// The thread watches `descriptor`, calls `turn` when it can be read, and `send` at the end of each turn of its own.
/// Nothing here waits. Made, turned and closed on one thread.
final class Desk {
  /// How often it is looked whether anything has waited too long, while anything waits.
  private static let tickMillis: Int64 = 250

  private let options: Options
  private let reach: Reach
  private let connector: Connector
  private let tallies: Tallies
  private let inbox: DeskInbox
  private let poll: Poll
  private var lanes: [(ticket: UInt64, lane: Lane)] = []
  private var tickets: UInt64 = 0
  private var readings = Queue()
  private var writings = Queue()
  private var isAlarmSet = false
  private var isClosed = false

  init(_ options: Options, _ reach: Reach, _ connector: Connector, _ tallies: Tallies, _ inbox: DeskInbox)
    throws(StoreError)
  {
    self.options = options
    self.reach = reach
    self.connector = connector
    self.tallies = tallies
    self.inbox = inbox
    poll = try Poll(wake: inbox.wakeDescriptor)
    reach.deskOpened()
    for _ in 0..<options.connections { connector.want(inbox) }
  }

  /// Can be read when `turn` has something to do.
  var descriptor: Int32 { poll.descriptor }

  var isIdle: Bool { readings.isEmpty && writings.isEmpty && lanes.allSatisfy(\.lane.isIdle) }

  /// Takes an order of the desk's own thread; it leaves with the next `send`.
  func take(_ order: Order) {
    guard !isClosed else { return order.refuse(.closed) }
    if lanes.isEmpty, let refusal = reach.refusal(afterMillis: options.goneMillis) { return order.refuse(refusal) }
    let waiting = order.kind == .reading ? readings.count : writings.count
    guard waiting < options.queueMax else {
      tallies.refusedByFullQueue()
      return order.refuse(.unavailable("store queue full"))
    }
    tallies.queued(order.kind, 1)
    if order.kind == .reading { readings.append(order) } else { writings.append(order) }
  }

  /// Everything that can be done now; waits so long for the first of it.
  func turn(waitMillis: Int32 = 0) {
    for event in poll.take(waitMillis: waitMillis) {
      switch event {
      case .woken: takeInbox()
      case .alarm:
        isAlarmSet = false
        tick()
      case .lane(let ticket):
        if lanes.first(where: { $0.ticket == ticket })?.lane.receive() == true { reach.answered() }
      }
    }
    replaceLost()
  }

  /// Sends what waits, as far as there is a connection for it.
  func send() {
    dispatch()
    for (ticket, lane) in lanes where !lane.isIdle { flush(lane, ticket) }
    replaceLost()
    if !isAlarmSet, !isIdle {
      isAlarmSet = true
      poll.setAlarm(millis: Desk.tickMillis)
    }
  }

  /// Whoever still waits is told; the connections are closed.
  func close() {
    isClosed = true
    inbox.close()
    takeInbox()
    for queue in [readings, writings] { for order in queue.orders { leave(order).refuse(.closed) } }
    (readings, writings) = (Queue(), Queue())
    while let (_, lane) = lanes.popLast() { leave(lane) }
    reach.deskClosed()
  }

  private func takeInbox() {
    let (orders, made) = inbox.take()
    for made in made {
      let connection = Connection(made)
      guard !isClosed else { continue }
      tickets += 1
      guard poll.watch(connection.socket, ticket: tickets) else {
        connector.want(inbox)
        continue
      }
      lanes.append((tickets, Lane(connection)))
      reach.gained(isFirst: lanes.count == 1)
    }
    for order in orders { take(order) }
  }

  // MARK: Sending

  /// Look-ups share the first connections, so that others are free for changes, which have one to themselves.
  private func dispatch() {
    while let kind = nextKind() {
      let lane = kind == .reading ? laneForReading : lanes.last { $0.lane.takesChange }?.lane
      guard let lane else { return }
      let order = leave(kind == .reading ? readings.removeFirst() : writings.removeFirst())
      guard let trip = order.begin() else { continue }
      lane.carry(trip, change: kind == .writing)
    }
  }

  /// While a change waits, the last connection takes no further look-up, and so becomes free: with more of them than
  /// all connections take, none ever would.
  private var laneForReading: Lane? {
    let shared = writings.isEmpty || lanes.count == 1 ? lanes[...] : lanes.dropLast()
    return shared.first { $0.lane.takesReading(options.readsPerConnectionMax) }?.lane
  }

  /// The kind of order to send now: the one that has waited longer, or the other where there is no room for it. A
  /// single connection is given to the one that has waited longer, so that neither kind keeps the other out.
  private func nextKind() -> Order.Kind? {
    let reads = readings.first.map { _ in laneForReading != nil }
    let writes = writings.first.map { _ in lanes.contains { $0.lane.takesChange } }
    guard let reads, let writes, let reading = readings.first, let writing = writings.first else {
      return reads == true ? .reading : writes == true ? .writing : nil
    }
    let readsFirst = reading.sinceMillis <= writing.sinceMillis
    if readsFirst ? reads : writes { return readsFirst ? .reading : .writing }
    if lanes.count == 1 { return nil }
    return reads ? .reading : writes ? .writing : nil
  }

  private func leave(_ order: Order) -> Order {
    tallies.queued(order.kind, -1)
    return order
  }

  private func flush(_ lane: Lane, _ ticket: UInt64) {
    let awaitsRoom: Bool
    switch lane.connection.flush() {
    case .done: awaitsRoom = false
    case .more: awaitsRoom = true
    case .broken: return lane.lose(lane.connection.fault)
    }
    if awaitsRoom != lane.awaitsRoom {
      lane.awaitsRoom = awaitsRoom
      poll.change(lane.connection.socket, ticket: ticket, awaitsRoom: awaitsRoom)
    }
    // libpq reads while the socket has no room, and nobody would be woken for what it has read.
    lane.collect()
  }

  // MARK: What takes too long

  private func tick() {
    let now = monotonicMillis()
    for (_, lane) in lanes where lane.isSilent(at: now, options) { lane.lose("the server did not answer") }
    let gone = lanes.isEmpty ? reach.refusal(afterMillis: options.goneMillis) : nil
    while let why = readings.first.flatMap({ gone ?? overdue($0, now) }) { leave(readings.removeFirst()).refuse(why) }
    while let why = writings.first.flatMap({ gone ?? overdue($0, now) }) { leave(writings.removeFirst()).refuse(why) }
  }

  private func overdue(_ order: Order, _ now: Int64) -> StoreError? {
    now - order.sinceMillis < options.waitMillis ? nil : .unavailable("no connection was free in time")
  }

  private func replaceLost() {
    while let index = lanes.firstIndex(where: { $0.lane.isLost || ($0.lane.isWorn && $0.lane.isIdle) }) {
      leave(lanes.remove(at: index).lane)
      connector.want(inbox)
    }
  }

  private func leave(_ lane: Lane) {
    poll.unwatch(lane.connection.socket)
    lane.abandon()
    reach.lost(isLast: lanes.isEmpty)
  }
}

/// Orders that wait, the oldest first.
private struct Queue {
  private(set) var orders: ArraySlice<Order> = []

  var isEmpty: Bool { orders.isEmpty }
  var count: Int { orders.count }
  var first: Order? { orders.first }

  mutating func append(_ order: Order) { orders.append(order) }
  mutating func removeFirst() -> Order { orders.removeFirst() }
}
