import Store
import Testing

@testable import Identity

/// An event that ends sessions also ends earlier custom tokens, exactly at its commit (section 3.4).
struct `Custom tokens and cut-offs` {
  let world = World()

  enum Cut: CaseIterable, Sendable { case revoked, disabledAndEnabled, updated, reset, revokedByUser }

  private func cut(_ kind: Cut) async throws {
    let call = world.call(mayFetchByEmail: true)
    switch kind {
    case .revoked: _ = try await RevokeSessions(world.environment)(accountID: "account-y", call)
    case .disabledAndEnabled:
      for disabled in [true, false] {
        _ = try await SetDisabled(world.environment)(accountID: "account-y", disabled: disabled, world.call())
      }
    case .updated:
      var request = UpdateAccountRequest(idToken: try world.session(of: "account-y").idToken)
      request.newPassword = "another long secret"
      _ = try await UpdateAccount(world.environment)(request, call)
    case .reset:
      world.store.edit { $0.accounts["account-y"]?.tokensValidAfter = world.now }
    case .revokedByUser:
      _ = try await RevokeAll(world.environment)(idToken: try world.session(of: "account-y").idToken, call)
    }
  }

  @Test(arguments: Cut.allCases)
  func `a token from before a cut-off is rejected, and a later one of the same millisecond is accepted`(
    _ kind: Cut
  ) async throws {
    world.store.insert(account(.verified(ada), password: true))
    let before = try await world.customToken(for: "account-y")
    try await cut(kind)
    let after = try await world.customToken(for: "account-y")
    let refusal = await refused(.invalidCustomToken) { try await world.signIn(.customToken(before)) }
    #expect(refusal?.field == "credential.custom_token.token")
    _ = try await world.signIn(.customToken(after)).grant
  }

  @Test func `a replica whose clock is behind mints tokens that are accepted right after a cut-off`() async throws {
    world.store.insert(account { $0.tokensValidAfter = world.now.adding(millis: 5_000) })
    _ = try await world.signIn(.customToken(try await world.customToken(for: "account-y"))).grant
  }

  @Test func `every genuine token of a disabled account fails as disabled, before and after the cut-off`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    let before = try await world.customToken(for: "account-y")
    _ = try await SetDisabled(world.environment)(accountID: "account-y", disabled: true, world.call())
    let after = try await world.customToken(for: "account-y")
    for token in [before, after] { await refused(.userDisabled) { try await world.signIn(.customToken(token)) } }
    let handle = world.hold(google("g-2"), for: "account-y")
    await refused(.userDisabled) { try await world.signIn(.customToken(after), pendingToken: handle) }
  }

  /// Offsets of the cut-off from the token's second, in milliseconds, and whether the token is accepted.
  @Test(arguments: [(-1, true), (0, true), (1, false), (999, false), (1_000, false), (60_000, false)])
  func `a registered signer's token has whole seconds, and is rejected in the cut-off's own second`(
    offset: Int64, isAccepted: Bool
  ) {
    let second = world.now.wholeSeconds
    let token = CustomToken(accountID: "account-y", issuedAt: second, expiresAt: second.adding(millis: 60_000))
    var record = AccountRecord(id: "account-y", createdAt: beginning)
    record.tokensValidAfter = second.adding(millis: offset)
    #expect((token.refusal(by: record, at: second.adding(millis: max(0, offset))) == nil) == isAccepted)
  }

  @Test func `a cut-off dated a day ahead rejects a signer's older tokens, and not all tokens for a day`() {
    var record = AccountRecord(id: "account-y", createdAt: beginning)
    record.tokensValidAfter = world.now.adding(millis: 86_400_000)
    func isAccepted(ageMillis: Int64) -> Bool {
      let issuedAt = world.now.adding(millis: -ageMillis)
      let token = CustomToken(accountID: "account-y", issuedAt: issuedAt, expiresAt: world.now.adding(millis: 1))
      return token.refusal(by: record, at: world.now) == nil
    }
    #expect(isAccepted(ageMillis: 0) && isAccepted(ageMillis: 60_000) && !isAccepted(ageMillis: 60_001))
  }

  @Test func `a cut-off while a custom token waits for its second factor ends the waiting call`() async throws {
    world.store.insert(account(.verified(ada), factors: [.totp]))
    _ = try await world.signIn(.customToken(try await world.customToken(for: "account-y"))).required
    let row = try #require(world.store.contents.pendings.values.first)
    let held = PendingAssertion(
      Assertion(identity: IdentityKey(providerID: "custom", subject: "account-y")), firstFactor: .customToken)
    func isAccepted(cutAfter millis: Int64) -> Bool {
      var record = AccountRecord(id: "account-y", createdAt: beginning)
      record.tokensValidAfter = row.createdAt.adding(millis: millis)
      guard case .customToken(let token) = held.method(to: record, heldSince: row.createdAt) else { return false }
      return token.refusal(by: record, at: row.createdAt.adding(millis: millis)) == nil
    }
    #expect(isAccepted(cutAfter: -1) && isAccepted(cutAfter: 0) && !isAccepted(cutAfter: 1))
  }

  @Test func `no custom token is minted for a merged account's id, and the answer names the survivor`()
    async throws
  {
    for (id, survivor) in [("gone", ""), ("merged", "account-y")] {
      world.store.edit {
        $0.closedAccounts[id] = ClosedAccountRecord(id: id, survivorID: survivor, closedAt: world.now)
      }
      let refusal = await refused(.accountNotFound) { try await world.customToken(for: id) }
      #expect(refusal?.field == "account_id")
      #expect(refusal?.metadata == (survivor.isEmpty ? [:] : ["merged_into": survivor]))
    }
    #expect(world.store.contents.events(of: "gone").isEmpty)
    _ = try await world.customToken(for: "nobody-yet")
  }
}
