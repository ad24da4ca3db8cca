import CProtobufC
import HTTP2
import Messages
import Synchronization
import Testing
import Wire

@testable import Client

private final class Seen {
  var servingStatus: UInt32?
  var code: StatusCode?
  var calls = 0
  let end: () -> Void
  init(_ end: @escaping () -> Void) { self.end = end }
}

private func text(_ bytes: Span<UInt8>) -> String {
  String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
}

/// Sends a health check by the generated function and waits for its closure.
private func check(_ server: TestServer, _ options: CallOptions = CallOptions()) throws -> (Seen, CallStatus) {
  let loop = try EventLoop()
  let connection = Connection(to: try endpoint(server), on: loop)
  let health = try Stub(.health, on: connection, options)
  let seen = Seen {
    connection.close()
    loop.stop()
  }
  var request = unsafe Grpc__Health__V1__HealthCheckRequest()
  unsafe grpc__health__v1__health_check_request__init(&request)
  unsafe grpc__health__v1__health__check(health.service, &request, { answer, context in
    let seen = unsafe Unmanaged<Seen>.fromOpaque(context!).takeUnretainedValue()
    seen.servingStatus = unsafe answer?.pointee.status.rawValue
    seen.calls += 1
    seen.end()
  }, Unmanaged.passUnretained(seen).toOpaque())
  #expect(health.lastCall != nil)
  loop.run()
  return (seen, health.status)
}

@Test func `a generated function sends its call, and its closure sees the answer`() throws {
  let server = try TestServer { stream, session in
    let answer = HealthCheckResponse(status: .serving).encode(arena: Arena(budgetBytes: 1_000))
    session.respond(stream, head: okHead, body: answer, trailers: okTrailers)
  }
  let (seen, status) = try check(server)
  #expect(seen.servingStatus == 1)
  #expect(seen.calls == 1)
  #expect(status == .ok)
}

@Test func `the closure of a call that failed sees no message, and the stub says why`() throws {
  let server = try TestServer { stream, session in
    session.respondTrailersOnly(
      stream, headers((":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5"),
        ("grpc-message", "no%20such thing")))
  }
  let (seen, status) = try check(server)
  #expect(seen.servingStatus == nil)
  #expect(seen.calls == 1)
  #expect(status == CallStatus(.notFound, "no such thing"))
}

@Test func `bytes that are no message of the method's type are the library's INTERNAL`() throws {
  let server = try TestServer { stream, session in
    session.respond(stream, head: okHead, body: framed([0x0a]), trailers: okTrailers)
  }
  let (seen, status) = try check(server)
  #expect(seen.calls == 1)
  #expect(status.code == .internal)
}

/// Watches by the generated function until `enough` messages have come, and for what comes after them.
private func watch(_ server: TestServer, enough: Int) throws -> (messages: Int, ends: Int, StatusCode) {
  final class Watching {
    var (messages, ends) = (0, 0)
    let enough: Int
    let health: Stub
    let end: () -> Void
    init(_ health: Stub, enough: Int, _ end: @escaping () -> Void) {
      (self.health, self.enough, self.end) = (health, enough, end)
    }
  }
  let loop = try EventLoop()
  let connection = Connection(to: try endpoint(server), on: loop)
  let watching = Watching(try Stub(.health, on: connection), enough: enough) {
    loop.after(millis: 50) {
      connection.close()
      loop.stop()
    }
  }
  var request = unsafe Grpc__Health__V1__HealthCheckRequest()
  unsafe grpc__health__v1__health_check_request__init(&request)
  unsafe grpc__health__v1__health__watch(watching.health.service, &request, { message, context in
    let watching = unsafe Unmanaged<Watching>.fromOpaque(context!).takeUnretainedValue()
    guard unsafe message != nil else {
      watching.ends += 1
      return watching.end()
    }
    watching.messages += 1
    if watching.messages == watching.enough, let call = watching.health.lastCall {
      watching.health.connection.cancel(call)
    }
  }, Unmanaged.passUnretained(watching).toOpaque())
  loop.run()
  return (watching.messages, watching.ends, watching.health.status.code)
}

private func message(_ status: HealthCheckResponse.ServingStatus) -> [UInt8] {
  HealthCheckResponse(status: status).encode(arena: Arena(budgetBytes: 1_000))
}

@Test func `the closure of a stream sees each message, and then its end`() throws {
  let server = try TestServer { stream, session in
    session.respond(stream, head: okHead, body: message(.serving) + message(.notServing), trailers: okTrailers)
  }
  #expect(try watch(server, enough: .max) == (2, 1, .ok))
}

@Test func `a stream that its closure cancels ends once, with CANCELLED`() throws {
  let server = try TestServer { stream, session in
    session.start(stream, okHead)
    session.send(stream, message(.serving) + message(.notServing))
  }
  let (messages, ends, code) = try watch(server, enough: 1)
  // What came in one piece with the message that was enough is still told.
  #expect(1...2 ~= messages && ends == 1 && code == .cancelled)
}

@Test func `a stream that its closure cancels once it has ended, ends as it did`() throws {
  let server = try TestServer { stream, session in
    session.respond(stream, head: okHead, body: message(.serving), trailers: okTrailers)
  }
  #expect(try watch(server, enough: 1) == (1, 1, .ok))
}

@Test func `a message of a stream that is none of its type is the library's INTERNAL`() throws {
  let server = try TestServer { stream, session in
    session.respond(stream, head: okHead, body: framed([0x0a]) + message(.serving), trailers: okTrailers)
  }
  #expect(try watch(server, enough: .max) == (0, 1, .internal))
}

@Test func `each method of a service goes to its own path, with the metadata of its stub`() throws {
  let seen = Mutex<[String]>([])
  let server = try TestServer { stream, session in
    stream.headers.forEach { name, value in
      let (name, value) = (text(name), text(value))
      if [":path", ":authority", "authorization", "grpc-timeout"].contains(name) {
        seen.withLock { $0.append("\(name) \(value)") }
      }
    }
    session.reset(stream, .cancel)
  }
  _ = try check(server, CallOptions(timeoutMillis: 5_000, metadata: [CallOptions.apiKey("lk_1")]))
  #expect(
    seen.withLock { $0 } == [
      ":path /grpc.health.v1.Health/Check", ":authority localhost:\(server.port)", "grpc-timeout 5000m",
      "authorization Bearer lk_1",
    ])
}

@Test(arguments: [("Authorization", "a"), ("grpc-timeout", "1S"), ("a-bin", "AA"), ("a", "é"), ("", "a"), ("te", "x")])
func `metadata that cannot be sent makes no stub`(name: String, value: String) throws {
  let server = try TestServer { _, _ in }
  let connection = Connection(to: try endpoint(server), on: try EventLoop())
  #expect(throws: MetadataError.self) { _ = try Stub(.auth, on: connection, CallOptions(metadata: [(name, value)])) }
  connection.close()
}
