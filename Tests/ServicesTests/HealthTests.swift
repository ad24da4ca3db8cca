import TestSupport
import Testing
import API

@testable import Services

private let check = "/grpc.health.v1.Health/Check"
private let watch = "/grpc.health.v1.Health/Watch"

private func health(_ state: HealthState = HealthState()) -> [Method] {
  HealthService(state, services: ["latchkey.v1.AuthService"]).methods
}

private func told(_ step: StreamStep) throws -> [HealthCheckResponse.ServingStatus] {
  #expect(!step.isLast)
  return try step.messages.map { try #require(decoded($0, as: HealthCheckResponse.self).status) }
}

@Test(arguments: ["", "latchkey.v1.AuthService", "grpc.health.v1.Health"])
func `Check returns whether the server, or one of its services, accepts calls`(service: String) async throws {
  let state = HealthState()
  let check = try method(check, of: health(state))
  let request = HealthCheckRequest(service: service)
  #expect(try await answer(check, request, as: HealthCheckResponse.self).status == .serving)
  state.stopServing()
  #expect(try await answer(check, request, as: HealthCheckResponse.self).status == .notServing)
}

@Test(arguments: ["latchkey.v1.authservice", "latchkey.v1.AuthService ", "latchkey.v1", "*"])
func `Check of a name that is not served is an error, in any state`(service: String) throws {
  let state = HealthState()
  let check = try method(check, of: health(state))
  for _ in 0..<2 {
    #expect(throws: HealthService.UnknownService.self) { try begin(check, HealthCheckRequest(service: service)) }
    state.stopServing()
  }
}

@Test func `Watch returns the status immediately, and again only when it has changed`() throws {
  let state = HealthState()
  let watcher = try stream(try method(watch, of: health(state)))
  #expect(try told(watcher.received(message(HealthCheckRequest()), arena: roomyArena())) == [.serving])
  #expect(try told(watcher.woken(arena: roomyArena())) == [])
  state.stopServing()
  #expect(try told(watcher.woken(arena: roomyArena())) == [.notServing])
  #expect(try told(watcher.woken(arena: roomyArena())) == [])
}

@Test func `Watch of an unknown service returns that status and continues`() throws {
  let state = HealthState()
  let watcher = try stream(try method(watch, of: health(state)))
  #expect(
    try told(watcher.received(message(HealthCheckRequest(service: "x")), arena: roomyArena())) == [.serviceUnknown])
  state.stopServing()
  #expect(try told(watcher.woken(arena: roomyArena())) == [])
}

@Test func `Watch sends nothing before the request, and does not end with it`() throws {
  let watcher = try stream(try method(watch, of: health()))
  #expect(try told(watcher.woken(arena: roomyArena())) == [])
  _ = try watcher.received(message(HealthCheckRequest()), arena: roomyArena())
  #expect(try told(watcher.ended(arena: roomyArena())) == [])
}

@Test func `health is open to every caller that reaches the port, and a watch has no time limit`() throws {
  #expect(health().allSatisfy { $0.access == .anyone })
  #expect(try method(watch, of: health()).timeLimitMillis == .max)
  #expect(try method(check, of: health()).timeLimitMillis == 30_000)
}

@Test func `the first of several reasons is reported, and each ends separately`() {
  let state = HealthState()
  #expect(state.reason == nil && state.isServing)
  for reason in NotServing.allCases.reversed() {
    state.set(reason, true)
    state.set(reason, true)
    #expect(state.reason == reason && !state.isServing)
  }
  for reason in NotServing.allCases {
    #expect(state.reason == reason)
    state.set(reason, false)
  }
  #expect(state.isServing)
  #expect(Set(NotServing.allCases.map(\.text)).count == NotServing.allCases.count)
}
