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
private func look(_ stream: any StreamHandler, at millis: Int64) async throws -> [WatchEventsResponse]? {
  guard let work = stream.nextWork(nowMillis: millis) else { return nil }
  let step = try stream.worked(try await work(), nowMillis: millis, arena: roomyArena())
  #expect(!step.isLast)
  return try step.messages.map { try decoded($0, as: WatchEventsResponse.self) }
}

@Suite struct `Watching events` {
  @Test func `each event comes with its cursor, and the first look may be the last`() async throws {
    var facts = Facts()
    facts.events = [record(1), record(2)]
    facts.lastEvent = 2
    let stream = try stream(try watch(facts))
    #expect(try await look(stream, at: 0) == nil, "nothing was asked for")
    let request = message(WatchEventsRequest(types: [.linked]))
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

  @Test func `news are looked at once, and a heartbeat comes where there was nothing to tell`() async throws {
    var facts = Facts()
    facts.lastEvent = 7
    let stream = try stream(try watch(facts))
    _ = try stream.received(message(WatchEventsRequest(cursor: "now")), arena: roomyArena())
    #expect(try await look(stream, at: 0) == [WatchEventsResponse(cursor: "a7")])
    #expect(try await look(stream, at: 14_999) == nil)
    stream.news()
    #expect(try await look(stream, at: 14_999) == [])
    #expect(try await look(stream, at: 14_999) == nil)
    #expect(try await look(stream, at: 15_000) == [WatchEventsResponse(cursor: "a7")])
  }

  @Test func `the end of what there is follows the last event only, and starts the next heartbeat`() async throws {
    var facts = Facts()
    facts.events = [record(1)]
    facts.lastEvent = 2
    let behind = try stream(try watch(facts))
    _ = try behind.received(message(WatchEventsRequest()), arena: roomyArena())
    #expect(try await look(behind, at: 3_000)?.map(\.cursor) == ["a1"], "more follows")
    #expect(behind.nextDueMillis == 18_000)
    facts.lastEvent = 1
    let ahead = try stream(try watch(facts))
    #expect(ahead.nextDueMillis == nil)
    _ = try ahead.received(message(WatchEventsRequest()), arena: roomyArena())
    #expect(try await look(ahead, at: 7_000)?.map(\.cursor) == ["a1", "a1"])
    #expect(ahead.nextDueMillis == 22_000)
    #expect(ahead.nextWork(nowMillis: 21_999) == nil)
    #expect(ahead.nextWork(nowMillis: 22_000) != nil)
  }

  @Test func `events of other types bring no message`() async throws {
    var facts = Facts()
    facts.events = [record(1)]
    facts.lastEvent = 1
    let stream = try stream(try watch(facts))
    _ = try stream.received(message(WatchEventsRequest(types: [.deleted])), arena: roomyArena())
    #expect(try await look(stream, at: 0) == [WatchEventsResponse(cursor: "a1")])
    stream.news()
    #expect(try await look(stream, at: 1) == [])
  }

  @Test func `what does not fit in one look is looked at again without waiting for news`() async throws {
    var facts = Facts()
    facts.events = [record(1)]
    facts.lastEvent = 2
    let stream = try stream(try watch(facts))
    _ = try stream.received(message(WatchEventsRequest()), arena: roomyArena())
    _ = try await look(stream, at: 0)
    #expect(try await look(stream, at: 0) != nil)
  }

  @Test(arguments: [(1, 16, WatchLimit.inAll), (16, 1, .perCaller)])
  func `only so many watch at once, and a place is free once its call is forgotten`(
    inAll: Int, perCaller: Int, limit: WatchLimit
  ) throws {
    var limits = WatchLimits()
    (limits.watchersMax, limits.watchersPerCallerMax) = (inAll, perCaller)
    let method = try watch(Facts(), limits: limits)
    let request = message(WatchEventsRequest())
    var first: (any StreamHandler)? = try stream(method)
    _ = try first?.received(request, arena: roomyArena())
    let second = try stream(method)
    let failure = #expect(throws: Failure.self) { try second.received(request, arena: roomyArena()) }
    #expect(failure?.reason == .quotaExceeded && failure?.watchLimit == limit)
    first = nil
    _ = try second.received(request, arena: roomyArena())
  }
}
