// HookServer: a small gRPC server for hooks, for tests and simple rules (`latchkey hook serve`).
//
// Owns: the rules of a file and their answers, and the connections of their server.
// Does not own: frames (HTTP2), the rules of a call (GRPC), the messages (HookMessages), and the port of latchkeyd with
// its limits against hostile clients (Transport). This server requires a client certificate, and a client that presents
// none in time loses its connection.
// Read next: HookRules.swift.

internal import GRPC
internal import HookMessages
internal import HTTP2
internal import API
internal import Protobuf
package import Reactor
package import TLS

/// A server of one thread, which answers from memory.
package final class HookServer: ReactorDriver {
  /// There are no commands: the server runs until its process ends.
  package enum Command: Sendable {}

  private final class Connection {
    enum Phase {
      case handshaking
      case open(HTTP2.Session)
    }

    let descriptor: Int32
    let channel: Channel
    var ticket = Ticket(slot: 0, generation: 0)
    var phase = Phase.handshaking
    var output = SocketOutput()
    var interest = SocketInterest(read: true, write: false)

    init(_ descriptor: Int32, _ channel: Channel) {
      self.descriptor = descriptor
      self.channel = channel
    }
  }

  private final class StreamCall {
    var call = Call(messageBytesMax: HookServer.messageBytesMax, streams: false)
    let path: String

    init(_ path: String) { self.path = path }
  }

  private static let listenerTicket = Ticket(slot: .max - 1, generation: 0)
  private static let connectionsMax = 64
  private static let handshakeMillis: Int64 = 5_000
  private static let messageBytesMax = 1 << 20
  private static let readBytesMax = 16_384
  private static let writeBytesMax = 65_536

  private let reactor: Reactor<HookServer>
  private let listening: Listening
  private let context: TLSContext
  private let rules: HookRules
  private let arena = Arena(budgetBytes: 8 * messageBytesMax)
  private var connections = SlotTable<Connection>()

  /// Begins to listen.
  package init(_ rules: HookRules, _ socket: BoundSocket, _ tls: TLSSettings) throws {
    self.rules = rules
    ignoreBrokenPipes()
    context = try CurrentContext(tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis()).context
    listening = Listening(socket)
    reactor = try Reactor(commandQueue: try CommandQueue<Command>())
    try reactor.watch(listening.descriptor, HookServer.listenerTicket, read: true, write: false)
  }

  /// Serves until the process ends.
  package func run() { reactor.run(self) }

  package func received(_ command: Command) {}

  /// Ends a handshake that has taken too long, so that clients without a certificate cannot keep others out.
  package func timerFired(_ ticket: Ticket, kind: UInt32) {
    guard let connection = connections[ticket], case .handshaking = connection.phase else { return }
    close(connection)
  }

  package func decide() {}
  package func endTurn() {}
  package var hasLeftovers: Bool { false }

  package func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    if ticket == HookServer.listenerTicket { return accept() }
    guard let connection = connections[ticket] else { return }
    switch connection.phase {
    case .handshaking: handshake(connection)
    case .open(let session):
      if read(connection, session) { write(connection, session) }
    }
  }

  private func accept() {
    guard case .connection(let descriptor, _) = listening.accept() else { return }
    guard connections.count < HookServer.connectionsMax, let channel = Channel(context, descriptor: descriptor) else {
      return closeDescriptor(descriptor)
    }
    let connection = Connection(descriptor, channel)
    connection.ticket = connections.insert(connection)
    do {
      try reactor.watch(descriptor, connection.ticket, read: true, write: false)
      reactor.startTimer(connection.ticket, kind: 0, delayMillis: HookServer.handshakeMillis)
    } catch {
      close(connection)
    }
  }

  private func handshake(_ connection: Connection) {
    switch connection.channel.handshake() {
    case .done:
      guard connection.channel.speaksHTTP2,
        let session = HTTP2.Session(SessionLimits(), nowMillis: reactor.nowMillis)
      else { return close(connection) }
      connection.phase = .open(session)
      if read(connection, session) { write(connection, session) }
    case .wantRead: watch(connection, read: true, write: false)
    case .wantWrite: watch(connection, read: false, write: true)
    case .closed, .failed, .tooManyKeyUpdates: close(connection)
    }
  }

  /// Reads what is there and answers complete requests. Returns false if the connection is closed.
  private func read(_ connection: Connection, _ session: HTTP2.Session) -> Bool {
    while true {
      var bytes: [UInt8] = []
      switch connection.channel.read(into: &bytes, bytesMax: HookServer.readBytesMax) {
      case .done:
        guard session.feed(bytes, nowMillis: reactor.nowMillis) else {
          close(connection)
          return false
        }
        for stream in session.sink.takeTouched() { proceed(stream, session) }
      case .wantRead, .wantWrite: return true
      case .closed, .failed, .tooManyKeyUpdates:
        close(connection)
        return false
      }
    }
  }

  private func write(_ connection: Connection, _ session: HTTP2.Session) {
    while true {
      if connection.output.unsentBytes == 0 {
        connection.output.clear(keepingUpTo: HookServer.writeBytesMax)
        guard session.drain(into: &connection.output.bytes, bytesMax: HookServer.writeBytesMax), !session.isOver else {
          return close(connection)
        }
        if connection.output.bytes.isEmpty { return watch(connection, read: true, write: false) }
      }
      switch connection.channel.write(connection.output.unsent) {
      case .done(let count): connection.output.accepted(count)
      case .wantWrite: return watch(connection, read: true, write: true)
      case .wantRead: return watch(connection, read: true, write: false)
      case .closed, .failed, .tooManyKeyUpdates: return close(connection)
      }
    }
  }

  private func watch(_ connection: Connection, read: Bool, write: Bool) {
    guard connection.interest.watch(read: read, write: write) else { return }
    do {
      try reactor.change(connection.descriptor, connection.ticket, read: read, write: write)
    } catch {
      close(connection)
    }
  }

  private func close(_ connection: Connection) {
    connections.remove(connection.ticket)
    connection.channel.sayGoodbye()
    try? reactor.unwatch(connection.descriptor)
    closeDescriptor(connection.descriptor)
  }

  // MARK: Calls

  private func proceed(_ stream: HTTP2.Stream, _ session: HTTP2.Session) {
    guard stream.headersComplete, !stream.answered, !stream.isClosed else { return }
    guard let held = stream.call as? StreamCall ?? begin(stream, session) else { return }
    let body = stream.takeBody()
    session.consumed(stream, bytes: body.count)
    switch held.call.received(body, ended: stream.ended) {
    case .wait, .messages: break
    case .refuse(let refusal): refuse(refusal.status, stream, session)
    case .ready(let message): answer(message, held.path, stream, session)
    }
  }

  private func begin(_ stream: HTTP2.Stream, _ session: HTTP2.Session) -> StreamCall? {
    var reader = HeadReader()
    stream.headers.forEach { reader.field(name: $0, value: $1) }
    switch reader.finish() {
    case .success(let head):
      let held = StreamCall(String(decoding: head.path, as: UTF8.self))
      stream.call = held
      return held
    case .failure(let refusal):
      refuse(refusal.status, stream, session)
      return nil
    }
  }

  private func answer(_ message: Message, _ path: String, _ stream: HTTP2.Stream, _ session: HTTP2.Session) {
    let span = message.bytes.span.extracting(message.start..<message.end)
    do throws(ProtobufError) {
      let body: [UInt8]
      switch path {
      case HookRPC.beforeCreate.path:
        body = rules.answer(try BeforeCreateRequest.decode(span, arena: arena)).encode(arena: arena)
      case HookRPC.beforeSignIn.path:
        body = rules.answer(try BeforeSignInRequest.decode(span, arena: arena)).encode(arena: arena)
      case HookRPC.beforeSend.path:
        body = rules.answer(try BeforeSendRequest.decode(span, arena: arena)).encode(arena: arena)
      default: return refuse(GRPC.Status(.unimplemented, "no such method"), stream, session)
      }
      session.respond(stream, head: HookServer.head, body: body, trailers: PreparedHeaders(GRPC.Status(.ok).fields))
    } catch {
      refuse(GRPC.Status(.internal, "the message cannot be parsed"), stream, session)
    }
  }

  private static let headFields = [
    (name: ":status", value: Array("200".utf8)), (name: "content-type", value: Array("application/grpc".utf8)),
  ]
  private static let head = PreparedHeaders(headFields)

  private func refuse(_ status: GRPC.Status, _ stream: HTTP2.Stream, _ session: HTTP2.Session) {
    session.respondTrailersOnly(stream, PreparedHeaders(HookServer.headFields + status.fields))
  }
}
