internal import Reactor

/// Serves the metrics as text: GET or HEAD of /metrics over plain HTTP/1.1, one request a connection.
///
/// On a thread and reactor of its own, behind all others in priority, so that whoever scrapes too often disturbs nobody
/// but himself.
final class MetricsEndpoint: ReactorDriver {
  enum Letter: Sendable { case stop }

  private enum Phase {
    case reading(HTTPRequestReader)
    case writing([UInt8], sent: Int)
    /// All is said. What the client still sends is read and dropped, or its kernel would throw our answer away.
    case lingering
  }

  private struct Slot {
    var generation: UInt32 = 0
    var descriptor: Int32?
    var phase = Phase.lingering
  }

  private static let path = "/metrics"
  private static let listenerTicket = Ticket(slot: .max - 1, generation: 0)
  private static let readBytesMax = 4_096

  private let reactor: Reactor<MetricsEndpoint>
  private let listening: Listening
  private let metrics: ServerMetrics
  private let limits: Limits
  private let log: Log
  private var slots: [Slot]

  init(
    _ listening: Listening, mailbox: Mailbox<Letter>, metrics: ServerMetrics, limits: Limits, log: Log
  ) throws {
    self.listening = listening
    self.metrics = metrics
    self.limits = limits
    self.log = log
    slots = Array(repeating: Slot(), count: limits.metricsConnectionsMax)
    reactor = try Reactor(mailbox: mailbox)
    try reactor.watch(listening.descriptor, MetricsEndpoint.listenerTicket, read: true, write: false)
  }

  func run() {
    reactor.run(self)
    for slot in slots.indices { close(slot) }
  }

  func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    if ticket == MetricsEndpoint.listenerTicket { return accept() }
    guard let slot = current(ticket) else { return }
    switch slots[slot].phase {
    case .reading, .lingering: read(slot)
    case .writing: write(slot)
    }
  }

  /// A connection has had its time, whatever it did with it.
  func timerFired(_ ticket: Ticket, kind: UInt32) {
    guard let slot = current(ticket) else { return }
    if case .lingering = slots[slot].phase {} else { metrics.refused(.metricsTime) }
    close(slot)
  }

  func received(_ letter: Letter) { reactor.stop() }
  func decide() {}
  func endTurn() {}
  var hasLeftovers: Bool { false }

  private func current(_ ticket: Ticket) -> Int? {
    let slot = Int(ticket.slot)
    guard slot < slots.count, slots[slot].generation == ticket.generation, slots[slot].descriptor != nil else {
      return nil
    }
    return slot
  }

  private func accept() {
    switch listening.accept() {
    case .none, .gone, .exhausted: break
    case .turnedAway: metrics.reached(.descriptors)
    case .connection(let descriptor, _):
      guard let slot = slots.firstIndex(where: { $0.descriptor == nil }) else {
        metrics.refused(.metricsConnections)
        return closeDescriptor(descriptor)
      }
      slots[slot].descriptor = descriptor
      slots[slot].phase = .reading(HTTPRequestReader(headBytesMax: limits.metricsRequestBytesMax))
      let ticket = Ticket(slot: UInt32(slot), generation: slots[slot].generation)
      perform(slot) { try reactor.watch(descriptor, ticket, read: true, write: false) }
      reactor.startTimer(ticket, kind: 0, delayMillis: limits.metricsRequestMillis)
    }
  }

  private func read(_ slot: Int) {
    guard let descriptor = slots[slot].descriptor else { return }
    var bytes: [UInt8] = []
    switch receive(from: descriptor, into: &bytes, bytesMax: MetricsEndpoint.readBytesMax) {
    case .wait: return
    case .closed: return close(slot)
    case .done: break
    }
    guard case .reading(var reader) = slots[slot].phase else { return }
    switch reader.received(bytes) {
    case .wait: slots[slot].phase = .reading(reader)
    case .request(let request): say(slot, answer(request).bytes(forHead: request.method == "HEAD"))
    case .refuse(let status):
      metrics.refused(.metricsRequest)
      say(slot, HTTPResponse(status: status).bytes())
    }
  }

  private func answer(_ request: HTTPRequest) -> HTTPResponse {
    guard request.path == MetricsEndpoint.path else { return HTTPResponse(status: .notFound) }
    guard request.method == "GET" || request.method == "HEAD" else { return HTTPResponse(status: .methodNotAllowed) }
    return HTTPResponse(status: .ok, contentType: Exposition.contentType, body: metrics.registry.exposition())
  }

  private func say(_ slot: Int, _ bytes: [UInt8]) {
    slots[slot].phase = .writing(bytes, sent: 0)
    write(slot)
  }

  private func write(_ slot: Int) {
    guard let descriptor = slots[slot].descriptor, case .writing(let bytes, var sent) = slots[slot].phase else {
      return
    }
    while sent < bytes.count {
      switch send(bytes[sent...], to: descriptor) {
      case .done(let count): sent += count
      case .wait:
        slots[slot].phase = .writing(bytes, sent: sent)
        return watch(slot, read: false, write: true)
      case .closed: return close(slot)
      }
    }
    endSending(to: descriptor)
    slots[slot].phase = .lingering
    watch(slot, read: true, write: false)
  }

  private func watch(_ slot: Int, read: Bool, write: Bool) {
    guard let descriptor = slots[slot].descriptor else { return }
    let ticket = Ticket(slot: UInt32(slot), generation: slots[slot].generation)
    perform(slot) { try reactor.change(descriptor, ticket, read: read, write: write) }
  }

  private func perform(_ slot: Int, _ change: () throws -> Void) {
    do {
      try change()
    } catch {
      log.error("epoll refuses a metrics connection", ["why": "\(error)"])
      close(slot)
    }
  }

  /// The kernel stops watching a descriptor that is closed.
  private func close(_ slot: Int) {
    guard let descriptor = slots[slot].descriptor else { return }
    closeDescriptor(descriptor)
    slots[slot].descriptor = nil
    slots[slot].generation &+= 1
    slots[slot].phase = .lingering
  }
}
