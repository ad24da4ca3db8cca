import Store
import TestSupport
import Testing
import API

@testable import Identity
@testable import Services

private let path = "/latchkey.v1.EventService/Watch"

private func record(_ position: Int64) -> AuditRecord {
  var record = AuditRecord(
    id: "event-\(position)", at: Timestamp(millis: 1_500), accountID: "ada", event: "LINKED",
    caller: CallerName("web"), detailsJSON: "{}")
  record.position = position
  return record
}

private func watch(_ facts: Facts, limits: WatchLimits = WatchLimits()) throws -> Method {
  var world = World()
  world.facts = facts
  return try method(path, of: EventService(world.shared, limits: limits).methods)
}

/// The stream's messages after the work that it requests.
private func look(_ stream: any StreamHandler, at millis: Int64) async throws -> [WatchResponse]? {
  guard let work = stream.nextWork(nowMillis: millis) else { return nil }
  let step = try stream.worked(try await work(), nowMillis: millis, arena: roomyArena())
  #expect(!step.isLast)
  return try step.messages.map { try decoded($0, as: WatchResponse.self) }
}

@Suite struct `Watching events` {
  @Test func `each event has its cursor, and the first read may be the last`() async throws {
    var facts = Facts()
    facts.events = [record(1), record(2)]
    facts.lastEvent = 2
    let stream = try stream(try watch(facts))
    #expect(try await look(stream, at: 0) == nil, "nothing was asked for")
    let request = message(WatchRequest(types: [.linked]))
    #expect(try stream.received(request, arena: roomyArena()).messages.isEmpty)
    let told = try await look(stream, at: 0)
    #expect(told?.map(\.cursor) == ["a1", "a2", "a2"])
    #expect(told?.map { $0.event == nil } == [false, false, true], "an end marker follows the last event")
    #expect(
      told?.first?.event
        == Event(
          eventID: "event-1", type: .linked, occurredAtMillis: 1_500, accountID: "ada", caller: "web",
          detailsJSON: "{}"))
    #expect(try await look(stream, at: 14_999) == nil)
  }

  @Test func `a signal causes one read, and a heartbeat is sent if there is nothing new`() async throws {
    var facts = Facts()
    facts.lastEvent = 7
    let stream = try stream(try watch(facts))
    _ = try stream.received(message(WatchRequest(cursor: "now")), arena: roomyArena())
    #expect(try await look(stream, at: 0) == [WatchResponse(cursor: "a7")])
    #expect(try await look(stream, at: 14_999) == nil)
    stream.news()
    #expect(try await look(stream, at: 14_999) == [])
    #expect(try await look(stream, at: 14_999) == nil)
    #expect(try await look(stream, at: 15_000) == [WatchResponse(cursor: "a7")])
  }

  @Test func `the end marker follows only the last event, and each message restarts the heartbeat interval`()
    async throws
  {
    var facts = Facts()
    facts.events = [record(1)]
    facts.lastEvent = 2
    let behind = try stream(try watch(facts))
    _ = try behind.received(message(WatchRequest()), arena: roomyArena())
    #expect(try await look(behind, at: 3_000)?.map(\.cursor) == ["a1"], "more follows")
    #expect(behind.nextDueMillis == 18_000)
    facts.lastEvent = 1
    let ahead = try stream(try watch(facts))
    #expect(ahead.nextDueMillis == nil)
    _ = try ahead.received(message(WatchRequest()), arena: roomyArena())
    #expect(try await look(ahead, at: 7_000)?.map(\.cursor) == ["a1", "a1"])
    #expect(ahead.nextDueMillis == 22_000)
    #expect(ahead.nextWork(nowMillis: 21_999) == nil)
    #expect(ahead.nextWork(nowMillis: 22_000) != nil)
  }

  @Test func `events of other types cause no message`() async throws {
    var facts = Facts()
    facts.events = [record(1)]
    facts.lastEvent = 1
    let stream = try stream(try watch(facts))
    _ = try stream.received(message(WatchRequest(types: [.deleted])), arena: roomyArena())
    #expect(try await look(stream, at: 0) == [WatchResponse(cursor: "a1")])
    stream.news()
    #expect(try await look(stream, at: 1) == [])
  }

  @Test func `events that do not fit into one read are read without waiting for a signal`() async throws {
    var facts = Facts()
    facts.events = [record(1)]
    facts.lastEvent = 2
    let stream = try stream(try watch(facts))
    _ = try stream.received(message(WatchRequest()), arena: roomyArena())
    _ = try await look(stream, at: 0)
    #expect(try await look(stream, at: 0) != nil)
  }

  @Test(arguments: [(1, 16, WatchLimit.inAll), (16, 1, .perCaller)])
  func `the number of watchers is limited, and a place is free once its call ends`(
    inAll: Int, perCaller: Int, limit: WatchLimit
  ) throws {
    var limits = WatchLimits()
    (limits.watchersMax, limits.watchersPerCallerMax) = (inAll, perCaller)
    let method = try watch(Facts(), limits: limits)
    let request = message(WatchRequest())
    var first: (any StreamHandler)? = try stream(method)
    _ = try first?.received(request, arena: roomyArena())
    let second = try stream(method)
    let failure = #expect(throws: Failure.self) { try second.received(request, arena: roomyArena()) }
    #expect(failure?.reason == .quotaExceeded && failure?.watchLimit == limit)
    first = nil
    _ = try second.received(request, arena: roomyArena())
  }
}
