import Store
import Testing

@testable import Identity

/// Rows P1 to P3 and P6 to P12: sign-up and sign-in by passkey.
struct `Passkeys, sign-up and sign-in` {
  let world = World { $0.passkeyEnabled = true }

  @Test func `P7: a registration without a session creates an account that has only the passkey`() async throws {
    var key = FakeAuthenticator()
    let grant = try await world.signUp(&key).grant
    #expect(grant.isNewAccount && grant.account.account.email == nil && grant.account.account.displayName.isEmpty)
    #expect(grant.account.passkeys.map(\.key.subject) == [world.passkeyID(key)])
    let claims = try world.claims(grant)
    #expect(claims.signInProviderID == "passkey" && claims.methods == ["hwk", "user", "mfa"])
    #expect(claims.identities.isEmpty, "the id of a passkey means nothing to other services")
    #expect(world.events == ["ACCOUNT_CREATED", "SIGNED_IN"])
    #expect(world.stored(key)?.userHandle.count == 64)
  }

  @Test func `P7: existing_only creates nothing and spends no challenge`() async throws {
    var key = FakeAuthenticator()
    await refused(.accountNotFound) { try await world.signUp(&key, existingOnly: true) }
    #expect(world.store.contents.accounts.isEmpty)
    #expect(world.store.contents.pendings.values.allSatisfy { $0.completedAt == nil })
  }

  @Test func `P7: sign-ups are throttled by network`() async throws {
    var world = world
    world.policy.throttles[.signUpsPerNetwork] = ThrottleRule(1, inMillis: 60_000)
    var first = FakeAuthenticator("key-1")
    var second = FakeAuthenticator("key-2")
    _ = try await world.signUp(&first)
    await refused(.tooManyAttempts) { try await world.signUp(&second) }
    #expect(world.store.contents.accounts.count == 1)
  }

  @Test func `P8 and P10: a passkey signs in to its account without an email address`() async throws {
    var key = FakeAuthenticator(isSynced: true)
    let accountID = try await world.signUp(&key).grant.account.account.id
    key.signCount = 0
    let grant = try await world.signIn(try await world.credential(key)).grant
    #expect(world.passkeys.lastRequest?.allowed == [])
    #expect(grant.account.account.id == accountID && !grant.isNewAccount && grant.userInfo == nil)
    #expect(try world.claims(grant).methods == ["swk", "user", "mfa"])
    #expect(world.stored(key)?.lastUsedAt == world.now && world.stored(key)?.backedUp == true)
  }

  @Test func `P10: an unknown passkey creates no account, and fails like a wrong signature`() async throws {
    let key = FakeAuthenticator()
    let failure = await refused(.invalidPasskey) { try await world.signIn(try await world.credential(key)) }
    #expect(failure?.metadata == ["check": "signature"] && failure?.accountID == nil)
    #expect(world.store.contents.accounts.isEmpty)
  }

  @Test func `P10: a disabled account is USER_DISABLED`() async throws {
    var key = FakeAuthenticator()
    let id = try await world.signUp(&key).grant.account.account.id
    world.store.edit { $0.accounts[id]?.disabled = true }
    await refused(.userDisabled) { try await world.signIn(try await world.credential(key)) }
  }

  @Test func `P10: a passkey that was removed after its verification opens nothing`() async throws {
    var key = FakeAuthenticator()
    _ = try await world.signUp(&key)
    let credential = try await world.credential(key)
    world.store.edit { $0.identities = [:] }
    await refused(.invalidPasskey) { try await world.signIn(credential) }
    let attempt = Attempt(
      VerifiedCredential(assertion: Assertion(identity: world.environment.identityKey(of: [1]))),
      .passkey(backupEligible: false, userVerified: true), world.call())
    var decision = SignIn(world.environment).decision(attempt, world.now)
    decision.existingOnly = true
    guard case .refuse(let failure) = decision.federated(Facts()) else { return #expect(Bool(false)) }
    #expect(failure.reason == .accountNotFound)
  }

  @Test func `P10: a wrong user handle, and a missing one without an email address, are rejected`() async throws {
    var key = FakeAuthenticator()
    _ = try await world.signUp(&key)
    let started = try await world.startPasskeySignIn()
    let response = key.response(to: started.optionsJSON, withHandle: false)
    let failure = await refused(.invalidPasskey) {
      try await world.signIn(.passkey(PasskeyResponse(.signIn(started.id), credentialJSON: response)))
    }
    #expect(failure?.metadata == ["check": "user_handle"])
    key.userHandle[0] ^= 1
    await refused(.invalidPasskey) { try await world.signIn(try await world.credential(key)) }
  }

  @Test func `P10: a passkey whose backup eligibility changed is rejected`() async throws {
    var key = FakeAuthenticator()
    _ = try await world.signUp(&key)
    key.isSynced = true
    let failure = await refused(.invalidPasskey) { try await world.signIn(try await world.credential(key)) }
    #expect(failure?.metadata == ["check": "backup_eligibility"])
  }

  @Test func `P2: a challenge is valid once, also if its response was wrong`() async throws {
    var key = FakeAuthenticator()
    _ = try await world.signUp(&key)
    let credential = try await world.credential(key)
    _ = try await world.signIn(credential)
    await refused(.pendingCredentialUsed) { try await world.signIn(credential) }
    let started = try await world.startPasskeySignIn()
    await refused(.invalidPasskey) {
      let wrong = key.response(to: "another-challenge")
      return try await world.signIn(.passkey(PasskeyResponse(.signIn(started.id), credentialJSON: wrong)))
    }
    await refused(.pendingCredentialUsed) {
      let right = key.response(to: started.optionsJSON)
      return try await world.signIn(.passkey(PasskeyResponse(.signIn(started.id), credentialJSON: right)))
    }
  }

  @Test func `P2: a challenge ends after five minutes`() async throws {
    var key = FakeAuthenticator()
    _ = try await world.signUp(&key)
    let credential = try await world.credential(key)
    world.clock.advance(millis: 299_999)
    _ = try await world.signIn(credential)
    let late = try await world.credential(key)
    world.clock.advance(millis: 300_000)
    await refused(.pendingCredentialExpired) { try await world.signIn(late) }
  }

  @Test func `P2: a challenge belongs to one caller, binding, purpose and account`() async throws {
    var key = FakeAuthenticator()
    let session = try await world.signUp(&key).grant
    let credential = try await world.credential(key)
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(credential, world.call(caller: "spiffe://test/other"))
    }
    await refused(.pendingCredentialMismatch) { try await world.signIn(credential, world.call(binding: "browser")) }
    await refused(.pendingCredentialMismatch) { try await world.reauthenticate(credential, session) }
    let again = try await world.credential(key, purpose: .reauthenticate, session)
    await refused(.pendingCredentialMismatch) { try await world.signIn(again) }
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(.passkey(PasskeyResponse(.signIn("no id"), credentialJSON: "x x x x x x")))
    }
    _ = try await world.signIn(credential)
  }

  @Test func `P2: a registration for an account creates no other one, and the reverse`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    var key = FakeAuthenticator()
    let linking = try await world.startRegistration(session)
    key.userHandle = world.passkeys.lastCreation?.challenge.userHandle ?? []
    let response = PasskeyResponse(
      .registration(linking.id), credentialJSON: key.response(to: linking.optionsJSON))
    await refused(.pendingCredentialMismatch) { try await world.signIn(.passkey(response)) }
    let signingUp = try await world.startRegistration()
    let other = PasskeyResponse(
      .registration(signingUp.id), credentialJSON: key.response(to: signingUp.optionsJSON))
    await refused(.pendingCredentialMismatch) { try await world.link(.passkey(other), session) }
    #expect(world.store.contents.identities.isEmpty)
  }

  @Test func `P12: a sign count that does not rise is an event, and by policy a rejection`() async throws {
    var world = world
    var key = FakeAuthenticator()
    key.signCount = 5
    _ = try await world.signUp(&key)
    key.signCount = 6
    _ = try await world.signIn(try await world.credential(key))
    #expect(!world.events.contains("PASSKEY_CLONE_SUSPECTED"))
    _ = try await world.signIn(try await world.credential(key))
    #expect(world.events.filter { $0 == "PASSKEY_CLONE_SUSPECTED" }.count == 1)
    key.signCount = 2
    _ = try await world.signIn(try await world.credential(key))
    #expect(world.stored(key)?.signCount == 6, "the larger count stays")
    world.policy.passkeySignCount = .reject
    let failure = await refused(.invalidPasskey) { try await world.signIn(try await world.credential(key)) }
    #expect(failure?.metadata == ["check": "sign_count"])
    #expect(world.events.filter { $0 == "PASSKEY_CLONE_SUSPECTED" }.count == 3)
  }

  @Test func `P12: authenticators without a counter are no suspects`() async throws {
    var key = FakeAuthenticator()
    _ = try await world.signUp(&key)
    for _ in 0..<2 { _ = try await world.signIn(try await world.credential(key)) }
    #expect(!world.events.contains("PASSKEY_CLONE_SUSPECTED"))
  }

  @Test func `P11: a verified user passes both factors, for the time of a session with a second factor`() async throws {
    world.insertPerson()
    var key = FakeAuthenticator()
    try await world.register(&key, world.session(of: "account-y", secondFactor: "totp"))
    let grant = try await world.signIn(try await world.credential(key)).grant
    let claims = try world.claims(grant)
    #expect(claims.methods == ["hwk", "user", "mfa"])
    #expect(claims.signInSecondFactor == "passkey" && claims.signInSecondFactorID == world.passkeyID(key))
    #expect(grant.refreshTokenExpiresAt == world.now.adding(millis: 3_600_000))
    _ = try await world.unlink("google.com", grant)
  }

  @Test func `P11: a withdrawn factor leaves what the passkey stated`() async throws {
    world.insertPerson()
    var key = FakeAuthenticator()
    try await world.register(&key, world.session(of: "account-y", secondFactor: "totp"))
    let grant = try await world.signIn(try await world.credential(key)).grant
    let totp = try #require(grant.account.factors.first { $0.kind == .totp })
    var session = try #require(world.store.contents.sessions[grant.sessionID])
    session.pass(totp)
    #expect(session.methods == ["hwk", "user", "mfa", "otp"])
    #expect(session.firstFactorMethods == ["hwk", "user", "mfa"])
  }

  @Test func `P11: without user verification, the second factor is required`() async throws {
    world.insertPerson()
    var key = FakeAuthenticator(verifiesUser: false)
    try await world.register(&key, world.session(of: "account-y", secondFactor: "totp"))
    let required = try await world.signIn(try await world.credential(key)).required
    let grant = try await world.finish(required).grant
    #expect(try world.claims(grant).methods == ["hwk", "otp", "mfa"] && grant.userInfo == nil)
  }

  @Test func `P11: a verification that the registration lacked counts only after another second factor`() async throws {
    world.insertPerson()
    var key = FakeAuthenticator(verifiesUser: false)
    try await world.register(&key, world.session(of: "account-y", secondFactor: "totp"))
    // A thief can set the PIN of a security key that has none.
    key.verifiesUser = true
    _ = try await world.signIn(try await world.credential(key)).required
    #expect(world.stored(key)?.userVerified == false)
    let required = try await world.signIn(try await world.credential(key)).required
    #expect(try world.claims(try await world.finish(required).grant).methods == ["hwk", "otp", "mfa"])
    #expect(world.stored(key)?.userVerified == true)
    let grant = try await world.signIn(try await world.credential(key)).grant
    #expect(try world.claims(grant).methods == ["hwk", "user", "mfa"])
  }

  @Test func `P11: without a second factor, a verification that the registration lacked never counts`() async throws {
    var key = FakeAuthenticator(verifiesUser: false)
    _ = try await world.signUp(&key)
    key.verifiesUser = true
    for _ in 0..<2 {
      let grant = try await world.signIn(try await world.credential(key)).grant
      #expect(try world.claims(grant).methods == ["hwk"])
    }
    #expect(world.stored(key)?.userVerified == false)
  }

  @Test func `P1: passkeys that are off, or of no relying party of the caller, are OPERATION_NOT_ALLOWED`()
    async throws
  {
    var world = world
    await refused(.operationNotAllowed) {
      try await world.startRegistration(nil, world.call(caller: "spiffe://test/none"))
    }
    await refused(.invalidField) {
      try await StartRegistration(world.environment)(
        StartRegistrationRequest(relyingPartyID: "evil.example"), world.call())
    }
    world.policy.passkeyEnabled = false
    await refused(.operationNotAllowed) { try await world.startPasskeySignIn() }
  }
}
