import Store
import Testing

@testable import Identity

/// Section 5: unlinking.
struct `Unlink, all rules` {
  let world = World()

  func known(
    _ address: AddressState = .verified(ada), password: Bool = true, identities: [Assertion] = [google()],
    factors: [FactorKind] = [], edit: (inout AccountRecord) -> Void = { _ in }
  ) throws -> SessionGrant {
    world.store.insert(
      account(address, password: password, identities: identities, factors: factors, edit: edit))
    return try world.session(of: "account-y")
  }

  @Test(arguments: ["oidc.corp", "phone", "emailLink", "nothing"])
  func `a method that is not linked cannot be unlinked`(_ providerID: String) async throws {
    let session = try known()
    let before = world.store.contents
    await refused(.noSuchProvider) { try await world.unlink(providerID, session) }
    #expect(world.store.contents == before)
  }

  @Test(arguments: [("password", ada), ("phone", "+15550100")])
  func `the subject that the account states for one of its own methods names that method`(
    _ providerID: String, _ subject: String
  ) async throws {
    world.store.insert(account(.verified(ada), password: true, phone: "+15550100", identities: [google()]))
    let session = try world.session(of: "account-y")
    await refused(.noSuchProvider) { try await world.unlink(providerID, subject: "x", session) }
    _ = try await world.unlink(providerID, subject: subject, session)
    let state = try #require(world.store.state("account-y"))
    #expect(providerID == "phone" ? state.account.phoneNumber == nil : state.account.passwordHash == nil)
  }

  @Test func `check 76: the last sign-in method stays, and the error names methods that could be added`() async throws {
    let session = try known(.verified(ada), password: false)
    let before = world.store.contents
    let failure = await refused(.lastSignInMethod) { try await world.unlink("google.com", session) }
    #expect(failure?.metadata == ["addable_methods": "password,phone,oidc.corp,oidc.other"])
    #expect(world.store.contents == before)
  }

  @Test func `check 77: second factors, disabled providers and links to unverified emails are no sign-in methods`()
    async throws
  {
    let world = World { $0.emailLinkEnabled = true }
    let gone = assertion("oidc.gone", "s-1", email: nil, tier: .unverified)
    var state = account(
      .unverified(ada), emailLink: true, identities: [google(), gone], factors: [.totp, .recoveryCode])
    world.store.insert(state)
    let session = try world.session(of: "account-y", secondFactor: "totp")
    await refused(.lastSignInMethod) { try await world.unlink("google.com", session) }
    state.account.phoneNumber = "+15550100"
    world.store.insert(state)
    _ = try await world.unlink("google.com", session)
  }

  @Test func `check 89: a phone that is the only second factor is not a sign-in method`() async throws {
    world.store.insert(
      account(.verified(ada), phone: "+15550100", identities: [google()], factors: [.phone]))
    let session = try world.session(of: "account-y", secondFactor: "phone")
    await refused(.lastSignInMethod) { try await world.unlink("google.com", session) }
  }

  @Test func `check 77: a password is not a sign-in method if passwords are disabled`() async throws {
    let world = World { $0.passwordEnabled = false }
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let session = try world.session(of: "account-y", by: .provider("google.com"))
    await refused(.lastSignInMethod) { try await world.unlink("google.com", session) }
  }

  @Test func `check 79 and 90: a new login is required after five minutes, with the account's own methods`()
    async throws
  {
    let session = try known()
    world.clock.advance(millis: 300_000)
    let before = world.store.contents
    let failure = await refused(.requiresRecentLogin) { try await world.unlink("google.com", session) }
    #expect(failure?.metadata == ["max_age_seconds": "300", "methods": "password,google.com"])
    #expect(world.store.contents == before)
    world.clock.advance(millis: -1)
    _ = try await world.unlink("google.com", session)
  }

  @Test func `check 80: a session that did not pass the account's factor is refused`() async throws {
    let session = try known(factors: [.totp])
    let before = world.store.contents
    await refused(.requiresSecondFactor) { try await world.unlink("google.com", session) }
    #expect(world.store.contents == before)
  }

  @Test func `an unlinked password is deleted and the address stays`() async throws {
    let session = try known()
    let grant = try await world.unlink("password", session)
    let record = try #require(world.store.state("account-y")?.account)
    #expect(record.passwordHash == nil && record.passwordSetAt == nil)
    #expect(record.email == ada && record.emailVerified)
    #expect(grant.account == world.store.state("account-y"))
  }

  @Test(arguments: ["phone", "emailLink"])
  func `a phone number and a sign-in link are unlinked like a password`(_ providerID: String) async throws {
    let session = try known {
      $0.phoneNumber = "+15550100"
      $0.emailLink = true
    }
    _ = try await world.unlink(providerID, session)
    let record = try #require(world.store.state("account-y")?.account)
    #expect((record.phoneNumber == nil) == (providerID == "phone"))
    #expect(record.emailLink == (providerID == "phone"))
  }

  @Test func `the unlink is recorded and leaves an audit row`() async throws {
    _ = try await world.unlink("google.com", try known())
    let state = try #require(world.store.state("account-y"))
    #expect(state.unlinks == [UnlinkRecord(accountID: "account-y", key: google().identity, at: world.now)])
    #expect(world.store.contents.events(of: "account-y") == ["UNLINKED"])
  }

  @Test func `check 82: sessions that began with the provider end, others stay, and the caller gets a new one`()
    async throws
  {
    let session = try known()
    let other = try world.session(of: "account-y", by: .provider("google.com"))
    let third = try world.session(of: "account-y", by: .password)
    let grant = try await world.unlink("google.com", session)
    #expect(Set(world.store.contents.openSessions(of: "account-y").map(\.id)) == [grant.sessionID, third.sessionID])
    #expect(world.store.contents.sessions[other.sessionID]?.closed?.reason == .unlinked)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
  }

  @Test func `check 82: a method that was linked later does not change what a session began with`() async throws {
    let world = World()
    world.store.insert(account(.verified(ada), identities: [google()]))
    let byGoogle = try world.session(of: "account-y", by: .provider("google.com"))
    let password = Credential.password(email: ada, password: "correct horse")
    let namesPassword = try await world.link(password, byGoogle).grant
    #expect(try world.claims(namesPassword).signInProviderID == "password")
    let byPassword = try world.session(of: "account-y")
    let namesCorp = try await world.link(corp(), byPassword).grant
    let caller = try world.session(of: "account-y")
    let unlinked = try await world.unlink("google.com", caller)
    let open = Set(world.store.contents.openSessions(of: "account-y").map(\.id))
    #expect(open == [byPassword.sessionID, namesCorp.sessionID, unlinked.sessionID])
    let again = try await world.unlink("oidc.corp", unlinked)
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id).contains(namesCorp.sessionID))
    #expect(world.store.contents.sessions[again.sessionID]?.beganWith == "password")
  }

  @Test func `the caller's session stays open although it began with the provider, and its login time is unchanged`()
    async throws
  {
    _ = try known(factors: [.totp])
    let session = try world.session(of: "account-y", by: .provider("google.com"), secondFactor: "totp")
    let before = try world.claims(session)
    world.clock.advance(millis: 60_000)
    let grant = try await world.unlink("google.com", session)
    let after = try world.claims(grant)
    #expect(after.authTime == before.authTime && after.signInSecondFactor == "totp")
    #expect(after.identities.isEmpty)
    #expect(world.store.contents.sessions[grant.sessionID]?.closed == nil)
    #expect(world.store.contents.sessions[session.sessionID]?.closed?.reason == .continued)
  }

  @Test func `check 34: the same key returns the session that the first unlink opened`() async throws {
    let session = try known()
    let first = try await world.unlink("google.com", session, world.call(key: "k"))
    let again = try await world.unlink("google.com", session, world.call(key: "k"))
    #expect(again.sessionID == first.sessionID)
    #expect(world.store.contents.events(of: "account-y") == ["UNLINKED"])
  }

  @Test(arguments: 1...20)
  func `check 78: of two unlinks of the last two sign-in methods exactly one succeeds`(_ seed: UInt64) async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed)
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let sessions = try (0..<50).map { _ in try world.session(of: "account-y", by: .customToken) }
    let unlinked = await withTaskGroup(of: Bool.self) { group in
      for (index, session) in sessions.enumerated() {
        group.addTask { (try? await world.unlink(["password", "google.com"][index % 2], session)) != nil }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(unlinked == 1)
    #expect(SignInMethods(try #require(world.store.state("account-y")), world.policy).methods.count == 1)
  }
}

/// Check 81: the email address after an unlink.
struct `Unlink, the address` {
  let world = World { $0.emailLinkEnabled = true }

  /// The account after Google was unlinked.
  func unlinkingGoogle(
    from state: AccountState, policy edit: (inout Policy) -> Void = { _ in }
  ) async throws -> AccountRecord {
    world.store.insert(state)
    _ = try await world.unlink("google.com", try world.session(of: "account-y"))
    return try #require(world.store.state("account-y")?.account)
  }

  func byGoogle(_ record: inout AccountRecord) {
    record.emailAddress?.source = "google.com"
    record.emailAddress?.verification = .assertion(providerID: "google.com")
  }

  @Test func `an address that came only from the provider is removed with it and is free for others`() async throws {
    let record = try await unlinkingGoogle(
      from: account(.verified(ada), phone: "+15550100", identities: [google()], edit: byGoogle))
    #expect(record.emailAddress == nil)
    let created = try await CreateAccount(world.environment)(
      CreateAccountRequest(email: ada, password: "a long secret"), world.call()
    ).grant
    #expect(created.account.account.email == ada)
  }

  @Test func `an address that a password uses stays verified`() async throws {
    let record = try await unlinkingGoogle(
      from: account(.verified(ada), password: true, identities: [google()], edit: byGoogle))
    #expect(record.email == ada && record.emailAddress?.verification == .assertion(providerID: "google.com"))
    #expect(record.emailAddress?.source == "password")
  }

  @Test func `an enabled sign-in link uses the email address, so the address stays verified`() async throws {
    let record = try await unlinkingGoogle(
      from: account(.verified(ada), emailLink: true, identities: [google()], edit: byGoogle))
    #expect(record.email == ada && record.emailVerified)
  }

  @Test(arguments: [EmailVerification.confirmation, .emailLink, .reset, .administrator])
  func `an address that was verified in another way stays`(_ proof: EmailVerification) async throws {
    let record = try await unlinkingGoogle(
      from: account(.verified(ada, by: proof), phone: "+15550100", identities: [google()]) {
        $0.emailAddress?.source = "google.com"
      })
    #expect(record.email == ada && record.emailAddress?.verification == proof)
  }

  @Test func `an address that another identity asserts stays and then belongs to that identity`() async throws {
    let record = try await unlinkingGoogle(
      from: account(.verified(ada), identities: [google(), corp(tier: .verified)], edit: byGoogle))
    #expect(record.email == ada && record.emailAddress?.verification == .assertion(providerID: "oidc.corp"))
    #expect(record.emailAddress?.source == "oidc.corp")
  }

  @Test func `an address that did not come from the provider stays`() async throws {
    let record = try await unlinkingGoogle(
      from: account(.unverified(ada), phone: "+15550100", identities: [google(email: "g@example.com")]) {
        $0.emailAddress?.source = "password"
      })
    #expect(record.email == ada)
  }
}
