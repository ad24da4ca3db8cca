import Store
import Testing

@testable import Identity

/// Changes of records, policy and sessions between the first factor and the second.
struct `Decided again after the second factor` {
  let world = World()

  // MARK: Sign-in

  @Test func `a password that was changed or removed before the finish does not sign in`() async throws {
    world.insertPerson()
    let before = account(.verified(ada), password: true).account
    var (without, changed, moved) = (before, before, before)
    without.passwordHash = nil
    changed.passwordHash = "hash:new"
    changed.passwordSetAt = world.now
    moved.emailAddress?.text = "new@example.com"
    for after in [without, changed, moved] {
      world.store.edit { $0.accounts["account-y"] = before }
      let required = try await world.signIn(rightPassword).required
      world.store.edit { $0.accounts["account-y"] = after }
      await refused(.invalidLoginCredentials) { try await world.finish(required) }
    }
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
  }

  @Test func `an old password hash is upgraded once the factor has passed`() async throws {
    world.insertPerson { $0.passwordHash = "old:correct horse" }
    let required = try await world.signIn(rightPassword).required
    #expect(world.store.state("account-y")?.account.passwordHash == "old:correct horse")
    _ = try await world.finish(required).grant
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:correct horse")
  }

  @Test func `a sign-in method that was disabled before the finish does not sign in`() async throws {
    world.insertPerson()
    let rows = [try await world.signIn(rightPassword).required, try await world.signIn(google()).required]
    var later = world
    later.policy.passwordEnabled = false
    later.policy.enabledProviderIDs = []
    for row in rows { await refused(.operationNotAllowed) { try await later.finish(row) } }
  }

  @Test func `an identity that was unlinked before the finish becomes a conflict`() async throws {
    world.insertPerson()
    let required = try await world.signIn(google()).required
    world.store.edit { $0.identities = [:] }
    let exists = try await world.finish(required).exists
    #expect(exists.email == ada && exists.methods == ["password"])
    let row = try #require(try world.row(exists.handle))
    #expect(row.purpose == .link && row.accountID == "account-y")
    await refused(.pendingCredentialUsed) { try await world.finish(required, "factor-totp", world.totpCode(1)) }
    let again = try await world.signIn(rightPassword, pendingToken: exists.handle).required
    await refused(.invalidCode) { try await world.finish(again) }
    #expect(try await world.finish(again, "factor-totp", world.totpCode(1)).grant.account.identities.count == 1)
  }

  @Test func `an identity that moved to another account does not sign in, with or without a factor there`()
    async throws
  {
    for kinds in [[], [FactorKind.totp]] {
      let world = World()
      world.insertPerson()
      let required = try await world.signIn(google()).required
      world.store.edit { $0.identities = [:] }
      world.store.insert(account(id: "other", identities: [google()], factors: kinds))
      await refused(.pendingCredentialMismatch) { try await world.finish(required) }
      #expect(world.store.contents.openSessions(of: "other").isEmpty)
    }
  }

  @Test func `a pending identity whose account has lost it creates no account`() async throws {
    world.insertPerson()
    let required = try await world.signIn(google()).required
    world.store.edit {
      $0.identities = [:]
      $0.accounts["account-y"]?.emailAddress = nil
    }
    await refused(.pendingCredentialMismatch) { try await world.finish(required) }
    #expect(world.store.contents.accounts.count == 1)
  }

  @Test func `a custom token counts as the first factor only, and not once the account was marked against it`()
    async throws
  {
    world.insertPerson()
    let token = try await world.customToken(for: "account-y")
    let first = try await world.signIn(.customToken(token)).required
    #expect(try world.claims(try await world.finish(first).grant).methods == ["custom", "otp", "mfa"])
    let second = try await world.signIn(.customToken(token)).required
    world.clock.advance(millis: 1_000)
    world.store.edit { [now = world.now] in $0.accounts["account-y"]?.tokensValidAfter = now }
    await refused(.invalidCustomToken) { try await world.finish(second, "factor-totp", world.totpCode(1)) }
  }

  @Test func `a single-use token is spent by the finish, and by one finish only`() async throws {
    world.insertPerson()
    let token = Credential.providerToken(
      world.providers.token(google(), singleUseUntil: world.now.adding(millis: 60_000)))
    let rows = [try await world.signIn(token).required, try await world.signIn(token).required]
    #expect(world.store.contents.spent.isEmpty)
    _ = try await world.finish(rows[0]).grant
    #expect(world.store.contents.spent.count == 1)
    await refused(.missingOrInvalidNonce) { try await world.finish(rows[1], "factor-totp", world.totpCode(1)) }
  }

  // MARK: Completing a conflict

  @Test func `check 19: the pending identity is linked once the factor has passed, and its row is completed`()
    async throws
  {
    world.insertPerson()
    let exists = try await world.signIn(corp()).exists
    let required = try await world.signIn(rightPassword, pendingToken: exists.handle).required
    #expect(world.store.contents.identities.count == 1)
    let grant = try await world.finish(required).grant
    #expect(grant.account.identities.map(\.key.providerID) == ["google.com", "oidc.corp"])
    #expect(grant.userInfo?.providerID == "oidc.corp")
    #expect(try world.row(exists.handle)?.completedSessionID == grant.sessionID)
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
  }

  @Test func `a row that was completed before the finish links nothing and opens no session`() async throws {
    world.insertPerson()
    let exists = try await world.signIn(corp()).exists
    let rows = [
      try await world.signIn(rightPassword, pendingToken: exists.handle).required,
      try await world.signIn(google(), pendingToken: exists.handle).required,
    ]
    _ = try await world.finish(rows[0]).grant
    await refused(.pendingCredentialUsed) { try await world.finish(rows[1], "factor-totp", world.totpCode(1)) }
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
  }

  @Test func `a credential in use signs in to its owner, and is spent by it`() async throws {
    world.insertPerson()
    let handle = world.hold(google(), for: "account-y", purpose: .credentialInUse)
    let required = try await world.signIn(.pendingToken(handle)).required
    #expect(try await world.finish(required).grant.account.account.id == "account-y")
    await refused(.pendingCredentialUsed) { try await world.signIn(.pendingToken(handle)) }
  }

  @Test func `an error of a completion names no field, since this call does not contain the completed row`()
    async throws
  {
    world.insertPerson()
    let exists = try await world.signIn(corp()).exists
    let required = try await world.signIn(rightPassword, pendingToken: exists.handle).required
    let other = IdentityRecord(assertion: corp("c-2"), accountID: "account-y", linkedAt: world.now)
    world.store.edit { $0.identities[other.key] = other }
    let failure = await refused(.providerAlreadyLinked) { try await world.finish(required) }
    #expect(failure?.field == nil)
  }

  // MARK: Linking

  private func linking(_ credential: Credential) async throws -> SecondFactorRequired {
    world.insertPerson()
    return try await world.link(credential, try world.session(of: "account-y")).required
  }

  @Test func `L11: the pending credential is linked, in a session of the same login with the factor`() async throws {
    let login = world.now
    let required = try await linking(.providerToken(world.providers.token(corp())))
    world.clock.advance(millis: 60_000)
    let answer = try await world.finish(required)
    let claims = try world.claims(try answer.grant)
    #expect(claims.signInSecondFactor == "totp" && claims.authTime == login, "a link is not a login")
    #expect(try answer.grant.account.identities.map(\.key.providerID) == ["google.com", "oidc.corp"])
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
  }

  @Test func `L12 after the factor: the login only has to be recent when the call starts to wait`() async throws {
    let world = World.sending()
    world.insertPerson { $0.phoneNumber = "+15550199" }
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.recentLoginMillis - 1)
    let code = try await world.phoneCode(for: .link, in: session)
    let required = try await world.link(code, session).required
    world.clock.advance(millis: 60_000)
    #expect(try await world.finish(required).grant.account.account.phoneNumber == number)
  }

  @Test func `L2 after the factor: an identity that moved to another account returns a pending token`() async throws {
    let required = try await linking(.providerToken(world.providers.token(corp())))
    world.store.insert(account(id: "other", identities: [corp()]))
    let inUse = try await world.finish(required).inUse
    let row = try #require(try world.row(inUse.handle))
    #expect(row.purpose == .credentialInUse && row.accountID == "other")
    await refused(.pendingCredentialUsed) { try await world.finish(required, "factor-totp", world.totpCode(1)) }
  }

  @Test func `L1 after the factor: the identity was already linked, and the session has the factor`() async throws {
    let required = try await linking(.providerToken(world.providers.token(corp())))
    let record = IdentityRecord(assertion: corp(), accountID: "account-y", linkedAt: world.now)
    world.store.edit { $0.identities[record.key] = record }
    let answer = try await world.finish(required, world.call(key: "k"))
    guard case .session(let grant, alreadyLinked: true) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(try world.claims(grant).signInSecondFactor == "totp")
    guard case .session(let again, alreadyLinked: true) = try await world.finish(required, world.call(key: "k")) else {
      Issue.record("the repeat forgot")
      return
    }
    #expect(again.sessionID == grant.sessionID)
  }

  @Test func `check 46: L1 after the factor spends a token for single use`() async throws {
    let token = Credential.providerToken(
      world.providers.token(corp(), singleUseUntil: world.now.adding(millis: 60_000)))
    let required = try await linking(token)
    let record = IdentityRecord(assertion: corp(), accountID: "account-y", linkedAt: world.now)
    world.store.edit { $0.identities[record.key] = record }
    guard case .session(_, alreadyLinked: true) = try await world.finish(required) else {
      Issue.record("not already linked")
      return
    }
    #expect(world.store.contents.spent.count == 1)
    await refused(.missingOrInvalidNonce) { try await world.signIn(token) }
  }

  @Test func `an error of a link after the factor names no field of the link`() async throws {
    let required = try await linking(.providerToken(world.providers.token(corp())))
    let other = IdentityRecord(assertion: corp("c-2"), accountID: "account-y", linkedAt: world.now)
    world.store.edit { $0.identities[other.key] = other }
    let failure = await refused(.providerAlreadyLinked) { try await world.finish(required) }
    #expect(failure?.field == nil)
    var later = world
    later.policy.enabledProviderIDs = []
    let disabled = await refused(.operationNotAllowed) { try await later.finish(required) }
    #expect(disabled?.field == nil)
  }

  @Test func `a password is set by the finish and not before`() async throws {
    world.insertPerson { $0.passwordHash = nil }
    let credential = Credential.password(email: ada, password: "a new password")
    let required = try await world.link(credential, try world.session(of: "account-y")).required
    #expect(world.store.state("account-y")?.account.passwordHash == nil)
    _ = try await world.finish(required).grant
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:a new password")
  }

  @Test func `a pending credential is linked by the session that requested it, and its row is completed`()
    async throws
  {
    world.insertPerson()
    let handle = world.hold(corp(), for: "account-y")
    let required = try await world.link(.pendingToken(handle), try world.session(of: "account-y")).required
    let grant = try await world.finish(required).grant
    #expect(grant.account.identities.count == 2)
    #expect(try world.row(handle)?.completedSessionID == grant.sessionID)
  }

  @Test func `a session that ended before the finish links and renews nothing`() async throws {
    world.insertPerson()
    let session = try world.session(of: "account-y")
    let rows = [
      try await world.link(.providerToken(world.providers.token(corp())), session).required,
      try await world.reauthenticate(rightPassword, session).required,
    ]
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    for row in rows { await refused(.tokenRevoked) { try await world.finish(row) } }
    #expect(world.store.contents.identities.count == 1)
  }

  // MARK: Reauthentication

  @Test func `a reauthentication returns a new session with a new login time`() async throws {
    world.insertPerson { $0.passwordHash = "old:correct horse" }
    let session = try world.session(of: "account-y", secondFactor: "totp")
    let required = try await world.reauthenticate(rightPassword, session).required
    world.clock.advance(millis: 60_000)
    let grant = try await world.finish(required).grant
    let claims = try world.claims(grant)
    #expect(claims.authTime == world.now && claims.signInSecondFactor == "totp")
    #expect(grant.sessionID != session.sessionID)
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:correct horse")
  }

  @Test func `a reauthentication by a method that is no longer linked fails`() async throws {
    world.insertPerson()
    let session = try world.session(of: "account-y")
    let token = Credential.providerToken(world.providers.token(google()))
    let required = try await world.reauthenticate(token, session).required
    world.store.edit { $0.identities = [:] }
    await refused(.userMismatch) { try await world.finish(required) }
    let byPassword = try await world.reauthenticate(rightPassword, session).required
    world.store.edit { [now = world.now] in $0.accounts["account-y"]?.passwordSetAt = now }
    await refused(.invalidLoginCredentials) { try await world.finish(byPassword) }
  }
}
