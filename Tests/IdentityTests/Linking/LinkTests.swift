import Store
import Testing

@testable import Identity

/// Rules for every link, in any row of the table.
struct `Link, all rules` {
  let world = World()

  func known() throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true))
    return try world.session(of: "account-y")
  }

  @Test func `a link returns fresh tokens with the new identity, and auth_time does not change`() async throws {
    let session = try known()
    world.clock.advance(millis: 60_000)
    let grant = try await world.link(google(), session).grant
    let (before, after) = (try world.claims(session), try world.claims(grant))
    #expect(after.identities == [google().identity] && after.signInProviderID == "google.com")
    #expect(after.authTime == before.authTime && after.issuedAt > before.issuedAt)
    #expect(after.methods == ["pwd", "fed"])
    #expect(grant.refreshTokenExpiresAt <= session.refreshTokenExpiresAt.adding(millis: 60_000))
    #expect(try await Refresh(world.environment)(grant.refreshToken, world.call()).sessionID == grant.sessionID)
  }

  @Test func `a link does not extend the absolute end of the login`() async throws {
    let session = try known()
    let end = world.store.contents.sessions[session.sessionID]?.expiresAt
    world.clock.advance(millis: 60_000)
    let grant = try await world.link(google(), session).grant
    #expect(world.store.contents.sessions[grant.sessionID]?.expiresAt == end)
  }

  @Test func `name and photo of the account are filled only if they are empty`() async throws {
    world.store.insert(account(.verified(ada), password: true) { $0.displayName = "Countess" })
    _ = try await world.link(google(), try world.session(of: "account-y"))
    let record = try #require(world.store.state("account-y")?.account)
    #expect(record.displayName == "Countess" && record.photoURL == google().photoURL)
  }

  @Test func `linking an identity again deletes the record of its unlink`() async throws {
    var state = account(.verified(ada), password: true)
    state.unlinks = [UnlinkRecord(accountID: "account-y", key: google().identity, at: beginning)]
    world.store.insert(state)
    _ = try await world.link(google(), try world.session(of: "account-y"))
    #expect(world.store.contents.unlinks.isEmpty)
  }

  @Test func `a link leaves an audit row that names the provider`() async throws {
    _ = try await world.link(google(), try known())
    let row = try #require(world.store.contents.audit.last)
    #expect(row.event == "LINKED" && row.detailsJSON == #"{"provider_id":"google.com"}"#)
  }

  @Test func `check 28: a failed link leaves the session, the refresh token and everything else unchanged`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, identities: [google("g-1")]))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    await refused(.providerAlreadyLinked) { try await world.link(google("g-2"), session) }
    await refused(.invalidCredential) {
      try await world.link(.providerToken(ProviderToken(providerID: "google.com")), session)
    }
    #expect(world.store.contents == before)
    #expect(try await Refresh(world.environment)(session.refreshToken, world.call()).sessionID == session.sessionID)
  }

  @Test(arguments: [Credential.anonymous, .customToken("custom-0")])
  func `a credential that is not a sign-in method of its own cannot be linked`(_ credential: Credential) async throws {
    let session = try known()
    #expect(await refused(.invalidField) { try await world.link(credential, session) }?.field == "credential")
  }

  @Test func `a provider that is not enabled is not linked`() async throws {
    let session = try known()
    let gone = assertion("oidc.gone", "s-1", email: nil, tier: .unverified)
    await refused(.operationNotAllowed) { try await world.link(gone, session) }
  }

  @Test func `a single-use token links once and is spent in the same change`() async throws {
    let session = try known()
    let until = world.now.adding(millis: 60_000)
    let token = world.providers.token(google(), singleUseUntil: until)
    _ = try await world.link(.providerToken(token), session).grant
    #expect(Array(world.store.contents.spent.values) == [until])
    world.store.insert(account(id: "second", .none, password: false, identities: [corp(email: nil)]))
    world.store.edit { $0.identities[google().identity] = nil }
    let second = try world.session(of: "second", by: .provider("oidc.corp"))
    await refused(.missingOrInvalidNonce) { try await world.link(.providerToken(token), second) }
  }

  @Test func `a link without a binding is rejected if one is required`() async throws {
    let world = World { $0.requireBinding = true }
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    #expect(await refused(.invalidField) { try await world.link(google(), session) }?.field == "binding")
    _ = try await world.link(google(), session, world.call(binding: "a browser")).grant
  }

  @Test func `the pending rows of an account are limited, with a retry delay`() async throws {
    let world = World { $0.pendingLimits.perAccountMax = 1 }
    world.store.insert(account(id: "owner", identities: [google(email: nil)]))
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    _ = try await world.link(google(email: nil), session).inUse
    let failure = await refused(.quotaExceeded) { try await world.link(google(email: nil), session) }
    #expect(failure?.retryAfterMillis == world.policy.pendingLifetimeMillis)
  }
}

/// Section 4 with a password as the linked credential.
struct `Link of a password` {
  let world = World()

  func link(_ password: String) async throws -> LinkAnswer {
    world.store.insert(account(.verified(ada), identities: [google()]))
    return try await world.link(.password(email: ada, password: password), try world.session(of: "account-y"))
  }

  @Test func `check 103: 8 and 1,024 bytes are accepted, one less or more is not`() async throws {
    await refused(.weakPassword) { try await link(String(repeating: "x", count: 7)) }
    await refused(.invalidField) { try await link(String(repeating: "x", count: 1025)) }
    _ = try await link(String(repeating: "x", count: 8)).grant
    _ = try await link(String(repeating: "x", count: 1024)).grant
  }

  @Test func `check 103: the length counts bytes: four letters of two bytes are enough`() async throws {
    _ = try await link("жжжж").grant
  }

  @Test func `check 103: a common password is weak`() async throws {
    #expect(await refused(.weakPassword) { try await link("password1") }?.field == "credential.password.password")
  }

  @Test func `a password cannot be linked if passwords are disabled`() async throws {
    let world = World { $0.passwordEnabled = false }
    world.store.insert(account(.verified(ada), identities: [google()]))
    let session = try world.session(of: "account-y", by: .provider("google.com"))
    await refused(.operationNotAllowed) {
      try await world.link(.password(email: ada, password: "a long secret"), session)
    }
  }
}

/// The owner of the token, repeats, and races.
struct `Link, sessions, repeats and races` {
  let world = World()

  func known(_ world: World) throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true))
    return try world.session(of: "account-y")
  }

  @Test func `a closed session, an expired token and another audience are rejected before the credential is checked`()
    async throws
  {
    let session = try known(world)
    let bad = Credential.providerToken(ProviderToken(providerID: "google.com"))
    await refused(.invalidIDToken) { try await world.link(bad, session, world.call(audience: "another")) }
    world.store.edit { $0.sessions[session.sessionID]?.closed = SessionEnd(at: world.now, reason: .revoked) }
    await refused(.tokenRevoked) { try await world.link(bad, session) }
    world.clock.advance(millis: world.policy.idTokenLifetimeMillis)
    await refused(.tokenExpired) { try await world.link(bad, session) }
  }

  @Test func `check 34: the same key and request return the same session without linking again`() async throws {
    let session = try known(world)
    let credential = Credential.providerToken(world.providers.token(google()))
    let first = try await world.link(credential, session, world.call(key: "k")).grant
    let again = try await world.link(credential, session, world.call(key: "k")).grant
    #expect(again.sessionID == first.sessionID)
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
  }

  @Test func `check 34: another request under the same key is refused`() async throws {
    let session = try known(world)
    _ = try await world.link(google(), session, world.call(key: "k")).grant
    await refused(.idempotencyKeyReused) {
      try await world.link(corp(), session, world.call(key: "k", request: "another"))
    }
  }

  @Test func `check 115: nothing is linked after the call was cancelled`() async throws {
    let session = try known(world)
    let commitDecision = CommitDecision()
    #expect(commitDecision.cancel())
    let before = world.store.contents
    await refused(.cancelled) {
      try await world.link(google(), session, world.call(key: "k", commitDecision: commitDecision))
    }
    #expect(world.store.contents == before)
  }

  @Test func `a failing store returns STORE_UNAVAILABLE, and the call may be repeated`() async throws {
    let session = try known(world)
    world.store.fail(with: .unavailable("disk"))
    #expect(await refused(.storeUnavailable) { try await world.link(google(), session) }?.retryAfterMillis != nil)
  }

  @Test(arguments: 1...20)
  func `check 33: one identity that two accounts link concurrently belongs to exactly one`(
    _ seed: UInt64
  ) async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed) {
      $0.pendingLimits.perAccountMax = 50
    }
    for id in ["one", "two"] {
      world.store.insert(account(id: id, .verified("\(id)@example.com"), password: true))
    }
    let sessions = try ["one", "two"].map { try world.session(of: $0) }
    let shared = google(email: nil)
    let answers = try await withThrowingTaskGroup(of: LinkAnswer.self) { group in
      for round in 0..<50 { group.addTask { try await world.link(shared, sessions[round % 2]) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let links = answers.count { if case .session(_, alreadyLinked: false) = $0 { true } else { false } }
    let repeats = answers.count { if case .session(_, alreadyLinked: true) = $0 { true } else { false } }
    #expect(links == 1 && repeats == 24)
    #expect(world.store.contents.audit.map(\.event) == ["LINKED"])
  }

  @Test(arguments: 1...20)
  func `check 13: fifty completions of one pending token link once and return the same session`(
    _ seed: UInt64
  ) async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed)
    let session = try known(world)
    let handle = world.hold(corp(), for: "account-y")
    let sessionIDs = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await world.link(.pendingToken(handle), session).grant.sessionID } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(sessionIDs == [try #require(try world.row(handle)?.completedSessionID)])
    #expect(world.store.contents.audit.map(\.event) == ["LINKED"])
  }
}
