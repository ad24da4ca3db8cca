import CLinux
import Certificates
import GRPC
import Glibc
import HTTP2
import Reactor
import Synchronization
import TLS

/// A server of our own parts on a thread, which answers each whole request as a test wants it.
final class TestServer: Sendable {
  /// Runs on the server's thread.
  typealias Answering = @Sendable (HTTP2.Stream, Session) -> Void

  let port: UInt16
  /// Handshakes that took up an earlier session.
  let resumptions = Atomic<Int>(0)
  let connections = Atomic<Int>(0)
  /// Streams that a client reset, in the order of their ids.
  let resets = Mutex<[Int32]>([])
  private let stopped = Atomic<Bool>(false)
  private let answering: Answering
  private let streamsMax: Int

  init(
    certificate: String = "server", clients: ClientCertificates = .none, streamsMax: Int = 100,
    _ answering: @escaping Answering
  ) throws {
    self.answering = answering
    self.streamsMax = streamsMax
    let here = Certificates.shared
    let context = try TLSContext(
      TLSSettings(
        certificateFile: here.path(certificate + ".pem"), keyFile: here.path(certificate + ".key"),
        clientAuthorityFile: clients == .none ? "" : here.path("authority.pem"), clientCertificates: clients))
    let socket = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 64)
    port = socket.port
    startThread(named: "test-server") { [self] in
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
  }

  deinit { stop() }

  func stop() { stopped.store(true, ordering: .relaxed) }

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
    if channel.wasResumed { resumptions.add(1, ordering: .relaxed) }
    var limits = SessionLimits()
    limits.streamsMax = streamsMax
    guard let session = Session(limits, nowMillis: 0) else { return }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while !stopped.load(ordering: .relaxed) {
      guard say(session, descriptor, channel), !session.isOver else { return channel.sayGoodbye() }
      guard channel.hasPending || wait(descriptor, POLLIN, millis: 20) else { continue }
      switch unsafe buffer.withUnsafeMutableBytes({ unsafe channel.read(into: $0) }) {
      case .done(let count):
        guard unsafe buffer[..<count].withUnsafeBytes({ unsafe session.feed($0, nowMillis: 0) }) else { return }
        heed(session)
      case .wantRead, .wantWrite: continue
      case .closed, .failed: return
      }
    }
  }

  private func heed(_ session: Session) {
    for stream in session.sink.takeTouched() {
      session.consumed(stream, bytes: stream.takeBody().count)
      if let code = stream.closedWith, code != .noError { resets.withLock { $0.append(stream.id) } }
      if stream.ended, !stream.answered { answering(stream, session) }
    }
  }

  /// False: nobody listens any more.
  private func say(_ session: Session, _ descriptor: Int32, _ channel: Channel) -> Bool {
    var out: [UInt8] = []
    guard session.drain(into: &out, bytesMax: .max) else { return false }
    var start = 0
    while start < out.count {
      switch unsafe out.withUnsafeBytes({ unsafe channel.write(UnsafeRawBufferPointer(rebasing: $0[start...])) }) {
      case .done(let count): start += count
      case .wantWrite: guard wait(descriptor, POLLOUT) else { return false }
      case .wantRead: guard wait(descriptor, POLLIN) else { return false }
      case .closed, .failed: return false
      }
    }
    return true
  }

  private func wait(_ descriptor: Int32, _ event: Int32, millis: Int32 = 10_000) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    return unsafe poll(&entry, 1, millis) == 1
  }
}

// MARK: What a server says

func headers(_ fields: (String, String)...) -> PreparedHeaders {
  PreparedHeaders(fields.map { ($0.0, Array($0.1.utf8)) })
}

let okHead = headers((":status", "200"), ("content-type", "application/grpc"))
let okTrailers = headers(("grpc-status", "0"))

/// A message behind its frame head.
func framed(_ message: [UInt8], flag: UInt8 = 0) -> [UInt8] {
  [flag] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: message.count >> $0) } + message
}
