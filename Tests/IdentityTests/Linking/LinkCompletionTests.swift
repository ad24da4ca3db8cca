import Encodings
import Store
import Testing

@testable import Identity

/// L10: a user who has signed in to the account of a pending assertion completes it.
struct `Link, completing a pending credential` {
  let world = World()

  func known(_ edit: (inout AccountRecord) -> Void = { _ in }) throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true, edit: edit))
    return try world.session(of: "account-y")
  }

  @Test func `L10 links the identity and completes the row in one change`() async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "account-y")
    let grant = try await world.link(.pendingToken(handle), session).grant
    #expect(world.store.state("account-y")?.holds(corp().identity) == true)
    let row = try #require(try world.row(handle))
    #expect(row.completedAccountID == "account-y" && row.completedSessionID == grant.sessionID)
    #expect(grant.userInfo?.providerID == "oidc.corp")
  }

  @Test func `L10 needs no newer login from a user who signed in after the row was created`() async throws {
    let world = World {
      $0.idTokenLifetimeMillis = 2 * $0.linkRecentLoginMillis
      $0.pendingLifetimeMillis = 2 * $0.linkRecentLoginMillis
    }
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(corp(), for: "account-y")
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.linkRecentLoginMillis)
    _ = try await world.link(.pendingToken(handle), session).grant
  }

  @Test func `L12 an old login from before the row completes nothing until it is renewed`() async throws {
    let world = World { $0.idTokenLifetimeMillis = 2 * $0.linkRecentLoginMillis }
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.linkRecentLoginMillis)
    let handle = world.hold(corp(), for: "account-y")
    await refused(.requiresRecentLogin) { try await world.link(.pendingToken(handle), session) }
    #expect(world.store.state("account-y")?.identities.isEmpty == true)
    let renewed = try await world.reauthenticate(rightPassword, session).grant
    _ = try await world.link(.pendingToken(handle), renewed).grant
  }

  @Test func `check 12: a repeated completion returns the same session and links nothing twice`() async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "account-y")
    let first = try await world.link(.pendingToken(handle), session).grant
    let second = try await world.link(.pendingToken(handle), session).grant
    #expect(second.sessionID == first.sessionID)
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
  }

  @Test func `a completion that is repeated in another session fails as used, and that session stays open`()
    async throws
  {
    let session = try known()
    let other = try world.session(of: "account-y")
    let handle = world.hold(corp(), for: "account-y")
    let first = try await world.link(.pendingToken(handle), session).grant
    try await SignOut(world.environment)(.idToken(first.idToken), world.call())
    await refused(.pendingCredentialUsed) { try await world.link(.pendingToken(handle), other) }
    #expect(world.store.contents.sessions[other.sessionID]?.closed == nil)
  }

  @Test func `a pending token that another account completed is unknown to this one`() async throws {
    let session = try known()
    world.store.insert(account(id: "other", .verified("bob@example.com"), password: true))
    let handle = world.hold(corp(email: nil), for: "other")
    _ = try await world.link(.pendingToken(handle), try world.session(of: "other")).grant
    let before = world.store.contents
    await refused(.pendingCredentialMismatch) { try await world.link(.pendingToken(handle), session) }
    #expect(world.store.contents == before)
  }

  @Test func `a repeated completion never upgrades an older session to a newer login or a second factor`()
    async throws
  {
    let old = try known()
    world.clock.advance(millis: 1000)
    let young = try world.session(of: "account-y")
    let handle = world.hold(corp(), for: "account-y")
    _ = try await world.link(.pendingToken(handle), young).grant
    await refused(.pendingCredentialUsed) { try await world.link(.pendingToken(handle), old) }
    let factored = try world.session(of: "account-y", secondFactor: "totp")
    let second = world.hold(assertion("oidc.other", "o-1", email: ada, tier: .unverified), for: "account-y")
    _ = try await world.link(.pendingToken(second), factored).grant
    await refused(.pendingCredentialUsed) { try await world.link(.pendingToken(second), young) }
    _ = try await world.link(.pendingToken(second), factored).grant
  }

  @Test func `check 14: a row can be completed before its expiry, and not at it`() async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "account-y")
    world.clock.advance(millis: world.policy.pendingLifetimeMillis)
    await refused(.pendingCredentialExpired) { try await world.link(.pendingToken(handle), session) }
    world.clock.advance(millis: -1)
    _ = try await world.link(.pendingToken(handle), session).grant
  }

  @Test func `check 15: another caller, another browser and an unknown pending token get the same error`()
    async throws
  {
    let session = try known()
    let others = world.hold(corp(), for: "account-y", world.call(caller: "spiffe://test/other"))
    let bound = world.hold(corp("c-2"), for: "account-y", world.call(binding: "another browser"))
    let unknown = Base64URL.encode([UInt8](repeating: 7, count: 32))
    let before = world.store.contents
    var refusals: [Failure] = []
    for handle in [others, bound, unknown, "not a handle"] {
      var failure = await refused(.pendingCredentialMismatch) {
        try await world.link(.pendingToken(handle), session)
      }
      failure?.debug = ""
      refusals.append(try #require(failure))
    }
    #expect(Set(refusals).count == 1)
    #expect(world.store.contents == before)
  }

  @Test func `check 18: another account than the one found is refused and only the attempt is counted`() async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "somebody else")
    var expected = world.store.contents
    await refused(.pendingCredentialMismatch) { try await world.link(.pendingToken(handle), session) }
    let digest = try world.environment.pendingDigest(handle)
    expected.pendings[digest]?.attemptsLeft -= 1
    expected.pendings[digest]?.version += 1
    #expect(world.store.contents == expected)
  }

  @Test func `a row without attempts left cannot be completed`() async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "account-y")
    let digest = try world.environment.pendingDigest(handle)
    world.store.edit { $0.pendings[digest]?.attemptsLeft = 0 }
    await refused(.pendingCredentialUsed) { try await world.link(.pendingToken(handle), session) }
  }

  @Test(arguments: [PendingPurpose.credentialInUse, .secondFactor])
  func `a row with another purpose is not linked`(_ purpose: PendingPurpose) async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "account-y", purpose: purpose)
    await refused(.pendingCredentialMismatch) { try await world.link(.pendingToken(handle), session) }
  }

  @Test func `check 19: an account with a second factor is linked only by a session that passed it`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let handle = world.hold(corp(), for: "account-y")
    let required = try await world.link(.pendingToken(handle), try world.session(of: "account-y")).required
    #expect(required.factors.count == 1)
    #expect(try world.row(handle)?.completedAt == nil)
    let row = try world.row(required.handle)
    let opened = try world.environment.openPending(row, purpose: .secondFactor, call: world.call(), now: world.now)
    guard case .held(_, let held) = opened else {
      Issue.record("not held")
      return
    }
    #expect(held.completing == (try world.environment.pendingDigest(handle)), "the factor completes this row")
    _ = try await world.link(.pendingToken(handle), try world.session(of: "account-y", secondFactor: "totp")).grant
  }

  @Test func `check 20: an account disabled while the row waits is not linked`() async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "account-y")
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    let before = world.store.contents
    await refused(.userDisabled) { try await world.link(.pendingToken(handle), session) }
    #expect(world.store.contents == before)
  }

  @Test func `check 21: a provider disabled while the row waits is not linked`() async throws {
    let disabled = assertion("oidc.gone", "s-1", email: ada, tier: .unverified)
    let session = try known()
    let handle = world.hold(disabled, for: "account-y")
    await refused(.operationNotAllowed) { try await world.link(.pendingToken(handle), session) }
    #expect(world.store.state("account-y")?.identities.isEmpty == true)
  }

  @Test func `an identity that another account has linked since is rejected`() async throws {
    let session = try known()
    let handle = world.hold(corp(), for: "account-y")
    world.store.insert(account(id: "owner", identities: [corp()]))
    let rows = world.store.contents.pendings.count
    await refused(.pendingCredentialMismatch) { try await world.link(.pendingToken(handle), session) }
    #expect(world.store.contents.pendings.count == rows, "there is no new pending row")
    #expect(try world.row(handle)?.attemptsLeft == world.policy.pendingAttemptsMax - 1)
  }

  @Test func `S8 a changed subject is refused until the old one is unlinked`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [corp("c-old")]))
    let handle = world.hold(corp("c-new"), for: "account-y")
    let session = try world.session(of: "account-y")
    await refused(.providerAlreadyLinked) { try await world.link(.pendingToken(handle), session) }
    world.clock.advance(millis: 1000)
    let fresh = try await world.unlink("oidc.corp", session)
    _ = try await world.link(.pendingToken(handle), fresh).grant
    #expect(world.store.state("account-y")?.identities.map(\.key.subject) == ["c-new"])
  }

  @Test func `S8 a login from before the row counts even if its sign-in method was unlinked`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [corp("c-old")]))
    let session = try world.session(of: "account-y", by: .provider("oidc.corp"))
    world.clock.advance(millis: 1000)
    let handle = world.hold(corp("c-new"), for: "account-y")
    let fresh = try await world.unlink("oidc.corp", session)
    _ = try await world.link(.pendingToken(handle), fresh).grant
  }

  @Test func `S8 a sign-in method that is newer than the row does not complete a changed subject`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [corp("c-old")]))
    let handle = world.hold(corp("c-new"), for: "account-y")
    world.clock.advance(millis: 1000)
    _ = try await world.unlink("oidc.corp", try world.session(of: "account-y"))
    world.store.edit { $0.accounts["account-y"]?.passwordSetAt = world.now }
    let session = try world.session(of: "account-y")
    await refused(.pendingCredentialMismatch) { try await world.link(.pendingToken(handle), session) }
  }
}
