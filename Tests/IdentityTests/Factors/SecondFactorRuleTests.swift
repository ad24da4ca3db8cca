import Store
import Testing

@testable import Identity

private let day: Int64 = 86_400_000
private let start = World().now
private let due = start.adding(millis: 14 * day)
private let restrictedAudience = "app/second-factor-enrollment"

/// Claims that contain a word.
private struct HasWord: ClaimCondition {
  let word: String

  func matches(_ json: String) -> Bool { json.contains(word) }
}

private func rule(
  callers: [String] = [], claims word: String? = nil, since: Timestamp = start, graceMillis: Int64 = 14 * day
) -> SecondFactorRule {
  SecondFactorRule(
    callers: Set(callers.map(CallerName.init)), claims: word.map(HasWord.init), since: since, graceMillis: graceMillis)
}

/// A world with these rules; by default one about every session.
private func ruled(_ rules: [SecondFactorRule] = [rule()], _ edit: (inout Policy) -> Void = { _ in }) -> World {
  World.mailingCodes { policy in
    policy.secondFactorRules = rules
    policy.passkeyEnabled = true
    policy.sessionCookiesEnabled = true
    edit(&policy)
  }
}

extension World {
  fileprivate func refreshed(_ session: SessionGrant) async throws -> SessionGrant {
    try await Refresh(environment)(session.refreshToken, call())
  }

  /// A session of a user who has a password, after the grace period.
  fileprivate func restricted(_ state: AccountState = account(.verified(ada), password: true)) throws -> SessionGrant {
    store.insert(state)
    clock.advance(millis: 15 * day)
    return try session(of: state.account.id)
  }

  fileprivate func duty(
    _ state: AccountState, by first: FirstFactor = .password, _ session: (inout SessionRecord) -> Void = { _ in },
    after millis: Int64 = 15 * day
  ) -> SecondFactorDuty {
    var record = environment.openSession(accountID: state.account.id, by: first, call: call(), now: now).record
    session(&record)
    return policy.secondFactorDuty(of: record, state, now: now.adding(millis: millis))
  }

  fileprivate func isRestricted(_ grant: SessionGrant) throws -> Bool {
    let claims = try claims(grant)
    #expect(claims.audience == (grant.secondFactorDuty.isOverdue ? restrictedAudience : "app"))
    return grant.secondFactorDuty.isOverdue
  }
}

private let usual = account(.verified(ada), password: true)

struct `Required second factors, the decision` {
  @Test func `F1: a rule is about the sessions of its callers`() {
    #expect(ruled([]).duty(usual) == .none)
    #expect(ruled([rule(callers: ["spiffe://test/app"])]).duty(usual) == .overdue(due))
    #expect(ruled([rule(callers: ["spiffe://test/console"])]).duty(usual) == .none)
    let both = ruled([rule(callers: ["spiffe://test/console", "spiffe://test/app"])])
    #expect(both.duty(usual) == .overdue(due))
    #expect(both.duty(usual, { $0.caller = CallerName("other") }) == .none)
  }

  @Test func `F1: a rule is about accounts and sessions with its claims, and needs both parts to match`() {
    let admin = account(.verified(ada), password: true) { $0.customClaimsJSON = "{\"role\":\"admin\"}" }
    let world = ruled([rule(claims: "admin")])
    #expect(world.duty(admin) == .overdue(due))
    #expect(world.duty(usual) == .none)
    #expect(world.duty(usual, { $0.claimsJSON = "{\"role\":\"admin\"}" }) == .overdue(due))
    #expect(ruled([rule(callers: ["other"], claims: "admin")]).duty(admin) == .none)
    #expect(ruled([rule(callers: ["other"]), rule(claims: "admin")]).duty(admin) == .overdue(due))
  }

  @Test(arguments: [FactorKind.totp, .phone, .passkey])
  func `F2: an account with a second factor meets every rule`(kind: FactorKind) {
    #expect(ruled().duty(account(.verified(ada), password: true, factors: [kind])) == .none)
    #expect(ruled().duty(account(.verified(ada), password: true, factors: [kind, .recoveryCode])) == .none)
  }

  @Test func `F2: recovery codes alone are no second factor`() {
    #expect(ruled().duty(account(.verified(ada), password: true, factors: [.recoveryCode])) == .overdue(due))
  }

  @Test func `F3: a passkey with user verification meets every rule, a passkey without and a provider do not`() {
    for isSynced in [false, true] {
      let world = ruled()
      #expect(world.duty(usual, by: .passkey(backupEligible: isSynced, userVerified: true)) == .none)
      #expect(world.duty(usual, by: .passkey(backupEligible: isSynced, userVerified: false)) == .overdue(due))
    }
    #expect(ruled().duty(usual, by: .provider("google.com")) == .overdue(due))
    let methods = FirstFactor(signInProviderID: "oidc.corp", methods: ["fed", "user", "mfa"])
    #expect(ruled().duty(usual, by: methods) == .overdue(due))
  }

  @Test func `F4: an anonymous account is exempt`() {
    #expect(ruled().duty(account(anonymous: true), by: .anonymous) == .none)
  }

  @Test func `F5: the grace period begins with the rule or the account, whichever is later, and excludes its end`() {
    let world = ruled()
    #expect(world.duty(usual, after: 0) == .due(due))
    #expect(world.duty(usual, after: 14 * day - 1) == .due(due))
    #expect(world.duty(usual, after: 14 * day) == .overdue(due))
    let new = account(.verified(ada), password: true) { $0.createdAt = start.adding(millis: 3 * day) }
    #expect(world.duty(new, after: 17 * day - 1) == .due(due.adding(millis: 3 * day)))
    #expect(world.duty(new, after: 17 * day) == .overdue(due.adding(millis: 3 * day)))
    #expect(ruled([rule(graceMillis: 0)]).duty(usual, after: 0) == .overdue(start))
    let later = start.adding(millis: 2 * day)
    #expect(ruled([rule(since: later, graceMillis: 0)]).duty(usual, after: day) == .due(later), "announced before")
  }

  @Test func `F5: of several rules the earliest due time counts`() {
    let rules = [rule(), rule(graceMillis: 2 * day), rule(callers: ["other"], graceMillis: 0), rule()]
    #expect(ruled(rules).duty(usual, after: day) == .due(start.adding(millis: 2 * day)))
    #expect(ruled(rules).duty(usual, after: 2 * day) == .overdue(start.adding(millis: 2 * day)))
  }

  @Test func `the audience of restricted sessions is that of one of the caller's`() throws {
    let world = ruled()
    var token = try world.claims(try world.restricted())
    #expect(token.audience == restrictedAudience)
    #expect(try RestrictedAudience.isOf(token, world.call()))
    for audience in ["app", "second-factor-enrollment", "other/second-factor-enrollment", "app/", ""] {
      token.audience = audience
      #expect((try? RestrictedAudience.isOf(token, world.call())) == (audience == "app" ? false : nil))
    }
  }
}

struct `Required second factors, every call that returns a session` {
  @Test func `F5: before the due time a sign-in returns a full session that states it`() async throws {
    let world = ruled()
    world.store.insert(usual)
    let grant = try await world.signIn(rightPassword).grant
    #expect(try !world.isRestricted(grant) && grant.secondFactorDuty == .due(due))
    #expect(try await world.link(google(), grant).grant.secondFactorDuty == .due(due), "so does every other call")
  }

  @Test func `F6: sign-ins, also by links and of new accounts, return restricted sessions`() async throws {
    let world = ruled([rule(graceMillis: 0)])
    world.store.insert(usual)
    #expect(try await world.isRestricted(world.signIn(rightPassword).grant))
    #expect(try await world.isRestricted(world.signIn(world.emailLink()).grant))
    let new = try await world.signIn(google("new", email: "bea@example.com")).grant
    #expect(try world.isRestricted(new) && new.isNewAccount)
    #expect(try await world.isRestricted(world.signIn(world.phoneCode()).grant))
    let create = CreateAccountRequest(email: "new@example.com", password: "a long secret")
    #expect(try await world.isRestricted(CreateAccount(world.environment)(create, world.call()).grant))
  }

  @Test func `F6: the session that resolves a conflict, its repeat, and that of a Link are restricted`() async throws {
    let world = ruled()
    world.store.insert(usual)
    let before = try await world.signIn(rightPassword).grant
    let exists = try await world.signIn(corp(email: ada)).exists
    let now = ruled(in: world, [rule(graceMillis: 0)])
    let resolved = try await now.signIn(rightPassword, pendingToken: exists.handle, now.call(key: "k")).grant
    #expect(try now.isRestricted(resolved) && resolved.account.identities.count == 1)
    let again = try await now.signIn(rightPassword, pendingToken: exists.handle, now.call(key: "k")).grant
    #expect(try now.isRestricted(again) && again.sessionID == resolved.sessionID)
    #expect(try await now.isRestricted(now.link(google(), before).grant))
    #expect(try await now.isRestricted(now.reauthenticate(rightPassword, before).grant))
  }

  @Test func `F8: a refresh restricts the session when the due time has passed, and releases it again`() async throws {
    let world = ruled()
    world.store.insert(usual)
    var grant = try await world.signIn(rightPassword).grant
    world.clock.advance(millis: 14 * day - 1)
    grant = try await world.refreshed(grant)
    #expect(try !world.isRestricted(grant))
    world.clock.advance(millis: 1)
    #expect(try GetAccount(world.environment, idToken: grant.idToken, world.call())
      .answer(world.facts(of: grant)).account.id == "account-y", "an older token stays what it is")
    grant = try await world.refreshed(grant)
    #expect(try world.isRestricted(grant) && grant.secondFactorDuty == .overdue(due))
    let released = ruled(in: world, [])
    grant = try await released.refreshed(grant)
    #expect(try !world.isRestricted(grant) && grant.secondFactorDuty == .none)
  }

  @Test func `F9: enrollment in a restricted session returns a full one`() async throws {
    let world = ruled()
    let session = try world.restricted()
    let started = try await world.startEnrollment(.totp, session)
    let finished = try await world.finishEnrollment(started, session, try world.code(of: started))
    #expect(try !world.isRestricted(finished.grant) && finished.grant.secondFactorDuty == .none)
    #expect(try await !world.isRestricted(world.refreshed(finished.grant)))
    await refused(.tokenRevoked) { try await world.startEnrollment(.totp, session) }
  }

  @Test func `F9: enrollment needs a recent login, which SignIn gives and Reauthenticate does not`() async throws {
    let world = ruled()
    let session = try world.restricted()
    world.clock.advance(millis: world.policy.recentLoginMillis)
    await refused(.requiresRecentLogin) { try await world.startEnrollment(.totp, session) }
    await refused(.requiresSecondFactorEnrollment) { try await world.reauthenticate(rightPassword, session) }
    _ = try await world.startEnrollment(.totp, try await world.signIn(rightPassword).grant)
  }

  @Test func `F9: a restricted session verifies the address that enrollment needs, and changes none`() async throws {
    let world = ruled()
    let session = try world.restricted(account(.unverified(ada), password: true))
    await refused(.unverifiedEmail) { try await world.startEnrollment(.totp, session) }
    await refused(.requiresSecondFactorEnrollment) { try await world.emailChange(to: "new@example.com", session) }
    for purpose in [EmailCodePurpose.link, .reauthenticate, .changeEmail] {
      await refused(.requiresSecondFactorEnrollment) { try await world.digits(for: purpose, in: session) }
    }
    let digits = try await world.digits(for: .verifyEmail, in: session)
    let confirmed = try #require(try await world.confirm(digits, session).session)
    #expect(try world.isRestricted(confirmed) && confirmed.account.account.emailVerified)
    _ = try await world.startEnrollment(.totp, confirmed)
  }

  @Test func `F9: a restricted session confirms a verification link, and no change that was requested before`()
    async throws
  {
    let world = ruled()
    world.store.insert(account(.unverified(ada), password: true))
    let full = try world.session(of: "account-y")
    let change = try await world.emailChange(to: "new@example.com", full)
    let now = ruled(in: world, [rule(graceMillis: 0)])
    let restricted = try await now.refreshed(full)
    await refused(.requiresSecondFactorEnrollment) { try await now.confirm(change, restricted) }
    let link = try await now.verification(restricted)
    let confirmed = try #require(try await now.confirm(link, restricted).session)
    #expect(try now.isRestricted(confirmed) && confirmed.account.account.email == ada)
    let again = try #require(try await now.confirm(link, confirmed).session)
    #expect(try now.isRestricted(again), "clicked again")
  }

  @Test func `F10: a passkey is added in a restricted session, and signs in to a full one`() async throws {
    let world = ruled()
    let session = try world.restricted()
    var key = FakeAuthenticator()
    await refused(.requiresSecondFactorEnrollment) { try await world.register(&key, session) }
    let started = try await world.startRegistration(session)
    key.userHandle = world.passkeys.lastCreation?.challenge.userHandle ?? []
    let response = PasskeyResponse(
      .registration(started.id), credentialJSON: key.response(to: started.optionsJSON), name: "My key")
    let finished = try await FinishRegistration(world.environment)(
      FinishRegistrationRequest(idToken: session.idToken, response: response), world.call())
    guard case .session(let grant, _) = finished else { throw UnexpectedAnswer(text: "\(finished)") }
    #expect(try world.isRestricted(grant) && grant.sessionID == session.sessionID)
    #expect(finished.outcome == .restrictedSession)
    #expect(try await !world.isRestricted(world.signIn(world.credential(key)).grant))
    key.verifiesUser = false
    #expect(try await world.isRestricted(world.signIn(world.credential(key)).grant))
  }

  @Test func `F11: the session after the last factor was withdrawn is restricted, and can enroll another`()
    async throws
  {
    let world = ruled()
    world.insertPerson([.totp, .recoveryCode])
    world.clock.advance(millis: 15 * day)
    let full = try world.session(of: "account-y", secondFactor: "totp")
    #expect(try !world.isRestricted(full))
    let after = try await world.withdraw("factor-totp", full)
    #expect(try world.isRestricted(after))
    let started = try await world.startEnrollment(.totp, after)
    let finished = try await world.finishEnrollment(started, after, try world.code(of: started))
    #expect(try !world.isRestricted(finished.grant))
  }

  @Test func `F12: a claim that is set later takes effect at the next refresh, without a grace period of its own`()
    async throws
  {
    let world = ruled([rule(claims: "admin")])
    var grant = try world.restricted()
    #expect(try !world.isRestricted(grant))
    world.store.edit { $0.accounts["account-y"]?.customClaimsJSON = "{\"role\":\"admin\"}" }
    grant = try await world.refreshed(grant)
    #expect(try world.isRestricted(grant) && grant.secondFactorDuty == .overdue(due))
    world.store.edit { $0.accounts["account-y"]?.customClaimsJSON = "" }
    #expect(try await !world.isRestricted(world.refreshed(grant)))
  }

  @Test func `F13: a cookie ends at the due time, and a session that is overdue gets none`() async throws {
    let world = ruled([rule(graceMillis: 2 * day)])
    world.store.insert(usual)
    let full = try world.session(of: "account-y")
    func cookie(_ session: SessionGrant) async throws -> SessionCookie {
      try await CreateSessionCookie(world.environment)(
        idToken: session.idToken, validForMillis: 14 * day, world.call())
    }
    #expect(try await cookie(full).expiresAt == start.adding(millis: 2 * day).wholeSeconds)
    world.clock.advance(millis: 2 * day - 1)
    let late = try await world.signIn(rightPassword).grant
    world.clock.advance(millis: 1)
    await refused(.requiresSecondFactorEnrollment) { try await cookie(late) }
    await refused(.requiresSecondFactorEnrollment) { try await cookie(world.signIn(rightPassword).grant) }
  }

  @Test func `F13: the rules for a cookie are those of its own caller`() async throws {
    let (app, web) = ("spiffe://test/app", "spiffe://test/web")
    func cookie(byRuleOf caller: String, after millis: Int64) async throws -> SessionCookie {
      let world = ruled([rule(callers: [caller], graceMillis: 2 * day)])
      world.store.insert(usual)
      world.clock.advance(millis: millis)
      let session = try await world.signIn(rightPassword, world.call(caller: app)).grant
      return try await CreateSessionCookie(world.environment)(
        idToken: session.idToken, validForMillis: day, world.call(caller: web))
    }
    let due = start.adding(millis: 2 * day)
    #expect(try await cookie(byRuleOf: web, after: 2 * day - 60_000).expiresAt == due.wholeSeconds)
    await refused(.requiresSecondFactorEnrollment) { try await cookie(byRuleOf: web, after: 2 * day) }
    let longer = try await cookie(byRuleOf: app, after: 2 * day - 60_000)
    #expect(longer.expiresAt > due)
  }

  @Test func `F14: a user who becomes permanent is no longer exempt`() async throws {
    let world = ruled([rule(graceMillis: 0)])
    let guest = try await world.signIn(.anonymous).grant
    #expect(try !world.isRestricted(guest))
    #expect(try await world.isRestricted(world.link(google(), guest).grant))
  }

  @Test func `F15: a custom token is one factor`() async throws {
    let world = ruled([rule(graceMillis: 0)])
    world.store.insert(usual)
    let token = try await world.customToken(for: "account-y")
    #expect(try await world.isRestricted(world.signIn(.customToken(token)).grant))
    world.insertPerson()
    let required = try await world.signIn(.customToken(token)).required
    #expect(try await !world.isRestricted(world.finish(required).grant))
  }
}

struct `Required second factors, calls with the token of a restricted session` {
  @Test func `F7: Get, SignOut and RevokeAll accept it`() async throws {
    let world = ruled()
    let session = try world.restricted()
    let get = try GetAccount(world.environment, idToken: session.idToken, world.call())
    #expect(try get.answer(world.facts(of: session)).account.id == "account-y")
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    await refused(.tokenRevoked) { try await world.startEnrollment(.totp, session) }
    let other = try world.session(of: "account-y")
    #expect(try await RevokeAll(world.environment)(idToken: other.idToken, world.call()) == 1)
  }

  @Test func `F7: VerifyIdToken calls it inactive, and an ended session ended`() async throws {
    let world = ruled()
    let session = try world.restricted()
    func status() throws -> IDTokenStatus {
      let reading = try VerifyIDToken(world.environment, .idToken(session.idToken), world.call())
      return try reading.answer(world.facts(of: session))
    }
    #expect(try status() == .inactive(.requiresSecondFactorEnrollment))
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    #expect(try status() == .inactive(.tokenRevoked))
  }

  @Test func `F7: Merge rejects it as either token, and names the field`() async throws {
    let world = ruled([rule(claims: "admin")])
    world.store.insert(account(.verified(ada), password: true) { $0.customClaimsJSON = "admin" })
    world.store.insert(account(id: "account-z", .verified("bea@example.com"), password: true))
    world.clock.advance(millis: 15 * day)
    let (restricted, full) = (try world.session(of: "account-y"), try world.session(of: "account-z"))
    let first = await refused(.requiresSecondFactorEnrollment) { try await world.merge(restricted, full) }
    let second = await refused(.requiresSecondFactorEnrollment) { try await world.merge(full, restricted) }
    #expect(first?.field == "survivor_id_token" && second?.field == "other_id_token")
  }

  @Test func `F7: changes of the account reject it and write nothing`() async throws {
    let world = ruled()
    let session = try world.restricted()
    let isUntouched = await world.untouched {
      let failure = await refused(.requiresSecondFactorEnrollment) { try await world.link(google(), session) }
      #expect(failure?.field == "id_token" && failure?.accountID == "account-y")
      await refused(.requiresSecondFactorEnrollment) { try await world.unlink("password", session) }
      await refused(.requiresSecondFactorEnrollment) { try await world.withdraw("factor-totp", session) }
      await refused(.requiresSecondFactorEnrollment) {
        try await EndSession(world.environment)(session.sessionID, for: .user(idToken: session.idToken), world.call())
      }
      await refused(.requiresSecondFactorEnrollment) {
        try await DeleteAccount(world.environment)(idToken: session.idToken, world.call())
      }
    }
    #expect(isUntouched)
  }
}

/// The same server after a reload with other rules.
private func ruled(in world: World, _ rules: [SecondFactorRule]) -> World {
  var world = world
  world.policy.secondFactorRules = rules
  return world
}

extension World {
  fileprivate func facts(of session: SessionGrant) -> Facts {
    var query = Query()
    query.sessionID = session.sessionID
    return store.contents.facts(query)
  }
}
