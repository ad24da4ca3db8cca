import GRPC
import HTTP2
import Testing
import API
import Protobuf

@testable import Client

@Test func `many concurrent calls on one connection are all answered, even past the server's stream limit`() throws {
  let server = try TestServer(serve)
  let outcomes = try askAtOnce(endpoint(server), count: 500)
  #expect(outcomes.count == 500)
  #expect(outcomes.allSatisfy { (try? $0.get().status) == .serving })
}

@Test func `many connections live on one loop`() throws {
  let server = try TestServer(serve)
  let endpoint = try endpoint(server)
  let loop = try EventLoop()
  let head = try CallHead(path: rpc.path, endpoint, CallOptions())
  let connections = (0..<20).map { _ in Connection(to: endpoint, on: loop) }
  var (answered, left) = (0, 400)
  for index in 0..<400 {
    _ = connections[index % 20].begin(head, HealthCheckRequest()) { (outcome: Outcome) in
      if outcome.status == .ok { answered += 1 }
      left -= 1
      if left == 0 {
        for connection in connections { connection.close() }
        loop.stop()
      }
    }
  }
  loop.run()
  #expect(answered == 400)
  #expect(server.connections == 20)
}

@Test(arguments: [
  (0, StatusCode.internal), (1, .internal), (2, .internal), (3, .internal), (4, .internal), (5, .internal),
  (6, .internal), (7, .unavailable), (8, .cancelled), (9, .internal), (10, .internal), (11, .resourceExhausted),
  (12, .permissionDenied), (13, .unknown),
] as [(UInt32, StatusCode)])
func `a stream that the server resets ends its call with the status of the code`(
  code: UInt32, status: StatusCode
) throws {
  let server = try TestServer { stream, session in session.reset(stream, ErrorCode(rawValue: code)) }
  let ended = ask(try endpoint(server)).status
  #expect(ended.code == status)
  #expect(ended.wasNotProcessed == (code == ErrorCode.refusedStream.rawValue))
}

@Test(arguments: [
  ("200", StatusCode.unknown), ("400", .internal), ("401", .unauthenticated), ("403", .permissionDenied),
  ("404", .unimplemented), ("429", .unavailable), ("431", .internal), ("500", .unknown), ("502", .unavailable),
  ("503", .unavailable), ("504", .unavailable),
])
func `an answer without grpc-status has the status of its HTTP status`(http: String, status: StatusCode) throws {
  let server = try TestServer { stream, session in
    session.respondTrailersOnly(stream, headers((":status", http), ("content-type", "text/html")))
  }
  let ended = ask(try endpoint(server)).status
  #expect(ended.code == status)
  #expect(ended.message.contains(http))
}

@Test func `an error has its reason, its fields and its retry delay`() throws {
  let arena = Arena(budgetBytes: 10_000)
  let details = API.Status(
    code: 3, message: "no",
    details: [
      ErrorInfo(reason: "INVALID_FIELD", domain: "latchkey", metadata: ["a": "b"]).asAny(arena: arena),
      BadRequest(fieldViolations: [.init(field: "email", description: "is missing")]).asAny(arena: arena),
      RetryInfo(retryDelayMillis: 1_500).asAny(arena: arena), AnyMessage(typeURL: "x/y", value: [1, 2, 3]),
    ]
  ).encodeBare(arena: arena)
  let status = Status(Status.Code(rawValue: 3), "no", details: details)
  let server = try TestServer { stream, session in
    let head = [(name: ":status", value: Array("200".utf8)), ("content-type", Array("application/grpc".utf8))]
    session.respondTrailersOnly(stream, PreparedHeaders(head + status.fields))
  }
  let ended = ask(try endpoint(server)).status
  #expect(ended.code == .invalidArgument)
  #expect(ended.message == "no")
  #expect(ended.reason == "INVALID_FIELD")
  #expect(ended.metadata == ["a": "b"])
  #expect(ended.fieldViolations == [.init(field: "email", description: "is missing")])
  #expect(ended.retryAfterMillis == 1_500)
  #expect(!ended.wasNotProcessed)
}

@Test(arguments: [0, 1])
func `an answer is taken up to its limit, and not past it`(excess: Int) throws {
  let message = HealthCheckResponse(status: .serving).encodeBare(arena: Arena(budgetBytes: 1_000))
  // An unknown field that fills the message up to its limit.
  let filler = [0x7a, 0x80 + UInt8((995 + excess) & 0x7f), UInt8((995 + excess) >> 7)]
  let full = message + filler + [UInt8](repeating: 0, count: 995 + excess)
  #expect(full.count == 1_000 + excess)
  let server = try TestServer { stream, session in
    session.respond(stream, head: okHead, body: framed(full), trailers: okTrailers)
  }
  let outcome = ask(try endpoint(server) { $0.answerBytesMax = 1_000 })
  #expect(outcome.status.code == (excess == 0 ? .ok : .resourceExhausted))
}

@Test func `a call without an answer ends at its deadline and resets its stream`() throws {
  let server = try TestServer { _, _ in }
  let endpoint = try endpoint(server)
  let loop = try EventLoop()
  let connection = Connection(to: endpoint, on: loop)
  let head = try CallHead(path: rpc.path, endpoint, CallOptions(timeoutMillis: 150))
  var codes: [StatusCode] = []
  // The calls begin after the handshake, which may be slow, so that each is sent before its deadline.
  connection.onOpen = {
    for _ in 0..<3 {
      _ = connection.begin(head, HealthCheckRequest()) { (outcome: Outcome) in
        codes.append(outcome.status.code)
        if codes.count == 3 { connection.close() }
      }
    }
  }
  connection.onUnusable = { _ in loop.stop() }
  loop.run()
  #expect(codes == [.deadlineExceeded, .deadlineExceeded, .deadlineExceeded])
  #expect(server.sawResets(3))
}

@Test func `deadlines fire in order of time, not in the order of the calls`() throws {
  let server = try TestServer { _, _ in }
  let endpoint = try endpoint(server)
  let loop = try EventLoop()
  let connection = Connection(to: endpoint, on: loop)
  var order: [Int64] = []
  for millis in [300, 100, 200] as [Int64] {
    let head = try CallHead(path: rpc.path, endpoint, CallOptions(timeoutMillis: millis))
    _ = connection.begin(head, HealthCheckRequest()) { (outcome: Outcome) in
      #expect(outcome.status.code == .deadlineExceeded)
      order.append(millis)
      if order.count == 3 {
        connection.close()
        loop.stop()
      }
    }
  }
  loop.run()
  #expect(order == [100, 200, 300])
}

@Test func `a cancelled call ends immediately and resets its stream, and other calls continue`() throws {
  // The first call gets no answer.
  let server = try TestServer { stream, session in if stream.id > 1 { serve(stream, session) } }
  let outcomes = try askAtOnce(endpoint(server), count: 3) { connection, ids, ended in
    if ended == 2 { connection.cancel(ids[0]) }
  }
  #expect(outcomes.map(\.status.code) == [.cancelled, .ok, .ok])
  #expect(server.sawResets(1))
}

@Test func `a completion may begin the next call, and never runs before that has returned`() throws {
  let server = try TestServer(serve)
  let endpoint = try endpoint(server)
  let loop = try EventLoop()
  let connection = Connection(to: endpoint, on: loop)
  let head = try CallHead(path: rpc.path, endpoint, CallOptions())
  var (left, depth) = (50, 0)
  func next() {
    depth += 1
    _ = connection.begin(head, HealthCheckRequest()) { (outcome: Outcome) in
      #expect(depth == 0)
      #expect(outcome.status == .ok)
      left -= 1
      guard left == 0 else { return next() }
      connection.close()
      loop.stop()
    }
    depth -= 1
  }
  next()
  loop.run()
  #expect(left == 0)
}

@Test func `each answer may lead to the next call on the connection, until one does not`() throws {
  let server = try TestServer(serve)
  var answers = 0
  try Caller(try endpoint(server)).calls(rpc) { answer in
    if answer?.status == .serving { answers += 1 }
    return answers < 5 ? HealthCheckRequest() : nil
  }
  #expect(answers == 5 && server.connections == 1)
}

@Test func `a sequence of calls ends with the first that fails or cannot start`() throws {
  let server = try TestServer { stream, session in session.reset(stream, .cancel) }
  let caller = Caller(try endpoint(server))
  #expect(throws: CallStatus.self) {
    try caller.calls(rpc) { _ in HealthCheckRequest() }
  }
  struct NotMade: Error {}
  #expect(throws: NotMade.self) {
    try caller.calls(rpc) { _ -> HealthCheckRequest? in throw NotMade() }
  }
}

@Test(arguments: [0, 1, 3])
func `a streaming call delivers each message`(count: Int) throws {
  let server = try TestServer { stream, session in
    let arena = Arena(budgetBytes: 1_000)
    let messages = (0..<count).flatMap { _ in HealthCheckResponse(status: .serving).encode(arena: arena) }
    session.respond(stream, head: okHead, body: messages, trailers: okTrailers)
  }
  var answers: [HealthCheckResponse.ServingStatus?] = []
  try Caller(try endpoint(server)).stream(rpc, HealthCheckRequest()) {
    answers.append($0.status)
    return true
  }
  #expect(answers == [HealthCheckResponse.ServingStatus?](repeating: .serving, count: count))
}

@Test func `a caller that has seen enough of a stream gets no more of its messages`() throws {
  let server = try TestServer { stream, session in
    let arena = Arena(budgetBytes: 1_000)
    let messages = (0..<3).flatMap { _ in HealthCheckResponse(status: .serving).encode(arena: arena) }
    session.respond(stream, head: okHead, body: messages, trailers: okTrailers)
  }
  var count = 0
  try Caller(try endpoint(server)).stream(rpc, HealthCheckRequest()) { _ in
    count += 1
    return count < 2
  }
  #expect(count == 2)
}

@Test func `a stream that fails reports its status`() throws {
  let server = try TestServer { stream, session in session.reset(stream, ErrorCode(rawValue: 7)) }
  let caller = Caller(try endpoint(server))
  #expect(throws: CallStatus.self) {
    try caller.stream(rpc, HealthCheckRequest()) { _ in true }
  }
}
