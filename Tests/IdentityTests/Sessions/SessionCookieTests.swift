import Store
import Testing

@testable import Identity

/// Section 8, rows C1 to C3.
struct `Session cookies, every row` {
  private static let day: Int64 = 86_400_000
  let world: World
  let grant: SessionGrant

  init() throws {
    world = World { $0.sessionCookiesEnabled = true }
    world.store.insert(account(.verified(ada), password: true))
    grant = try world.session(of: "account-y")
  }

  private func create(
    _ world: World? = nil, _ grant: SessionGrant? = nil, validForMillis: Int64 = day
  ) async throws -> SessionCookie {
    let world = world ?? self.world
    return try await CreateSessionCookie(world.environment)(
      idToken: (grant ?? self.grant).idToken, validForMillis: validForMillis, world.call())
  }

  private func status(of cookie: String, audience: String = "app") throws -> IDTokenStatus {
    let reading = try VerifyIDToken(world.environment, .sessionCookie(cookie), world.call(audience: audience))
    return try reading.answer(world.store.contents.facts(reading.query))
  }

  private func isActive(_ cookie: SessionCookie) throws -> Bool {
    if case .active("account-y", _) = try status(of: cookie.text) { true } else { false }
  }

  private func session(_ id: String) -> SessionRecord? { world.store.contents.sessions[id] }

  private func reason(_ body: () async throws -> SessionCookie) async -> Failure.Reason? {
    do {
      _ = try await body()
      return nil
    } catch { return (error as? Failure)?.reason }
  }

  @Test func `C1: cookies are off unless configured`() async throws {
    let cookie = try await create()
    var off = world
    off.policy.sessionCookiesEnabled = false
    #expect(await reason { try await create(off) } == .operationNotAllowed)
    let reading = try VerifyIDToken(off.environment, .sessionCookie(cookie.text), off.call())
    #expect(try reading.answer(off.store.contents.facts(reading.query)) == .inactive(.operationNotAllowed))
  }

  @Test func `C2: the login must be recent, by the window of cookies`() async throws {
    world.clock.advance(millis: world.policy.recentLoginMillis - 1)
    _ = try await create()
    world.clock.advance(millis: 1)
    #expect(await reason { try await create() } == .requiresRecentLogin)
    var wide = world
    wide.policy.recentLoginWindowsMillis[.createSessionCookie] = world.policy.recentLoginMillis + 1
    _ = try await create(wide)
  }

  @Test func `C2: the session must have passed the account's second factor`() async throws {
    let world = World { $0.sessionCookiesEnabled = true }
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let grant = try world.session(of: "account-y")
    #expect(await reason { try await create(world, grant) } == .requiresSecondFactor)
  }

  @Test func `a repeat under its key returns a cookie of the same session, while that is open`() async throws {
    func create(_ millis: Int64 = Self.day) async throws -> SessionCookie {
      try await CreateSessionCookie(world.environment)(
        idToken: grant.idToken, validForMillis: millis, world.call(key: "k", request: "\(millis)"))
    }
    let first = try await create()
    world.clock.advance(millis: 2 * 3_600_000)
    // The login is not recent any more, and the ID token has expired.
    let again = try await create()
    #expect(again.sessionID == first.sessionID && again.expiresAt == first.expiresAt)
    #expect(try isActive(again))
    #expect(world.store.contents.sessions.count == 2)
    #expect(world.store.contents.events(of: "account-y") == ["SESSION_COOKIE_CREATED"])
    #expect(await reason { try await create(2 * Self.day) } == .idempotencyKeyReused)
    _ = try await SignOut(world.environment)(.sessionCookie(first.text), world.call())
    #expect(await reason { try await create() } == .tokenRevoked)
  }

  @Test func `C3: the cookie has a session of its own, for the same login`() async throws {
    world.clock.advance(millis: 1_000)
    let cookie = try await create()
    let (own, old) = (try #require(session(cookie.sessionID)), try #require(session(grant.sessionID)))
    #expect(own.id != old.id && own.authTime == old.authTime && own.methods == old.methods)
    #expect(own.beganWith == old.beganWith && own.deviceID == old.deviceID && own.refreshDigest != old.refreshDigest)
    #expect(own.expiresAt == cookie.expiresAt && own.idleExpiresAt == cookie.expiresAt)
    #expect(cookie.expiresAt == world.now.adding(millis: Self.day).wholeSeconds)
    let claims = try world.tokens.verifySessionCookie(cookie.text, at: world.now)
    #expect(claims.sessionID == own.id && claims.email == ada && claims.expiresAt == cookie.expiresAt)
    #expect(world.store.contents.audit.last?.event == "SESSION_COOKIE_CREATED")
  }

  @Test func `a cookie is valid until its end, past the idle end of the session of the call`() async throws {
    let cookie = try await create(validForMillis: 14 * Self.day)
    try await SignOut(world.environment)(.idToken(grant.idToken), world.call())
    world.clock.advance(millis: 14 * Self.day - 1_000)
    #expect(try isActive(cookie))
    world.clock.advance(millis: 1_000)
    #expect(try status(of: cookie.text) == .inactive(.tokenExpired))
  }

  @Test func `a cookie ends with the login at the latest, and as a session without use`() async throws {
    var short = world
    short.policy.sessionIdleMillis = 3_600_000
    #expect(try await create(short).expiresAt == world.now.adding(millis: 3_600_000).wholeSeconds)
    let old = try #require(session(grant.sessionID))
    let end = world.now.adding(millis: 600_000)
    world.store.edit { $0.sessions[old.id]?.expiresAt = end }
    #expect(try await create().expiresAt == end.wholeSeconds)
  }

  @Test func `after a second factor a cookie lives an hour`() async throws {
    let world = World { $0.sessionCookiesEnabled = true }
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let grant = try world.session(of: "account-y", secondFactor: "totp")
    let cookie = try await create(world, grant)
    #expect(cookie.expiresAt == world.now.adding(millis: 3_600_000).wholeSeconds)
    #expect(world.store.contents.sessions[cookie.sessionID]?.secondFactor == "totp")
  }

  @Test func `a cookie is no ID token and an ID token no cookie`() async throws {
    let cookie = try await create()
    let asToken = try VerifyIDToken(world.environment, .idToken(cookie.text), world.call())
    #expect(try asToken.answer(world.store.contents.facts(asToken.query)) == .inactive(.invalidIDToken))
    #expect(try status(of: grant.idToken) == .inactive(.invalidIDToken))
    #expect(try status(of: cookie.text, audience: "other") == .inactive(.invalidIDToken))
  }

  @Test func `RevokeAll, EndSession and SignOut of the cookie end it`() async throws {
    let cookies = [try await create(), try await create(), try await create()]
    try await SignOut(world.environment)(.sessionCookie(cookies[0].text), world.call())
    let user = EndSession.Requester.user(idToken: grant.idToken)
    #expect(try await EndSession(world.environment)(cookies[1].sessionID, for: user, world.call()))
    #expect(try cookies.map(isActive) == [false, false, true])
    _ = try await RevokeAll(world.environment)(idToken: grant.idToken, world.call())
    #expect(try status(of: cookies[2].text) == .inactive(.tokenRevoked))
    #expect(await reason { try await create() } == .tokenRevoked)
  }

  @Test func `a new password ends cookies, and their number is limited as changes are`() async throws {
    let cookie = try await create()
    _ = try await UpdateAccount(world.environment)(
      UpdateAccountRequest(idToken: grant.idToken, newPassword: "a new passphrase"), world.call())
    #expect(try status(of: cookie.text) == .inactive(.tokenRevoked))
    let another = try world.session(of: "account-y")
    var reasons: [Failure.Reason?] = []
    for _ in 0..<101 { reasons.append(await reason { try await create(nil, another) }) }
    #expect(reasons.contains(nil) && reasons.last == .tooManyAttempts)
  }
}
