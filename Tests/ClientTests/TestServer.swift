import CLinux
import Certificates
import GRPC
import Glibc
import HTTP2
import Reactor
import Synchronization
import TLS

/// A server made of our own modules, which answers each complete request as a test specifies. It stops with its last
/// reference, since its threads hold only the shared state.
final class TestServer: Sendable {
  let port: UInt16
  private let shared: Shared

  init(
    certificate: String = "server", clients: ClientCertificates = .none, _ answering: @escaping Shared.Answering
  ) throws {
    shared = Shared(answering)
    let here = Certificates.shared
    let settings = TLSSettings(
      certificateFile: here.path(certificate + ".pem"), keyFile: here.path(certificate + ".key"),
      clientAuthorityFile: clients == .none ? "" : here.path("authority.pem"), clientCertificates: clients)
    let context = try CurrentContext(
      settings, wallMillis: wallMillis(), monotonicMillis: monotonicMillis()).context
    let socket = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 64)
    port = socket.port
    startThread(named: "test-server") { [shared] in shared.listen(socket, context) }
  }

  deinit { shared.stopped.store(true, ordering: .relaxed) }

  var connections: Int { shared.connections.load(ordering: .relaxed) }

  /// The number of handshakes that resumed a session.
  var resumptions: Int { shared.resumptions.load(ordering: .relaxed) }

  /// Waits until clients have reset this many streams. Returns false after a timeout.
  func sawResets(_ count: Int) -> Bool {
    for _ in 0..<6_000 where shared.resets.load(ordering: .relaxed) < count { usleep(10_000) }
    return shared.resets.load(ordering: .relaxed) == count
  }
}

/// The state that the threads of one server share.
final class Shared: Sendable {
  /// Runs on the server's thread.
  typealias Answering = @Sendable (HTTP2.Stream, Session) -> Void

  let stopped = Atomic<Bool>(false)
  let connections = Atomic<Int>(0)
  let resumptions = Atomic<Int>(0)
  let resets = Atomic<Int>(0)
  private let answering: Answering

  init(_ answering: @escaping Answering) { self.answering = answering }

  func listen(_ socket: BoundSocket, _ context: TLSContext) {
    let listening = Listening(socket)
    while !stopped.load(ordering: .relaxed) {
      guard wait(listening.descriptor, POLLIN, millis: 20) else { continue }
      guard case .connection(let descriptor, _) = listening.accept() else { continue }
      startThread(named: "test-connection") { [self] in
        serve(descriptor, context)
        lk_close(descriptor)
      }
    }
  }

  private func serve(_ descriptor: Int32, _ context: TLSContext) {
    guard let channel = Channel(context, descriptor: descriptor) else { return }
    while true {
      switch channel.handshake() {
      case .wantRead: guard wait(descriptor, POLLIN) else { return }
      case .wantWrite: guard wait(descriptor, POLLOUT) else { return }
      case .done: return converse(descriptor, channel)
      default: return
      }
    }
  }

  private func converse(_ descriptor: Int32, _ channel: Channel) {
    connections.add(1, ordering: .relaxed)
    if channel.isResumed { resumptions.add(1, ordering: .relaxed) }
    guard let session = Session(SessionLimits(), nowMillis: 0) else { return }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while !stopped.load(ordering: .relaxed) {
      guard say(session, descriptor, channel), !session.isOver else { return channel.sayGoodbye() }
      guard channel.hasPending || wait(descriptor, POLLIN, millis: 20) else { continue }
      switch unsafe buffer.withUnsafeMutableBytes({ unsafe channel.read(into: $0) }) {
      case .done(let count):
        guard unsafe buffer[..<count].withUnsafeBytes({ unsafe session.feed($0, nowMillis: 0) }) else { return }
        heed(session)
      case .wantRead, .wantWrite: continue
      case .closed, .failed, .tooManyKeyUpdates: return
      }
    }
  }

  private func heed(_ session: Session) {
    for stream in session.sink.takeTouched() {
      session.consumed(stream, bytes: stream.takeBody().count)
      if stream.closedWith == .cancel { resets.add(1, ordering: .relaxed) }
      if stream.ended, !stream.answered { answering(stream, session) }
    }
  }

  /// Sends the session's output. Returns false when the connection is closed.
  private func say(_ session: Session, _ descriptor: Int32, _ channel: Channel) -> Bool {
    var out: [UInt8] = []
    guard session.drain(into: &out, bytesMax: .max) else { return false }
    var start = 0
    while start < out.count {
      switch channel.write(out[start...]) {
      case .done(let count): start += count
      case .wantWrite: guard wait(descriptor, POLLOUT) else { return false }
      case .wantRead: guard wait(descriptor, POLLIN) else { return false }
      case .closed, .failed, .tooManyKeyUpdates: return false
      }
    }
    return true
  }

  private func wait(_ descriptor: Int32, _ event: Int32, millis: Int32 = 10_000) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    return unsafe poll(&entry, 1, millis) == 1
  }
}

// MARK: Responses

func headers(_ fields: (String, String)...) -> PreparedHeaders {
  PreparedHeaders(fields.map { ($0.0, Array($0.1.utf8)) })
}

let okHead = headers((":status", "200"), ("content-type", "application/grpc"))
let okTrailers = headers(("grpc-status", "0"))

/// A message with its gRPC frame header.
func framed(_ message: [UInt8], flag: UInt8 = 0) -> [UInt8] {
  [flag] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: message.count >> $0) } + message
}
