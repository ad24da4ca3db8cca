import Store
import Testing

@testable import Identity

/// Rows P4 to P6 and P13 to P15: the passkeys of an account.
struct `Passkeys of an account` {
  let world = World {
    $0.passkeyEnabled = true
    $0.mailEnabled = true
  }

  func known(_ state: AccountState = account(.verified(ada), password: true)) throws -> SessionGrant {
    world.store.insert(state)
    return try world.session(of: "account-y")
  }

  @Test func `P5: a registration adds a passkey, continues the session and notifies the user`() async throws {
    let session = try known()
    var key = FakeAuthenticator()
    let grant = try await world.register(&key, session, name: "My phone").grant
    #expect(grant.sessionID == session.sessionID && grant.userInfo == nil)
    #expect(grant.account.passkeys.map(\.displayName) == ["My phone"])
    #expect(grant.account.account.displayName.isEmpty, "the name of a passkey is not that of its user")
    let claims = try world.claims(grant)
    #expect(claims.methods == ["pwd", "hwk"], "the registration is no login")
    #expect(world.events == ["LINKED"])
    #expect(world.store.contents.audit.last?.detailsJSON.contains(world.passkeyID(key)) == true)
    #expect(world.store.contents.deliveries.count == 1)
  }

  @Test func `P5: several passkeys have one user handle, and exclude each other's authenticators`() async throws {
    let session = try known()
    var first = FakeAuthenticator("key-1")
    var second = FakeAuthenticator("key-2")
    try await world.register(&first, session)
    try await world.register(&second, session)
    #expect(first.userHandle == second.userHandle && first.userHandle != Array("account-y".utf8))
    #expect(world.passkeys.lastCreation?.excluded.map(\.credentialID) == [Array("key-1".utf8)])
    #expect(world.store.state("account-y")?.passkeys.count == 2)
  }

  @Test func `P4: an account has at most the configured number of passkeys`() async throws {
    var world = world
    world.policy.passkeysPerAccountMax = 2
    let session = try known()
    var keys = (1...3).map { FakeAuthenticator("key-\($0)") }
    try await world.register(&keys[0], session)
    let late = try await world.startRegistration(session)
    let handle = world.passkeys.lastCreation?.challenge.userHandle ?? []
    try await world.register(&keys[1], session)
    await refused(.passkeyLimit) { try await world.startRegistration(session) }
    keys[2].userHandle = handle
    await refused(.passkeyLimit) {
      let json = keys[2].response(to: late.optionsJSON)
      return try await world.link(.passkey(PasskeyResponse(.registration(late.id), credentialJSON: json)), session)
    }
  }

  @Test func `P4: an old login cannot start a registration`() async throws {
    let session = try known()
    world.clock.advance(millis: 3_599_000)
    _ = try await world.startRegistration(session)
    let old = try world.session(of: "account-y")
    world.store.edit { $0.sessions[old.sessionID]?.authTime = world.now.adding(millis: -3_600_000) }
    await refused(.requiresRecentLogin) { try await world.startRegistration(old) }
  }

  @Test func `P5: an anonymous account becomes permanent`() async throws {
    let session = try await world.signIn(.anonymous).grant
    var key = FakeAuthenticator()
    let grant = try await world.register(&key, session).grant
    #expect(!grant.account.account.anonymous && grant.sessionID != session.sessionID)
    #expect(grant.account.account.id == session.account.account.id)
    let back = try await world.signIn(try await world.credential(key)).grant
    #expect(back.account.account.id == grant.account.account.id)
  }

  @Test func `P5: a session without the account's second factor passes it first`() async throws {
    world.insertPerson()
    let session = try world.session(of: "account-y")
    var key = FakeAuthenticator()
    let required = try await world.register(&key, session).required
    #expect(world.stored(key) == nil)
    _ = try await world.finish(required).grant
    #expect(world.stored(key) != nil && world.store.state("account-y")?.passkeys.first?.displayName == "My key")
  }

  @Test func `P6: a credential id is registered once, by any account and after its removal`() async throws {
    let session = try known()
    var key = FakeAuthenticator()
    try await world.register(&key, session)
    await refused(.passkeyExists) { try await world.register(&key, session) }
    await refused(.passkeyExists) { try await world.signUp(&key) }
    world.store.insert(account(id: "account-z", .verified("bea@example.com"), password: true))
    let other = try world.session(of: "account-z")
    await refused(.passkeyExists) { try await world.register(&key, other) }
    _ = try await world.remove(key, session)
    await refused(.passkeyExists) { try await world.register(&key, other) }
    #expect(world.store.state("account-z")?.passkeys == [])
  }

  @Test func `P6: an imported passkey, which spent nothing, is not registered again either`() async throws {
    var key = FakeAuthenticator()
    _ = try await world.signUp(&key)
    world.store.edit { $0.spent = [:] }
    let session = try known()
    await refused(.passkeyExists) { try await world.register(&key, session) }
    await refused(.passkeyExists) { try await world.signUp(&key) }
  }

  @Test func `P13: a passkey is removed by its id, and sessions that began with one end`() async throws {
    let session = try known()
    var first = FakeAuthenticator("key-1")
    var second = FakeAuthenticator("key-2")
    try await world.register(&first, session)
    try await world.register(&second, session)
    let byPasskey = try await world.signIn(try await world.credential(second)).grant
    let grant = try await world.remove(first, session)
    #expect(grant.account.passkeys.map(\.key.subject) == [world.passkeyID(second)])
    #expect(world.store.contents.sessions[byPasskey.sessionID]?.closed?.reason == .unlinked)
    #expect(world.store.contents.unlinks.isEmpty, "its id is never registered again")
    #expect(world.events.last == "UNLINKED")
    await refused(.passkeyNotFound) { try await world.remove(first, grant) }
    await refused(.invalidField) { try await world.unlink("passkey", grant) }
  }

  @Test func `P13: the last sign-in method stays, and only usable passkeys count`() async throws {
    var world = world
    var key = FakeAuthenticator()
    let session = try await world.signUp(&key).grant
    let failure = await refused(.lastSignInMethod) { try await world.remove(key, session) }
    #expect(failure?.metadata["addable_methods"]?.hasSuffix("passkey") == true)
    var second = FakeAuthenticator("key-2")
    try await world.register(&second, session)
    world.policy.relyingPartyIDs = ["other.example"]
    await refused(.lastSignInMethod) { try await world.remove(key, session) }
    world.policy.relyingPartyIDs = ["example.com"]
    world.policy.passkeyEnabled = false
    await refused(.lastSignInMethod) { try await world.remove(key, session) }
    world.policy.passkeyEnabled = true
    _ = try await world.remove(key, session)
  }

  @Test(arguments: [true, false])
  func `P13: behind passkeys as the only second factors, an unverified passkey is no method`(
    verifiesUser: Bool
  ) async throws {
    world.insertPerson([], identities: [])
    var key = FakeAuthenticator(verifiesUser: verifiesUser)
    try await world.register(&key, world.session(of: "account-y"))
    world.store.edit { $0.factors.append(enrolled(.passkey, of: "account-y")) }
    let session = try world.session(of: "account-y", secondFactor: "passkey")
    guard verifiesUser else {
      await refused(.lastSignInMethod) { try await world.unlink("password", session) }
      return
    }
    _ = try await world.unlink("password", session)
  }

  @Test(arguments: [true, false])
  func `P13: behind an unverified passkey as the only method, a passkey cannot be a factor`(
    verifiesUser: Bool
  ) async throws {
    let session = try known(account(.verified(ada)))
    var key = FakeAuthenticator(verifiesUser: verifiesUser)
    try await world.register(&key, session)
    guard verifiesUser else {
      await refused(.lastSignInMethod) { try await world.startEnrollment(.passkey, session) }
      return
    }
    _ = try await world.startEnrollment(.passkey, session)
  }

  @Test func `P5: a repeated registration returns its own passkey, not a later one`() async throws {
    let session = try known()
    func finish(_ response: PasskeyResponse, _ key: String) async throws -> FinishedRegistration {
      try await FinishRegistration(world.environment)(
        FinishRegistrationRequest(idToken: session.idToken, response: response), world.call(key: key))
    }
    var responses: [PasskeyResponse] = []
    for name in ["key-1", "key-2"] {
      var key = FakeAuthenticator(name)
      let started = try await world.startRegistration(session)
      key.userHandle = world.passkeys.lastCreation?.challenge.userHandle ?? []
      let json = key.response(to: started.optionsJSON)
      responses.append(PasskeyResponse(.registration(started.id), credentialJSON: json))
      _ = try await finish(responses[responses.count - 1], name)
    }
    guard case .session(_, let passkey) = try await finish(responses[0], "key-1") else {
      Issue.record("no session")
      return
    }
    #expect(passkey.key.subject == world.passkeyID(FakeAuthenticator("key-1")))
  }

  @Test func `P13: a recent login and the second factor are required`() async throws {
    world.insertPerson()
    var key = FakeAuthenticator()
    let passed = try world.session(of: "account-y", secondFactor: "totp")
    try await world.register(&key, passed)
    await refused(.requiresSecondFactor) { try await world.remove(key, world.session(of: "account-y")) }
    world.clock.advance(millis: 300_000)
    await refused(.requiresRecentLogin) { try await world.remove(key, passed) }
  }

  @Test func `P14: a reauthentication takes a passkey of the account only, and refreshes its count`() async throws {
    let session = try known()
    var key = FakeAuthenticator("key-1")
    var foreign = FakeAuthenticator("key-2")
    try await world.register(&key, session)
    _ = try await world.signUp(&foreign)
    key.signCount = 3
    let grant = try await world.reauthenticate(
      try await world.credential(key, purpose: .reauthenticate, session), session
    ).grant
    #expect(world.passkeys.lastRequest?.allowed.map(\.credentialID) == [Array("key-1".utf8)])
    #expect(grant.sessionID != session.sessionID && world.stored(key)?.signCount == 3)
    await refused(.userMismatch) {
      try await world.reauthenticate(
        try await world.credential(foreign, purpose: .reauthenticate, session), session)
    }
  }

  @Test func `P14: a verified user needs no second factor`() async throws {
    world.insertPerson()
    var key = FakeAuthenticator()
    let session = try world.session(of: "account-y", secondFactor: "totp")
    try await world.register(&key, session)
    let plain = try world.session(of: "account-y")
    let grant = try await world.reauthenticate(
      try await world.credential(key, purpose: .reauthenticate, plain), plain
    ).grant
    #expect(try world.claims(grant).signInSecondFactor == "passkey")
  }

  @Test func `P15: a passkey of the account completes a conflict`() async throws {
    let session = try known()
    var key = FakeAuthenticator()
    try await world.register(&key, session)
    world.clock.advance(millis: 1)
    let exists = try await world.signIn(corp()).exists
    let grant = try await world.signIn(try await world.credential(key), pendingToken: exists.handle).grant
    #expect(grant.account.identities.map(\.key.providerID) == ["passkey", "oidc.corp"])
  }

  @Test func `P15: another account's passkey completes nothing`() async throws {
    _ = try known()
    var foreign = FakeAuthenticator()
    _ = try await world.signUp(&foreign)
    let exists = try await world.signIn(corp()).exists
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(try await world.credential(foreign), pendingToken: exists.handle)
    }
  }

  @Test func `P15: after a changed subject, the passkey itself must be older than the row`() async throws {
    let session = try known(account(.verified(ada), password: true, identities: [google("g-old")]))
    var old = FakeAuthenticator("key-1")
    try await world.register(&old, session)
    world.clock.advance(millis: 1000)
    let exists = try await world.signIn(google("g-new")).exists
    #expect(exists.reason == .subjectChanged && exists.methods.contains("passkey"))
    world.clock.advance(millis: 1000)
    var new = FakeAuthenticator("key-2")
    try await world.register(&new, session)
    _ = try await world.unlink("google.com", session)
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(try await world.credential(new), pendingToken: exists.handle)
    }
    _ = try await world.signIn(try await world.credential(old), pendingToken: exists.handle).grant
  }

  @Test func `a user renames a passkey without a recent login`() async throws {
    let session = try known()
    var key = FakeAuthenticator()
    try await world.register(&key, session)
    world.clock.advance(millis: 600_000)
    let rename = RenamePasskey(world.environment)
    let renamed = try await rename(
      idToken: session.idToken, passkeyID: world.passkeyID(key), name: "Laptop", world.call())
    #expect(renamed.displayName == "Laptop" && world.events.last == "PASSKEY_RENAMED")
    let list = try ListPasskeys(world.environment, idToken: session.idToken, world.call())
    let listed = try await world.environment.read(list)
    #expect(listed.map(\.displayName) == ["Laptop"])
    await refused(.passkeyNotFound) {
      try await rename(idToken: session.idToken, passkeyID: "none", name: "x", world.call())
    }
  }
}

/// Section 16: unverified addresses, resets, merges and administrators.
struct `Passkeys in the other tables` {
  let world = World { $0.passkeyEnabled = true }

  func passkey(_ number: Int, of accountID: String) -> IdentityRecord {
    let id = Array("key-\(accountID)-\(number)".utf8)
    let passkey = Passkey(
      relyingPartyID: "example.com", credentialID: id, userHandle: Array(accountID.utf8), publicKey: [1], algorithm: -7)
    return IdentityRecord(
      assertion: Assertion(
        identity: world.environment.identityKey(of: id), username: "example.com", passkey: passkey.packed),
      accountID: accountID, linkedAt: beginning)
  }

  @Test func `S6a: a reclaim removes passkeys from before the address was verified`() async throws {
    var state = account(.unverified(ada), password: true)
    state.identities = [passkey(1, of: "account-y"), passkey(2, of: "account-y")]
    world.store.insert(state)
    let grant = try await world.signIn(google()).grant
    #expect(!grant.isNewAccount && grant.account.account.id == "account-y")
    #expect(grant.revokedProviderIDs == ["password", "passkey"])
    let left = try #require(world.store.state("account-y"))
    #expect(left.passkeys.isEmpty && left.account.emailVerified && left.account.passwordHash == nil)
  }

  @Test func `S6b: an account with a passkey and an identity loses only its unverified address`() async throws {
    var state = account(.unverified(ada), password: true, identities: [corp()])
    state.identities.append(passkey(1, of: "account-y"))
    world.store.insert(state)
    let exists = try await world.signIn(google()).exists
    #expect(exists.canClaimAddress)
    let grant = try await world.signIn(google(), claimAddress: true).grant
    #expect(grant.isNewAccount && grant.account.account.email == ada)
    let left = try #require(world.store.state("account-y"))
    #expect(left.account.email == nil && left.passkeys.count == 1 && left.account.passwordHash == nil)
  }

  @Test func `3_5: a reset removes passkeys from before the verification, not later ones`() throws {
    var state = account(.verified(ada), password: true) { $0.emailVerifiedAt = beginning.adding(millis: 10) }
    var later = passkey(2, of: "account-y")
    later.linkedAt = beginning.adding(millis: 20)
    state.identities = [passkey(1, of: "account-y"), later]
    var edit = AccountEdit(state)
    #expect(edit.dropMethods(addedBefore: beginning.adding(millis: 10)) == ["passkey"])
    #expect(edit.edited.passkeys == [later])
  }

  @Test func `a merge moves passkeys next to those of the survivor, with their handles`() async throws {
    for id in ["account-y", "account-z"] {
      var state = account(id: id, .verified("\(id)@example.com"), password: id == "account-y")
      state.identities = [passkey(1, of: id)]
      world.store.insert(state)
    }
    let answer = try await world.merge(world.session(of: "account-y"), world.session(of: "account-z"))
    #expect(answer.movedProviderIDs == ["passkey"] && answer.conflicts.isEmpty)
    let handles = world.store.state("account-y")?.passkeys.compactMap { Passkey(of: $0)?.userHandle }
    #expect(handles.map(Set.init) == [Array("account-y".utf8), Array("account-z".utf8)])
    #expect(world.store.contents.unlinks.isEmpty)
  }

  @Test func `a merge past the limit is a conflict that keep settles`() async throws {
    var world = world
    world.policy.passkeysPerAccountMax = 1
    for id in ["account-y", "account-z"] {
      var state = account(id: id, .verified("\(id)@example.com"), password: id == "account-y")
      state.identities = [passkey(1, of: id)]
      world.store.insert(state)
    }
    let (survivor, other) = (try world.session(of: "account-y"), try world.session(of: "account-z"))
    let open = try await world.merge(survivor, other)
    #expect(open.conflicts == [MergeConflict(field: "passkey", survivorValue: "1", otherValue: "1")])
    _ = try await world.merge(survivor, other, keep: [MergeKeep(field: "passkey", accountID: "account-z")])
    let kept = world.store.state("account-y")?.passkeys.first.flatMap { Passkey(of: $0) }
    #expect(kept?.userHandle == Array("account-z".utf8))
  }

  @Test func `UnlinkProvider removes all passkeys, also the last method`() async throws {
    var state = account(.verified(ada))
    state.identities = [passkey(1, of: "account-y"), passkey(2, of: "account-y")]
    world.store.insert(state)
    let session = try world.session(of: "account-y", by: .passkey(backupEligible: false, userVerified: true))
    let left = try await UnlinkProvider(world.environment)(
      accountID: "account-y", providerID: "passkey", world.call())
    #expect(left.passkeys.isEmpty && left.isUnentered(world.policy))
    #expect(world.store.contents.sessions[session.sessionID]?.closed != nil)
  }

  @Test func `an import restores the passkeys of an export, and rejects one under another id`() async throws {
    var key = FakeAuthenticator()
    let made = try await world.signUp(&key).grant.account
    let passkey = try #require(world.stored(key))
    #expect(ImportRow.Identity(passkey, id: "another", name: "", world.environment) == nil)
    let other = World(seed: 2) { $0.passkeyEnabled = true }
    var row = ImportRow()
    row.id = made.account.id
    row.identities = [1, 2].compactMap { number in
      var one = passkey
      if number == 2 { one.credentialID = [2] }
      let id = other.environment.passkeyID(of: one.credentialID)
      return ImportRow.Identity(one, id: id, name: "n", other.environment)
    }
    #expect(try await ImportAccounts(other.environment, other.call())([row], dryRun: false) == [.imported])
    #expect(other.store.state(made.account.id)?.passkeys.map(\.username) == ["example.com", "example.com"])
    #expect(try await other.signIn(try await other.credential(key)).grant.account.account.id == made.account.id)
  }

  @Test func `a passkey is a method where methods may be known`() {
    var state = account(.verified(ada), password: true)
    state.identities = [passkey(1, of: "account-y"), passkey(2, of: "account-y")]
    #expect(SignInMethods(state, world.policy).methods == ["password", "passkey"])
    var policy = world.policy
    policy.relyingPartyIDs = []
    #expect(SignInMethods(state, policy).methods == ["password"])
    #expect(state.holdsOnlyAddress)
  }
}
