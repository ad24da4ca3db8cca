import Certificates
import HTTP2
import Reactor
import TLS
import Testing
import API

@testable import Client

@Test func `a server's certificate is accepted for its name or its address`() throws {
  let server = try TestServer(serve)
  for host in ["localhost", "127.0.0.1"] { #expect(ask(try endpoint(server, host: host)).status == .ok) }
}

@Test(arguments: ["elsewhere.test", "127.0.0.2"])
func `a certificate for another name is refused, and the call was not processed`(name: String) throws {
  let server = try TestServer(serve)
  let status = ask(try endpoint(server) { $0.serverName = name }).status
  #expect(status.code == .unavailable)
  #expect(status.message.contains("mismatch"))
  #expect(status.wasNotProcessed)
  #expect(server.connections == 0)
}

@Test func `a server's certificate of an unknown authority is rejected`() throws {
  let server = try TestServer(certificate: "stranger", serve)
  let status = ask(try endpoint(server) { $0.serverName = "stranger.test" }).status
  #expect(status.code == .unavailable)
  #expect(status.message.contains("certificate"))
}

@Test func `a client presents a certificate if the server requires one`() throws {
  let server = try TestServer(clients: .required, serve)
  #expect(ask(try endpoint(server)).status.code == .unavailable)
  let named = try endpoint(server) {
    $0.certificateFile = Certificates.shared.path("uri.pem")
    $0.keyFile = Certificates.shared.path("uri.key")
  }
  #expect(ask(named).status == .ok)
}

@Test func `an endpoint that cannot be used names the setting at fault`() throws {
  let here = Certificates.shared
  func fault(_ change: (inout EndpointSettings) -> Void) -> String? {
    var settings = EndpointSettings(host: "localhost", port: 1, authorityFile: here.path("authority.pem"))
    change(&settings)
    do throws(EndpointError) {
      _ = try Endpoint(settings)
      return nil
    } catch {
      return error.setting
    }
  }
  #expect(fault { _ in } == nil)
  #expect(fault { $0.authorityFile = here.path("garbage.pem") } == "authority")
  #expect(fault { $0.certificateFile = here.path("none.pem") } == "certificate")
  #expect(
    fault {
      $0.certificateFile = here.path("uri.pem")
      $0.keyFile = here.path("dns.key")
    } == "key")
  #expect(fault { $0.host = "no such host.invalid" } == "host")
}

@Test func `without a listener a call fails with UNAVAILABLE and was not processed`() throws {
  let status = ask(try endpoint(port: 1)).status
  #expect(status.code == .unavailable)
  #expect(status.message.contains("Connection refused"))
  #expect(status.wasNotProcessed)
}

@Test func `an address that drops all packets leaves time for the next one`() throws {
  let server = try TestServer(serve)
  // Once its queue is full, the kernel drops every further SYN.
  let full = Listening(try BoundSocket(address: "127.0.0.2", port: server.port, backlog: 0))
  let queued = try (0..<4).map { _ in try beginConnection(address: "127.0.0.2", port: server.port) }
  defer {
    for descriptor in queued { closeDescriptor(descriptor) }
    withExtendedLifetime(full) {}
  }
  var settings = EndpointSettings(
    host: "localhost", port: server.port, authorityFile: Certificates.shared.path("authority.pem"))
  let addresses = ["127.0.0.2", "127.0.0.1"]
  settings.connectMillis = 4_000
  #expect(ask(try Endpoint(settings, addresses: addresses)).status == .ok)
  settings.connectMillis = 100
  #expect(ask(try Endpoint(settings, addresses: [addresses[0]])).status.message == "the connection timed out")
}

@Test func `connecting fails at its time limit`() throws {
  // The kernel accepts the connection, but no server answers.
  let silent = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 8)
  defer { withExtendedLifetime(Listening(silent)) {} }
  let status = ask(try endpoint(port: silent.port) { $0.connectMillis = 100 }).status
  #expect(status.code == .unavailable)
  #expect(status.wasNotProcessed)
}

@Test func `a deadline holds before the connection is made`() throws {
  let silent = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 8)
  defer { withExtendedLifetime(Listening(silent)) {} }
  let status = ask(try endpoint(port: silent.port), timeoutMillis: 100).status
  #expect(status.code == .deadlineExceeded)
  #expect(status.wasNotProcessed)
}

@Test func `calls that the server has begun are answered after its GOAWAY`() throws {
  let server = try TestServer { stream, session in
    // The server holds the first call until the second has arrived.
    guard stream.id == 3 else { return }
    session.shutDown(.drain)
    if let first = session.sink.stream(1) { serve(first, session) }
    serve(stream, session)
  }
  var reasons: [String] = []
  let outcomes = try askAtOnce(endpoint(server), count: 2) { connection, _, ended in
    if ended == 0 { connection.onUnusable = { reasons.append($0) } }
    if ended > 0 { #expect(!connection.isUsable) }
  }
  #expect(outcomes.map(\.status) == [.ok, .ok])
  #expect(reasons == ["the server is shutting down"])
}

@Test func `after GOAWAY a connection starts no call, and reports the call as not processed`() throws {
  let server = try TestServer { stream, session in
    session.shutDown(.drain)
    serve(stream, session)
  }
  let endpoint = try endpoint(server)
  let loop = try EventLoop()
  let connection = Connection(to: endpoint, on: loop)
  let head = try CallHead(path: rpc.path, endpoint, CallOptions())
  var statuses: [CallStatus] = []
  connection.onUnusable = { _ in
    let id = connection.begin(head, HealthCheckRequest()) { (outcome: Outcome) in
      statuses.append(outcome.status)
      loop.stop()
    }
    #expect(id == nil)
  }
  _ = connection.begin(head, HealthCheckRequest()) { (outcome: Outcome) in statuses.append(outcome.status) }
  loop.run()
  #expect(statuses.map(\.code) == [.ok, .unavailable])
  #expect(statuses.map(\.wasNotProcessed) == [false, true])
  connection.close()
}

@Test func `a call that was sent when its connection ended may have been processed`() throws {
  let server = try TestServer { stream, session in
    session.terminate(Fault(code: .internalError, debugData: "a fault"))
  }
  let status = ask(try endpoint(server)).status
  #expect(status.code == .unavailable)
  #expect(!status.wasNotProcessed)
}

@Test(arguments: [true, false])
func `a later handshake resumes the session of an earlier one, if enabled`(resumes: Bool) throws {
  let server = try TestServer(serve)
  let endpoint = try endpoint(server) { $0.resumesSessions = resumes }
  let loop = try EventLoop()
  let head = try CallHead(path: rpc.path, endpoint, CallOptions())
  var left = 3
  func connect() {
    let connection = Connection(to: endpoint, on: loop)
    _ = connection.begin(head, HealthCheckRequest()) { (outcome: Outcome) in
      #expect(outcome.status == .ok)
      #expect(connection.wasResumed == (resumes && left < 3))
      left -= 1
      loop.after(millis: 0) {
        connection.close()
        if left > 0 { connect() } else { loop.stop() }
      }
    }
  }
  connect()
  loop.run()
  #expect(server.resumptions == (resumes ? 2 : 0))
}

@Test func `other threads reach a loop through its remote`() throws {
  let loop = try EventLoop()
  let (remote, reached) = (loop.remote, ObjectIdentifier(loop))
  var isLate = false
  // Without this timer, a loop without events would run forever.
  loop.after(millis: 30_000) { [weak loop] in
    isLate = true
    loop?.stop()
  }
  startThread(named: "test") {
    remote.post { posted in
      #expect(ObjectIdentifier(posted) == reached)
      posted.stop()
    }
  }
  loop.run()
  #expect(!isLate)
}

@Test func `per-turn work runs in each turn, and can keep the loop awake`() throws {
  let loop = try EventLoop()
  var turns = 0
  loop.everyTurn = {
    turns += 1
    if turns == 1_000 { loop.stop() }
    return true
  }
  loop.run()
  #expect(turns == 1_000)
}
