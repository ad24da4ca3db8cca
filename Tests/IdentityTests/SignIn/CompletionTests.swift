import Encodings
import Store
import Testing

@testable import Identity

/// Section 3.2: the pending table, and completion by `SignIn(credential, pending_token)`.
struct `A pending credential` {
  let world = World()

  /// An account with a password and a provider, and the handle of a Google assertion with the same address.
  private func met(
    _ owner: AccountState = account(.verified(ada), password: true, identities: [corp()]),
    _ assertion: Assertion = google(), _ call: CallFacts? = nil, in world: World? = nil
  ) async throws -> String {
    let world = world ?? self.world
    world.store.insert(owner)
    return try await world.signIn(assertion, call).exists.handle
  }

  /// A rejected completion: no session, no link, and at most one counted attempt.
  private func refusedCompletion(
    _ reason: Failure.Reason, counts: Bool, _ handle: String, _ body: () async throws -> SignInAnswer
  ) async throws {
    var expected = world.store.contents.uncounted
    let digest = try world.environment.pendingDigest(handle)
    if counts {
      expected.pendings[digest]?.attemptsLeft -= 1
      expected.pendings[digest]?.version += 1
    }
    await refused(reason) { try await body() }
    #expect(world.store.contents.uncounted == expected)
  }

  @Test func `is completed by a password: sign-in and link in one transaction`() async throws {
    let handle = try await met()
    let grant = try await world.signIn(rightPassword, pendingToken: handle).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount)
    #expect(grant.account.holds(google().identity) && world.store.state("account-y") == grant.account)
    #expect(try world.claims(grant).signInProviderID == "password")
    #expect(grant.userInfo?.providerID == "google.com")
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
    let row = try #require(try world.row(handle))
    #expect(row.completedAccountID == "account-y" && row.completedSessionID == grant.sessionID)
    #expect(try await world.signIn(google()).grant.account.account.id == "account-y")
  }

  @Test func `is completed by another provider of the account and by a custom token`() async throws {
    let handle = try await met()
    #expect(try await world.signIn(corp(), pendingToken: handle).grant.account.holds(google().identity))
    let zoe = "z@example.com"
    let second = try await met(account(id: "z", .verified(zoe), password: true), google("g-2", email: zoe))
    let custom = try world.tokens.mintCustomToken(
      CustomToken(accountID: "z", issuedAt: world.now, expiresAt: world.now.adding(millis: 60_000)))
    #expect(try await world.signIn(.customToken(custom), pendingToken: second).grant.account.account.id == "z")
  }

  @Test func `an equal unverified address is verified by the held tier, since the call signs in to its account`()
    async throws
  {
    let handle = try await met(account(.unverified(ada), password: true, identities: [corp()]))
    let grant = try await world.signIn(rightPassword, pendingToken: handle).grant
    #expect(grant.account.account.emailAddress?.verification == .assertion(providerID: "google.com"))
    #expect(grant.account.account.passwordHash != nil)
  }

  @Test func `check 12: a repeated completion at sign-in returns the same session and links nothing twice`()
    async throws
  {
    let handle = try await met()
    let first = try await world.signIn(rightPassword, pendingToken: handle).grant
    let second = try await world.signIn(rightPassword, pendingToken: handle).grant
    let third = try await world.signIn(corp(), pendingToken: handle).grant
    #expect([second.sessionID, third.sessionID] == [first.sessionID, first.sessionID])
    #expect(second.refreshToken == third.refreshToken, "no returned token is already invalid")
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
    _ = try await Refresh(world.environment)(third.refreshToken, world.call())
  }

  @Test func `check 12: a repeated completion still needs the account's own credential`() async throws {
    let handle = try await met()
    _ = try await world.signIn(rightPassword, pendingToken: handle)
    world.store.insert(account(id: "x", .verified("x@example.com"), identities: [corp("c-2", email: nil)]))
    await refused(.invalidLoginCredentials) {
      try await world.signIn(.password(email: ada, password: "wrong"), pendingToken: handle)
    }
    await refused(.pendingCredentialMismatch) { try await world.signIn(corp("c-2"), pendingToken: handle) }
  }

  @Test func `check 12: a completion whose session has ended is used up`() async throws {
    let handle = try await met()
    let grant = try await world.signIn(rightPassword, pendingToken: handle).grant
    world.store.edit { $0.sessions[grant.sessionID]?.closed = SessionEnd(at: world.now, reason: .revoked) }
    await refused(.pendingCredentialUsed) { try await world.signIn(rightPassword, pendingToken: handle) }
  }

  @Test func `a repeated completion fails as used once the account has a second factor`() async throws {
    let handle = try await met()
    _ = try await world.signIn(rightPassword, pendingToken: handle)
    world.store.edit {
      $0.factors.append(FactorRecord(id: "f", accountID: "account-y", kind: .totp, enrolledAt: world.now))
    }
    await refused(.pendingCredentialUsed) { try await world.signIn(rightPassword, pendingToken: handle) }
  }

  @Test func `check 14: a pending token expires after its lifetime, and one sweep deletes the row`() async throws {
    let handle = try await met()
    world.clock.advance(millis: 599_999)
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    await refused(.userDisabled) { try await world.signIn(rightPassword, pendingToken: handle) }
    world.clock.advance(millis: 1)
    await refused(.pendingCredentialExpired) { try await world.signIn(rightPassword, pendingToken: handle) }
    _ = try await world.store.sweep(at: world.now, rowsMax: 10, auditedBefore: Timestamp(millis: .min))
    await refused(.pendingCredentialMismatch) { try await world.signIn(rightPassword, pendingToken: handle) }
  }

  @Test func `check 15: another caller, another binding and an unknown pending token get the same error`()
    async throws
  {
    let handle = try await met(
      account(.verified(ada), password: true, identities: [corp()]), google(), world.call(binding: "browser one"))
    let unknown = Base64URL.encode(world.randomness.bytes(32))
    let tries: [(String, CallFacts)] = [
      (handle, world.call(caller: "spiffe://test/other", binding: "browser one")),
      (handle, world.call(binding: "browser two")), (handle, world.call()),
      (unknown, world.call(binding: "browser one")), ("no handle at all", world.call(binding: "browser one")),
    ]
    var answers: Set<Failure> = []
    for (handle, call) in tries {
      #expect(
        await world.untouched {
          let failure = await refused(.pendingCredentialMismatch) {
            try await world.signIn(rightPassword, pendingToken: handle, call)
          }
          if var failure {
            failure.debug = ""
            answers.insert(failure)
          }
        })
    }
    #expect(answers.count == 1)
    _ = try await world.signIn(rightPassword, pendingToken: handle, world.call(binding: "browser one")).grant
  }

  @Test func `require_binding: a call without a binding is rejected before anything is checked`() async throws {
    let world = World { $0.requireBinding = true }
    let failure = await refused(.invalidField) { try await world.signIn(google()) }
    #expect(failure?.field == "binding" && world.store.contents == Tables())
  }

  @Test func `check 16: a pending token has 256 bits and only its digest is stored`() async throws {
    let handle = try await met()
    let secret = try #require(Base64URL.decode(handle))
    #expect(secret.count == 32)
    #expect(!"\(world.store.contents)".contains(handle) && !"\(world.store.contents)".contains("\(secret)"))
    #expect(world.store.contents.pendings.keys.contains(world.cryptography.sha256(secret)))
  }

  @Test func `check 17: neither the provider's tokens nor the profile is in the row in clear text`() async throws {
    let handle = try await met()
    let row = try #require(try world.row(handle))
    let profile = Array(google().profileJSON.utf8)
    #expect(!row.sealed.indices.contains { row.sealed.dropFirst($0).starts(with: profile) })
    let opened = world.cryptography.open(row.sealed, context: PendingTable.context(of: row))
    let held = try #require(opened.flatMap(PendingAssertion.init(packed:)))
    #expect(held.assertion == google() && !"\(held)".contains("token-"))
  }

  @Test func `check 10 and 22: a row with any fixed field changed no longer opens`() async throws {
    let handle = try await met()
    let digest = try world.environment.pendingDigest(handle)
    let edits: [(inout PendingRecord) -> Void] = [
      { $0.identity.providerID = "oidc.other" }, { $0.identity.subject = "g-2" }, { $0.accountID = "account-z" },
      { $0.email = "eve@example.com" }, { $0.email = nil }, { $0.attemptID = "other" }, { $0.tier = .verified },
      { $0.expiresAt = $0.expiresAt.adding(millis: 1) }, { $0.createdAt = $0.createdAt.adding(millis: -1) },
      { $0.sealed[40] ^= 1 },
    ]
    world.store.insert(account(id: "account-z", .verified("z@example.com"), password: true))
    let honest = world.store.contents
    for edit in edits {
      world.store.edit { if let row = $0.pendings[digest] { var row = row; edit(&row); $0.pendings[digest] = row } }
      let tampered = world.store.contents
      await refused(.pendingCredentialMismatch) { try await world.signIn(rightPassword, pendingToken: handle) }
      #expect(world.store.contents == tampered && tampered != honest)
      world.store.edit { $0 = honest }
    }
    _ = try await world.signIn(rightPassword, pendingToken: handle).grant
  }

  @Test func `check 11: a credential for one subject cannot complete another subject's row`() async throws {
    let first = try await met()
    let second = try await world.signIn(google("g-2")).exists.handle
    let rows = [try #require(try world.row(first)), try #require(try world.row(second))]
    #expect(rows[0].attemptID != rows[1].attemptID)
    world.store.edit { $0.pendings[rows[0].digest]?.sealed = rows[1].sealed }
    await refused(.pendingCredentialMismatch) { try await world.signIn(rightPassword, pendingToken: first) }
    _ = try await world.signIn(rightPassword, pendingToken: second).grant
    #expect(world.store.state("account-y")?.identities.map(\.key.subject).contains("g-1") == false)
  }

  @Test func `check 18: signing in to another account than the one found completes nothing`() async throws {
    let handle = try await met()
    world.store.insert(
      account(id: "x", .verified("x@example.com"), password: true, identities: [corp("c-2", email: nil)]))
    let others: [Credential] = [
      .password(email: "x@example.com", password: "correct horse"),
      .providerToken(world.providers.token(corp("c-2", email: nil))),
      .providerToken(world.providers.token(corp("never seen", email: nil))),
      .customToken(
        try world.tokens.mintCustomToken(
          CustomToken(accountID: "x", issuedAt: world.now, expiresAt: world.now.adding(millis: 60_000)))),
    ]
    for credential in others {
      try await refusedCompletion(.pendingCredentialMismatch, counts: true, handle) {
        try await world.signIn(credential, pendingToken: handle)
      }
    }
    try await refusedCompletion(.invalidLoginCredentials, counts: true, handle) {
      try await world.signIn(.password(email: ada, password: "wrong"), pendingToken: handle)
    }
    try await refusedCompletion(.pendingCredentialUsed, counts: false, handle) {
      try await world.signIn(rightPassword, pendingToken: handle)
    }
  }

  @Test func `an anonymous credential and another pending token complete nothing`() async throws {
    let handle = try await met()
    for credential in [Credential.anonymous, .pendingToken(handle)] {
      try await refusedCompletion(.invalidField, counts: false, handle) {
        try await world.signIn(credential, pendingToken: handle)
      }
    }
  }

  @Test func `check 19: with a second factor on the account the link waits for it`() async throws {
    let handle = try await met(account(.verified(ada), password: true, factors: [.totp]))
    let before = world.store.contents
    let required = try await world.signIn(rightPassword, pendingToken: handle).required
    let row = try #require(try world.row(required.handle))
    let opened = world.cryptography.open(row.sealed, context: PendingTable.context(of: row))
    let held = try #require(opened.flatMap(PendingAssertion.init(packed:)))
    #expect(held.intent == .signIn && held.firstFactor == .password)
    #expect(held.completing == (try world.environment.pendingDigest(handle)))
    var after = world.store.contents
    after.pendings[row.digest] = nil
    #expect(after == before)
  }

  @Test func `check 20: a disabled account completes nothing, and a deletion removes the account's rows`()
    async throws
  {
    let handle = try await met()
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    try await refusedCompletion(.userDisabled, counts: true, handle) {
      try await world.signIn(rightPassword, pendingToken: handle)
    }
    world.store.edit { _ = $0.carryOut(Change([.removal(of: "account-y")])) }
    await refused(.pendingCredentialMismatch) { try await world.signIn(corp(), pendingToken: handle) }
  }

  @Test(arguments: [Policy.Reclaim.authoritative, .refuse])
  func `S12 a sign-in link completes at an account that nobody could sign in to yet, and keeps its data`(
    _ reclaim: Policy.Reclaim
  ) async throws {
    let world = World.sending { $0.reclaim = reclaim }
    world.store.insert(
      account(.unverified(ada), madeByAdministrator: true) { $0.customClaimsJSON = #"{"role":"editor"}"# })
    let exists = try await world.signIn(corp(tier: .unverified)).exists
    #expect(exists.methods.isEmpty)
    let reading = try FetchByPendingToken(world.environment, exists.handle, world.call(mayFetchByEmail: true))
    #expect(try await world.environment.read(reading).methods == ["emailLink"])
    _ = try await world.signIn(world.emailLink(), pendingToken: exists.handle).grant
    let state = try #require(world.store.state("account-y"))
    #expect(state.account.emailAddress?.verification == .emailLink)
    #expect(state.account.customClaimsJSON == #"{"role":"editor"}"#)
    #expect(state.identities.map(\.key) == [corp().identity])
  }

  @Test func `check 21: a provider that was disabled since the conflict is not linked`() async throws {
    let handle = try await met()
    var later = world
    later.policy.enabledProviderIDs = ["oidc.corp"]
    try await refusedCompletion(.operationNotAllowed, counts: true, handle) {
      try await later.signIn(rightPassword, pendingToken: handle)
    }
  }

  @Test func `an identity that another account has linked since is not moved`() async throws {
    let handle = try await met()
    world.store.insert(account(id: "x", identities: [google()]))
    try await refusedCompletion(.pendingCredentialMismatch, counts: true, handle) {
      try await world.signIn(rightPassword, pendingToken: handle)
    }
  }

  @Test func `an identity that was linked since signs in and is not linked twice`() async throws {
    let first = try await met()
    let second = try await world.signIn(google()).exists.handle
    _ = try await world.signIn(rightPassword, pendingToken: first)
    #expect(try await world.signIn(rightPassword, pendingToken: second).grant.account.identities.count == 2)
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
  }

  @Test func `an asserted address that another account owns by now is not copied or merged`() async throws {
    let handle = try await met()
    world.store.edit { $0.accounts["account-y"]?.emailAddress?.text = "moved@example.com" }
    world.store.insert(account(id: "x", .verified(ada), password: true))
    try await refusedCompletion(.emailAlreadyInUse, counts: true, handle) {
      try await world.signIn(corp(), pendingToken: handle)
    }
  }

  @Test func `S8 completion waits for the old subject's unlink and needs a method from before the row`() async throws {
    let handle = try await met(account(.verified(ada), password: true, identities: [google("g-0"), corp()]))
    try await refusedCompletion(.providerAlreadyLinked, counts: true, handle) {
      try await world.signIn(rightPassword, pendingToken: handle)
    }
    world.clock.advance(millis: 1000)
    world.store.edit { tables in
      tables.identities[google("g-0").identity] = nil
      tables.unlinks.append(UnlinkRecord(accountID: "account-y", key: google("g-0").identity, at: world.now))
      tables.accounts["account-y"]?.passwordSetAt = world.now
    }
    try await refusedCompletion(.pendingCredentialMismatch, counts: true, handle) {
      try await world.signIn(rightPassword, pendingToken: handle)
    }
    #expect(try await world.signIn(corp(), pendingToken: handle).grant.account.holds(google().identity))
  }

  @Test func `other users who assert an address cannot use up the pending rows of its owner`()
    async throws
  {
    let world = World { $0.pendingLimits.perAccountMax = 2 }
    world.store.insert(account(.verified(ada), password: true))
    for subject in 1...2 { _ = try await world.signIn(corp("c-\(subject)")).exists }
    await refused(.quotaExceeded) { try await world.signIn(corp("c-3")) }
    let handle = try await world.signIn(google()).exists.handle
    #expect(try await world.signIn(rightPassword, pendingToken: handle).grant.account.holds(google().identity))
  }

  @Test func `pending tokens are limited per account, per caller and in total, with a retry delay`() async throws {
    for limits in [
      PendingLimits(perAccountMax: 1, perCallerMax: 9, totalMax: 9),
      PendingLimits(perAccountMax: 9, perCallerMax: 1, totalMax: 9),
      PendingLimits(perAccountMax: 9, perCallerMax: 9, totalMax: 1),
    ] {
      let world = World { $0.pendingLimits = limits }
      _ = try await met(in: world)
      let failure = await refused(.quotaExceeded) { try await world.signIn(google("g-2")) }
      #expect(failure?.retryAfterMillis == 600_000)
    }
  }
}
