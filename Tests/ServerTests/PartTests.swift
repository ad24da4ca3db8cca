import LogSupport
import Logging
import Observability
import Reactor
import Synchronization
import Testing

@testable import HTTP1
@testable import Server

private struct Broken: Error {}

/// Writes down what happens to the parts.
private final class Diary: Sendable {
  private let entries = Mutex<[String]>([])

  func note(_ entry: String) { entries.withLock { $0.append(entry) } }
  var text: [String] { entries.withLock(\.self) }
}

private struct FakePart: Part {
  let name: String
  let diary: Diary
  var fails = false
  /// The drain waits for this end.
  var holding: Completion?

  func start() throws {
    diary.note("start \(name)")
    if fails { throw Broken() }
  }

  func drain() async {
    diary.note("drain \(name)")
    await holding?.wait()
  }

  func stop() async throws {
    diary.note("stop \(name)")
    if fails { throw UnendedPart(description: "it still runs") }
  }
}

private func list(
  _ names: [String], failing: String? = nil, holding: (name: String, until: Completion)? = nil
) -> (PartList, Diary) {
  let diary = Diary()
  let parts = names.map { name in
    FakePart(name: name, diary: diary, fails: name == failing, holding: name == holding?.name ? holding?.until : nil)
  }
  return (PartList(parts: parts), diary)
}

private func end(
  _ list: PartList, _ log: Log, lateMillis: Int64 = 60_000, totalMillis: Int64 = 60_000,
  giveUp: @escaping @Sendable () -> Void = {}
) async -> Bool {
  await Shutdown(log, Shutdown.Limits(lateMillis: lateMillis, totalMillis: totalMillis)).run(list, giveUp: giveUp)
}

private func silently(_ end: (Log) async throws -> Void) async throws {
  #expect(try await lines(level: .warning, end) == [])
}

@Test func `parts start in order`() async throws {
  let (parts, diary) = list(["a", "b", "c"])
  try await parts.start()
  #expect(diary.text == ["start a", "start b", "start c"])
}

@Test func `parts drain in reverse order, and none stops before all are drained`() async throws {
  let (parts, diary) = list(["a", "b", "c"])
  try await silently { #expect(await end(parts, $0)) }
  #expect(diary.text == ["drain c", "drain b", "drain a", "stop c", "stop b", "stop a"])
}

@Test func `the log states the time of each part at both ends of it`() async throws {
  let (parts, _) = list(["a", "b"])
  let told = try await lines(level: .debug) { #expect(await end(parts, $0)) }
  #expect(told.allSatisfy { $0["message"] == "part ended" && Int($0["took_millis"] ?? "") != nil })
  #expect(told.map { "\($0["phase"] ?? "") \($0["part"] ?? "")" } == ["drain b", "drain a", "stop b", "stop a"])
}

@Test func `a part that does not end in its time keeps no other from ending, and is reported`() async throws {
  let (parts, diary) = list(["a", "b", "c"], failing: "b")
  let told = try await lines { #expect(await !end(parts, $0)) }
  #expect(diary.text.suffix(3) == ["stop c", "stop b", "stop a"])
  #expect(told.map { $0["message"] } == ["a part does not end"])
  #expect([told[0]["level"], told[0]["part"], told[0]["phase"]] == ["error", "b", "stop"])
  #expect(told[0]["why"] == "it still runs")
}

@Test func `the log names a part that is late while the server still waits for it`() async throws {
  var told: [[String: String]] = []
  // A busy machine may wake the alarm late.
  for seconds in [1, 10] where told.first?["message"] != "a part is late" {
    let released = Completion()
    let (parts, _) = list(["a", "b", "c"], holding: ("b", released))
    told = try await lines { log in
      async let haveEnded = end(parts, log, lateMillis: 200)
      try await Task.sleep(for: .seconds(seconds))
      log.info("released")
      released.end()
      #expect(await haveEnded)
    }
  }
  #expect(told.map { $0["message"] } == ["a part is late", "released"])
  #expect([told[0]["level"], told[0]["part"], told[0]["phase"]] == ["warning", "b", "drain"])
}

@Test func `a part that never ends is given up after the limit for all parts, and is named`() async throws {
  let (released, gaveUp) = (Completion(), Completion())
  let (parts, diary) = list(["a", "b", "c"], holding: ("b", released))
  let told = try await lines { log in
    async let haveEnded = end(parts, log, totalMillis: 1_000) { gaveUp.end() }
    #expect(await gaveUp.wait(millis: 60_000))
    #expect(diary.text == ["drain c", "drain b"])
    // The server would have exited.
    released.end()
    _ = await haveEnded
  }
  #expect(told.map { $0["message"] } == ["the server gives up waiting for a part"])
  #expect([told[0]["level"], told[0]["part"], told[0]["phase"]] == ["error", "b", "drain"])
}

@Test func `a server that has ended in time is not given up`() async throws {
  let (parts, _) = list(["a"])
  let gaveUp = Completion()
  try await silently { log in
    #expect(await end(parts, log, totalMillis: 2_000) { gaveUp.end() })
    #expect(await !gaveUp.wait(millis: 2_300))
  }
}

@Test func `a task that is stopped is waited for, so that what it uses can end after it`() async throws {
  let diary = Diary()
  let hasBegun = Completion()
  let part = TaskPart("task", stopMillis: 60_000) {
    Task {
      hasBegun.end()
      while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
      // Work that a cancellation does not end.
      await Task { try? await Task.sleep(for: .milliseconds(50)) }.value
      diary.note("task ended")
    }
  }
  let parts = PartList(parts: [ClosingPart(name: "store", closing: { diary.note("store closed") }), part])
  try await parts.start()
  #expect(await hasBegun.wait(millis: 10_000))
  try await silently { #expect(await end(parts, $0)) }
  #expect(diary.text == ["task ended", "store closed"])
}

@Test func `a task that does not end in its time is reported, and keeps no other part from ending`() async throws {
  let (diary, released) = (Diary(), Completion())
  let parts = PartList(parts: [
    ClosingPart(name: "store", closing: { diary.note("store closed") }),
    TaskPart("task", stopMillis: 50) { Task { await released.wait() } },
  ])
  try await parts.start()
  let told = try await lines { #expect(await !end(parts, $0)) }
  #expect(told.map { $0["part"] } == ["task"] && told[0]["message"] == "a part does not end")
  #expect(diary.text == ["store closed"])
  released.end()
}

@Test(arguments: [
  ("a", ["start a", "stop a"]), ("b", ["start a", "start b", "stop b", "stop a"]),
  ("c", ["start a", "start b", "start c", "stop c", "stop b", "stop a"]),
])
func `a part that cannot start is stopped, and so are those that started, in reverse order`(
  failing: String, events: [String]
) async {
  let (parts, diary) = list(["a", "b", "c"], failing: failing)
  await #expect(throws: Broken.self) { try await parts.start() }
  #expect(diary.text == events)
}

@Test func `a part that only closes needs nothing else`() async throws {
  let diary = Diary()
  let parts = PartList(parts: [
    ClosingPart(name: "a", draining: { diary.note("drain a") }),
    ClosingPart(name: "b", closing: { diary.note("close b") }),
    TaskPart("c", stopMillis: 60_000) { Task { diary.note("run c") } },
  ])
  try await parts.start()
  try await silently { #expect(await end(parts, $0)) }
  #expect(diary.text.filter { $0 != "run c" } == ["drain a", "close b"])
}

// MARK: Endpoints

private func endpoint(
  port: UInt16, _ log: Log, answer: @escaping @Sendable () -> Void = {}
) throws -> EndpointPart {
  let site = HTTPSite(
    name: "site",
    limits: HTTPSite.Limits(
      connectionsMax: 9, connectionsPerAddressMax: 9, requestBytesMax: 1_000, requestMillis: 60_000),
    tls: nil, refused: { _ in },
    answer: { _ in
      answer()
      return HTTPResponse(status: .notFound)
    })
  return try EndpointPart("site", nil, address: "127.0.0.1", port: port, backlog: 8, site, log)
}

private func freePort() throws -> UInt16 {
  let socket = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 1)
  _ = Listening(socket)
  return socket.port
}

/// Returns a connected socket.
private func connect(_ port: UInt16) throws -> Int32 {
  let descriptor = try beginConnection(address: "127.0.0.1", port: port)
  try connectionResult(descriptor, address: "127.0.0.1", port: port)
  return descriptor
}

@Test func `an endpoint that has stopped accepts no connection, and one that did not start needs no stop`()
  async throws
{
  let port = try freePort()
  _ = try await lines { log in
    let part = try endpoint(port: port, log)
    try await part.stop()
    try part.start()
    closeDescriptor(try connect(port))
    try await part.stop()
    #expect(throws: SystemError.self) { closeDescriptor(try connect(port)) }
  }
}

@Test func `an endpoint that does not stop in its time is reported`() async throws {
  let port = try freePort()
  let (begun, released) = (Completion(), Wakeups())
  _ = try await lines { log in
    let part = try endpoint(port: port, log) {
      begun.end()
      released.wait()
    }
    try part.start()
    let client = try connect(port)
    writeAll(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), to: client)
    #expect(await begun.wait(millis: 10_000))
    await #expect(throws: UnendedPart.self) { try await part.stop() }
    released.signal()
    closeDescriptor(client)
  }
}
