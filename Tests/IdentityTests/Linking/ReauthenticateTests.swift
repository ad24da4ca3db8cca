import Store
import Testing

@testable import Identity

/// Section 6: reauthentication.
struct `Reauthenticate, all rules` {
  let world = World()
  let right = Credential.password(email: ada, password: "correct horse")

  func known(factors: [FactorKind] = [], edit: (inout AccountRecord) -> Void = { _ in }) throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true, identities: [google()], factors: factors, edit: edit))
    return try world.session(of: "account-y")
  }

  func proof(_ assertion: Assertion) -> Credential { .providerToken(world.providers.token(assertion)) }

  @Test func `the account's own password opens a new session with a new auth_time`() async throws {
    let session = try known()
    world.clock.advance(millis: 60_000)
    let grant = try await world.reauthenticate(right, session).grant
    #expect(try world.claims(grant).authTime == world.now)
    #expect(world.store.state("account-y")?.account.lastSignInAt == world.now)
  }

  @Test func `check 99: the session id changes, and the earlier session stays open with its older login`()
    async throws
  {
    let session = try known()
    world.clock.advance(millis: 60_000)
    let grant = try await world.reauthenticate(right, session).grant
    let open = world.store.contents.openSessions(of: "account-y")
    #expect(open.count == 2)
    #expect(open.contains { $0.id == grant.sessionID } && grant.sessionID != session.sessionID)
    #expect(open.filter { $0.id != grant.sessionID }.allSatisfy { $0.authTime < world.clock.now() })
  }

  @Test func `check 86: an identity counts only with the subject that is linked`() async throws {
    let session = try known()
    let grant = try await world.reauthenticate(proof(google()), session).grant
    #expect(try world.claims(grant).signInProviderID == "google.com")
    await refused(.userMismatch) { try await world.reauthenticate(proof(google("g-2")), grant) }
    await refused(.userMismatch) { try await world.reauthenticate(proof(corp()), grant) }
  }

  @Test func `a custom token for the account's own id counts, and one for another account does not`() async throws {
    let session = try known()
    func token(_ accountID: String) async throws -> Credential {
      .customToken(try await world.customToken(for: accountID))
    }
    await refused(.userMismatch) { try await world.reauthenticate(try await token("somebody"), session) }
    let grant = try await world.reauthenticate(try await token("account-y"), session).grant
    #expect(try world.claims(grant).methods == ["custom"])
  }

  @Test func `a custom token from before the account's cut-off is rejected`() async throws {
    let session = try known()
    let token = try await world.customToken(for: "account-y")
    world.store.edit { $0.accounts["account-y"]?.tokensValidAfter = world.now }
    await refused(.invalidCustomToken) { try await world.reauthenticate(.customToken(token), session) }
  }

  @Test func `check 85: another account's credential is rejected and nothing is written`() async throws {
    let session = try known()
    world.store.insert(
      account(id: "other", .verified("bob@example.com"), password: true, identities: [corp(email: nil)]))
    let before = world.store.contents
    await refused(.userMismatch) { try await world.reauthenticate(proof(corp(email: nil)), session) }
    await refused(.userMismatch) { try await world.reauthenticate(proof(corp("unknown")), session) }
    for password in ["correct horse", "wrong"] {
      await refused(.userMismatch) {
        try await world.reauthenticate(.password(email: "bob@example.com", password: password), session)
      }
    }
    #expect(world.store.contents == before)
    #expect(world.passwords.verifications.isEmpty, "the password of another account is not checked")
  }

  @Test func `a wrong password and an account without one get the same error after the same work`() async throws {
    let session = try known()
    let wrong = Credential.password(email: ada, password: "wrong")
    let first = await refused(.invalidLoginCredentials) { try await world.reauthenticate(wrong, session) }
    world.store.edit { $0.accounts["account-y"]?.passwordHash = nil }
    let second = await refused(.invalidLoginCredentials) { try await world.reauthenticate(wrong, session) }
    #expect(first == second)
    #expect(world.passwords.verifications == ["hash:correct horse", nil])
  }

  @Test func `a reauthentication upgrades an old password hash`() async throws {
    let session = try known { $0.passwordHash = "old:correct horse" }
    _ = try await world.reauthenticate(right, session).grant
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:correct horse")
  }

  @Test func `a second factor is required as at sign-in, even if the session has passed it before`() async throws {
    _ = try known(factors: [.totp])
    let session = try world.session(of: "account-y", secondFactor: "totp")
    let before = world.store.contents
    let required = try await world.reauthenticate(right, session).required
    #expect(required.factors.map(\.kind) == [.totp])
    let row = try #require(try world.row(required.handle))
    #expect(row.purpose == .secondFactor)
    var after = world.store.contents
    after.pendings = before.pendings
    #expect(after == before, "only the row was written")
  }

  @Test func `a reauthentication of a disabled account fails as disabled and nothing is written`() async throws {
    let session = try known()
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    let before = world.store.contents
    await refused(.userDisabled) { try await world.reauthenticate(right, session) }
    #expect(world.store.contents == before)
  }

  @Test func `an anonymous credential and a pending one do not reauthenticate`() async throws {
    let session = try known()
    let handle = world.hold(google(), for: "account-y", purpose: .credentialInUse)
    await refused(.invalidField) { try await world.reauthenticate(.anonymous, session) }
    await refused(.pendingCredentialMismatch) { try await world.reauthenticate(.pendingToken(handle), session) }
  }

  @Test func `a single-use token reauthenticates once`() async throws {
    let session = try known()
    let token = world.providers.token(google(), singleUseUntil: world.now.adding(millis: 60_000))
    let grant = try await world.reauthenticate(.providerToken(token), session).grant
    await refused(.missingOrInvalidNonce) { try await world.reauthenticate(.providerToken(token), grant) }
  }

  @Test(arguments: [[], [.totp]] as [[FactorKind]])
  func `check 88: a token with an old login time does not prove a recent login`(_ factors: [FactorKind])
    async throws
  {
    let session = try known(factors: factors)
    let window = world.policy.recentLoginMillis + 60_000
    let ages: [(Int64?, Bool)] = [(nil, true), (0, true), (window, true), (window + 1, false)]
    for (ageMillis, isTaken) in ages {
      let token = Credential.providerToken(
        world.providers.token(
          google(), singleUseUntil: world.now.adding(millis: 3_600_000),
          authenticatedAt: ageMillis.map { world.now.adding(millis: -$0) }))
      let before = world.store.contents
      if isTaken {
        _ = try await world.reauthenticate(token, session)
        #expect(world.store.contents != before)
      } else {
        let failure = await refused(.requiresRecentLogin) { try await world.reauthenticate(token, session) }
        #expect(failure?.field == "credential.provider_token")
        #expect(failure?.metadata["confirmed"] == "required")
        #expect(failure?.metadata["max_age_seconds"] == String(world.policy.recentLoginMillis / 1_000))
        #expect(failure?.metadata["methods"]?.split(separator: ",").contains("password") == true)
        #expect(world.store.contents == before)
        if factors.isEmpty { _ = try await world.signIn(token).grant }
      }
    }
  }

  @Test func `check 86: another subject's token is a mismatch, however old its login is`() async throws {
    let session = try known()
    let yesterday = world.now.adding(millis: -86_400_000)
    let token = world.providers.token(google("g-2"), authenticatedAt: yesterday)
    await refused(.userMismatch) { try await world.reauthenticate(.providerToken(token), session) }
  }

  @Test func `a reauthentication reopens the window that the age of the login had closed`() async throws {
    let session = try known()
    world.clock.advance(millis: world.policy.recentLoginMillis)
    await refused(.requiresRecentLogin) { try await world.unlink("google.com", session) }
    let grant = try await world.reauthenticate(right, session).grant
    _ = try await world.unlink("google.com", grant)
  }

  @Test func `a sign-in method that was unlinked while its credential was verified does not count`() async throws {
    let session = try known()
    let state = try #require(world.store.state("account-y"))
    let caller = CallerSession(session: try #require(world.store.contents.sessions[session.sessionID]), state: state)
    var unlinked = caller
    unlinked.state.identities = []
    let proof = ReauthenticationProof.assertion(google())
    #expect(
      ReauthenticateDecision.decide(proof, unlinked, tokenSpent: false, now: world.now)
        == .refuse(ReauthenticateDecision.mismatch))
    guard case .session = ReauthenticateDecision.decide(proof, caller, tokenSpent: false, now: world.now) else {
      Issue.record("the linked identity did not count")
      return
    }
  }
}
