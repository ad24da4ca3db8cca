import Store
import Testing

@testable import Identity

extension World {
  func update(
    _ session: SessionGrant, name: String? = nil, photo: String? = nil, email: String? = nil, password: String? = nil,
    mail: MailOrder? = nil, _ call: CallFacts? = nil
  ) async throws -> SessionGrant {
    let request = UpdateAccountRequest(
      idToken: session.idToken, displayName: name, photoURL: photo, email: email, newPassword: password,
      mail: mail)
    return try await UpdateAccount(environment)(request, call ?? self.call(mayFetchByEmail: true))
  }

  /// The queued messages, unsealed.
  var letters: [OutgoingMessage] { store.contents.deliveries.compactMap(environment.message) }
}

struct `UpdateAccount, all rules` {
  let world = World { $0.mailEnabled = true }
  let bea = "bea@example.com"

  func begin(_ world: World, _ state: AccountState? = nil) throws -> SessionGrant {
    world.store.insert(state ?? account(.verified(ada), password: true))
    return try world.session(of: "account-y")
  }

  @Test func `check 98: a new password or address invalidates earlier custom tokens, and a new name does not`()
    async throws
  {
    for isName in [true, false] {
      let world = World { $0.mailEnabled = true }
      let session = try begin(world)
      let token = try await world.customToken(for: "account-y")
      world.clock.advance(millis: 1_000)
      _ = try await isName ? world.update(session, name: "Ada") : world.update(session, password: "another horse")
      if isName {
        _ = try await world.signIn(.customToken(token)).grant
      } else {
        await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
      }
    }
  }

  @Test func `an address that the user entered does not count as verified by an administrator`() async throws {
    let session = try begin(world, account(.verified(ada), password: true, madeByAdministrator: true))
    _ = try await world.update(session, name: "Ada")
    #expect(try #require(world.store.state("account-y")).account.madeByAdministrator)
    _ = try await world.update(session, email: bea)
    #expect(try !#require(world.store.state("account-y")).account.madeByAdministrator)
  }

  @Test func `name and photo can change at any time, and every session stays`() async throws {
    let session = try begin(world)
    let other = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.recentLoginMillis)
    let grant = try await world.update(session, name: "Countess", photo: "https://x/p.png")
    let state = try #require(world.store.state("account-y"))
    #expect(state.account.displayName == "Countess" && state.account.photoURL == "https://x/p.png")
    #expect(state.account.email == ada && state.account.emailVerified)
    #expect(try world.claims(grant).name == "Countess")
    #expect(Set(world.store.contents.openSessions(of: "account-y").map(\.id))
      == [session.sessionID, other.sessionID, grant.sessionID])
    #expect(world.letters.isEmpty)
    _ = try await world.update(grant, name: "Countess")
    #expect(world.store.contents.audit.map(\.event) == ["PROFILE_CHANGED"])
  }

  @Test func `an empty name removes the name`() async throws {
    let session = try begin(world, account(.verified(ada), password: true) { $0.displayName = "Ada" })
    _ = try await world.update(session, name: "")
    #expect(world.store.state("account-y")?.account.displayName == "")
  }

  @Test func `check 84: a new password ends every other session, opens a new one and sends a notice`() async throws {
    let session = try begin(world)
    let other = try world.session(of: "account-y")
    let grant = try await world.update(session, password: "a longer secret")
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:a longer secret")
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [grant.sessionID])
    #expect(world.store.contents.sessions[other.sessionID]?.closed?.reason == .passwordChanged)
    #expect(try world.claims(grant).authTime == world.claims(session).authTime)
    #expect(world.letters.map(\.kind) == [.passwordChanged] && world.letters[0].recipient == .email(ada))
    #expect(world.store.contents.events(of: "account-y") == ["PASSWORD_CHANGED"])
    await refused(.tokenRevoked) { try await world.update(session, name: "late") }
  }

  @Test func `an account without a password gets one for its address, and none without an address`() async throws {
    let session = try begin(world, account(.verified(ada), identities: [google()]))
    _ = try await world.update(session, password: "a longer secret")
    #expect(world.store.state("account-y")?.account.passwordSetAt == world.now)
    world.store.insert(account(id: "account-z", identities: [google("g-2", email: nil)]))
    let nameless = try world.session(of: "account-z")
    let failure = await refused(.invalidField) { try await world.update(nameless, password: "a longer secret") }
    #expect(failure?.field == "new_password")
  }

  @Test func `check 103: a weak password is refused before anything is written`() async throws {
    let session = try begin(world)
    let before = world.store.contents
    #expect(await refused(.weakPassword) { try await world.update(session, password: "seven77") }?.field
      == "new_password")
    await refused(.weakPassword) { try await world.update(session, password: "password1") }
    #expect(world.store.contents == before)
  }

  @Test func `checks 84 and 109: a new address is unverified, codes and sessions end, both addresses are notified`()
    async throws
  {
    let session = try begin(world)
    let other = try world.session(of: "account-y")
    _ = world.hold(corp(), for: "account-y")
    let grant = try await world.update(session, email: bea)
    let state = try #require(world.store.state("account-y")?.account)
    #expect(state.email == bea && !state.emailVerified && state.emailAddress?.source == "password")
    #expect(world.store.contents.pendings.isEmpty)
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [grant.sessionID])
    #expect(world.store.contents.sessions[other.sessionID]?.closed?.reason == .emailChanged)
    #expect(try !world.claims(grant).emailVerified)
    #expect(world.letters.map(\.kind) == [.emailChanged, .emailChanged])
    #expect(Set(world.letters.map(\.recipient)) == [.email(ada), .email(bea)])
    #expect(world.store.contents.events(of: "account-y") == ["EMAIL_CHANGED"])
  }

  @Test func `check 109: no part of an update can mark an address as verified`() async throws {
    let session = try begin(world, account(.unverified(ada), password: true))
    _ = try await world.update(session, name: "Ada", email: ada)
    #expect(world.store.state("account-y")?.account.emailVerified == false)
    _ = try await world.update(session, email: bea)
    #expect(world.store.state("account-y")?.account.emailVerified == false)
  }

  @Test func `the account's own address stays verified and needs no recent login`() async throws {
    let session = try begin(world)
    world.clock.advance(millis: world.policy.recentLoginMillis)
    _ = try await world.update(session, email: ada)
    #expect(world.store.state("account-y")?.account.emailVerified == true && world.letters.isEmpty)
    #expect(world.store.contents.sessions[session.sessionID]?.closed == nil)
  }

  @Test func `a taken address is rejected and counted, without a notice to its owner`() async throws {
    let session = try begin(world)
    world.store.insert(account(id: "account-z", .unverified(bea)))
    let before = world.store.contents
    await refused(.emailAlreadyInUse) { try await world.update(session, email: bea) }
    var after = world.store.contents
    #expect(!after.throttles.isEmpty)
    after.throttles = before.throttles
    #expect(after == before)
  }

  @Test func `check 36: with enumeration protection a taken and a free address get the same error`() async throws {
    let session = try begin(world)
    world.store.insert(account(id: "account-z", .unverified(bea)))
    let taken = await refused(.operationNotAllowed) { try await world.update(session, email: bea, world.call()) }
    let free = await refused(.operationNotAllowed) {
      try await world.update(session, email: "cy@example.com", world.call())
    }
    #expect(taken == free && taken?.hint.contains("SendEmailChange") == true)
  }

  @Test func `without enumeration protection every caller may change the address`() async throws {
    let world = World { $0.emailEnumerationProtection = false }
    let session = try begin(world)
    _ = try await world.update(session, email: bea, world.call())
    #expect(world.store.state("account-y")?.account.email == bea)
  }

  @Test func `a sign-in link that is the only method keeps its verified address`() async throws {
    let world = World { $0.emailLinkEnabled = true }
    let session = try begin(world, account(.verified(ada), emailLink: true))
    await refused(.lastSignInMethod) { try await world.update(session, email: bea) }
  }

  @Test func `an anonymous account gets its first sign-in method by Link`() async throws {
    let session = try begin(world, account(anonymous: true))
    await refused(.operationNotAllowed) { try await world.update(session, email: bea) }
    await refused(.operationNotAllowed) { try await world.update(session, password: "a longer secret") }
    _ = try await world.update(session, name: "Somebody")
    #expect(world.store.state("account-y")?.account.displayName == "Somebody")
  }

  @Test func `check 90: each window closes exactly, and the error states its age and the account's methods`()
    async throws
  {
    let world = World {
      $0.recentLoginWindowsMillis = [.changePassword: 60_000, .changeEmail: 120_000]
    }
    let session = try begin(world)
    world.clock.advance(millis: 59_999)
    let grant = try await world.update(session, password: "a longer secret")
    world.clock.advance(millis: 1)
    let old = await refused(.requiresRecentLogin) { try await world.update(grant, password: "another secret") }
    #expect(old?.metadata == ["max_age_seconds": "60", "methods": "password"])
    world.clock.advance(millis: 59_999)
    let changed = try await world.update(grant, email: bea)
    world.clock.advance(millis: 1)
    #expect(
      await refused(.requiresRecentLogin) { try await world.update(changed, email: ada) }?.metadata["max_age_seconds"]
        == "120")
  }

  @Test func `check 80: a session that did not pass the account's factor changes neither address nor password`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let session = try world.session(of: "account-y")
    await refused(.requiresSecondFactor) { try await world.update(session, email: bea) }
    await refused(.requiresSecondFactor) { try await world.update(session, password: "a longer secret") }
    let passed = try world.session(of: "account-y", secondFactor: "totp")
    let grant = try await world.update(passed, password: "a longer secret")
    #expect(try world.claims(grant).signInSecondFactor == "totp")
  }

  // MARK: Reverting a change of address

  let back = MailOrder(continueURI: page, locale: "de")

  @Test func `a verified address that is changed receives a revert link to the given page`() async throws {
    let session = try begin(world)
    let changed = try await world.update(session, email: bea, mail: back)
    #expect(world.letters.map(\.kind) == [.emailChanged, .emailChanged])
    let toOld = try #require(world.letters.first { $0.recipient == .email(ada) })
    #expect(toOld.locale == "de" && toOld.values["new_email"] == bea)
    #expect(toOld.values["link"]?.hasPrefix(page + "?mode=revertEmail&") == true)
    let toNew = try #require(world.letters.first { $0.recipient == .email(bea) })
    #expect(toNew.values == ["new_email": bea])
    let confirmed = try await world.confirm(world.code(.emailChanged, to: ada))
    #expect(confirmed.email == ada && confirmed.session == nil)
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.email == ada && stored.emailVerified && stored.passwordHash == "hash:correct horse")
    await refused(.tokenRevoked) { try await Refresh(world.environment)(changed.refreshToken, world.call()) }
  }

  @Test func `a second change keeps the first revert link, which also removes the new password`() async throws {
    let session = try begin(world)
    let thief = try await world.update(session, email: bea, mail: back)
    world.clock.advance(millis: 1)
    _ = try await world.update(thief, email: "cy@example.com", password: "the thief's own", mail: back)
    #expect(world.letters.count { $0.values["link"] != nil } == 1, "the second address was unverified")
    _ = try await world.confirm(world.code(.emailChanged, to: ada))
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.email == ada && stored.emailVerified && stored.passwordHash == nil)
  }

  @Test(arguments: [true, false])
  func `no revert link is sent without a page, or to an unverified address`(isVerified: Bool)
    async throws
  {
    let session = try begin(world, account(isVerified ? .verified(ada) : .unverified(ada), password: true))
    _ = try await world.update(session, email: bea, mail: isVerified ? nil : back)
    #expect(world.store.contents.pendings.isEmpty)
    #expect(world.letters.count == (isVerified ? 2 : 1))
    #expect(world.letters.allSatisfy { $0.values == ["new_email": bea] })
  }

  @Test func `an unregistered page is rejected for every change, and nothing is written`() async throws {
    let session = try begin(world)
    let before = world.store.contents
    let elsewhere = MailOrder(continueURI: "https://evil.example/")
    let failure = await refused(.redirectURINotAllowed) {
      try await world.update(session, email: bea, mail: elsewhere)
    }
    #expect(failure?.field == "continue_uri")
    await refused(.redirectURINotAllowed) { try await world.update(session, name: "Ada", mail: elsewhere) }
    #expect(world.store.contents == before)
  }

  @Test func `a page without a new address has no effect, and is rejected if mail is disabled`()
    async throws
  {
    let session = try begin(world)
    _ = try await world.update(session, name: "Ada", email: ada, mail: back)
    #expect(world.letters.isEmpty && world.store.contents.pendings.isEmpty)
    let mute = World()
    let other = try begin(mute)
    await refused(.operationNotAllowed) { try await mute.update(other, email: bea, mail: back) }
    #expect(mute.store.state("account-y")?.account.email == ada)
  }

  @Test func `check 34: the same key changes once and returns the same session`() async throws {
    let session = try begin(world)
    let call = { world.call(key: "k", mayFetchByEmail: true) }
    let first = try await world.update(session, password: "a longer secret", call())
    let again = try await world.update(session, password: "a longer secret", call())
    #expect(first.sessionID == again.sessionID && world.letters.count == 1)
  }

  @Test(arguments: 1...20)
  func `exactly one of fifty concurrent calls for one address gets it`(_ seed: UInt64) async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed)
    let sessions = try (0..<50).map { number in
      world.store.insert(account(id: "a\(number)", .unverified("\(number)@example.com"), password: true))
      return try world.session(of: "a\(number)")
    }
    let changed = await withTaskGroup(of: Bool.self) { group in
      for session in sessions {
        group.addTask { (try? await world.update(session, email: "one@example.com")) != nil }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(changed == 1)
    #expect(world.store.contents.accounts.values.count { $0.email == "one@example.com" } == 1)
  }
}
