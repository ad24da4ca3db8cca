import Store
import Testing

@testable import Identity

/// Check 98 in a race: a session ends, or an account changes, between the decision and its commit.
struct `Interrupted between decision and commit` {
  let world = World()
  let password = Credential.password(email: ada, password: "correct horse")

  func known() throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    return try world.session(of: "account-y")
  }

  /// An environment that removes the identity of `known` between decision and commit.
  func unlinking() -> Environment {
    world.environment { store in
      store.edit {
        $0.identities[google().identity] = nil
        $0.accounts["account-y"]?.version += 1
      }
    }
  }

  @Test func `nothing is linked or made pending for a session that is signed out during the call`() async throws {
    let session = try known()
    world.store.insert(account(id: "owner", identities: [corp("c-owned", email: nil)]))
    for assertion in [corp("c-free", email: nil), corp("c-owned", email: nil)] {
      world.store.edit { $0.sessions[session.sessionID]?.closed = nil }
      let token = world.providers.token(assertion)
      await world.signedOut(session) { environment in
        let request = LinkRequest(idToken: session.idToken, credential: .providerToken(token))
        _ = try await Link(environment)(request, world.call())
      }
    }
  }

  @Test func `no token is spent on an existing link for a session that is signed out during the call`() async throws {
    let session = try known()
    // From here on, a link that already exists writes nothing else.
    _ = try await world.link(google(), session)
    let token = world.providers.token(google(), singleUseUntil: world.now.adding(millis: 60_000))
    await world.signedOut(session) { environment in
      let request = LinkRequest(idToken: session.idToken, credential: .providerToken(token))
      _ = try await Link(environment)(request, world.call())
    }
  }

  @Test func `nothing waits for a factor of a session that is signed out during the call`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let session = try world.session(of: "account-y")
    let token = world.providers.token(google())
    await world.signedOut(session) { environment in
      let request = LinkRequest(idToken: session.idToken, credential: .providerToken(token))
      _ = try await Link(environment)(request, world.call())
    }
    world.store.edit { $0.sessions[session.sessionID]?.closed = nil }
    await world.signedOut(session) { environment in
      let request = ReauthenticateRequest(idToken: session.idToken, credential: password)
      _ = try await Reauthenticate(environment)(request, world.call())
    }
  }

  @Test func `nothing is unlinked for a session that is signed out during the call`() async throws {
    let session = try known()
    await world.signedOut(session) { environment in
      let request = UnlinkRequest(idToken: session.idToken, providerID: "google.com")
      _ = try await Unlink(environment)(request, world.call())
    }
  }

  @Test func `a session that is signed out during the call is not replaced by a new one`() async throws {
    let session = try known()
    await world.signedOut(session) { environment in
      let request = ReauthenticateRequest(idToken: session.idToken, credential: password)
      _ = try await Reauthenticate(environment)(request, world.call())
    }
  }

  @Test func `nothing is deleted for a session that is signed out during the call`() async throws {
    let session = try known()
    await world.signedOut(session) { environment in
      try await DeleteAccount(environment)(idToken: session.idToken, world.call())
    }
  }

  @Test func `nothing is refreshed for a session that is signed out during the call`() async throws {
    let session = try known()
    await world.signedOut(session) { environment in
      _ = try await Refresh(environment)(session.refreshToken, world.call())
    }
  }

  @Test func `concurrent calls that detect a replay report it once`() async throws {
    let session = try known()
    let second = try await Refresh(world.environment)(session.refreshToken, world.call())
    _ = try await Refresh(world.environment)(second.refreshToken, world.call())
    await world.signedOut(session) { environment in
      _ = try await Refresh(environment)(session.refreshToken, world.call())
    }
    #expect(world.store.contents.audit.isEmpty)
  }

  @Test func `a second link returns no refresh token that a refresh during the call has spent`() async throws {
    let session = try known()
    let linked = try await world.link(corp(email: nil), session).grant
    let spent = try #require(RefreshToken(linked.refreshToken, world.cryptography))
    let rotation = SessionWrite.rotate(
      id: session.sessionID, from: spent.digest(world.cryptography),
      to: spent.successor(world.cryptography).digest(world.cryptography), at: world.now,
      idleExpiresAt: world.now.adding(millis: 86_400_000))
    let refreshed = world.environment { store in
      store.edit { tables in
        let outcome = tables.carryOut(Change([.session(rotation)]))
        #expect(outcome == .committed)
      }
    }
    let token = world.providers.token(assertion("oidc.other", "o-1", email: nil, tier: .unverified))
    let request = LinkRequest(idToken: session.idToken, credential: .providerToken(token))
    // Without a change of the session, the answer would repeat the token of the first link.
    let second = try await Link(refreshed)(request, world.call()).grant
    #expect(second.refreshToken != linked.refreshToken)
    // After the grace, a spent token ends its session.
    world.clock.advance(millis: world.policy.refreshGraceMillis + 1)
    let next = try await Refresh(world.environment)(second.refreshToken, world.call())
    #expect(next.sessionID == session.sessionID)
    #expect(world.store.contents.events(of: "account-y") == ["LINKED", "LINKED"])
  }

  @Test func `a sign-in method that is unlinked during the call does not reauthenticate`() async throws {
    let session = try known()
    let token = world.providers.token(google())
    let environment = unlinking()
    await refused(.userMismatch) {
      let request = ReauthenticateRequest(idToken: session.idToken, credential: .providerToken(token))
      return try await Reauthenticate(environment)(request, world.call())
    }
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [session.sessionID])
  }

  @Test func `a password that is changed during the call does not reauthenticate`() async throws {
    let session = try known()
    let environment = world.environment { store in
      store.edit {
        $0.accounts["account-y"]?.passwordHash = "hash:another"
        $0.accounts["account-y"]?.passwordSetAt = beginning.adding(millis: 1)
        $0.accounts["account-y"]?.version += 1
      }
    }
    await refused(.invalidLoginCredentials) {
      let request = ReauthenticateRequest(idToken: session.idToken, credential: password)
      return try await Reauthenticate(environment)(request, world.call())
    }
  }

  @Test func `a refresh never returns the account as it was before a concurrent change`() async throws {
    let session = try known()
    let environment = unlinking()
    let refreshed = try await Refresh(environment)(session.refreshToken, world.call())
    #expect(refreshed.account.identities.isEmpty && refreshed.account.account.version == 2)
  }

  @Test func `a linked method that is unlinked during Link is linked again`() async throws {
    let session = try known()
    let token = world.providers.token(google())
    let environment = unlinking()
    let request = LinkRequest(idToken: session.idToken, credential: .providerToken(token))
    guard case .session(let grant, alreadyLinked: false) = try await Link(environment)(request, world.call()) else {
      Issue.record("not linked")
      return
    }
    #expect(grant.account.holds(google().identity) && world.store.state("account-y") == grant.account)
  }

  @Test func `a repeated completion is decided by the account's current password`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let handle = try await world.signIn(google()).exists.handle
    let first = try await world.signIn(password, pendingToken: handle).grant
    let environment = world.environment { store in
      store.edit {
        $0.accounts["account-y"]?.passwordHash = "hash:another"
        $0.accounts["account-y"]?.version += 1
      }
    }
    let request = SignInRequest(credential: password, pendingToken: handle)
    await refused(.invalidLoginCredentials) { try await SignIn(environment)(request, world.call()) }
    #expect(world.store.contents.sessions[first.sessionID]?.parentDigest == nil, "no token was returned")
  }

  @Test func `an identity whose address is taken during the call is not linked to another account`() async throws {
    world.store.insert(account(.verified("own@example.com"), password: true))
    let session = try world.session(of: "account-y")
    let take: @Sendable (MemoryStore) -> Void = { $0.insert(account(id: "faster", .unverified(ada), password: true)) }
    let request = LinkRequest(idToken: session.idToken, credential: .providerToken(world.providers.token(google())))
    await refused(.emailAlreadyInUse) {
      try await Link(world.environment(interruptedBy: take))(request, world.call())
    }
    #expect(world.store.state("account-y")?.identities == [])
  }

  @Test func `a pending identity whose address is taken during the call is not linked to another account`()
    async throws
  {
    let own = Credential.password(email: "own@example.com", password: "correct horse")
    world.store.insert(account(.verified("own@example.com"), password: true))
    let handle = world.hold(google(), for: "account-y", purpose: .link)
    let take: @Sendable (MemoryStore) -> Void = { $0.insert(account(id: "faster", .unverified(ada), password: true)) }
    await refused(.emailAlreadyInUse) {
      try await SignIn(world.environment(interruptedBy: take))(
        SignInRequest(credential: own, pendingToken: handle), world.call())
    }
    #expect(world.store.state("account-y")?.identities == [])
  }

  @Test func `an address that is taken during the call is not linked`() async throws {
    world.store.insert(account(identities: [corp(email: nil)]))
    let session = try world.session(of: "account-y", by: .provider("oidc.corp"))
    let token = world.providers.token(google())
    let environment = world.environment { $0.insert(account(id: "faster", .unverified(ada), password: true)) }
    await refused(.emailAlreadyInUse) {
      let request = LinkRequest(idToken: session.idToken, credential: .providerToken(token))
      return try await Link(environment)(request, world.call())
    }
    #expect(world.store.state("account-y")?.account.email == nil)
  }
}
