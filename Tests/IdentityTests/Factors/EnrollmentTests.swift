import Store
import Testing

@testable import Identity

struct `Enrolment of second factors` {
  let world = World {
    $0.textMessagesEnabled = true
    $0.mailEnabled = true
  }

  private func person(
    _ kinds: [FactorKind] = [], edit: (inout AccountRecord) -> Void = { _ in }
  ) throws -> SessionGrant {
    world.insertPerson(kinds, edit: edit)
    return try world.session(of: "account-y", secondFactor: kinds.first?.rawValue)
  }

  @Test func `the first factor returns recovery codes, ends every other session, and leaves an event and a notice`()
    async throws
  {
    let session = try person()
    _ = try world.session(of: "account-y")
    let started = try await world.startEnrollment(.totp, session)
    #expect(world.store.state("account-y")?.factors == [], "nothing is enrolled before the code")
    let secret = try #require(world.store.contents.pendings.values.first)
    #expect(secret.purpose == .enrollment && secret.accountID == "account-y")
    let finished = try await world.finishEnrollment(started, session, try world.code(of: started))
    let state = try #require(world.store.state("account-y"))
    #expect(state.factors.map(\.kind) == [.totp, .recoveryCode] && finished.recoveryCodes.count == 10)
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [finished.grant.sessionID])
    let claims = try world.claims(finished.grant)
    #expect(claims.signInSecondFactor == "totp" && claims.methods == ["pwd", "otp", "mfa"])
    #expect(claims.signInSecondFactorID == state.factors.first?.id)
    #expect(world.store.contents.events(of: "account-y") == ["FACTOR_ENROLLED"])
    #expect(world.store.contents.deliveries.map(\.kind) == ["factor_enrolled"])
  }

  @Test func `check 92: the session limits for a second factor apply from the enrolment on`() async throws {
    let session = try person()
    let started = try await world.startEnrollment(.totp, session)
    world.clock.advance(millis: 60_000)
    let grant = try await world.finishEnrollment(started, session, try world.code(of: started)).grant
    let record = try #require(world.store.contents.sessions[grant.sessionID])
    let limits = world.policy.sessionLimits(secondFactor: "totp")
    #expect(record.idleExpiresAt == world.now.adding(millis: limits.idleMillis))
    #expect(record.expiresAt == world.now.adding(millis: limits.absoluteMillis))
    world.clock.advance(millis: 60_000)
    let factorID = try #require(grant.account.factors.first?.id)
    let left = try await world.withdraw(factorID, grant)
    #expect(world.store.contents.sessions[left.sessionID]?.expiresAt == record.expiresAt, "no new verification")
  }

  @Test func `check 89: a session that began with a phone enrols no factor, whatever was linked since`() async throws {
    world.insertPerson([], identities: [])
    let begun = try world.session(of: "account-y", by: .phone)
    let linked = try await world.link(corp(), begun).grant
    #expect(try world.claims(linked).signInProviderID == "oidc.corp")
    await refused(.unsupportedFirstFactor) { try await world.startEnrollment(.totp, linked) }
  }

  @Test func `a session that began with a password may enrol a factor even if a phone was linked in it`() async throws {
    var policy = world.policy
    policy.phoneEnabled = true
    let world = World { $0 = policy }
    world.insertPerson([], identities: [])
    let begun = try world.session(of: "account-y")
    let linked = try await world.link(world.phoneCode(to: "+15550177", for: .link, in: begun), begun).grant
    #expect(try world.claims(linked).signInProviderID == "phone")
    _ = try await world.startEnrollment(.totp, linked)
  }

  @Test func `an enrolment uses up its code`() async throws {
    let session = try person()
    let started = try await world.startEnrollment(.totp, session)
    let shown = try world.code(of: started)
    let finished = try await world.finishEnrollment(started, session, shown)
    let factorID = try #require(finished.grant.account.factors.first?.id)
    let required = try await world.signIn(rightPassword).required
    await refused(.invalidCode) { try await world.finish(required, factorID, shown) }
  }

  @Test func `a phone is enrolled by the code that was sent to it, and only once`() async throws {
    let session = try person()
    let started = try await world.startEnrollment(.phone, session, phoneNumber: adasNumber)
    let finished = try await world.finishEnrollment(started, session, try world.textedCode())
    #expect(finished.grant.account.factors.first?.phoneNumber == adasNumber)
    #expect(try world.claims(finished.grant).methods == ["pwd", "sms", "mfa"])
    await refused(.secondFactorExists) {
      try await world.startEnrollment(.phone, finished.grant, phoneNumber: adasNumber)
    }
    await refused(.pendingCredentialMismatch) {
      try await world.finishEnrollment(started, finished.grant, "123456")
    }
  }

  @Test func `the code of an enrolment is sent in the requested language`() async throws {
    _ = try await world.startEnrollment(.phone, try person(), phoneNumber: adasNumber, locale: "de")
    let message = try world.lastMessage()
    #expect(message.kind == .secondFactorCode && message.locale == "de")
  }

  @Test func `check 106: a code for an enrolment allows five tries and expires after ten minutes`() async throws {
    let session = try person()
    let started = try await world.startEnrollment(.phone, session, phoneNumber: adasNumber)
    let right = try world.textedCode()
    for _ in 0..<5 { await refused(.invalidCode) { try await world.finishEnrollment(started, session, "wrong") } }
    await refused(.pendingCredentialUsed) { try await world.finishEnrollment(started, session, right) }
    let again = try await world.startEnrollment(.phone, session, phoneNumber: adasNumber)
    world.clock.advance(millis: 299_000)
    let renewed = try await world.reauthenticate(rightPassword, session).grant
    await refused(.pendingCredentialMismatch) {
      try await world.finishEnrollment(again, renewed, try world.textedCode())
    }
    let late = try await world.startEnrollment(.phone, renewed, phoneNumber: adasNumber)
    let code = try world.textedCode()
    world.store.edit { tables in
      for id in tables.sessions.keys { tables.sessions[id]?.authTime = world.now.adding(millis: 600_000) }
    }
    world.clock.advance(millis: 600_000)
    await refused(.expiredCode) { try await world.finishEnrollment(late, renewed, code) }
  }

  @Test func `a phone cannot be enrolled without text messages, and nothing is sent`() async throws {
    let world = World()
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    await refused(.operationNotAllowed) {
      try await world.startEnrollment(.phone, session, phoneNumber: adasNumber)
    }
    #expect(world.store.contents.deliveries.isEmpty)
  }

  private func refusal(
    _ session: SessionGrant, of kind: FactorKind = .totp
  ) async -> Failure.Reason? {
    do {
      _ = try await world.startEnrollment(kind, session)
      return nil
    } catch { return (error as? Failure)?.reason }
  }

  @Test func `enrolment requires a verified address, and a first factor other than phone or anonymous`() async throws {
    let unverified = try person { $0.emailAddress?.verification = nil }
    #expect(await refusal(unverified) == .unverifiedEmail)
    let nobody = account(id: "nobody", anonymous: true)
    world.store.insert(nobody)
    #expect(await refusal(try world.session(of: "nobody", by: .anonymous)) == .unsupportedFirstFactor)
    world.store.edit { $0.accounts["account-y"]?.emailAddress?.verification = .confirmation }
    let phone = FirstFactor(signInProviderID: "phone", methods: ["sms"])
    #expect(await refusal(try world.session(of: "account-y", by: phone)) == .unsupportedFirstFactor)
    #expect(await refusal(unverified) == nil)
  }

  @Test func `enrolment requires a recent login, which passed a factor if the account has one`() async throws {
    let session = try person([.totp])
    #expect(await refusal(session) == nil)
    #expect(await refusal(try world.session(of: "account-y")) == .requiresSecondFactor)
    world.clock.advance(millis: 299_999)
    #expect(await refusal(session) == nil)
    world.clock.advance(millis: 1)
    #expect(await refusal(session) == .requiresRecentLogin)
  }

  @Test func `an account has five factors at most, not counting recovery codes`() async throws {
    let session = try person([.totp, .recoveryCode])
    world.store.edit { tables in
      for number in 2...4 {
        tables.factors.append(FactorRecord(id: "\(number)", accountID: "account-y", kind: .totp, enrolledAt: beginning))
      }
    }
    #expect(await refusal(session) == nil)
    world.store.edit {
      $0.factors.append(FactorRecord(id: "5", accountID: "account-y", kind: .totp, enrolledAt: beginning))
    }
    #expect(await refusal(session) == .secondFactorLimit)
    #expect(await refusal(session, of: .recoveryCode) == nil)
  }

  @Test func `new recovery codes replace the old ones, and require a factor`() async throws {
    let bare = try person()
    await refused(.secondFactorNotFound) { try await world.startEnrollment(.recoveryCode, bare) }
    world.store.edit { $0 = Tables() }
    world.insertPerson([.totp, .recoveryCode])
    let session = try world.session(of: "account-y", secondFactor: "recovery_code")
    let started = try await world.startEnrollment(.recoveryCode, session)
    let finished = try await world.finishEnrollment(started, session, "")
    #expect(finished.recoveryCodes.count == 10 && Set(finished.recoveryCodes).isDisjoint(with: world.recoveryCodes))
    #expect(finished.grant.account.factors.map(\.kind) == [.totp, .recoveryCode])
    #expect(try world.claims(finished.grant).signInSecondFactor == "recovery_code", "the session continues with them")
    let codes = try #require(finished.grant.account.factors.last)
    #expect(try world.claims(finished.grant).signInSecondFactorID == codes.id)
    #expect(codes.enrolledAt == world.now, "their time is now, in any call")
    let required = try await world.signIn(rightPassword).required
    await refused(.secondFactorNotFound) {
      try await world.finish(required, "factor-recovery_code", world.recoveryCodes[0])
    }
    await refused(.invalidCode) { try await world.finish(required, codes.id, world.recoveryCodes[0]) }
    _ = try await world.finish(required, codes.id, finished.recoveryCodes[0]).grant
  }

  @Test func `an enrolment succeeds despite a concurrent change of the account`() async throws {
    let session = try person()
    let started = try await world.startEnrollment(.totp, session)
    let shown = try world.code(of: started)
    let environment = world.environment(interruptedBy: { store in
      store.edit { $0.accounts["account-y"]?.version += 1 }
    })
    let request = FinishEnrollmentRequest(
      idToken: session.idToken, enrollmentID: started.enrollmentID, code: shown)
    _ = try await FinishEnrollment(environment)(request, world.call())
    #expect(world.store.state("account-y")?.factors.count == 2)
  }

  // MARK: Withdrawal

  @Test func `the recovery codes are removed with the last factor, and the session shows it`() async throws {
    let session = try person([.totp, .recoveryCode])
    let left = try await world.withdraw("factor-totp", session)
    #expect(left.account.factors == [] && world.store.state("account-y")?.factors == [])
    #expect(try world.claims(left).signInSecondFactor == nil && world.claims(left).methods == ["pwd"])
    #expect(try world.claims(left).signInSecondFactorID == nil)
    #expect(world.store.contents.events(of: "account-y") == ["FACTOR_WITHDRAWN"])
    #expect(world.store.contents.deliveries.map(\.kind) == ["factor_withdrawn"])
    _ = try await world.signIn(rightPassword).grant
  }

  @Test func `check 98: a factor that a session has shown does not count once it is withdrawn`() async throws {
    let session = try person([.totp, .phone, .recoveryCode])
    let other = try world.session(of: "account-y", secondFactor: "totp")
    _ = try await world.withdraw("factor-totp", try world.session(of: "account-y", secondFactor: "phone"))
    let refreshed = try await Refresh(world.environment)(other.refreshToken, world.call())
    #expect(try world.claims(refreshed).signInSecondFactor == nil && world.claims(refreshed).methods == ["pwd"])
    await refused(.requiresSecondFactor) { try await world.withdraw("factor-phone", session) }
    await refused(.requiresSecondFactor) { try await world.unlink("google.com", session) }
  }

  @Test func `section 5: a withdrawal that leaves a phone as the only first and second factor is rejected`()
    async throws
  {
    let world = World()
    let owner = account(phone: adasNumber, factors: [.totp, .phone])
    world.store.insert(owner)
    let session = try world.session(of: "account-y", by: .provider("google.com"), secondFactor: "totp")
    await refused(.lastSignInMethod) { try await world.withdraw("factor-totp", session) }
    #expect(world.store.state("account-y") == owner)
    _ = try await world.withdraw("factor-phone", session)
    #expect(world.store.state("account-y")?.factors.map(\.kind) == [.totp])
  }

  @Test func `section 5: a phone cannot be the second factor if a phone is the only sign-in method`() async throws {
    world.store.insert(account(.verified(ada), phone: adasNumber))
    let session = try world.session(of: "account-y", by: .provider("google.com"))
    await refused(.lastSignInMethod) {
      try await world.startEnrollment(.phone, session, phoneNumber: "+441632960963")
    }
    #expect(world.store.contents.pendings.isEmpty)
  }

  @Test func `withdrawal requires a recent login that passed a factor, and an existing factor`() async throws {
    let session = try person([.totp])
    await refused(.secondFactorNotFound) { try await world.withdraw("nothing", session) }
    await refused(.requiresSecondFactor) { try await world.withdraw("factor-totp", world.session(of: "account-y")) }
    world.clock.advance(millis: 300_000)
    await refused(.requiresRecentLogin) { try await world.withdraw("factor-totp", session) }
  }

  @Test func `recovery codes alone are not a second factor`() {
    #expect(!account(factors: [.recoveryCode]).hasSecondFactor)
    #expect(account(factors: [.recoveryCode, .totp]).hasSecondFactor)
    let offered = account(factors: [.recoveryCode, .totp, .phone]).factorsToOffer.map(\.kind)
    #expect(offered == [.totp, .phone, .recoveryCode])
  }
}
