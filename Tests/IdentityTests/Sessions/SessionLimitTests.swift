import Store
import Testing

@testable import Identity

/// Check 92: session limits by assurance.
struct `Session limits by assurance` {
  let hourMillis: Int64 = 3_600_000

  func world(_ edit: (inout Policy) -> Void = { _ in }) -> World {
    let world = World(policy: edit)
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    return world
  }

  func refresh(_ world: World, _ session: SessionGrant) async throws -> SessionGrant {
    try await Refresh(world.environment)(session.refreshToken, world.call())
  }

  @Test func `check 92: a session that passed a second factor ends after an hour without use`() async throws {
    let world = world()
    let session = try world.session(of: "account-y", secondFactor: "totp")
    world.clock.advance(millis: hourMillis - 1)
    let later = try await refresh(world, session)
    #expect(later.refreshTokenExpiresAt == world.now.adding(millis: hourMillis))
    world.clock.advance(millis: hourMillis)
    await refused(.tokenExpired) { try await refresh(world, later) }
  }

  @Test func `check 92: a session that passed a second factor ends after a day, however much it is used`()
    async throws
  {
    let world = world()
    var session = try world.session(of: "account-y", secondFactor: "totp")
    let end = world.now.adding(millis: 24 * hourMillis)
    while world.now.adding(millis: hourMillis / 2) < end {
      world.clock.advance(millis: hourMillis / 2)
      session = try await refresh(world, session)
      #expect(session.refreshTokenExpiresAt <= end)
      #expect(session.idTokenExpiresAt <= end)
    }
    world.clock.advance(millis: end.millis - world.now.millis)
    await refused(.tokenExpired) { try await refresh(world, session) }
  }

  @Test func `a refresh when the ID token expires is in time, also with a second factor`() async throws {
    let world = world()
    var session = try world.session(of: "account-y", secondFactor: "totp")
    for _ in 0..<5 {
      world.clock.advance(millis: session.idTokenExpiresAt.millis - world.now.millis + 1_000)
      session = try await refresh(world, session)
    }
  }

  @Test func `a session without a second factor keeps the longer limits and the full lifetime of its ID token`()
    throws
  {
    let world = world()
    let session = try world.session(of: "account-y")
    #expect(session.refreshTokenExpiresAt == world.now.adding(millis: world.policy.sessionIdleMillis))
    #expect(session.idTokenExpiresAt == world.now.adding(millis: world.policy.idTokenLifetimeMillis))
  }

  @Test func `a second factor never makes a session longer`() {
    var policy = Policy()
    policy.sessionIdleMillis = 60_000
    policy.sessionAbsoluteMillis = 120_000
    let limits = SessionLifetime(idleMillis: 60_000, absoluteMillis: 120_000)
    #expect(policy.sessionLimits(secondFactor: nil) == limits)
    #expect(policy.sessionLimits(secondFactor: "totp") == limits)
  }

  @Test func `a session that continues after an unlink keeps the limits of its login`() throws {
    let world = world()
    let opened = world.environment.openSession(
      accountID: "account-y", by: .password, secondFactor: enrolled(.totp, of: "account-y"), call: world.call(),
      now: world.now)
    world.clock.advance(millis: 23 * hourMillis)
    let next = world.environment.continueSession(opened.record, call: world.call(), now: world.now).record
    #expect(next.expiresAt == opened.record.expiresAt)
    #expect(next.idleExpiresAt == world.now.adding(millis: hourMillis))
  }
}
