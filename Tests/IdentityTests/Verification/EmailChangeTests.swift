import Store
import Testing

@testable import Identity

private let new = "new@example.com"

@Suite struct `Change of address` {
  let world = World.sending()

  private func owner() throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true))
    return try world.session(of: "account-y")
  }

  /// Changes the address, as a user or an attacker would. Returns the code that reverts the change.
  private func changed() async throws -> (session: SessionGrant, wayBack: String) {
    let session = try owner()
    let confirmed = try await world.confirm(world.emailChange(to: new, session), session)
    return (try #require(confirmed.session), try world.code(.emailChanged, to: ada))
  }

  @Test func `a link to the new address gives the account that address, verified, and ends the other sessions`()
    async throws
  {
    let session = try owner()
    let elsewhere = try world.session(of: "account-y")
    let code = try await world.emailChange(to: new, session)
    let message = try world.lastMessage()
    #expect(message.recipient == .email(new) && message.kind == .changeEmail)
    #expect(world.store.state("account-y")?.account.email == ada, "nothing changes before the link is followed")
    let confirmed = try await world.confirm(code, session)
    #expect(confirmed.email == new)
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.email == new)
    #expect(stored.emailAddress?.verification == .confirmation)
    #expect(stored.emailAddress?.source == "password")
    let open = world.store.contents.openSessions(of: "account-y").map(\.id)
    #expect(open == [confirmed.session?.sessionID] && !open.contains(elsewhere.sessionID))
    #expect(world.store.contents.events(of: "account-y") == ["EMAIL_CHANGED"])
    let signedIn = try await world.signIn(.password(email: new, password: "correct horse")).grant
    #expect(signedIn.account.account.id == "account-y")
  }

  @Test func `3.5 an address that the account got unverified before the link was opened counts as in doubt`()
    async throws
  {
    world.store.insert(account(phone: number))
    let session = try world.session(of: "account-y")
    let code = try await world.emailChange(to: new, session)
    world.store.edit { $0.accounts["account-y"]?.emailAddress = EmailAddress(new) }
    world.clock.advance(millis: 1)
    _ = try await world.confirm(code, session)
    #expect(world.store.state("account-y")?.account.emailVerifiedAt == world.now)
  }

  @Test func `check 84: the old address is notified with a revert link, and the new one without`() async throws {
    let back = try await changed().wayBack
    #expect(try await world.check(back) == CodeCheck(
      mode: .revertEmail, email: ada, expiresAt: world.now.adding(millis: 3 * 86_400_000)))
    let told = world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
      .filter { $0.kind == .emailChanged }
    #expect(Set(told.map(\.recipient)) == [.email(ada), .email(new)])
    #expect(told.first { $0.recipient == .email(new) }?.values["link"] == nil)
  }

  @Test func `the revert link restores the old address as verified, without a session, and ends all sessions`()
    async throws
  {
    let (thief, back) = try await changed()
    let confirmed = try await world.confirm(back)
    #expect(confirmed.email == ada && confirmed.session == nil)
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.email == ada && stored.emailVerified && stored.passwordHash != nil)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(thief.refreshToken, world.call()) }
    #expect(world.store.contents.events(of: "account-y") == ["EMAIL_CHANGED", "EMAIL_REVERTED"])
    await refused(.expiredCode) { try await world.confirm(back) }
    #expect(try world.lastMessage().kind == .emailChanged)
  }

  @Test func `the revert link removes methods that an attacker has added since the change`() async throws {
    let (thief, back) = try await changed()
    world.clock.advance(millis: 1)
    _ = try await world.link(google("thief", email: nil), thief)
    _ = try await world.link(world.phoneCode(for: .link, in: thief), thief)
    _ = try await world.reset(world.passwordReset(of: new))
    let since = world.now
    world.store.edit { tables in
      tables.factors += [
        FactorRecord(id: "thief's", accountID: "account-y", kind: .totp, enrolledAt: since),
        FactorRecord(id: "owner's", accountID: "account-y", kind: .totp, enrolledAt: beginning),
      ]
    }
    _ = try await world.confirm(back)
    let stored = try #require(world.store.state("account-y"))
    #expect(stored.factors.map(\.id) == ["owner's"])
    #expect(stored.identities.isEmpty && stored.account.phoneNumber == nil && stored.account.passwordHash == nil)
    #expect(stored.account.email == ada)
    let note = try #require(world.store.contents.audit.last { $0.event == "EMAIL_REVERTED" })
    let said =
      #"{"revoked_factor_ids":"thief's","revoked_factor_kinds":"totp","#
      + #""revoked_provider_ids":"password,phone,google.com"}"#
    #expect(note.detailsJSON == said)
  }

  @Test func `an attacker who changes the address twice cannot invalidate the first owner's revert link`()
    async throws
  {
    let (thief, back) = try await changed()
    world.clock.advance(millis: 1)
    let again = try await world.confirm(world.emailChange(to: "third@example.com", thief), thief)
    #expect(again.email == "third@example.com")
    let thiefsBack = try world.code(.emailChanged, to: new)
    world.clock.advance(millis: 1)
    _ = try await world.confirm(back)
    await refused(.invalidCode) { try await world.confirm(thiefsBack) }
    #expect(world.store.state("account-y")?.account.email == ada)
  }

  @Test func `an attacker who reverts a change cannot invalidate the first owner's revert link`() async throws {
    let (thief, back) = try await changed()
    world.clock.advance(millis: 1)
    _ = try await world.confirm(world.emailChange(to: "third@example.com", thief), thief)
    _ = try await world.confirm(world.code(.emailChanged, to: new))
    #expect(world.store.state("account-y")?.account.email == new)
    _ = try await world.confirm(back)
    #expect(world.store.state("account-y")?.account.email == ada)
  }

  @Test func `the revert link stays valid after an attacker's new password, and removes it`() async throws {
    let (thief, back) = try await changed()
    world.clock.advance(millis: 1)
    let update = UpdateAccountRequest(idToken: thief.idToken, newPassword: "the thief's own")
    _ = try await UpdateAccount(world.environment)(update, world.call())
    _ = try await world.confirm(back)
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.email == ada && stored.passwordHash == nil)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
  }

  @Test func `an unverified account with the freed address does not block the revert link`() async throws {
    let back = try await changed().wayBack
    world.store.insert(account(id: "squatter", .unverified(ada), password: true, identities: [corp(email: nil)]))
    let squatter = try world.session(of: "squatter")
    let planted = world.hold(google("g-9"), for: "squatter")
    _ = try await world.confirm(back)
    #expect(world.store.state("account-y")?.account.email == ada)
    let detached = try #require(world.store.state("squatter"))
    #expect(detached.account.email == nil && detached.account.passwordHash == nil && detached.identities.count == 1)
    #expect(try world.row(planted) == nil)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(squatter.refreshToken, world.call()) }
    #expect(world.store.contents.events(of: "squatter") == ["ADDRESS_DETACHED"])
  }

  @Test func `a change of address uses its own window if one is configured`() async throws {
    let world = World.sending { $0.recentLoginWindowsMillis[.changeEmail] = 60_000 }
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: 59_999)
    _ = try await world.emailChange(to: new, session)
    world.clock.advance(millis: 1)
    await refused(.requiresRecentLogin) { try await world.emailChange(to: new, session) }
  }

  @Test func `the revert link expires after three days, and never takes an address that was verified elsewhere`()
    async throws
  {
    let back = try await changed().wayBack
    world.store.insert(account(id: "other", .verified(ada)))
    await refused(.emailAlreadyInUse) { try await world.confirm(back) }
    world.clock.advance(millis: 3 * 86_400_000)
    await refused(.expiredCode) { try await world.confirm(back) }
  }

  @Test func `the revert link fails for a disabled account, and is valid again once it is enabled`() async throws {
    let back = try await changed().wayBack
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    await refused(.userDisabled) { try await world.confirm(back) }
    #expect(world.store.state("account-y")?.account.email == new)
    world.store.edit { $0.accounts["account-y"]?.disabled = false }
    #expect(try await world.confirm(back).email == ada)
  }

  @Test func `an unverified old address gets neither a notice nor a revert link`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    _ = try await world.confirm(world.emailChange(to: new, session), session)
    let told = world.store.contents.deliveries.compactMap { world.environment.message(of: $0)?.recipient }
    #expect(!told.contains(.email(ada)))
    #expect(!world.store.contents.pendings.values.contains { $0.purpose == .revertEmail })
    #expect(world.store.state("account-y")?.account.emailVerifiedAt == nil, "the new one was never unverified")
  }

  @Test func `only the user who opens the link learns whether the new address is free`() async throws {
    let session = try owner()
    world.store.insert(account(id: "other", .verified(new), password: true))
    let code = try await world.emailChange(to: new, session)
    let free = try await world.emailChange(to: "free@example.com", session)
    #expect(try await world.check(free).expiresAt == world.now.adding(millis: 3_600_000))
    await refused(.invalidCode) { try await world.confirm(code, session) }
    let taken = try await world.emailChange(to: new, session)
    await refused(.emailAlreadyInUse) { try await world.confirm(taken, session) }
    #expect(world.store.state("account-y")?.account.email == ada)
  }

  @Test func `an address that is taken during the call is not assigned twice`() async throws {
    let session = try owner()
    let code = try await world.emailChange(to: new, session)
    let environment = world.environment(interruptedBy: { $0.insert(account(id: "other", .verified(new))) })
    await refused(.emailAlreadyInUse) {
      try await ConfirmEmail(environment)(.link(code: code), idToken: session.idToken, world.call())
    }
  }

  @Test func `a change requires a recent login, the second factor, and a permanent account`() async throws {
    let session = try owner()
    await refused(.invalidField) { try await world.emailChange(to: ada, session) }
    world.clock.advance(millis: 300_000)
    await refused(.requiresRecentLogin) { try await world.emailChange(to: new, session) }
    world.store.insert(account(id: "guarded", .verified("g@example.com"), password: true, factors: [.totp]))
    let first = try world.session(of: "guarded")
    await refused(.requiresSecondFactor) { try await world.emailChange(to: new, first) }
    let passed = try world.session(of: "guarded", secondFactor: "totp")
    let code = try await world.emailChange(to: new, passed)
    await refused(.requiresSecondFactor) { try await world.confirm(code, first) }
    let guest = try await world.signIn(.anonymous).grant
    await refused(.operationNotAllowed) { try await world.emailChange(to: new, guest) }
  }

  @Test func `without a session, or in another account's, the link changes nothing and stays valid`() async throws {
    let session = try owner()
    world.store.insert(account(id: "other", phone: number))
    let code = try await world.emailChange(to: new, session)
    await refused(.requiresRecentLogin) { try await world.confirm(code) }
    let other = try world.session(of: "other", by: .phone)
    await refused(.userMismatch) { try await world.confirm(code, other) }
    #expect(try await world.confirm(code, session).email == new)
  }

  @Test func `a reset ends a pending change`() async throws {
    let session = try owner()
    let code = try await world.emailChange(to: new, session)
    _ = try await world.reset(world.passwordReset())
    await refused(.invalidCode) { try await world.check(code) }
  }

  @Test func `check 7: a squatter's pending change is invalid after a reclaim`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let squatter = try await world.signIn(rightPassword).grant
    let planted = try await world.emailChange(to: "eve@example.com", squatter)
    _ = try await world.signIn(google())
    await refused(.invalidCode) { try await world.confirm(planted, squatter) }
    let again = try world.session(of: "account-y")
    await refused(.invalidCode) { try await world.confirm(planted, again) }
    #expect(world.store.state("account-y")?.account.email == ada)
  }

  @Test func `check 7: a squatter's pending change is invalid after a claim as well`() async throws {
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let squatter = try world.session(of: "account-y", by: .provider("oidc.corp"))
    let verification = try await world.verification(squatter)
    let planted = try await world.emailChange(to: "eve@example.com", squatter)
    _ = try await world.signIn(google(), claimAddress: true)
    for code in [planted, verification] {
      await refused(.invalidCode) { try await world.confirm(code, squatter) }
    }
  }
}
