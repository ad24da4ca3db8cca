import Store
import Testing

@testable import Identity

struct `SignOut, all rules` {
  let world = World()

  func known() throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true))
    return try world.session(of: "account-y")
  }

  @Test func `either token ends its own session and no other`() async throws {
    let sessions = [try known(), try world.session(of: "account-y"), try world.session(of: "account-y")]
    try await SignOut(world.environment)(.idToken(sessions[0].idToken), world.call())
    try await SignOut(world.environment)(.refreshToken(sessions[1].refreshToken), world.call())
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [sessions[2].sessionID])
  }

  @Test func `check 98: a signed-out session cannot refresh and its tokens are revoked`() async throws {
    let session = try known()
    try await SignOut(world.environment)(.refreshToken(session.refreshToken), world.call())
    await refused(.tokenRevoked) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
    let reading = try VerifyIDToken(world.environment, .idToken(session.idToken), world.call())
    #expect(try await world.environment.read(reading) == .inactive(.tokenRevoked))
  }

  @Test func `a second sign-out is not an error and changes nothing`() async throws {
    let session = try known()
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    let before = world.store.contents
    world.clock.advance(millis: 1000)
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    try await SignOut(world.environment)(.refreshToken(session.refreshToken), world.call())
    #expect(world.store.contents == before)
  }

  @Test func `another caller's refresh token, a forged one and another audience end no session`() async throws {
    let session = try known()
    let signOut = SignOut(world.environment)
    await refused(.invalidRefreshToken) {
      try await signOut(.refreshToken(session.refreshToken), world.call(caller: "spiffe://test/other"))
    }
    await refused(.invalidRefreshToken) {
      try await signOut(.refreshToken(session.refreshToken + "A"), world.call())
    }
    await refused(.invalidIDToken) {
      try await signOut(.idToken(session.idToken), world.call(audience: "another"))
    }
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
  }
}

struct `VerifyIdToken, all rules` {
  let world = World()

  func status(_ idToken: String, audience: String = "app") async throws -> IDTokenStatus {
    let reading = try VerifyIDToken(world.environment, .idToken(idToken), world.call(audience: audience))
    return try await world.environment.read(reading)
  }

  @Test func `a token of an open session is active and names its account`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    #expect(
      try await status(session.idToken) == .active(accountID: "account-y", claimsJSON: #"{"sub":"account-y"}"#))
  }

  @Test func `check 98: disabled, deleted, expired and misdirected tokens are inactive with a reason`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    #expect(try await status("never ours") == .inactive(.invalidIDToken))
    #expect(try await status(session.idToken, audience: "another") == .inactive(.invalidIDToken))
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    #expect(try await status(session.idToken) == .inactive(.userDisabled))
    world.store.edit { $0.accounts["account-y"] = nil }
    #expect(try await status(session.idToken) == .inactive(.tokenRevoked))
    world.clock.advance(millis: world.policy.idTokenLifetimeMillis)
    #expect(try await status(session.idToken) == .inactive(.tokenExpired))
  }

  @Test func `check 100: a refresh token is not accepted as an ID token, nor an ID token as a refresh token`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    #expect(try await status(session.refreshToken) == .inactive(.invalidIDToken))
    await refused(.invalidRefreshToken) { try await Refresh(world.environment)(session.idToken, world.call()) }
    let handle = world.hold(corp(), for: "account-y")
    #expect(try await status(handle) == .inactive(.invalidIDToken))
  }

  @Test func `a failing store is an error and not an inactive token`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.store.fail(with: .closed)
    await refused(.storeUnavailable) { try await status(session.idToken) }
  }
}
