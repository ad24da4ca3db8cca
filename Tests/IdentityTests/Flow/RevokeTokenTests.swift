import Store
import Testing

@testable import Identity

private let access = TokenToRevoke(providerID: "google.com", text: "access-1", kind: .accessToken)

/// Section 17, rows T1 to T8.
struct `RevokeToken, every row` {
  let world = World()
  let grant: SessionGrant

  init() throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    grant = try world.session(of: "account-y")
  }

  private func revoke(
    _ token: TokenToRevoke = access, _ call: CallFacts? = nil, in world: World? = nil
  ) async throws {
    let world = world ?? self.world
    try await RevokeToken(world.environment)(token, idToken: grant.idToken, call ?? world.call())
  }

  private var events: [String] { world.store.contents.events(of: "account-y") }

  @Test func `T1: the session must be open, and needs no recent login and no second factor`() async throws {
    world.clock.advance(millis: world.policy.recentLoginMillis * 2)
    try await revoke()
    _ = try await RevokeAll(world.environment)(idToken: grant.idToken, world.call())
    await refused(.tokenRevoked) { try await revoke() }
    #expect(world.providers.askedToRevoke == [access])
  }

  @Test func `T2: a provider that is not enabled is not asked`() async throws {
    var disabled = world
    disabled.policy.enabledProviderIDs = ["oidc.corp"]
    let failure = await refused(.operationNotAllowed) { try await revoke(in: disabled) }
    #expect(failure?.field == "token.provider_id" && world.providers.askedToRevoke.isEmpty)
  }

  @Test func `T3: the provider must be linked to the account`() async throws {
    var other = access
    other.providerID = "oidc.corp"
    let failure = await refused(.noSuchProvider) { try await revoke(other) }
    #expect(failure?.field == "token.provider_id" && world.providers.askedToRevoke.isEmpty && events.isEmpty)
  }

  @Test func `T4: the provider revokes the token, and an event says so without the token`() async throws {
    try await revoke()
    #expect(world.providers.askedToRevoke == [access] && events == ["PROVIDER_TOKEN_REVOKED"])
    let details = try #require(world.store.contents.audit.last?.detailsJSON)
    #expect(details.contains("\"provider_id\":\"google.com\"") && details.contains("\"token_kind\":\"access_token\""))
    #expect(!details.contains("access-1"))
    // The account and its session stay as they were.
    #expect(world.store.state("account-y")?.identities.count == 1)
  }

  @Test func `T7: a fault of the provider writes nothing but the count`() async throws {
    world.providers.refuse(toRevoke: "access-1", with: Failure(.providerUnavailable))
    await refused(.providerUnavailable) { try await revoke() }
    #expect(events.isEmpty)
    world.providers.refuse(toRevoke: "access-1", with: nil)
    try await revoke()
    #expect(events == ["PROVIDER_TOKEN_REVOKED"])
  }

  @Test(arguments: [true, false])
  func `T7: the limit of changes applies before the provider is asked`(fails: Bool) async throws {
    if fails { world.providers.refuse(toRevoke: "access-1", with: Failure(.providerUnavailable)) }
    for _ in 0..<100 { try? await revoke() }
    await refused(.tooManyAttempts) { try await revoke() }
    #expect(world.providers.askedToRevoke.count == 100)
  }

  @Test func `T7: concurrent calls past the limit do not reach the provider`() async throws {
    for _ in 0..<97 { try await revoke() }
    let asked = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 { group.addTask { (try? await revoke()) != nil } }
      return await group.reduce(0) { $1 ? $0 + 1 : $0 }
    }
    #expect(asked == 3 && world.providers.askedToRevoke.count == 100 && events.count == 100)
  }

  @Test func `T6: a failure with an authorization code has no retry delay, because the code is used up`() async throws {
    var failure = Failure(.providerUnavailable, retryAfterMillis: 5_000)
    failure.providerID = "google.com"
    for kind in TokenToRevoke.Kind.allCases {
      world.providers.refuse(toRevoke: "x", with: failure)
      let token = TokenToRevoke(providerID: "google.com", text: "x", kind: kind)
      let refused = await refused(.providerUnavailable) { try await revoke(token) }
      #expect((refused?.retryAfterMillis == nil) == (kind == .authorizationCode))
    }
  }

  @Test func `T8: a call whose twin succeeded while it asked the provider succeeds, too`() async throws {
    world.providers.whileRevoking {
      try await revoke(access, world.call(key: "k", request: "r"))
      world.providers.refuse(toRevoke: "access-1", with: Failure(.invalidCredential))
    }
    try await revoke(access, world.call(key: "k", request: "r"))
    #expect(world.providers.askedToRevoke.count == 2 && events.count == 1)
  }

  @Test func `T8: a repeat under the key asks nobody, another request is an error`() async throws {
    try await revoke(access, world.call(key: "k", request: "r"))
    try await revoke(access, world.call(key: "k", request: "r"))
    #expect(world.providers.askedToRevoke.count == 1 && events.count == 1)
    await refused(.idempotencyKeyReused) { try await revoke(access, world.call(key: "k", request: "other")) }
  }

  @Test func `T8: a call that failed leaves no record`() async throws {
    world.providers.refuse(toRevoke: "access-1", with: Failure(.providerUnavailable))
    await refused(.providerUnavailable) { try await revoke(access, world.call(key: "k")) }
    world.providers.refuse(toRevoke: "access-1", with: nil)
    try await revoke(access, world.call(key: "k"))
    #expect(world.providers.askedToRevoke.count == 2)
  }
}

/// Section 17, row T9.
struct `Delete with tokens to revoke` {
  let world = World()
  let grant: SessionGrant

  init() throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google(), corp()]))
    grant = try world.session(of: "account-y")
  }

  private let corpToken = TokenToRevoke(providerID: "oidc.corp", text: "refresh-1", kind: .refreshToken)
  private let foreign = TokenToRevoke(providerID: "oidc.other", text: "x", kind: .accessToken)

  private func delete(_ tokens: [TokenToRevoke], _ call: CallFacts? = nil) async throws -> [TokenRevocation] {
    try await DeleteAccount(world.environment)(idToken: grant.idToken, revoking: tokens, call ?? world.call())
  }

  @Test func `T9: each token has its result, in order, after the deletion`() async throws {
    world.providers.refuse(toRevoke: "refresh-1", with: Failure(.providerUnavailable))
    let ends = try await delete([corpToken, access, foreign])
    #expect(ends.map(\.providerID) == ["oidc.corp", "google.com", "oidc.other"])
    #expect(ends.map(\.failure?.reason) == [.providerUnavailable, nil, .noSuchProvider])
    #expect(world.store.contents.accounts.isEmpty)
    #expect(world.store.contents.events(of: "account-y") == ["DELETED", "PROVIDER_TOKEN_REVOKED"])
    #expect(Set(world.providers.askedToRevoke.map(\.text)) == ["refresh-1", "access-1"])
  }

  @Test func `T9: a deletion that is rejected asks no provider`() async throws {
    world.clock.advance(millis: world.policy.recentLoginMillis)
    await refused(.requiresRecentLogin) { try await delete([access]) }
    #expect(world.providers.askedToRevoke.isEmpty)
  }

  @Test func `T9: a repeat returns no results and asks no provider`() async throws {
    #expect(try await delete([access], world.call(key: "k")).count == 1)
    #expect(try await delete([access], world.call(key: "k")).isEmpty)
    #expect(world.providers.askedToRevoke.count == 1)
  }

  @Test func `T9: without tokens no provider is asked`() async throws {
    #expect(try await delete([]).isEmpty && world.providers.askedToRevoke.isEmpty)
  }
}
