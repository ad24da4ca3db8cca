import Store
import Testing

@testable import Identity

extension World {
  func mergeCall(key: String? = nil, caller: String = "spiffe://test/app") -> CallFacts {
    CallFacts(
      caller: CallerName(caller), mayFetchByEmail: false, mayMerge: true, callerIdentified: true, audiences: ["app"],
      idempotency: key.map {
        IdempotencyClaim(key: cryptography.sha256(Array($0.utf8)), request: cryptography.sha256([1]))
      })
  }

  func merge(
    _ survivor: SessionGrant, _ other: SessionGrant, dryRun: Bool = false, keep: [MergeKeep] = [],
    _ call: CallFacts? = nil
  ) async throws -> MergeAnswer {
    let request = MergeRequest(
      survivorIDToken: survivor.idToken, otherIDToken: other.idToken, dryRun: dryRun, keep: keep)
    return try await MergeAccounts(environment)(request, call ?? mergeCall())
  }
}

private let bea = "bea@example.com"

/// The survivor is "account-y", the other one "account-z".
private func sessions(
  _ survivor: AccountState, _ other: AccountState, in world: World
) throws -> (SessionGrant, SessionGrant) {
  world.store.insert(survivor)
  world.store.insert(other)
  return (try world.session(of: "account-y"), try world.session(of: "account-z"))
}

struct `Merge, moved items` {
  let world = World { $0.mailEnabled = true }

  @Test func `check 30: identities, phone and factors move, and the other account and its sessions are closed`()
    async throws
  {
    let other = account(
      id: "account-z", .verified(bea), phone: "+4915112345678", identities: [google("g-2"), corp()], factors: [.totp])
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(other)
    let survivor = try world.session(of: "account-y")
    let session = try world.session(of: "account-z", by: .provider("google.com"), secondFactor: "totp")
    _ = world.hold(corp("c-2"), for: "account-z")
    let answer = try await world.merge(survivor, session)
    let state = try #require(world.store.state("account-y"))
    #expect(state.account.email == ada && state.account.phoneNumber == "+4915112345678")
    #expect(state.identities.map(\.key) == other.identities.map(\.key))
    #expect(state.identities.allSatisfy { $0.linkedAt == world.now } && state.account.phoneNumberSetAt == world.now)
    #expect(state.factors.allSatisfy { $0.enrolledAt == world.now }, "the merge sets their time")
    #expect(state.factors.map(\.id) == ["factor-totp"])
    #expect(answer.movedProviderIDs == ["phone", "google.com", "oidc.corp"] && answer.conflicts.isEmpty)
    #expect(answer.closedAccountID == "account-z")
    let left = world.store.contents
    #expect(left.accounts["account-z"] == nil && left.pendings.isEmpty)
    #expect(left.sessions[session.sessionID] == nil && left.sessions[survivor.sessionID]?.closed == nil)
    #expect(left.closedAccounts["account-z"]?.survivorID == "account-y")
    #expect(answer.session?.account == state)
  }

  @Test func `the new session belongs to the survivor, and names the factors of this call`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "account-z", identities: [google("g-2", email: nil)], factors: [.totp]))
    let survivor = try world.session(of: "account-y")
    world.clock.advance(millis: 1000)
    let other = try world.session(of: "account-z", by: .provider("google.com"), secondFactor: "totp")
    let grant = try #require(try await world.merge(survivor, other).session)
    let claims = try world.claims(grant)
    #expect(claims.accountID == "account-y" && claims.signInProviderID == "password")
    #expect(claims.methods == ["pwd", "fed", "otp", "mfa"] && claims.signInSecondFactor == "totp")
    #expect(try claims.authTime == world.claims(survivor).authTime)
    #expect(world.store.contents.sessions[grant.sessionID]?.deviceID == "device", "the call itself has none")
  }

  @Test func `the secret of a factor that moved opens for the survivor, and no longer for the other`() async throws {
    let secret = FactorSecret.totp(secret: [1, 2, 3], lastStep: 7)
    var theirs = account(id: "account-z", identities: [google("g-2")], factors: [.totp])
    theirs.factors[0].sealedSecret = world.environment.seal(secret, of: theirs.factors[0])
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(theirs)
    let other = try world.session(of: "account-z", secondFactor: "totp")
    _ = try await world.merge(world.session(of: "account-y"), other)
    let moved = try #require(world.store.state("account-y")?.factors.first)
    #expect(world.environment.secret(of: moved) == secret)
    var old = moved
    old.accountID = "account-z"
    #expect(world.environment.secret(of: old) == nil)
  }

  @Test func `the survivor keeps address, name and claims, and the other's claims go`() async throws {
    let mine = account(.unverified(ada), password: true) {
      $0.displayName = "Ada"
      $0.customClaimsJSON = #"{"role":"user"}"#
    }
    let theirs = account(id: "account-z", .verified(bea), identities: [google("g-2")]) {
      $0.displayName = "Bea"
      $0.photoURL = "https://x/b.png"
      $0.customClaimsJSON = #"{"role":"admin"}"#
    }
    let (survivor, other) = try sessions(mine, theirs, in: world)
    _ = try await world.merge(survivor, other)
    let merged = try #require(world.store.state("account-y")?.account)
    #expect(merged.email == ada && !merged.emailVerified && merged.displayName == "Ada")
    #expect(merged.photoURL == "https://x/b.png" && merged.customClaimsJSON == #"{"role":"user"}"#)
  }

  @Test func `a survivor without an address gets the other's verified address and its methods`() async throws {
    let theirs = account(id: "account-z", .verified(bea), password: true, emailLink: true)
    let (survivor, other) = try sessions(account(identities: [google(email: nil)]), theirs, in: world)
    let answer = try await world.merge(survivor, other)
    let merged = try #require(world.store.state("account-y")?.account)
    #expect(merged.emailAddress == theirs.account.emailAddress && merged.passwordHash == "hash:correct horse")
    #expect(merged.emailLink && answer.movedProviderIDs == ["emailLink", "password"])
  }

  @Test func `an unverified address does not move, nor does its password`() async throws {
    let (survivor, other) = try sessions(
      account(identities: [google(email: nil)]), account(id: "account-z", .unverified(bea), password: true), in: world)
    #expect(try await world.merge(survivor, other).movedProviderIDs.isEmpty)
    let merged = try #require(world.store.state("account-y")?.account)
    #expect(merged.email == nil && merged.passwordHash == nil)
  }

  @Test func `an anonymous survivor becomes permanent, unless both accounts are anonymous`()
    async throws
  {
    let (survivor, other) = try sessions(
      account(anonymous: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    _ = try await world.merge(survivor, other)
    #expect(world.store.state("account-y")?.account.anonymous == false)
    let empty = World()
    let pair = try sessions(account(anonymous: true), account(id: "account-z", anonymous: true), in: empty)
    _ = try await empty.merge(pair.0, pair.1)
    #expect(empty.store.state("account-y")?.account.anonymous == true)
  }

  @Test func `a guest that becomes permanent by a merge keeps the other account's login`() async throws {
    world.store.insert(account(anonymous: true))
    world.store.insert(account(id: "account-z", identities: [google("g-2")]))
    let guest = try world.session(of: "account-y", by: .anonymous)
    world.clock.advance(millis: 1_200_000)
    let other = try world.session(
      of: "account-z", by: .provider("google.com"), call: world.call(deviceID: "other's"))
    let grant = try #require(try await world.merge(guest, other).session)
    let claims = try world.claims(grant)
    #expect(claims.signInProviderID == "google.com" && claims.methods == ["fed"])
    #expect(try claims.authTime == world.claims(other).authTime)
    #expect(world.store.contents.sessions[grant.sessionID]?.deviceID == "other's")
    #expect(world.store.contents.sessions[grant.sessionID]?.beganWith == "google.com")
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [grant.sessionID])
  }

  @Test func `a merge that would leave no sign-in method is rejected, and writes nothing`() async throws {
    let (survivor, other) = try sessions(
      account(anonymous: true), account(id: "account-z", .unverified(bea), password: true), in: world)
    let before = world.store.contents
    await refused(.lastSignInMethod) { try await world.merge(survivor, other) }
    await refused(.lastSignInMethod) { try await world.merge(survivor, other, dryRun: true) }
    #expect(world.store.contents == before)
  }

  @Test func `one event names both ids, and both verified addresses are notified`() async throws {
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", .verified(bea), identities: [google("g-2")]),
      in: world)
    _ = try await world.merge(survivor, other)
    let event = try #require(world.store.contents.audit.first)
    #expect(event.event == "MERGED" && event.accountID == "account-y")
    #expect(event.detailsJSON == #"{"closed_account_id":"account-z","provider_ids":"google.com"}"#)
    #expect(world.letters.map(\.kind) == [.merged, .merged])
    #expect(Set(world.letters.map(\.recipient)) == [.email(ada), .email(bea)])
  }

  @Test func `the unlinks of both accounts stay recorded, except of identities that are linked again`()
    async throws
  {
    var mine = account(.verified(ada), password: true)
    let key = IdentityKey(providerID: "google.com", subject: "g-2")
    mine.unlinks = [UnlinkRecord(accountID: "account-y", key: key, at: beginning)]
    var theirs = account(id: "account-z", identities: [google("g-2")])
    let gone = IdentityKey(providerID: "oidc.corp", subject: "c-9")
    theirs.unlinks = [UnlinkRecord(accountID: "account-z", key: gone, at: beginning)]
    let (survivor, other) = try sessions(mine, theirs, in: world)
    _ = try await world.merge(survivor, other)
    #expect(world.store.state("account-y")?.unlinks
      == [UnlinkRecord(accountID: "account-y", key: gone, at: beginning)])
  }
}

struct `Merge, conflicts` {
  let world = World()

  func pair() throws -> (SessionGrant, SessionGrant) {
    try sessions(
      account(.verified(ada), password: true, phone: "+4915111111111", identities: [google("g-1")]),
      account(id: "account-z", .verified(bea), password: true, phone: "+4915122222222", identities: [
        google("g-2"), corp(),
      ]) { $0.passwordHash = "hash:other horse" }, in: world)
  }

  let all = [
    MergeConflict(field: "password", survivorValue: ada, otherValue: bea),
    MergeConflict(field: "phone", survivorValue: "+4915111111111", otherValue: "+4915122222222"),
    MergeConflict(field: "google.com", survivorValue: "g-1", otherValue: "g-2"),
  ]

  func keep(_ sides: [String: String]) -> [MergeKeep] { sides.map { MergeKeep(field: $0.key, accountID: $0.value) } }

  @Test func `a dry run reports every conflict and what would move, and writes nothing`() async throws {
    let (survivor, other) = try pair()
    let before = world.store.contents
    let answer = try await world.merge(survivor, other, dryRun: true, world.mergeCall(key: "k"))
    #expect(answer.conflicts == all && answer.movedProviderIDs == ["oidc.corp"])
    #expect(answer.closedAccountID == "account-z" && answer.session == nil)
    #expect(world.store.contents == before)
  }

  @Test func `an answer with unsettled conflicts has no session, and nothing changes`() async throws {
    let (survivor, other) = try pair()
    let before = world.store.contents
    let answer = try await world.merge(survivor, other, keep: keep(["password": "account-y", "phone": "account-z"]))
    #expect(answer.conflicts == [all[2]] && answer.session == nil)
    #expect(answer.closedAccountID.isEmpty && answer.movedProviderIDs.isEmpty)
    #expect(world.store.contents == before)
  }

  @Test func `an item kept from the survivor stays, and the other's is removed and not linked again automatically`()
    async throws
  {
    let (survivor, other) = try pair()
    let mine = keep(["password": "account-y", "phone": "account-y", "google.com": "account-y"])
    let answer = try await world.merge(survivor, other, keep: mine)
    let state = try #require(world.store.state("account-y"))
    #expect(answer.movedProviderIDs == ["oidc.corp"] && answer.session != nil)
    #expect(state.account.passwordHash == "hash:correct horse" && state.account.phoneNumber == "+4915111111111")
    #expect(state.identities.map(\.key.subject).sorted() == ["c-1", "g-1"])
    #expect(state.unlinks.map(\.key.subject) == ["g-2"])
  }

  @Test func `an item kept from the other account replaces the survivor's and ends its sessions`() async throws {
    let (survivor, other) = try pair()
    let byGoogle = try world.session(of: "account-y", by: .provider("google.com"))
    let byCorp = try world.session(of: "account-y", by: .provider("oidc.corp"))
    let theirs = keep(["password": "account-z", "phone": "account-z", "google.com": "account-z"])
    let answer = try await world.merge(survivor, other, keep: theirs)
    let state = try #require(world.store.state("account-y"))
    #expect(answer.movedProviderIDs == ["password", "phone", "google.com", "oidc.corp"])
    #expect(state.account.passwordHash == "hash:other horse" && state.account.phoneNumber == "+4915122222222")
    #expect(state.account.email == ada)
    #expect(state.identities.map(\.key.subject).sorted() == ["c-1", "g-2"])
    #expect(state.unlinks.map(\.key.subject) == ["g-1"])
    let left = world.store.contents
    #expect(left.sessions[byGoogle.sessionID]?.closed?.reason == .merged)
    #expect(left.sessions[survivor.sessionID]?.closed?.reason == .merged)
    #expect(left.sessions[byCorp.sessionID]?.closed?.reason == .merged)
  }

  @Test func `more than five factors are a conflict, and the factors of either side can be kept`() async throws {
    let ids = ["account-y": ["factor-totp", "y-1", "y-2"], "account-z": ["factor-phone", "z-1", "z-2"]]
    for kept in ids.keys {
      let world = World()
      var states = [account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")])]
      for index in states.indices {
        let id = states[index].account.id
        states[index].factors = (ids[id] ?? []).map {
          FactorRecord(id: $0, accountID: id, kind: id == "account-y" ? .totp : .phone, enrolledAt: beginning)
        }
        world.store.insert(states[index])
      }
      let survivor = try world.session(of: "account-y", secondFactor: "totp")
      let other = try world.session(of: "account-z", secondFactor: "phone")
      #expect(try await world.merge(survivor, other).conflicts
        == [MergeConflict(field: "second_factors", survivorValue: "3", otherValue: "3")])
      let settled = MergeKeep(field: "second_factors", accountID: kept)
      let grant = try #require(try await world.merge(survivor, other, keep: [settled]).session)
      #expect(world.store.state("account-y")?.factors.map(\.id) == ids[kept])
      #expect(try world.claims(grant).signInSecondFactor == (kept == "account-y" ? "totp" : "phone"))
    }
  }

  @Test func `five factors of both together are no conflict, and recovery codes are not counted`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.phone, .recoveryCode]))
    var other = account(id: "account-z", identities: [google("g-2")])
    other.factors = ["factor-totp", "1", "2", "3"].map {
      FactorRecord(id: $0, accountID: "account-z", kind: .totp, enrolledAt: beginning)
    }
    other.factors.append(FactorRecord(id: "codes", accountID: "account-z", kind: .recoveryCode, enrolledAt: beginning))
    world.store.insert(other)
    let answer = try await world.merge(
      world.session(of: "account-y", secondFactor: "phone"), world.session(of: "account-z", secondFactor: "totp"))
    let ids = world.store.state("account-y")?.factors.map(\.id) ?? []
    #expect(answer.conflicts.isEmpty && ids.count == 6 && !ids.contains("codes"))
  }

  @Test(arguments: [
    (MergeKeep(field: "oidc.corp", accountID: "account-y"), "keep.field"),
    (MergeKeep(field: "nothing", accountID: "account-y"), "keep.field"),
    (MergeKeep(field: "phone", accountID: "account-x"), "keep.from_account_id"),
  ])
  func `a decision without a conflict, or for a third account, is rejected`(_ wrong: MergeKeep, _ field: String)
    async throws
  {
    let (survivor, other) = try pair()
    #expect(await refused(.invalidField) { try await world.merge(survivor, other, keep: [wrong]) }?.field == field)
  }

  @Test func `two decisions on one conflict are rejected`() async throws {
    let (survivor, other) = try pair()
    let twice = [MergeKeep(field: "phone", accountID: "account-y"), MergeKeep(field: "phone", accountID: "account-z")]
    await refused(.invalidField) { try await world.merge(survivor, other, keep: twice) }
  }
}

struct `Merge, permissions` {
  let world = World()

  func pair() throws -> (SessionGrant, SessionGrant) {
    try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
  }

  @Test func `only an identified caller with the right may merge`() async throws {
    let (survivor, other) = try pair()
    await refused(.callerNotAllowed) { try await world.merge(survivor, other, world.call()) }
    let unidentified = CallFacts(
      caller: CallerName("x"), mayFetchByEmail: true, mayMerge: true, callerIdentified: false, audiences: ["app"])
    await refused(.callerNotAllowed) { try await world.merge(survivor, other, unidentified) }
  }

  @Test func `check 30: the error names the login that is too old, and the window closes exactly`() async throws {
    let world = World { $0.recentLoginWindowsMillis = [.merge: 60_000] }
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "account-z", identities: [google("g-2")]))
    let (old, otherOld) = (try world.session(of: "account-y"), try world.session(of: "account-z"))
    world.clock.advance(millis: 60_000)
    let (fresh, otherFresh) = (try world.session(of: "account-y"), try world.session(of: "account-z"))
    let before = world.store.contents
    let survivor = await refused(.requiresRecentLogin) { try await world.merge(old, otherFresh) }
    #expect(survivor?.field == "survivor_id_token")
    #expect(survivor?.metadata == ["max_age_seconds": "60", "methods": "password"])
    let other = await refused(.requiresRecentLogin) { try await world.merge(fresh, otherOld) }
    #expect(other?.field == "other_id_token" && other?.metadata["methods"] == "google.com")
    #expect(world.store.contents == before)
    world.clock.advance(millis: -1)
    #expect(try await world.merge(old, otherOld).session != nil)
  }

  @Test func `check 91: an anonymous account needs no recent login`() async throws {
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", anonymous: true), in: world)
    world.clock.advance(millis: world.policy.recentLoginMillis)
    await refused(.requiresRecentLogin) { try await world.merge(survivor, other) }
    let fresh = try world.session(of: "account-y")
    #expect(try await world.merge(fresh, other).closedAccountID == "account-z")
  }

  @Test(arguments: ["account-y", "account-z"])
  func `check 80: a session that did not pass its account's factor merges nothing`(_ id: String) async throws {
    let (survivor, other) = try pair()
    let factor = FactorRecord(id: "f", accountID: id, kind: .totp, enrolledAt: beginning)
    world.store.edit { $0.factors.append(factor) }
    let failure = await refused(.requiresSecondFactor) { try await world.merge(survivor, other) }
    #expect(failure?.field == (id == "account-y" ? "survivor_id_token" : "other_id_token"))
  }

  @Test(arguments: ["account-y", "account-z"])
  func `a disabled account on either side is refused`(_ id: String) async throws {
    let (survivor, other) = try pair()
    world.store.edit { $0.accounts[id]?.disabled = true }
    let failure = await refused(.userDisabled) { try await world.merge(survivor, other) }
    #expect(failure?.field == (id == "account-y" ? "survivor_id_token" : "other_id_token"))
  }

  @Test func `an account is not merged with itself`() async throws {
    let (survivor, _) = try pair()
    let again = try world.session(of: "account-y")
    #expect(await refused(.invalidField) { try await world.merge(survivor, again) }?.field == "other_id_token")
  }

  @Test func `the error names a token that is invalid or whose session has ended`() async throws {
    let (survivor, other) = try pair()
    var forged = other
    forged.idToken = "forged"
    #expect(await refused(.invalidIDToken) { try await world.merge(survivor, forged) }?.field == "other_id_token")
    try await SignOut(world.environment)(.idToken(survivor.idToken), world.call())
    #expect(await refused(.tokenRevoked) { try await world.merge(survivor, other) }?.field == "survivor_id_token")
  }
}

struct `Merge, repeated and concurrent` {
  let world = World()

  @Test func `a repeat with or without its key gets the same answer`() async throws {
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    let first = try await world.merge(survivor, other, world.mergeCall(key: "k"))
    let keyed = try await world.merge(survivor, other, world.mergeCall(key: "k"))
    #expect(keyed.session?.sessionID == first.session?.sessionID)
    let again = try await world.merge(survivor, other)
    for answer in [keyed, again] {
      #expect(answer.closedAccountID == "account-z" && answer.movedProviderIDs == ["google.com"])
      #expect(answer.session?.account == world.store.state("account-y"))
    }
    #expect(world.store.contents.audit.count == 1)
    let report = try await world.merge(survivor, other, dryRun: true)
    #expect(report.session == nil && report.closedAccountID == "account-z")
  }

  @Test func `a repeat requires a recent login of the survivor`() async throws {
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    _ = try await world.merge(survivor, other)
    world.clock.advance(millis: world.policy.recentLoginMillis)
    await refused(.requiresRecentLogin) { try await world.merge(survivor, other) }
  }

  @Test func `a custom token cannot recreate a closed id, and a look-up of it names the survivor`()
    async throws
  {
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    _ = try await world.merge(survivor, other)
    let token = try world.tokens.mintCustomToken(
      CustomToken(accountID: "account-z", issuedAt: world.now, expiresAt: world.now.adding(millis: 1000)))
    await refused(.accountNotFound) {
      try await SignIn(world.environment)(SignInRequest(credential: .customToken(token)), world.call())
    }
    let looked = await refused(.accountNotFound) {
      try await world.environment.read(LookupAccount(.accountID("account-z")))
    }
    #expect(looked?.metadata == ["merged_into": "account-y"])
  }

  @Test(arguments: 1...20)
  func `fifty concurrent equal merges take effect once`(_ seed: UInt64) async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed)
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    let answers = try await withThrowingTaskGroup(of: MergeAnswer.self) { group in
      for _ in 0..<50 { group.addTask { try await world.merge(survivor, other) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.allSatisfy { $0.movedProviderIDs == ["google.com"] && $0.session != nil })
    #expect(world.store.contents.audit.map(\.event) == ["MERGED"])
    #expect(world.store.state("account-y")?.identities.count == 1)
  }

  @Test(arguments: 1...20)
  func `one of two concurrent merges in opposite directions succeeds and the other fails`(_ seed: UInt64) async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed)
    let (one, two) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    let closed = await withTaskGroup(of: String?.self) { group in
      for number in 0..<50 {
        group.addTask {
          let (survivor, other) = number % 2 == 0 ? (one, two) : (two, one)
          return try? await world.merge(survivor, other).closedAccountID
        }
      }
      return await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    #expect(closed.compactMap(\.self).count == 1)
    let left = world.store.contents
    #expect(left.accounts.count == 1 && left.closedAccounts.count == 1 && left.identities.count == 1)
  }

  @Test func `changes of either account before the commit are seen`() async throws {
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    let request = MergeRequest(survivorIDToken: survivor.idToken, otherIDToken: other.idToken)
    let deleted = world.environment(interruptedBy: { store in
      store.edit { tables in
        tables.accounts["account-z"] = nil
        tables.sessions[other.sessionID] = nil
        tables.identities = [:]
      }
    })
    let failure = await refused(.tokenRevoked) { try await MergeAccounts(deleted)(request, world.mergeCall()) }
    #expect(failure?.field == "other_id_token" && world.store.contents.closedAccounts.isEmpty)
  }

  @Test func `an identity that the survivor links during the merge is a conflict`() async throws {
    let (survivor, other) = try sessions(
      account(.verified(ada), password: true), account(id: "account-z", identities: [google("g-2")]), in: world)
    let linked = world.environment(interruptedBy: { store in
      store.edit { tables in
        let record = IdentityRecord(assertion: google("g-1"), accountID: "account-y", linkedAt: beginning)
        tables.identities[record.key] = record
        tables.accounts["account-y"]?.version += 1
      }
    })
    let request = MergeRequest(survivorIDToken: survivor.idToken, otherIDToken: other.idToken)
    let answer = try await MergeAccounts(linked)(request, world.mergeCall())
    #expect(answer.conflicts.map(\.field) == ["google.com"] && answer.session == nil)
  }
}
