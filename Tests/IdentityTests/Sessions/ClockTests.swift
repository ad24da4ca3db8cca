import Store
import Testing

@testable import Identity

private let day: Int64 = 86_400_000
private let skew = Timestamp.clockSkewMillis

/// A server's clock that is behind the signing key, or that was a day ahead and was corrected (section 8, Clocks).
struct `A clock that was wrong` {
  let world = World { $0.mailEnabled = true }

  private func known() throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true))
    return try world.session(of: "account-y")
  }

  @Test func `without an active signing key a refresh spends no token, and works once a key is active`() async throws {
    let session = try known()
    let before = world.store.contents
    world.tokens.setSigningKey(active: false)
    let refusal = await refused(.signingKeyUnavailable) {
      try await Refresh(world.environment)(session.refreshToken, world.call())
    }
    #expect(refusal?.retryAfterMillis != nil && world.store.contents == before)
    world.tokens.setSigningKey(active: true)
    world.clock.advance(millis: world.policy.refreshGraceMillis + 1)
    _ = try await Refresh(world.environment)(session.refreshToken, world.call())
  }

  @Test func `without an active signing key no call that returns tokens changes anything`() async throws {
    let session = try known()
    let key = world.call(key: "create")
    world.tokens.setSigningKey(active: false)
    let before = world.store.contents
    let token = ProviderToken(providerID: "google.com", idToken: world.providers.token(google("g-9")).idToken)
    await refused(.signingKeyUnavailable) { try await world.signIn(rightPassword) }
    await refused(.signingKeyUnavailable) { try await world.signIn(.anonymous) }
    await refused(.signingKeyUnavailable) { try await world.link(.providerToken(token), session) }
    await refused(.signingKeyUnavailable) { try await world.reauthenticate(rightPassword, session) }
    let order = CreateAccountRequest(email: "new@example.com", password: "a long secret")
    await refused(.signingKeyUnavailable) { try await CreateAccount(world.environment)(order, key) }
    let update = UpdateAccountRequest(idToken: session.idToken, newPassword: "another long secret")
    await refused(.signingKeyUnavailable) { try await UpdateAccount(world.environment)(update, world.call()) }
    #expect(world.store.contents == before)
  }

  @Test func `sessions dated a day ahead stay open, and do not count as a recent login`() async throws {
    world.clock.advance(millis: day)
    let ahead = try known()
    world.clock.advance(millis: -day)
    _ = try await Refresh(world.environment)(ahead.refreshToken, world.call())
    let update = UpdateAccountRequest(idToken: ahead.idToken, newPassword: "another long secret")
    await refused(.requiresRecentLogin) { try await UpdateAccount(world.environment)(update, world.call()) }
    let again = try await world.reauthenticate(rightPassword, ahead).grant
    let now = UpdateAccountRequest(idToken: again.idToken, newPassword: "another long secret")
    _ = try await UpdateAccount(world.environment)(now, world.call())
  }

  /// The distance of the rotation from the corrected clock, and whether its parent is still in the grace time.
  @Test(arguments: [(Int64(0), true), (skew, true), (skew + 1, false), (day, false)])
  func `a rotation dated ahead does not extend the grace time`(ahead: Int64, isRepeated: Bool) async throws {
    let parent = try known().refreshToken
    world.clock.advance(millis: ahead)
    _ = try await Refresh(world.environment)(parent, world.call())
    world.clock.advance(millis: -ahead)
    if isRepeated {
      _ = try await Refresh(world.environment)(parent, world.call())
    } else {
      await refused(.tokenRevoked) { try await Refresh(world.environment)(parent, world.call()) }
    }
  }

  @Test(arguments: [(skew, true), (skew + 1, false), (day, false)])
  func `a short-lived row expires once the clock that dated it ahead is corrected`(
    ahead: Int64, isGood: Bool
  ) async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.clock.advance(millis: ahead)
    let handle = world.hold(google("g-2"), for: "account-y")
    world.clock.advance(millis: -ahead)
    if isGood {
      _ = try await world.signIn(rightPassword, pendingToken: handle).grant
    } else {
      await refused(.pendingCredentialExpired) { try await world.signIn(rightPassword, pendingToken: handle) }
    }
  }

  @Test func `revert links and email verifications stay valid, and rows of every other purpose expire`() {
    for purpose in PendingPurpose.allCases {
      let now = world.now
      let row = PendingRecord(
        digest: world.cryptography.sha256([1]), purpose: purpose, identity: .mail(ada), email: ada, tier: .unverified,
        accountID: "", caller: CallerName("web"), binding: nil, attemptID: "", sealed: [],
        createdAt: now.adding(millis: day), expiresAt: now.adding(millis: 2 * day), attemptsLeft: 5)
      #expect(row.isExpired(at: now) == ![.verifyEmail, .revertEmail].contains(purpose))
      #expect(!row.isExpired(at: row.createdAt) && row.isExpired(at: row.expiresAt))
    }
  }

  @Test func `a block from a clock that was ahead ends once the clock is corrected`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.clock.advance(millis: day)
    let wrong = Credential.password(email: ada, password: "wrong")
    let call = world.call(deviceID: "")
    for _ in 0..<100 { await refused(.invalidLoginCredentials) { try await world.signIn(wrong, call) } }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, call) }
    world.clock.advance(millis: -day)
    _ = try await world.signIn(rightPassword, call).grant
    await refused(.invalidLoginCredentials) { try await world.signIn(wrong, call) }
    // Parts of the caller's count that this attempt did not pick keep their later time.
    let rows = world.store.contents.throttles.values.filter { $0.since == world.now }
    #expect(rows.allSatisfy { $0.count == 1 && $0.blocks == 0 } && !rows.isEmpty)
  }
}
