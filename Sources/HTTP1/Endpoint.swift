// HTTP1: documents over HTTP/1.1, one request per connection.
//
// Owns: the endpoint with its places and limits, the request reader, the responses, the metrics document and the public
// keys documents.
// Does not own: the metrics (Observability), the keys (Tokens), the gRPC port (Transport).
// Read next: Places.swift, RequestReader.swift, KeysEndpoint.swift.

package import Observability
package import Reactor
package import TLS
internal import Text

/// Content and limits of one HTTP endpoint.
package struct HTTPSite: Sendable {
  package enum Refusal { case connections, request, time, descriptors }

  package struct Limits: Sendable {
    var connectionsMax: Int
    /// Maximum number of connections of one IPv4 address or IPv6 /64 network.
    var connectionsPerAddressMax: Int
    var requestBytesMax: Int
    /// Time from accepting a connection to the end of the response, including the handshake.
    var requestMillis: Int64

    package init(connectionsMax: Int, connectionsPerAddressMax: Int, requestBytesMax: Int, requestMillis: Int64) {
      self.connectionsMax = connectionsMax
      self.connectionsPerAddressMax = connectionsPerAddressMax
      self.requestBytesMax = requestBytesMax
      self.requestMillis = requestMillis
    }
  }

  /// Name in the log.
  var name: String
  var limits: Limits
  /// TLS context; `nil` for plain HTTP.
  package var tls: CurrentContext?
  package var refused: @Sendable (Refusal) -> Void
  package var answer: @Sendable (HTTPRequest) -> HTTPResponse
}

/// Server of documents over HTTP/1.1, one request per connection.
///
/// Runs on a reactor and thread of its own with a lower priority, so that frequent requests affect only their clients.
package final class HTTPEndpoint: ReactorDriver {
  package enum Command: Sendable { case stop }

  private final class Connection {
    enum Phase {
      case handshaking(HTTPSocket)
      case reading(HTTPSocket, HTTPRequestReader)
      case writing(HTTPSocket, [UInt8], sent: Int)
      /// The response is sent. Further input is read and discarded, otherwise the client's kernel would discard the
      /// response.
      case lingering
    }

    let descriptor: Int32
    let held: HTTPPlaces.Held
    var phase: Phase

    init(_ socket: HTTPSocket, _ held: HTTPPlaces.Held) {
      descriptor = socket.descriptor
      self.held = held
      phase = .handshaking(socket)
    }

    var ticket: Ticket { held.ticket }
  }

  private enum Time: UInt32 { case request, farewell, pause }

  private static let listenerTicket = Ticket(slot: .max - 1, generation: 0)
  private static let readBytesMax = 4_096
  /// Time to send the response to a slow request.
  private static let farewellMillis: Int64 = 1_000
  private static let pauseMillis: Int64 = 10

  private let reactor: Reactor<HTTPEndpoint>
  private let listening: Listening
  private let site: HTTPSite
  private let log: Log
  private var connections = SlotTable<Connection>()
  private var acceptedCount: UInt64 = 0

  package init(_ listening: Listening, commandQueue: CommandQueue<Command>, _ site: HTTPSite, log: Log) throws {
    self.listening = listening
    self.site = site
    self.log = log
    reactor = try Reactor(commandQueue: commandQueue)
    try reactor.watch(listening.descriptor, HTTPEndpoint.listenerTicket, read: true, write: false)
  }

  /// Starts a thread that serves the socket until `Command.stop`; returns the port.
  /// - Parameter ended: ends when the thread has closed the socket and all connections.
  package static func start(
    _ site: HTTPSite, on socket: BoundSocket, _ commandQueue: CommandQueue<Command>, ended: Completion, log: Log
  ) throws -> UInt16 {
    try startPart(named: site.name, niceness: 10) {
      var endpoint: HTTPEndpoint? = try HTTPEndpoint(Listening(socket), commandQueue: commandQueue, site, log: log)
      return {
        endpoint?.run()
        endpoint = nil
        ended.end()
      }
    }
    return socket.port
  }

  package func run() {
    reactor.run(self)
    for connection in connections.all { close(connection) }
  }

  package func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    if ticket == HTTPEndpoint.listenerTicket { return accept() }
    if let connection = connections[ticket] { proceed(connection) }
  }

  package func received(_ command: Command) { reactor.stop() }
  package func decide() {}
  package func endTurn() {}
  package var hasLeftovers: Bool { false }

  /// Handles the end of a connection's time or of the listener's pause.
  package func timerFired(_ ticket: Ticket, kind: UInt32) {
    if ticket == HTTPEndpoint.listenerTicket { return watchListener(true) }
    guard let connection = connections[ticket] else { return }
    guard kind == Time.request.rawValue else { return close(connection) }
    switch connection.phase {
    case .lingering: close(connection)
    case .reading(let socket, let reader) where reader.hasBegun:
      site.refused(.time)
      reactor.startTimer(ticket, kind: Time.farewell.rawValue, delayMillis: HTTPEndpoint.farewellMillis)
      say(connection, socket, HTTPResponse(status: .requestTimeout).bytes())
    case .handshaking, .reading, .writing:
      site.refused(.time)
      close(connection)
    }
  }

  private func accept() {
    switch listening.accept() {
    case .none, .gone: break
    case .exhausted: pause()
    case .turnedAway: site.refused(.descriptors)
    case .connection(let descriptor, let address):
      let network = Network.name(address)
      guard makeRoom(for: network, isLocal: HTTPPlaces.isLocal(address)),
        let socket = HTTPSocket(descriptor, tls: site.tls)
      else {
        site.refused(.connections)
        return closeDescriptor(descriptor)
      }
      acceptedCount += 1
      adopt(socket, HTTPPlaces.Held(ticket: connections.reserve(), network: network, number: acceptedCount))
    }
  }

  private func adopt(_ socket: HTTPSocket, _ held: HTTPPlaces.Held) {
    let connection = Connection(socket, held)
    connections.insert(connection, at: held.ticket)
    perform(connection) { try reactor.watch(connection.descriptor, held.ticket, read: true, write: false) }
    guard connections[held.ticket] != nil else { return }
    reactor.startTimer(held.ticket, kind: Time.request.rawValue, delayMillis: site.limits.requestMillis)
    proceed(connection)
  }

  /// Returns whether a new connection has a place. May close another connection for it.
  private func makeRoom(for network: String, isLocal: Bool) -> Bool {
    switch HTTPPlaces.decide(
      network: network, isLocal: isLocal, in: connections.all.map(\.held), placesMax: site.limits.connectionsMax,
      perAddressMax: site.limits.connectionsPerAddressMax)
    {
    case .refuse: return false
    case .take: return true
    case .replace(let ticket):
      site.refused(.connections)
      if let connection = connections[ticket] { close(connection) }
      return true
    }
  }

  /// Pauses accepting. A waiting connection that cannot be accepted would wake the reactor again immediately.
  private func pause() {
    watchListener(false)
    let ticket = HTTPEndpoint.listenerTicket
    reactor.startTimer(ticket, kind: Time.pause.rawValue, delayMillis: HTTPEndpoint.pauseMillis)
  }

  private func watchListener(_ read: Bool) {
    do {
      try reactor.change(listening.descriptor, HTTPEndpoint.listenerTicket, read: read, write: false)
    } catch {
      log.error("cannot change the \(site.name) listener in epoll", ["why": "\(error)"])
    }
  }

  private func proceed(_ connection: Connection) {
    switch connection.phase {
    case .handshaking(let socket): handshake(connection, socket)
    case .reading(let socket, let reader): read(connection, socket, reader)
    case .writing(let socket, let bytes, let sent): write(connection, socket, bytes, sent: sent)
    case .lingering: drop(connection)
    }
  }

  private func handshake(_ connection: Connection, _ socket: HTTPSocket) {
    switch socket.handshake() {
    case .done: read(connection, socket, HTTPRequestReader(headBytesMax: site.limits.requestBytesMax))
    case .wantRead: watch(connection, read: true, write: false)
    case .wantWrite: watch(connection, read: false, write: true)
    case .closed: close(connection)
    }
  }

  /// Reads until no input is left, since epoll does not report bytes that libssl has read. The size limit ends the loop
  /// too.
  private func read(_ connection: Connection, _ socket: HTTPSocket, _ reader: HTTPRequestReader) {
    var reader = reader
    while true {
      var bytes: [UInt8] = []
      switch socket.read(into: &bytes, bytesMax: HTTPEndpoint.readBytesMax) {
      case .done: break
      case .closed: return close(connection)
      case .wantRead:
        connection.phase = .reading(socket, reader)
        return watch(connection, read: true, write: false)
      case .wantWrite:
        connection.phase = .reading(socket, reader)
        return watch(connection, read: false, write: true)
      }
      switch reader.received(bytes) {
      case .wait: continue
      case .request(let request):
        return say(connection, socket, site.answer(request).bytes(forHead: request.method == "HEAD"))
      case .refuse(let status):
        site.refused(.request)
        return say(connection, socket, HTTPResponse(status: status).bytes())
      }
    }
  }

  private func say(_ connection: Connection, _ socket: HTTPSocket, _ bytes: [UInt8]) {
    write(connection, socket, bytes, sent: 0)
  }

  private func write(_ connection: Connection, _ socket: HTTPSocket, _ bytes: [UInt8], sent: Int) {
    var sent = sent
    while sent < bytes.count {
      switch socket.write(bytes[sent...]) {
      case .done(let count): sent += count
      case .closed: return close(connection)
      case .wantWrite:
        connection.phase = .writing(socket, bytes, sent: sent)
        return watch(connection, read: false, write: true)
      case .wantRead:
        connection.phase = .writing(socket, bytes, sent: sent)
        return watch(connection, read: true, write: false)
      }
    }
    socket.sayGoodbye()
    connection.phase = .lingering
    watch(connection, read: true, write: false)
  }

  private func drop(_ connection: Connection) {
    var bytes: [UInt8] = []
    let step = receive(from: connection.descriptor, into: &bytes, bytesMax: HTTPEndpoint.readBytesMax)
    if step == .closed { close(connection) }
  }

  private func watch(_ connection: Connection, read: Bool, write: Bool) {
    perform(connection) { try reactor.change(connection.descriptor, connection.ticket, read: read, write: write) }
  }

  private func perform(_ connection: Connection, _ change: () throws -> Void) {
    do {
      try change()
    } catch {
      log.error("cannot watch a \(site.name) connection in epoll", ["why": "\(error)"])
      close(connection)
    }
  }

  /// Closes a connection. The kernel then removes its descriptor from epoll.
  private func close(_ connection: Connection) {
    guard connections.remove(connection.ticket) != nil else { return }
    closeDescriptor(connection.descriptor)
  }
}
