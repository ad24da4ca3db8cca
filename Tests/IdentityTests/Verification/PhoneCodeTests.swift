import Store
import Testing

@testable import Identity

@Suite struct `Phone codes` {
  let world = World.sending()

  @Test func `a code signs a new number up and then signs it in`() async throws {
    let first = try await world.signIn(world.phoneCode()).grant
    #expect(first.isNewAccount && first.account.account.phoneNumber == number)
    #expect(first.account.account.phoneNumberSetAt == world.now)
    #expect(try world.claims(first).signInProviderID == "phone")
    #expect(try world.claims(first).phoneNumber == number)
    let again = try await world.signIn(world.phoneCode()).grant
    #expect(!again.isNewAccount && again.account.account.id == first.account.account.id)
  }

  @Test func `check 106: a code has six digits and is valid once, for ten minutes`() async throws {
    let code = try await world.phoneCode()
    let digits = try #require(try world.lastMessage().values["code"])
    #expect(digits.wholeMatch(of: /[0-9]{6}/) != nil)
    _ = try await world.signIn(code)
    await refused(.expiredCode) { try await world.signIn(code) }
    let late = try await world.phoneCode()
    world.clock.advance(millis: 599_999)
    let row = try #require(try world.row(late.verificationID))
    #expect(row.expiresAt == world.now.adding(millis: 1))
    world.clock.advance(millis: 1)
    await refused(.expiredCode) { try await world.signIn(late) }
  }

  @Test(arguments: [(" ", "\n"), ("-", ""), ("\u{2013}", "\u{A0}"), ("\u{202F}", "\u{200B}")])
  func `digits that are pasted with blanks and hyphens are accepted`(between: String, behind: String)
    async throws
  {
    let code = try await world.phoneCode()
    let digits = try #require(try world.lastMessage().values["code"])
    let pasted = digits.prefix(3) + between + digits.suffix(3) + behind
    let credential = Credential.phoneCode(verificationID: code.verificationID, digits: String(pasted))
    #expect(try await world.signIn(credential).grant.isNewAccount)
  }

  @Test func `check 106: the right digits are rejected after five wrong tries`() async throws {
    let code = try await world.phoneCode()
    for _ in 0..<5 { await refused(.invalidCode) { try await world.signIn(code.mistyped) } }
    await refused(.expiredCode) { try await world.signIn(code) }
    #expect(world.store.contents.accounts.isEmpty)
  }

  @Test func `check 106: the right digits are accepted after four wrong tries`() async throws {
    let code = try await world.phoneCode()
    for _ in 0..<4 { await refused(.invalidCode) { try await world.signIn(code.mistyped) } }
    #expect(try await world.signIn(code).grant.isNewAccount)
  }

  @Test func `check 106: digits tried under the key of an earlier sign-in count as wrong`()
    async throws
  {
    let code = try await world.phoneCode()
    let first = try await world.signIn(code, world.call(key: "k")).grant
    #expect(try await world.signIn(code, world.call(key: "k")).grant.sessionID == first.sessionID)
    for number in 1...30 {
      let call = world.call(key: "k", request: "\(number)")
      await refused(.idempotencyKeyReused) { try await world.signIn(code.mistyped, call) }
    }
    await refused(.tooManyAttempts) { try await world.signIn(code, world.call(key: "k")) }
  }

  @Test func `check 106: digits tried under the key of an earlier link count as wrong`() async throws {
    world.store.insert(account(id: "owner", phone: "+441632960961"))
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.phoneCode(for: .link, in: session)
    _ = try await world.link(code, session, world.call(key: "k"))
    for number in 1...30 {
      let call = world.call(key: "k", request: "\(number)")
      await refused(.idempotencyKeyReused) { try await world.link(code.mistyped, session, call) }
    }
    await refused(.tooManyAttempts) { try await world.link(code, session, world.call(key: "k")) }
  }

  @Test func `check 106: a new code for a phone number invalidates the earlier one`() async throws {
    let former = try await world.phoneCode()
    let latter = try await world.phoneCode()
    await refused(.invalidCode) { try await world.signIn(former) }
    #expect(try await world.signIn(latter).grant.isNewAccount)
    #expect(world.store.contents.pendings.count == 1)
  }

  @Test func `check 106: a code of another caller, browser or purpose is refused like an unknown one`() async throws {
    func mine() -> CallFacts { world.call(binding: "browser of ada") }
    let code = try await world.phoneCode(mine())
    var refusals: [Failure?] = []
    for call in [
      world.call(), world.call(binding: "browser of eve"), world.call(caller: "x", binding: "browser of ada"),
    ] {
      refusals.append(await refused(.invalidCode) { try await world.signIn(code, call) })
    }
    let session = try await world.signIn(.anonymous).grant
    refusals.append(await refused(.invalidCode) { try await world.link(code, session, mine()) })
    let unknown = Credential.phoneCode(verificationID: world.hold(google(), for: "account-y"), digits: "123456")
    refusals.append(await refused(.invalidCode) { try await world.signIn(unknown, mine()) })
    refusals.append(
      await refused(.invalidCode) { try await world.signIn(.phoneCode(verificationID: "", digits: "123456")) })
    #expect(Set(refusals.map { $0?.hint }).count == 1)
    #expect(try await world.signIn(code, mine()).grant.isNewAccount)
  }

  @Test func `check 39: a known and an unknown number get the same answer and the same writes`() async throws {
    world.store.insert(account(phone: number))
    for target in [number, "+15550199"] {
      let code = try await world.phoneCode(to: target)
      let row = try #require(try world.row(code.verificationID))
      #expect(row.expiresAt == world.now.adding(millis: 600_000))
      #expect(try world.lastMessage().recipient == .phoneNumber(target))
    }
    #expect(world.store.contents.pendings.count == 2 && world.store.contents.deliveries.count == 2)
    #expect(Set(world.store.contents.pendings.values.map(\.sealed.count)).count == 1)
  }

  @Test func `check 39: an account at its maximum of pending rows gets the same answer as an unknown number`()
    async throws
  {
    world.store.insert(account(phone: number))
    for _ in 0..<world.policy.pendingLimits.perAccountMax { _ = world.hold(google(), for: "account-y") }
    var answers: [PhoneCodeSent] = []
    for target in [number, "+15550199"] {
      answers.append(
        try await SendPhoneCode(world.environment)(SendPhoneCodeRequest(phoneNumber: target), world.call()))
      #expect(try world.lastMessage().recipient == .phoneNumber(target))
      #expect(try world.row(answers.last?.verificationID ?? "") != nil)
    }
    #expect(Set(answers.map(\.expiresAt)) == [world.now.adding(millis: 600_000)])
    #expect(Set(answers.map(\.verificationID)).count == 2 && Set(answers.map(\.verificationID.count)).count == 1)
  }

  @Test func `check 105: other users who use up a number's tries and messages do not block its owner's known device`()
    async throws
  {
    let world = World.sending {
      ($0.throttles[.codeFailuresPerAccount].countMax, $0.throttles[.codeFailuresOnKnownDevices].countMax) = (2, 2)
      ($0.throttles[.sendsPerRecipient].countMax, $0.throttles[.sendsOnKnownDevices].countMax) = (3, 3)
    }
    func own() -> CallFacts { world.call(deviceID: "own") }
    func strange() -> CallFacts { world.call(deviceID: "strange") }
    world.store.insert(account(phone: number))
    _ = try world.session(of: "account-y", call: own())
    let unknown = try await world.phoneCode(strange())
    for _ in 0..<2 { await refused(.invalidCode) { try await world.signIn(unknown.mistyped, strange()) } }
    await refused(.tooManyAttempts) { try await world.signIn(unknown, strange()) }
    for _ in 0..<2 { _ = try await world.phoneCode(strange()) }
    await refused(.tooManyAttempts) { try await world.phoneCode(strange()) }
    let owner = try await world.phoneCode(own())
    await refused(.invalidCode) { try await world.signIn(owner.mistyped, own()) }
    #expect(try await world.signIn(owner, own()).grant.account.account.id == "account-y")
    for _ in 0..<2 { _ = try await world.phoneCode(own()) }
    let sends = await refused(.tooManyAttempts) { try await world.phoneCode(own()) }
    #expect(sends?.throttle == .sendsOnKnownDevices)
  }

  @Test func `a known device has no larger limit for another user's number`() async throws {
    let world = World.sending { $0.throttles[.sendsPerRecipient].countMax = 2 }
    let session = try await world.signIn(.anonymous).grant
    for _ in 0..<2 { _ = try await world.phoneCode(for: .link, in: session) }
    let failure = await refused(.tooManyAttempts) { try await world.phoneCode(for: .link, in: session) }
    #expect(failure?.throttle == .sendsPerRecipient)
  }

  @Test func `neither the row nor the queue contains the digits in clear text`() async throws {
    let code = try await world.phoneCode()
    let (digits, row) = (try code.digits, try #require(try world.row(code.verificationID)))
    #expect(!"\(row)".contains(digits))
    #expect(!world.store.contents.deliveries.contains { "\($0)".contains(digits) })
  }

  @Test func `two parallel redemptions sign in once`() async throws {
    let store = MemoryStore(meetsRaces: true)
    let world = World(store: store) { $0.textMessagesEnabled = true }
    let code = try await world.phoneCode()
    let sessions = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { if case .session? = try? await world.signIn(code) { 1 } else { 0 } } }
      return await group.reduce(0, +)
    }
    #expect(sessions == 1 && store.contents.sessions.count == 1)
  }

  @Test func `a disabled account fails as disabled, and existing_only creates none`() async throws {
    world.store.insert(account(phone: number, disabled: true))
    await refused(.userDisabled) { try await world.signIn(world.phoneCode()) }
    await refused(.accountNotFound) { try await world.signIn(world.phoneCode(to: "+15550199"), existingOnly: true) }
  }

  @Test(arguments: [[FactorKind.phone], [.phone, .recoveryCode]])
  func `a phone code does not sign in to an account whose only second factor is a phone`(
    _ factors: [FactorKind]
  ) async throws {
    world.store.insert(account(phone: number, factors: factors))
    await refused(.unsupportedFirstFactor) { try await world.signIn(world.phoneCode()) }
    let session = try world.session(of: "account-y")
    let code = try await world.phoneCode(for: .reauthenticate, in: session)
    await refused(.unsupportedFirstFactor) { try await world.reauthenticate(code, session) }
  }

  @Test func `check 89: a phone code is not a second factor, and is used up by the first step`() async throws {
    world.store.insert(account(phone: number, factors: [.totp]))
    let code = try await world.phoneCode()
    let required = try await world.signIn(code).required
    #expect(try world.row(required.handle)?.purpose == .secondFactor)
    #expect(world.store.contents.sessions.isEmpty)
    await refused(.expiredCode) { try await world.signIn(code) }
  }

  @Test func `without a transport, or with phones disabled, no code is sent and none is accepted`() async throws {
    for edit: @Sendable (inout Policy) -> Void in [{ $0.phoneEnabled = false }, { $0.textMessagesEnabled = false }] {
      let closed = World.sending(policy: edit)
      await refused(.operationNotAllowed) { try await closed.phoneCode() }
      #expect(closed.store.contents.pendings.isEmpty)
    }
    let closed = World { $0.phoneEnabled = false }
    await refused(.operationNotAllowed) {
      try await closed.signIn(.phoneCode(verificationID: "x", digits: "123456"))
    }
  }

  @Test func `a code for sign-in rejects an ID token, and codes for the other purposes require one`() async throws {
    world.store.insert(account(phone: number))
    let session = try world.session(of: "account-y")
    await refused(.invalidField) { try await world.phoneCode(in: session) }
    await refused(.invalidIDToken) { try await world.phoneCode(for: .link) }
  }
}

// MARK: Link and Reauthenticate

@Suite struct `Phone codes in a session` {
  let world = World.sending()

  @Test func `L7 a free number is linked, and opens the account from then on`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let grant = try await world.link(world.phoneCode(for: .link, in: session), session).grant
    #expect(grant.account.account.phoneNumber == number && grant.account.account.email == ada)
    #expect(try await world.signIn(world.phoneCode()).grant.account.account.id == "account-y")
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
  }

  @Test func `L1 the account's own number changes nothing`() async throws {
    world.store.insert(account(phone: number))
    let session = try world.session(of: "account-y", by: .phone)
    let code = try await world.phoneCode(for: .link, in: session)
    guard case .session(_, let alreadyLinked) = try await world.link(code, session) else {
      Issue.record("not a session")
      return
    }
    #expect(alreadyLinked && world.store.state("account-y") == account(phone: number))
    await refused(.expiredCode) { try await world.link(code, session) }
  }

  @Test func `L2 the pending token of another account's number signs in there`() async throws {
    world.store.insert(account(id: "other", phone: number))
    world.store.insert(account(password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.phoneCode(for: .link, in: session)
    let inUse = try await world.link(code, session).inUse
    #expect(world.store.state("other") == account(id: "other", phone: number))
    #expect(world.store.state("account-y") == account(password: true))
    #expect(try await world.signIn(.pendingToken(inUse.handle)).grant.account.account.id == "other")
    await refused(.expiredCode) { try await world.link(code, session) }
  }

  @Test func `L2 a pending token whose number has moved to another account does not sign in`() async throws {
    world.store.insert(account(id: "other", phone: number))
    world.store.insert(account(password: true))
    let session = try world.session(of: "account-y")
    let inUse = try await world.link(world.phoneCode(for: .link, in: session), session).inUse
    world.store.edit { tables in
      tables.accounts["other"]?.phoneNumber = nil
      tables.accounts["account-y"]?.phoneNumber = number
    }
    await refused(.pendingCredentialMismatch) { try await world.signIn(.pendingToken(inUse.handle)) }
  }

  @Test func `L3 a new number replaces the old one, which becomes free and whose other sessions end`()
    async throws
  {
    world.store.insert(account(phone: "+15550199") { $0.phoneNumberSetAt = beginning })
    let (session, elsewhere) = (
      try world.session(of: "account-y", by: .phone), try world.session(of: "account-y", by: .phone)
    )
    world.clock.advance(millis: 1)
    let grant = try await world.link(world.phoneCode(for: .link, in: session), session).grant
    #expect(grant.account.account.phoneNumber == number && grant.account.account.phoneNumberSetAt == world.now)
    let open = Set(world.store.contents.openSessions(of: "account-y").map(\.id))
    #expect(open == [session.sessionID, grant.sessionID] && !open.contains(elsewhere.sessionID))
    #expect(world.store.contents.events(of: "account-y") == ["UNLINKED", "LINKED"])
    let told = try world.lastMessage()
    #expect(told.kind == .unlinked && told.recipient == .phoneNumber("+15550199"), "a user without an email address")
    #expect(try await world.signIn(world.phoneCode(to: "+15550199")).grant.isNewAccount)
  }

  @Test func `L3 replacing a number requires a recent login, and a pending token cannot replace one`() async throws {
    world.store.insert(account(phone: "+15550199"))
    let session = try world.session(of: "account-y", by: .phone)
    world.clock.advance(millis: world.policy.recentLoginMillis)
    let code = try await world.phoneCode(for: .link, in: session)
    let failure = await refused(.requiresRecentLogin) { try await world.link(code, session) }
    #expect(failure?.metadata["max_age_seconds"] == "300")
    let held = world.hold(Assertion(identity: .phone(number)), for: "account-y")
    await refused(.requiresRecentLogin) { try await world.link(code, session) }
    await refused(.providerAlreadyLinked) {
      try await world.link(.pendingToken(held), try world.session(of: "account-y", by: .phone))
    }
    #expect(world.store.state("account-y")?.account.phoneNumber == "+15550199")
  }

  @Test func `L11 replacing a number requires the second factor`() async throws {
    world.store.insert(account(.verified(ada), password: true, phone: "+15550199", factors: [.totp]))
    let session = try world.session(of: "account-y")
    _ = try await world.link(world.phoneCode(for: .link, in: session), session).required
    #expect(world.store.state("account-y")?.account.phoneNumber == "+15550199")
  }

  @Test func `L11 a login that is too old to replace a number fails before a factor or the code is used`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, phone: "+15550199", factors: [.totp]))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.recentLoginMillis)
    let code = try await world.phoneCode(for: .link, in: session)
    await refused(.requiresRecentLogin) { try await world.link(code, session) }
    #expect(try world.row(code.verificationID)?.completedAt == nil, "the code survives the required login")
    #expect(!world.store.contents.pendings.values.contains { $0.purpose == .secondFactor })
  }

  @Test func `L2 another account's number is in use, however old the login is`() async throws {
    world.store.insert(account(id: "other", phone: number))
    world.store.insert(account(phone: "+15550199"))
    let session = try world.session(of: "account-y", by: .phone)
    world.clock.advance(millis: world.policy.recentLoginMillis)
    _ = try await world.link(world.phoneCode(for: .link, in: session), session).inUse
  }

  @Test func `L9 an anonymous user who links a number becomes permanent`() async throws {
    let session = try await world.signIn(.anonymous).grant
    let grant = try await world.link(world.phoneCode(for: .link, in: session), session).grant
    #expect(grant.account.account.id == session.account.account.id && !grant.account.account.anonymous)
  }

  @Test func `L11 a verified number waits for the second factor`() async throws {
    world.store.insert(account(password: true, factors: [.totp]))
    let session = try world.session(of: "account-y")
    let code = try await world.phoneCode(for: .link, in: session)
    _ = try await world.link(code, session).required
    #expect(world.store.state("account-y")?.account.phoneNumber == nil)
    await refused(.expiredCode) { try await world.link(code, session) }
  }

  @Test func `L12 an old login is rejected, and the code stays valid`() async throws {
    let world = World.sending { $0.linkRecentLoginMillis = 60_000 }
    world.store.insert(account(password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: 60_000)
    let code = try await world.phoneCode(for: .link, in: session)
    await refused(.requiresRecentLogin) { try await world.link(code, session) }
    #expect(try world.row(code.verificationID)?.completedAt == nil)
  }

  @Test func `a code that was requested in one account links to no other`() async throws {
    world.store.insert(account(id: "a", password: true))
    world.store.insert(account(id: "b", phone: "+15550199"))
    let (a, b) = (try world.session(of: "a"), try world.session(of: "b", by: .phone))
    let code = try await world.phoneCode(for: .link, in: a)
    await refused(.invalidCode) { try await world.link(code, b) }
    #expect(try await world.link(code, a).grant.account.account.phoneNumber == number)
  }

  @Test func `the account's own number reauthenticates with a new login time`() async throws {
    world.store.insert(account(password: true, phone: number))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: 600_000)
    let code = try await world.phoneCode(for: .reauthenticate, in: session)
    let grant = try await world.reauthenticate(code, session).grant
    #expect(try world.claims(grant).authTime == world.now)
    await refused(.expiredCode) { try await world.reauthenticate(code, session) }
  }

  @Test func `check 85: no code is sent for a reauthentication by another number`() async throws {
    world.store.insert(account(password: true, phone: "+15550199"))
    world.store.insert(account(id: "other", phone: number))
    let session = try world.session(of: "account-y")
    await refused(.userMismatch) { try await world.phoneCode(for: .reauthenticate, in: session) }
    #expect(world.store.contents.deliveries.isEmpty)
  }

  @Test func `the number of the account found completes a conflict`() async throws {
    world.store.insert(account(.verified(ada), phone: number))
    let exists = try await world.signIn(google()).exists
    #expect(exists.methods == ["phone"])
    let grant = try await world.signIn(world.phoneCode(), pendingToken: exists.handle).grant
    #expect(grant.account.identities.map(\.key) == [google().identity])
    #expect(grant.account.account.phoneNumberSetAt == nil, "no number was set")
  }

  @Test func `check 18: another account's number completes nothing`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "other", phone: number))
    let exists = try await world.signIn(google()).exists
    let code = try await world.phoneCode()
    await refused(.pendingCredentialMismatch) { try await world.signIn(code, pendingToken: exists.handle) }
    #expect(try world.row(code.verificationID)?.completedAt == nil)
  }
}
