import Store
import Testing

@testable import Identity

struct `RevokeAll, all rules` {
  let world = World()

  func known() throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true))
    return try world.session(of: "account-y")
  }

  func revokeAll(_ session: SessionGrant, audience: String = "app") async throws -> Int {
    try await RevokeAll(world.environment)(idToken: session.idToken, world.call(audience: audience))
  }

  @Test func `every session of the account ends, including the caller's, and no session of another account`()
    async throws
  {
    let session = try known()
    let others = [try world.session(of: "account-y"), try world.session(of: "account-y")]
    world.store.insert(account(id: "bystander"))
    let bystander = try world.session(of: "bystander")
    #expect(try await revokeAll(session) == 3)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    #expect(world.store.contents.openSessions(of: "bystander").map(\.id) == [bystander.sessionID])
    #expect(Set(world.store.contents.sessions.values.compactMap(\.closed?.reason)) == [.revoked])
    for each in others + [session] {
      await refused(.tokenRevoked) { try await Refresh(world.environment)(each.refreshToken, world.call()) }
      let reading = try VerifyIDToken(world.environment, .idToken(each.idToken), world.call())
      #expect(try await world.environment.read(reading) == .inactive(.tokenRevoked))
    }
  }

  @Test func `the event states the number of open sessions, without those that had already ended`() async throws {
    let over = try known()
    try await SignOut(world.environment)(.idToken(over.idToken), world.call())
    #expect(try await revokeAll(try world.session(of: "account-y")) == 1)
    #expect(world.store.contents.events(of: "account-y") == ["SIGNED_OUT", "SESSIONS_REVOKED"])
    #expect(world.store.contents.audit.last?.detailsJSON == #"{"closed":"1"}"#)
  }

  @Test func `neither a recent login nor a second factor is required, since that would only help an attacker`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.idTokenLifetimeMillis - 1_000)
    #expect(try await revokeAll(session) == 1)
  }

  @Test func `an ended session, another audience and a disabled account revoke nothing`() async throws {
    let session = try known()
    let other = try world.session(of: "account-y")
    await refused(.invalidIDToken) { try await revokeAll(session, audience: "another") }
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    await refused(.tokenRevoked) { try await revokeAll(session) }
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    await refused(.userDisabled) { try await revokeAll(other) }
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [other.sessionID])
    #expect(world.store.contents.events(of: "account-y") == ["SIGNED_OUT"])
  }

  @Test func `a session that is signed out during the call revokes nothing`() async throws {
    let session = try known()
    let other = try world.session(of: "account-y")
    let now = world.now
    let environment = world.environment { store in
      store.edit { $0.sessions[session.sessionID]?.closed = SessionEnd(at: now, reason: .revoked) }
    }
    await refused(.tokenRevoked) {
      _ = try await RevokeAll(environment)(idToken: session.idToken, world.call())
    }
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [other.sessionID])
    #expect(world.store.contents.audit.isEmpty)
  }

  @Test func `check 98: an attacker who keeps changing the account does not delay it`() async throws {
    let session = try known()
    #expect(try await RevokeAll(world.outrun)(idToken: session.idToken, world.call()) == 1)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    #expect(world.store.state("account-y")?.account.tokensValidAfter == world.now)
  }

  @Test func `check 98: no session from fifty concurrent changes with a stolen session survives it`() async throws {
    let world = World(store: MemoryStore(meetsRaces: true))
    world.store.insert(account(.verified(ada), password: true))
    let (own, stolen) = (try world.session(of: "account-y"), try world.session(of: "account-y"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 { group.addTask { _ = try? await world.update(stolen, name: "\(number)") } }
      group.addTask { _ = try await RevokeAll(world.environment)(idToken: own.idToken, world.call()) }
      try await group.waitForAll()
    }
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
  }

  @Test func `check 98: earlier custom tokens become invalid as well`() async throws {
    let session = try known()
    let token = try await world.customToken(for: "account-y")
    world.clock.advance(millis: 1_000)
    _ = try await revokeAll(session)
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
  }
}

struct `ListSessions, all rules` {
  let world = World()

  func list(_ session: SessionGrant, audience: String = "app") async throws -> [ListedSession] {
    let reading = try ListSessions(world.environment, idToken: session.idToken, world.call(audience: audience))
    return try await world.environment.read(reading)
  }

  @Test func `open sessions of the account are listed, the latest first, and the caller's is marked`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "bystander"))
    var sessions: [SessionGrant] = []
    for id in ["account-y", "bystander", "account-y", "account-y"] {
      sessions.append(try world.session(of: id))
      world.clock.advance(millis: 1_000)
    }
    try await SignOut(world.environment)(.idToken(sessions[2].idToken), world.call())
    let listed = try await list(sessions[0])
    #expect(listed.map(\.session.id) == [sessions[3].sessionID, sessions[0].sessionID])
    #expect(listed.map(\.isCurrent) == [false, true])
  }

  @Test func `a session that was idle for too long is not listed`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    _ = try world.session(of: "account-y", secondFactor: "totp")
    world.clock.advance(millis: world.policy.secondFactorSessionIdleMillis)
    let session = try world.session(of: "account-y")
    #expect(try await list(session).map(\.session.id) == [session.sessionID])
  }

  @Test func `the policy limits the list, and one more session drops the oldest`() async throws {
    var world = World()
    world.policy.sessionsListedMax = 3
    world.store.insert(account(.verified(ada), password: true))
    var sessions: [SessionGrant] = []
    for _ in 0..<3 {
      sessions.append(try world.session(of: "account-y"))
      world.clock.advance(millis: 1)
    }
    func listed() async throws -> [String] {
      let reading = try ListSessions(world.environment, idToken: sessions[0].idToken, world.call())
      return try await world.environment.read(reading).map(\.session.id)
    }
    #expect(try await listed() == sessions.reversed().map(\.sessionID))
    sessions.append(try world.session(of: "account-y"))
    #expect(try await listed() == sessions.dropFirst().reversed().map(\.sessionID))
  }

  @Test func `another audience and an ended session list nothing`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    await refused(.invalidIDToken) { try await list(session, audience: "another") }
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    await refused(.tokenRevoked) { try await list(session) }
  }
}
