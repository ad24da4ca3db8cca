@testable import GRPC
import Callers
import FoundationEssentials
import Glibc
import Identity
import LogSupport
import Logging
import Reactor
import Services
import Store
import Testing
import Protobuf

@testable import Observability

private func context(_ trace: CallTrace? = nil, _ notes: CallNotes? = nil) throws -> CallContext {
  let settings = CallerSettings(name: "web", san: "web", methods: [], audiences: ["app"])
  let table = CallerTable([settings], unidentified: nil, paths: [])
  return CallContext(
    caller: try table.identify(certificateName: "web", authorization: [], now: Timestamp(millis: 0)),
    path: "/a/B", peerAddress: "192.0.2.1",
    commitDecision: CommitDecision(), trace: trace ?? made(), notes: notes)
}

/// The IDs of a call whose caller sent none.
private func made(requestID: String = "") -> CallTrace {
  CallTrace(
    traceID: TraceID(high: 10, low: 11), spanID: 1, parent: nil, givenRequestID: Array(requestID.utf8),
    madeRequestID: TraceID(high: 10, low: 11))
}

@Test func `a call is logged with the IDs of its caller, and with its account`() async throws {
  let notes = CallNotes()
  notes.concerns("account-1")
  let context = try context(made(requestID: "order-7"), notes)
  let lines = try await lines { log in
    log.call(context, outcome: "OK", tookNanos: 999)
    log.call(context, error: Failure(.tokenExpired), tookNanos: 2_000)
  }
  for (line, micros) in zip(lines, ["0", "2"]) {
    #expect(line["request_id"] == "order-7" && line["trace_id"] == "000000000000000a000000000000000b")
    #expect(line["account_id"] == "account-1" && line["took_micros"] == micros)
  }
  #expect(lines.count == 2)
}

@Test func `a log line is a JSON object with time, level, message and its fields`() async throws {
  let lines = try await lines { log in
    log.info("said \"hello\"", ["b": "2", "a": "1\n2"])
    log.error("failed")
    log.debug("not at this level")
  }
  #expect(lines.count == 2)
  #expect(lines[0].filter { $0.key != "at" } == ["level": "info", "message": "said \"hello\"", "b": "2", "a": "1\n2"])
  #expect(lines[0]["at"]?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
  #expect(lines[1].filter { $0.key != "at" } == ["level": "error", "message": "failed"])
}

@Test func `a call is logged with its caller, and an error with its debug text`() async throws {
  let context = try context()
  let lines = try await lines { log in
    log.call(context, outcome: "OK", tookNanos: 1_234_567)
    let weak = Failure(.weakPassword, field: "password", hint: "hint", debug: "why")
    log.call(context, error: weak, tookNanos: 1_234_567)
    log.call(context, error: HealthService.UnknownService(name: "a stranger's text"), tookNanos: 1_234_567)
    log.call(context, error: NotForeseen(), tookNanos: 1_234_567)
    log.call(context, outcome: "OK", tookNanos: 1_234_567, clientGone: true)
    log.call(context, error: Failure(.cancelled), tookNanos: 1_234_567, clientGone: true)
    log.call(context, error: ProtobufError.text(field: "credential.password.email"), tookNanos: 1_234_567)
    log.call(context, error: ProtobufError.malformed(.wireType), tookNanos: 1_234_567)
    log.call(context, error: ProtobufError.tooLarge, tookNanos: 1_234_567)
    log.call("/a/B", of: "192.0.2.2", .unknown)
  }
  let call = [
    "caller": "web", "credential": "certificate", "method": "/a/B", "peer": "192.0.2.1", "message": "call",
    "request_id": "000000000000000a000000000000000b", "took_micros": "1234",
  ]
  #expect(
    lines.map { $0.filter { $0.key != "at" } } == [
      call.merging(["level": "info", "outcome": "OK"]) { $1 },
      call.merging(["level": "info", "outcome": "WEAK_PASSWORD", "field": "password", "debug": "why"]) { $1 },
      call.merging(["level": "info", "outcome": "NOT_FOUND"]) { $1 },
      call.merging(["level": "error", "outcome": "INTERNAL", "error": "NotForeseen()"]) { $1 },
      call.merging(["level": "info", "outcome": "OK", "client": "gone"]) { $1 },
      call.merging(["level": "info", "outcome": "CANCELLED", "client": "gone"]) { $1 },
      call.merging(["level": "info", "outcome": "INVALID_FIELD", "field": "credential.password.email"]) { $1 },
      call.merging(["level": "info", "outcome": "INTERNAL", "debug": "malformed: wire_type"]) { $1 },
      call.merging(["level": "info", "outcome": "RESOURCE_EXHAUSTED"]) { $1 },
      [
        "level": "info", "message": "call", "method": "/a/B", "peer": "192.0.2.2", "outcome": "CALLER_UNIDENTIFIED",
        "debug": "unknown",
      ],
    ])
}

private struct NotForeseen: Error {}

@Test func `calls are not logged above level info, but server errors are`() async throws {
  let context = try context()
  let lines = try await lines(level: .error) { log in
    log.call(context, outcome: "OK", tookNanos: 1_234_567)
    log.call(context, error: Failure(.userDisabled), tookNanos: 1_234_567)
    log.call(context, error: NotForeseen(), tookNanos: 1_234_567)
  }
  #expect(lines.map { $0["outcome"] } == ["INTERNAL"])
}

@Test func `a lasting failure is logged when it begins and when it ends, however often it is retried`() async throws {
  let lines = try await lines { log in
    let failure = LastingFailure(log, "it fails", over: "it goes again")
    failure.passed()
    for _ in 0..<3 { failure.failed(NotForeseen()) }
    for _ in 0..<3 { failure.passed() }
    failure.failed(NotForeseen())
  }
  #expect(lines.map { $0["message"] } == ["it fails", "it goes again", "it fails"])
  #expect(lines.map { $0["why"] } == ["NotForeseen()", nil, "NotForeseen()"])
}

@Test func `all logged lines are written in order when flush returns`() async throws {
  let count = 20_000
  let lines = try await lines { log in
    for number in 0..<count { log.info("\(number)") }
  }
  #expect(lines.map { $0["message"] } == (0..<count).map { "\($0)" })
}

@Test func `lines wait up to the byte limit, and one more is counted and reported with its time`() throws {
  let line = Array("{}\n".utf8)
  var waiting = WaitingLines(bytesMax: 2 * line.count)
  func append(at millis: Int64) -> Bool { waiting.append(line, nowMillis: millis) }
  // Only the first append signals the writer.
  #expect([append(at: 1), append(at: 2)] == [true, false])
  #expect(waiting.droppedInAll == 0)
  #expect([append(at: 951_782_400_000), append(at: 951_782_400_001)] == [false, false])
  #expect(waiting.droppedInAll == 2)
  let note = #"{"at":"2000-02-29T00:00:00.000Z","level":"warning","message":"log lines dropped","count":"2"}"#
  let taken = String(decoding: waiting.take().bytes, as: UTF8.self)
  #expect(taken == "{}\n{}\n" + note + "\n")
  #expect([append(at: 3)] == [true])
  let rest = [waiting.take().bytes, waiting.take().bytes]
  #expect(rest == [line, []] && waiting.droppedInAll == 2)
}

@Test func `dropped lines are reported as a log line, and are counted`() async throws {
  var dropped = 0
  let lines = try await lines(waitingBytesMax: 0) { log in
    for _ in 0..<3 { log.info("lost") }
    dropped = log.droppedLines
  }
  #expect(lines.allSatisfy { $0["message"] == "log lines dropped" && $0["level"] == "warning" && $0["at"] != nil })
  #expect(lines.compactMap { $0["count"].flatMap(Int.init) }.reduce(0, +) == 3)
  #expect(dropped == 3)
}

@Test func `lines that a full disk refuses are counted`() throws {
  // Never closed, because the log's thread may still write to it.
  let full = unsafe Glibc.open("/dev/full", O_WRONLY)
  let lines = JSONLines(level: .info, descriptor: full)
  for count in [3, 4] {
    for _ in 0..<count { Log(lines).info("lost") }
    lines.flush()
  }
  #expect(lines.droppedInAll == 7)
}

@Test func `a line that is cut off is ended before the next`() throws {
  var ends = [Int32](repeating: 0, count: 2)
  // Never closed, because the log's thread may still write to it.
  #expect(unsafe pipe(&ends) == 0)
  for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  let lines = JSONLines(level: .info, descriptor: ends[1])
  func taken() -> [Substring] {
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(ends[0], $0.baseAddress, $0.count) }
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: "\n")
  }
  // A pipe has room for 64 KiB.
  Log(lines).info(String(repeating: "x", count: 100_000))
  lines.flush()
  #expect(taken().count == 1 && lines.droppedInAll == 1)
  Log(lines).info("next")
  lines.flush()
  let rest = taken()
  #expect(rest.count == 2 && rest.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
  #expect(rest.contains { $0.contains("log lines dropped") } && rest.contains { $0.contains("next") })
}
