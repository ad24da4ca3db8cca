import CLinux
import Glibc
import Reactor

@testable import TLS

/// Runs a program to its end and returns all that it said.
@discardableResult
func run(_ program: String, _ arguments: [String], input: String = "/dev/null") -> String {
  var (child, ends): (pid_t, [Int32]) = (0, [0, 0])
  unsafe precondition(pipe(&ends) == 0, "no pipe")
  var actions = unsafe posix_spawn_file_actions_t()
  unsafe posix_spawn_file_actions_init(&actions)
  unsafe posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
  unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
  unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
  var words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
  let code = unsafe posix_spawnp(&child, program, &actions, nil, &words, environ)
  precondition(code == 0, "\(program) is needed by these tests")
  for unsafe word in unsafe words { unsafe free(word) }
  unsafe posix_spawn_file_actions_destroy(&actions)
  lk_close(ends[1])
  var said: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4_096)
  while case let count = unsafe lk_read(ends[0], &buffer, buffer.count), count > 0 { said += buffer[..<Int(count)] }
  lk_close(ends[0])
  waitpid(child, nil, 0)
  return String(decoding: said, as: UTF8.self)
}

extension TLSContext {
  /// A context that shares its ticket keys with no other.
  convenience init(_ settings: TLSSettings) throws(TLSError) {
    try self.init(settings, ticketKeys: TicketKeys(nowMillis: 0), wallMillis: wallMillis())
  }
}

/// An authority, what it signed, and what it did not; made once a run by the openssl command.
struct Certificates {
  static let shared = Certificates()

  let folder: String

  private init() {
    let template = Array("/tmp/latchkey-tls.XXXXXX".utf8CString)
    folder = unsafe template.withUnsafeBufferPointer { unsafe String(cString: mkdtemp(strdup($0.baseAddress!))) }
    authority("authority")
    authority("other-authority")
    leaf("server", names: "DNS:localhost")
    leaf("uri", names: "DNS:first.test,URI:spiffe://corp.test/caller,URI:spiffe://corp.test/second")
    leaf("dns", names: "DNS:only.test,DNS:second.test,email:a@b.test")
    leaf("nameless", names: nil)
    leaf("stranger", names: "DNS:stranger.test", by: "other-authority")
    leaf("second", names: "DNS:localhost")
    leaf("middle", names: nil)
    leaf("below-middle", names: "DNS:localhost", by: "middle")
    leaf("client-only", names: "DNS:localhost", more: ["-addext", "extendedKeyUsage=clientAuth"])
    join(["below-middle.pem", "middle.pem", "authority.pem"], into: "chain.pem")
    join(["middle.pem", "below-middle.pem"], into: "root-first.pem")
    join(["below-middle.pem", "authority.pem"], into: "gap.pem")
    join(["authority.pem", "other-authority.pem"], into: "two-authorities.pem")
    run("openssl", ["ec", "-in", path("server.key"), "-aes128", "-passout", "pass:x", "-out", path("locked.key")])
    run(
      "openssl",
      ["pkcs8", "-topk8", "-in", path("server.key"), "-passout", "pass:x", "-out", path("locked-pkcs8.key")])
    run("mkfifo", [path("pipe.pem")])
    run("openssl", ["genpkey", "-algorithm", "ED25519", "-out", path("other-kind.key")])
    write("garbage.pem", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    write("empty.pem", "")
    write("hello", "hello\n")
    atexit { run("rm", ["-rf", Certificates.shared.folder]) }
  }

  func path(_ name: String) -> String { folder + "/" + name }

  private func authority(_ name: String) { make(name, []) }

  private func leaf(_ name: String, names: String?, by authority: String = "authority", more: [String] = []) {
    let signed = ["-CA", path(authority + ".pem"), "-CAkey", path(authority + ".key")]
    make(name, signed + more + (names.map { ["-addext", "subjectAltName=" + $0] } ?? []))
  }

  private func join(_ names: [String], into whole: String) {
    write(whole, run("cat", names.map(path)))
  }

  private func make(_ name: String, _ more: [String]) {
    run(
      "openssl",
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-subj", "/CN=" + name, "-keyout", path(name + ".key"), "-out", path(name + ".pem")] + more)
  }

  private func write(_ name: String, _ text: String) { rewrite(path(name), text) }

  /// In place: the file stays the same one.
  func rewrite(_ path: String, _ text: String) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    writeAll(Array(text.utf8), to: file)
    lk_close(file)
  }

  func settings(
    certificate: String = "server.pem", key: String = "server.key", authority: String = "authority.pem",
    clients: ClientCertificates = .none, tls13Only: Bool = false
  ) -> TLSSettings {
    TLSSettings(
      certificateFile: path(certificate), keyFile: path(key), clientAuthorityFile: path(authority),
      clientCertificates: clients, tls13Only: tls13Only)
  }
}

/// How a connection went, from both its ends.
struct Meeting: Sendable {
  /// What the handshake came to.
  var handshake = ChannelStep.wantRead
  var peerName = PeerName.none
  var isResumed = false
  var heard: [UInt8] = []
  /// What ended the reading.
  var end = ChannelStep.wantRead
  var client = ""

  /// Lets `openssl s_client` say hello to a channel that answers "welcome". The client goes after its word, or where
  /// `serverEnds` stays until the server does.
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
    _ = settle(descriptor) { unsafe welcome.withUnsafeBytes { unsafe channel.write($0) } }
    var buffer = [UInt8](repeating: 0, count: 3)
    while meeting.heard.count < bytes {
      meeting.end = settle(descriptor) { unsafe buffer.withUnsafeMutableBytes { unsafe channel.read(into: $0) } }
      guard case .done(let count) = meeting.end else { break }
      meeting.heard += buffer[..<count]
    }
    channel.sayGoodbye()
    return meeting
  }

  /// Repeats a step until it no longer wants the socket.
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
