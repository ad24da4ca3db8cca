import CLinux
import Certificates
import Glibc
import Reactor

@testable import TLS

extension TLSContext {
  /// A context that shares its ticket keys with no other.
  convenience init(_ settings: TLSSettings) throws(TLSError) {
    try self.init(settings, ticketKeys: TicketKeys(nowMillis: 0), wallMillis: wallMillis())
  }
}

extension Certificates {
  func settings(
    certificate: String = "server.pem", key: String = "server.key", authority: String = "authority.pem",
    clients: ClientCertificates = .none, tls13Only: Bool = false
  ) -> TLSSettings {
    TLSSettings(
      certificateFile: path(certificate), keyFile: path(key), clientAuthorityFile: path(authority),
      clientCertificates: clients, tls13Only: tls13Only)
  }
}

/// The course of a connection, seen from both sides.
struct Meeting: Sendable {
  /// The result of the handshake.
  var handshake = ChannelStep.wantRead
  var peerName = PeerName.none
  var isResumed = false
  var heard: [UInt8] = []
  /// The end of reading.
  var end = ChannelStep.wantRead
  var client = ""

  /// Connects `openssl s_client`, which sends a greeting, to a channel that answers "welcome". The client disconnects
  /// after its text, or waits for the server if `serverEnds` is set.
  static func of(
    _ context: TLSContext, _ arguments: [String] = ["-alpn", "h2"], serverEnds: Bool = false
  ) async throws -> Meeting {
    let socket = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 8)
    let here = Certificates.shared
    async let client = onThread {
      run(
        "openssl",
        ["s_client", "-connect", "127.0.0.1:\(socket.port)", "-CAfile", here.path("authority.pem"), "-brief"]
          + ["-verify_return_error", "-verify_hostname", "localhost"] + (serverEnds ? ["-ign_eof"] : []) + arguments,
        input: here.path("hello"))
    }
    var meeting = await onThread { serve(Listening(socket), context, endsAfter: serverEnds ? 6 : .max) }
    meeting.client = await client
    return meeting
  }

  private static func serve(_ listening: Listening, _ context: TLSContext, endsAfter bytes: Int) -> Meeting {
    var meeting = Meeting()
    wait(listening.descriptor, POLLIN)
    guard case .connection(let descriptor, _) = listening.accept() else { return meeting }
    defer { lk_close(descriptor) }
    guard let channel = Channel(context, descriptor: descriptor) else { return meeting }
    meeting.handshake = settle(descriptor) { channel.handshake() }
    guard case .done = meeting.handshake else { return meeting }
    meeting.peerName = channel.peerName
    meeting.isResumed = channel.isResumed
    let welcome = Array("welcome".utf8)
    _ = settle(descriptor) { channel.write(welcome[...]) }
    var buffer = [UInt8](repeating: 0, count: 3)
    while meeting.heard.count < bytes {
      meeting.end = settle(descriptor) { unsafe buffer.withUnsafeMutableBytes { unsafe channel.read(into: $0) } }
      guard case .done(let count) = meeting.end else { break }
      meeting.heard += buffer[..<count]
    }
    channel.sayGoodbye()
    return meeting
  }

  /// Repeats a step until it no longer waits for the socket.
  private static func settle(_ descriptor: Int32, _ step: () -> ChannelStep) -> ChannelStep {
    while true {
      let result = step()
      switch result {
      case .wantRead: wait(descriptor, POLLIN)
      case .wantWrite: wait(descriptor, POLLOUT)
      default: return result
      }
    }
  }

  private static func wait(_ descriptor: Int32, _ event: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    let ready = unsafe poll(&entry, 1, 10_000)
    precondition(ready == 1, "the client does nothing")
  }
}

private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    startThread(named: "test") { continuation.resume(returning: body()) }
  }
}
