import Store
import Testing

@testable import Identity

/// Section 8, checks 87 and 93 to 98.
struct `Refresh, all rules` {
  let world = World()

  func known(secondFactor: String? = nil) throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true, factors: secondFactor == nil ? [] : [.totp]))
    return try world.session(of: "account-y", secondFactor: secondFactor)
  }

  func refresh(_ token: String, caller: String = "spiffe://test/app") async throws -> SessionGrant {
    try await Refresh(world.environment)(token, world.call(caller: caller))
  }

  @Test func `each use rotates the token within the same session`() async throws {
    var token = try known().refreshToken
    var seen: Set<String> = [token]
    for _ in 0..<5 {
      world.clock.advance(millis: 60_000)
      let grant = try await refresh(token)
      token = grant.refreshToken
      #expect(seen.insert(token).inserted)
    }
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
  }

  @Test func `check 87: auth_time, the sign-in method and the factor stay as they were at the login`() async throws {
    let session = try known(secondFactor: "totp")
    let before = try world.claims(session)
    world.clock.advance(millis: 600_000)
    let after = try world.claims(try await refresh(session.refreshToken))
    #expect(after.authTime == before.authTime && after.methods == before.methods)
    #expect(after.signInProviderID == before.signInProviderID && after.signInSecondFactor == "totp")
    #expect(after.issuedAt == world.now)
  }

  @Test func `the account's data in the tokens is read again`() async throws {
    let session = try known()
    world.store.edit { $0.accounts["account-y"]?.displayName = "Countess" }
    #expect(try world.claims(try await refresh(session.refreshToken)).name == "Countess")
  }

  @Test func `the next refresh shows changed custom claims, an unlinked identity and an unverified address`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, identities: [google(), corp()]))
    let session = try world.session(of: "account-y")
    world.store.edit {
      $0.accounts["account-y"]?.customClaimsJSON = #"{"role":"guest"}"#
      $0.accounts["account-y"]?.emailAddress?.verification = nil
      $0.identities[google().identity] = nil
    }
    let claims = try world.claims(try await refresh(session.refreshToken))
    #expect(claims.customClaimsJSON == #"{"role":"guest"}"#)
    #expect(!claims.emailVerified)
    #expect(claims.identities == [corp().identity])
  }

  @Test func `a withdrawn factor is no longer in the tokens, and another kind does not replace it`()
    async throws
  {
    let session = try known(secondFactor: "totp")
    let before = try world.claims(session)
    #expect(before.signInSecondFactor == "totp" && before.methods == ["pwd", "otp", "mfa"])
    #expect(before.signInSecondFactorID == "factor-totp")
    world.store.edit { $0.factors = account(factors: [.phone]).factors }
    let after = try world.claims(try await refresh(session.refreshToken))
    #expect(after.signInSecondFactor == nil && after.signInSecondFactorID == nil && after.methods == ["pwd"])
  }

  @Test func `check 94: the direct parent gets the same successor for ten seconds, and ends the family after that`()
    async throws
  {
    let parent = try known().refreshToken
    let successor = try await refresh(parent).refreshToken
    world.clock.advance(millis: world.policy.refreshGraceMillis)
    #expect(try await refresh(parent).refreshToken == successor)
    world.clock.advance(millis: 1)
    await refused(.tokenRevoked) { try await refresh(parent) }
    await refused(.tokenRevoked) { try await refresh(successor) }
    #expect(world.store.contents.events(of: "account-y") == ["REFRESH_REPLAYED"])
  }

  @Test func `check 93 and 94: a grandparent ends the family immediately, with one event`() async throws {
    let session = try known()
    let second = try await refresh(session.refreshToken).refreshToken
    let third = try await refresh(second).refreshToken
    for token in [session.refreshToken, session.refreshToken, third] {
      await refused(.tokenRevoked) { try await refresh(token) }
    }
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    #expect(world.store.contents.events(of: "account-y") == ["REFRESH_REPLAYED"])
  }

  @Test(arguments: 1...20)
  func `check 95: a hundred concurrent refreshes of one token get one successor and raise no alarm`(_ seed: UInt64)
    async throws
  {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed)
    world.store.insert(account(.verified(ada), password: true))
    let token = try world.session(of: "account-y").refreshToken
    let successors = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<100 {
        group.addTask { try await Refresh(world.environment)(token, world.call()).refreshToken }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(successors.count == 1 && !successors.contains(token))
    #expect(world.store.contents.audit.isEmpty)
  }

  @Test func `check 96: another caller's token is rejected as unknown and its owner is not affected`() async throws {
    let token = try known().refreshToken
    await refused(.invalidRefreshToken) { try await refresh(token, caller: "spiffe://test/other") }
    _ = try await refresh(token)
    await refused(.invalidRefreshToken) { try await refresh(token, caller: "spiffe://test/other") }
    #expect(world.store.contents.audit.isEmpty)
  }

  @Test func `check 97: a token that is cut, padded, of another case or with any letter changed is unknown`()
    async throws
  {
    let token = try known().refreshToken
    let letters = Array(token)
    var forged = [String(token.dropLast()), token + "A", token + "=", token.uppercased(), "", ".", token + "." + token]
    for index in letters.indices {
      var changed = letters
      changed[index] = changed[index] == "B" ? "C" : "B"
      forged.append(String(changed))
    }
    let before = world.store.contents
    for text in forged { await refused(.invalidRefreshToken) { try await refresh(text) } }
    #expect(world.store.contents == before, "a forgery ends no family")
    _ = try await refresh(token)
  }

  @Test func `check 98: a disabled account cannot refresh from the next call on`() async throws {
    let token = try known().refreshToken
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    let before = world.store.contents
    await refused(.userDisabled) { try await refresh(token) }
    #expect(world.store.contents == before)
  }

  @Test func `check 98: a deleted account cannot refresh`() async throws {
    let session = try known()
    try await DeleteAccount(world.environment)(idToken: session.idToken, world.call())
    await refused(.invalidRefreshToken) { try await refresh(session.refreshToken) }
  }

  @Test func `a session expires after thirty idle days, and each use restarts that time`() async throws {
    let session = try known()
    world.clock.advance(millis: world.policy.sessionIdleMillis - 1)
    let later = try await refresh(session.refreshToken)
    #expect(later.refreshTokenExpiresAt == world.now.adding(millis: world.policy.sessionIdleMillis))
    world.clock.advance(millis: world.policy.sessionIdleMillis)
    await refused(.tokenExpired) { try await refresh(later.refreshToken) }
  }

  @Test func `no use extends the absolute end`() async throws {
    var session = try known()
    let end = world.now.adding(millis: world.policy.sessionAbsoluteMillis)
    while world.now.adding(millis: world.policy.sessionIdleMillis - 1) < end {
      world.clock.advance(millis: world.policy.sessionIdleMillis - 1)
      session = try await refresh(session.refreshToken)
      #expect(session.refreshTokenExpiresAt <= end)
    }
    world.clock.advance(millis: end.millis - world.now.millis)
    await refused(.tokenExpired) { try await refresh(session.refreshToken) }
  }

  @Test func `the refresh token from before a repeated answer raises no alarm`() async throws {
    let request = CreateAccountRequest(email: ada, password: "a long secret")
    let create = CreateAccount(world.environment)
    let first = try await create(request, world.call(key: "k")).grant
    let again = try await create(request, world.call(key: "k")).grant
    world.clock.advance(millis: world.policy.refreshGraceMillis + 1)
    #expect(try await refresh(first.refreshToken).refreshToken == again.refreshToken)
    _ = try await refresh(again.refreshToken)
    #expect(world.store.contents.events(of: first.account.account.id) == ["ACCOUNT_CREATED"])
  }
}
