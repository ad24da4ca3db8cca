import Store
import Testing

@testable import Identity

/// StartFlow needs no account, so its limits are those of the network and of the caller.
@Suite struct FlowThrottleTests {
  private func start(_ world: World, _ address: String) async throws -> FlowStarted {
    try await world.start("google.com", .signIn, world.call(ipAddress: address))
  }

  @Test func `A flood of flows from one network is rejected before a row is written or a provider is asked`()
    async throws
  {
    let world = World { $0.throttles[.flowStartsPerNetwork].countMax = 2 }
    for host in 1...2 { _ = try await start(world, "2001:db8::\(host)") }
    let failure = await refused(.tooManyAttempts) { try await start(world, "2001:db8::3") }
    #expect(failure?.throttle == .flowStartsPerNetwork && failure?.retryAfterMillis == 600_000)
    #expect(world.store.contents.pendings.count == 2)
    _ = try await start(world, "2001:db8:0:1::1")
    world.clock.advance(millis: 600_000)
    _ = try await start(world, "2001:db8::3")
  }

  @Test func `Without a network the caller's limit applies, and another caller has its own`() async throws {
    let world = World { $0.throttles[.flowStartsPerCaller].countMax = 2 }
    for _ in 1...2 { _ = try await start(world, "") }
    let failure = await refused(.tooManyAttempts) { try await start(world, "") }
    #expect(failure?.throttle == .flowStartsPerCaller && world.store.contents.pendings.count == 2)
    _ = try await world.start("google.com", .signIn, world.call(caller: "spiffe://test/other", ipAddress: ""))
  }

  @Test func `The caller's limit never rejects a verified session, and its network's limit does`() async throws {
    let world = World {
      $0.throttles[.flowStartsPerCaller].countMax = 1
      $0.throttles[.flowStartsPerNetwork].countMax = 2
    }
    world.store.insert(account(.verified(ada), password: true))
    let token = try world.session(of: "account-y").idToken
    _ = try await start(world, "192.0.2.9")
    await refused(.tooManyAttempts) { try await start(world, "") }
    @Sendable func own() -> CallFacts { world.call(ipAddress: "192.0.2.1") }
    for _ in 1...2 { _ = try await world.start("google.com", .link, idToken: token, own()) }
    let failure = await refused(.tooManyAttempts) {
      try await world.start("google.com", .link, idToken: token, own())
    }
    #expect(failure?.throttle == .flowStartsPerNetwork)
  }

  @Test func `Past the caller's limit, each network still starts a few flows`() async throws {
    let world = World { $0.throttles[.flowStartsPerCaller].countMax = 1 }
    _ = try await start(world, "192.0.2.9")
    for _ in 1...5 { _ = try await start(world, "192.0.2.8") }
    let failure = await refused(.tooManyAttempts) { try await start(world, "192.0.2.8") }
    #expect(failure?.throttle == .flowStartsPerCaller)
  }

  @Test func `When the places for flows are full, the network that filled them gives up its newest flow`()
    async throws
  {
    let world = World { $0.pendingLimits.perCallerMax = 3 }
    // Addresses of one /48 count as one network.
    for index in 1...3 { _ = try await start(world, "2001:db8:1:\(index)::1") }
    await refused(.quotaExceeded) { try await start(world, "2001:db8:1:4::1") }
    _ = try await start(world, "2001:db8:2::1")
    let networks = world.store.contents.pendings.values.map(\.network)
    #expect(networks.count == 3 && Set(networks).count == 2 && !networks.contains(nil))
    await refused(.quotaExceeded) { try await start(world, "2001:db8:2::2") }
    _ = try await start(world, "")
    #expect(world.store.contents.pendings.values.contains { $0.network == nil })
  }

  @Test func `Full places for flows leave room for every other purpose`() async throws {
    let world = World { $0.pendingLimits = PendingLimits(perAccountMax: 9, perCallerMax: 1, totalMax: 1) }
    _ = try await start(world, "192.0.2.1")
    await refused(.quotaExceeded) { try await start(world, "192.0.2.1") }
    world.store.insert(account(.verified(ada), password: true))
    _ = try await world.signIn(google(), world.call(ipAddress: "192.0.2.1")).exists
  }

  @Test func `Fifty calls of one network at the same time start no more flows than its limit`() async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true)) {
      $0.throttles[.flowStartsPerNetwork].countMax = 5
    }
    @Sendable func own() -> CallFacts { world.call(ipAddress: "192.0.2.1") }
    let started = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<50 { group.addTask { (try? await world.start("google.com", .signIn, own())) != nil } }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(started == 5 && world.store.contents.pendings.count == 5)
  }
}
