import Store
import Testing

@testable import Identity

/// Section 10 for SignIn, and the remains of calls that do not complete.
struct `SignIn, repeated or cancelled` {
  let world = World()

  @Test func `check 34: a repeat under the same key returns the same session with fresh tokens`() async throws {
    let first = try await world.signIn(google(), world.call(key: "k")).grant
    let before = world.store.contents
    let again = try await world.signIn(google(), world.call(key: "k")).grant
    #expect(again.sessionID == first.sessionID && again.account == first.account && again.isNewAccount)
    #expect(world.store.contents.accounts == before.accounts && world.store.contents.sessions.count == 1)
    #expect(world.store.contents.audit == before.audit)
    _ = try await Refresh(world.environment)(again.refreshToken, world.call())
  }

  @Test func `a repeat succeeds although its token has been spent since`() async throws {
    let token = Credential.providerToken(
      world.providers.token(google(), singleUseUntil: world.now.adding(millis: 600_000)))
    let first = try await world.signIn(token, world.call(key: "k")).grant
    #expect(try await world.signIn(token, world.call(key: "k")).grant.sessionID == first.sessionID)
  }

  @Test func `several repeats return one refresh token, and that of the first answer is still valid`() async throws {
    let first = try await world.signIn(google(), world.call(key: "k")).grant
    let second = try await world.signIn(google(), world.call(key: "k")).grant
    let third = try await world.signIn(google(), world.call(key: "k")).grant
    #expect(second.refreshToken == third.refreshToken && second.refreshToken != first.refreshToken)
    let refreshed = try await Refresh(world.environment)(first.refreshToken, world.call())
    #expect(refreshed.sessionID == first.sessionID)
  }

  @Test func `a repeat returns the methods that a reclaim revoked again`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    _ = try await world.signIn(google(), world.call(key: "k"))
    let again = try await world.signIn(google(), world.call(key: "k")).grant
    #expect(again.revokedProviderIDs == ["password"] && !again.isNewAccount)
  }

  @Test func `the same key for another request is refused, and another caller's key is another key`() async throws {
    _ = try await world.signIn(google(), world.call(key: "k"))
    #expect(
      await world.untouched {
        await refused(.idempotencyKeyReused) { try await world.signIn(google(), world.call(key: "k", request: "2")) }
      })
    let other = try await world.signIn(google(), world.call(caller: "spiffe://test/other", key: "k")).grant
    #expect(world.store.contents.sessions.count == 2 && !other.isNewAccount)
  }

  @Test func `an expired record has no effect, even before a sweep deletes it`() async throws {
    _ = try await world.signIn(google(), world.call(key: "k"))
    let record = try #require(world.store.contents.idempotency.values.first)
    world.clock.advance(millis: world.policy.idempotencyLifetimeMillis - 1)
    await refused(.idempotencyKeyReused) { try await world.signIn(corp(), world.call(key: "k", request: "2")) }
    world.clock.advance(millis: 1)
    let other = try await world.signIn(.anonymous, world.call(key: "k", request: "2")).grant
    #expect(other.isNewAccount)
    let next = try #require(world.store.contents.idempotency[record.key])
    #expect(next.request != record.request && next.sessionID == other.sessionID)
  }

  @Test func `a repeat of an ended session, or of a disabled account, fails with that reason`() async throws {
    let first = try await world.signIn(google(), world.call(key: "k")).grant
    let id = first.account.account.id
    world.store.edit { $0.accounts[id]?.disabled = true }
    await refused(.userDisabled) { try await world.signIn(google(), world.call(key: "k")) }
    world.store.edit { $0.sessions[first.sessionID]?.closed = SessionEnd(at: world.now, reason: .revoked) }
    await refused(.tokenRevoked) { try await world.signIn(google(), world.call(key: "k")) }
    world.store.edit { tables in
      tables.sessions[first.sessionID]?.closed = nil
      tables.sessions[first.sessionID]?.expiresAt = world.now
    }
    await refused(.tokenExpired) { try await world.signIn(google(), world.call(key: "k")) }
  }

  @Test func `the record contains no token and nothing that could be guessed`() async throws {
    let grant = try await world.signIn(google(), world.call(key: "k")).grant
    let record = try #require(world.store.contents.idempotency.values.first)
    #expect(record.outcome == "created" && record.sessionID == grant.sessionID)
    #expect(record.expiresAt == world.now.adding(millis: 86_400_000))
    let text = "\(record)"
    #expect(!text.contains(grant.refreshToken) && !text.contains(grant.idToken))
  }

  @Test func `a repeat of a conflict gets the first pending token, which can be completed`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let credential = Credential.providerToken(
      world.providers.token(corp(tier: .verified), singleUseUntil: world.now.adding(millis: 600_000)))
    var first = try await world.signIn(credential, world.call(key: "k")).exists
    let again = try await world.signIn(credential, world.call(key: "k")).exists
    // The row has the provider's profile of the user, the record has neither profile nor tokens.
    (first.userInfo, first.tokens) = (nil, nil)
    #expect(again == first && world.store.contents.pendings.count == 1)
    let grant = try await world.signIn(
      .password(email: ada, password: "correct horse"), pendingToken: again.handle
    ).grant
    #expect(grant.account.identities.count == 1)
    #expect(try await world.signIn(credential, world.call(key: "k")).exists == first, "with any outcome")
    await refused(.idempotencyKeyReused) { try await world.signIn(credential, world.call(key: "k", request: "2")) }
  }

  @Test func `a conflict is recorded for its lifetime, and no table contains its pending token in clear text`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    let first = try await world.signIn(corp(tier: .verified), world.call(key: "k")).exists
    let record = try #require(world.store.contents.idempotency.values.first)
    #expect(record.expiresAt == first.expiresAt && record.sessionID == nil)
    #expect(!record.outcome.contains(first.handle) && !record.outcome.contains(ada))
    world.clock.advance(millis: world.policy.pendingLifetimeMillis)
    #expect(try await world.signIn(corp(tier: .verified), world.call(key: "k")).exists.handle != first.handle)
    world.store.edit { $0.idempotency[record.key]?.outcome = "held AAAA" }
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(corp(tier: .verified), world.call(key: "k"))
    }
  }

  @Test func `concurrent conflicts under one key create one pending credential`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let handles = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 {
        group.addTask { [world] in
          try await world.signIn(corp(tier: .verified), world.call(key: "k")).exists.handle
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(handles.count == 1 && world.store.contents.pendings.count == 1)
  }

  @Test func `a failed call leaves no record: the same key may succeed later`() async throws {
    await refused(.accountNotFound) { try await world.signIn(google(), existingOnly: true, world.call(key: "k")) }
    #expect(try await world.signIn(google(), world.call(key: "k")).grant.isNewAccount)
  }

  @Test func `check 115: a call that was cancelled before its commit has written nothing`() async throws {
    let commitDecision = CommitDecision()
    #expect(commitDecision.cancel())
    #expect(
      await world.untouched {
        await refused(.cancelled) {
          try await world.signIn(google(), world.call(key: "k", commitDecision: commitDecision))
        }
      })
  }

  @Test func `a failing store is reported as unavailable, with a retry delay`() async throws {
    world.store.fail(with: .unavailable("disk full"))
    let failure = await refused(.storeUnavailable) { try await world.signIn(google()) }
    #expect(failure?.retryAfterMillis == 1000 && failure?.hint.contains("disk") == false)
  }

  @Test func `a store that answers later gives the same result`() async throws {
    let world = World(store: MemoryStore(answersNow: false))
    let grant = try await world.signIn(google()).grant
    #expect(try await world.signIn(google()).grant.account.account.id == grant.account.account.id)
  }

  @Test func `a call that keeps losing races fails with a retry delay`() async throws {
    let world = World { $0.decisionsMax = 3 }
    world.store.insert(account(.verified(ada), password: true))
    let query = Query()
    let failure = await refused(.overloaded) {
      try await world.environment.decideAndCommit(query, Facts(), call: world.call()) { _, _ -> Step<Int> in
        .commit(Change([.account(.raise(id: "account-y", version: 99))]), 1)
      }
    }
    #expect(failure?.retryAfterMillis == 100)
  }
}
