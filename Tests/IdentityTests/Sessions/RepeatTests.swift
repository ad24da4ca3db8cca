import Store
import Testing

@testable import Identity

/// Section 10: a call whose answer was lost, repeated under its idempotency key.
@Suite struct RepeatTests {
  let world = World.sending()

  private func begin() throws -> SessionGrant {
    world.insertPerson([])
    return try world.session(of: "account-y")
  }

  private func refresh(_ token: String, key: String?, request: String = "request") async throws -> SessionGrant {
    try await Refresh(world.environment)(token, world.call(key: key, request: request))
  }

  // MARK: Refresh

  @Test func `a refresh can be repeated for a day with the same token, without a replay alarm`() async throws {
    let session = try begin()
    let first = try await refresh(session.refreshToken, key: "k")
    for _ in 1...3 {
      world.clock.advance(millis: 28_799_000)
      let again = try await refresh(session.refreshToken, key: "k")
      #expect(again.sessionID == first.sessionID && again.refreshToken == first.refreshToken)
    }
    #expect(world.store.contents.events(of: "account-y") == [])
    world.clock.advance(millis: 3_000)
    await refused(.tokenRevoked) { try await refresh(session.refreshToken, key: "k") }
    #expect(world.store.contents.events(of: "account-y") == ["REFRESH_REPLAYED"])
  }

  @Test func `a repeat after later refreshes gets a valid token, and invalidates none`() async throws {
    let session = try begin()
    let first = try await refresh(session.refreshToken, key: "k")
    world.clock.advance(millis: 60_000)
    let second = try await refresh(first.refreshToken, key: "l")
    world.clock.advance(millis: 60_000)
    let again = try await refresh(session.refreshToken, key: "k")
    #expect(again.sessionID == session.sessionID)
    #expect(try await refresh(second.refreshToken, key: nil).refreshToken == again.refreshToken)
    _ = try await refresh(again.refreshToken, key: nil)
  }

  @Test func `without the key, or under another, an old token still ends the session`() async throws {
    for key in [nil, "another"] {
      world.store.edit { $0 = Tables() }
      let session = try begin()
      let first = try await refresh(session.refreshToken, key: "k")
      world.clock.advance(millis: 11_000)
      _ = try await refresh(first.refreshToken, key: nil)
      await refused(.tokenRevoked) { try await refresh(session.refreshToken, key: key) }
      #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    }
  }

  @Test func `the key of another token is refused, and changes nothing`() async throws {
    let session = try begin()
    let first = try await refresh(session.refreshToken, key: "k", request: "one")
    let before = world.store.contents
    await refused(.idempotencyKeyReused) { try await refresh(first.refreshToken, key: "k", request: "two") }
    #expect(world.store.contents == before)
  }

  @Test func `a refresh within the ten seconds of grace is recorded under its key`() async throws {
    let session = try begin()
    let first = try await refresh(session.refreshToken, key: nil)
    _ = try await refresh(session.refreshToken, key: "k")
    world.clock.advance(millis: 3_600_000)
    #expect(try await refresh(session.refreshToken, key: "k").refreshToken == first.refreshToken)
  }

  @Test func `a repeat after the session's end fails`() async throws {
    let session = try begin()
    _ = try await refresh(session.refreshToken, key: "k")
    _ = try await SignOut(world.environment)(.refreshToken(session.refreshToken), world.call())
    await refused(.tokenRevoked) { try await refresh(session.refreshToken, key: "k") }
  }

  @Test func `twenty concurrent refreshes under one key get one token`() async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true))
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    let tokens = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try? await Refresh(world.environment)(session.refreshToken, world.call(key: "k")).refreshToken
        }
      }
      return await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    #expect(tokens.count == 1 && !tokens.contains(nil))
  }

  // MARK: ConfirmEmail

  @Test(arguments: [nil, "k"])
  func `a second click in the same session succeeds, with a key and without`(_ key: String?) async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.verification(session)
    func click() async throws -> EmailConfirmed {
      try await ConfirmEmail(world.environment)(.link(code: code), idToken: session.idToken, world.call(key: key))
    }
    let first = try await click()
    let second = try await click()
    #expect(first.email == ada && second.email == ada && second.session?.sessionID == session.sessionID)
    #expect(first.session?.refreshToken == second.session?.refreshToken)
    #expect(world.store.contents.events(of: "account-y") == ["EMAIL_VERIFIED"])
  }

  @Test func `a second click in another session, or after the address has changed, fails`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let other = try world.session(of: "account-y")
    let code = try await world.verification(session)
    _ = try await world.confirm(code, session)
    await refused(.expiredCode) { try await world.confirm(code, other) }
    world.store.edit { $0.accounts["account-y"]?.emailAddress?.text = "new@example.com" }
    await refused(.expiredCode) { try await world.confirm(code, session) }
  }

  @Test func `a change of address that is repeated under its key returns the session that it opened`() async throws {
    let session = try begin()
    let code = try await world.emailChange(to: "new@example.com", session)
    func click(_ session: SessionGrant, key: String?) async throws -> EmailConfirmed {
      try await ConfirmEmail(world.environment)(.link(code: code), idToken: session.idToken, world.call(key: key))
    }
    let first = try #require(try await click(session, key: "k").session)
    let again = try await click(session, key: "k")
    #expect(again.email == "new@example.com" && again.session?.sessionID == first.sessionID)
    #expect(try await click(first, key: nil).session?.sessionID == first.sessionID)
    await refused(.tokenRevoked) { try await click(session, key: nil) }
  }

  @Test func `a revert that is repeated under its key gets the same answer, without a session`() async throws {
    let session = try begin()
    _ = try await world.update(session, email: "new@example.com", mail: MailOrder(continueURI: page))
    let code = try world.code(.emailChanged, to: ada)
    for _ in 1...2 {
      let answer = try await ConfirmEmail(world.environment)(.link(code: code), idToken: "", world.call(key: "k"))
      #expect(answer == EmailConfirmed(email: ada))
    }
    await refused(.expiredCode) { try await world.confirm(code) }
  }

  // MARK: ResetPassword, FinishEnrollment, Withdraw

  @Test func `a reset that is repeated under its key gets the same answer and sets one password`() async throws {
    world.store.insert(account(.unverified(ada), password: true, identities: []))
    let code = try await world.passwordReset()
    func reset(_ key: String?) async throws -> PasswordWasReset {
      try await ResetPassword(world.environment)(.link(code: code), newPassword: "battery staple", world.call(key: key))
    }
    let first = try await reset("k")
    #expect(first.revokedProviderIDs == ["password"])
    let hashes = world.passwords.verifications.count
    #expect(try await reset("k") == first && world.passwords.verifications.count == hashes)
    await refused(.invalidCode) { try await reset(nil) }
    #expect(!world.store.contents.idempotency.values.contains { $0.outcome.contains(ada) }, "it is sealed")
  }

  @Test func `an enrolment that is repeated under its key returns its recovery codes again`() async throws {
    let session = try begin()
    let started = try await world.startEnrollment(.totp, session)
    let code = try world.code(of: started)
    let first = try await world.finishEnrollment(started, session, code, world.call(key: "k"))
    let again = try await world.finishEnrollment(started, session, code, world.call(key: "k"))
    #expect(!first.recoveryCodes.isEmpty && again.recoveryCodes == first.recoveryCodes)
    #expect(again.grant.sessionID == first.grant.sessionID)
    let outcomes = world.store.contents.idempotency.values.map(\.outcome)
    #expect(!outcomes.contains { $0.contains(first.recoveryCodes[0]) }, "they are sealed")
    await refused(.tokenRevoked) { try await world.finishEnrollment(started, session, code) }
  }

  @Test func `another request under the key of an enrolment counts as a wrong code`() async throws {
    let session = try begin()
    let started = try await world.startEnrollment(.totp, session)
    let code = try world.code(of: started)
    _ = try await world.finishEnrollment(started, session, code, world.call(key: "k", request: "one"))
    let counted = world.store.contents.throttles.count
    await refused(.idempotencyKeyReused) {
      try await world.finishEnrollment(started, session, "000000", world.call(key: "k", request: "two"))
    }
    #expect(world.store.contents.throttles.count > counted)
  }

  @Test func `a withdrawal that is repeated under its key returns the session that it opened`() async throws {
    world.insertPerson([.totp])
    let session = try world.session(of: "account-y", secondFactor: "totp")
    func withdraw(_ key: String?) async throws -> SessionGrant {
      try await Withdraw(world.environment)(
        WithdrawRequest(idToken: session.idToken, factorID: "factor-totp"), world.call(key: key))
    }
    let first = try await withdraw("k")
    #expect(try await withdraw("k").sessionID == first.sessionID)
    await refused(.tokenRevoked) { try await withdraw(nil) }
    #expect(world.store.contents.events(of: "account-y") == ["FACTOR_WITHDRAWN"])
  }
}
