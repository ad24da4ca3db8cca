import Store
import Testing

@testable import Identity

private let newPassword = Credential.password(email: ada, password: "battery staple")

@Suite struct `Password reset` {
  let world = World.sending()

  @Test func `a reset of a verified account replaces the password and ends all sessions`() async throws {
    let owner = account(.verified(ada), password: true, emailLink: true, phone: number, identities: [google()])
    world.store.insert(owner)
    let session = try world.session(of: "account-y")
    let answer = try await world.reset(world.passwordReset())
    #expect(answer == PasswordWasReset(email: ada))
    let stored = try #require(world.store.state("account-y"))
    #expect(stored.identities == owner.identities && stored.account.phoneNumber == number)
    #expect(stored.account.emailAddress?.verification == .confirmation && stored.account.tokensValidAfter == world.now)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
    await refused(.invalidLoginCredentials) { try await world.signIn(rightPassword) }
    #expect(try await world.signIn(newPassword).grant.account.account.id == "account-y")
    #expect(world.store.contents.events(of: "account-y") == ["PASSWORD_RESET"])
    #expect(try world.lastMessage().kind == .passwordChanged)
  }

  @Test func `3.5 sign-in methods from before the address was verified go, and later ones stay`() async throws {
    let planted = google("planted", email: "eve@x.example")
    var state = account(
      .verified(ada), password: true, phone: number, identities: [planted, corp(tier: .verified)])
    state.account.phoneNumberSetAt = beginning
    state.account.emailVerifiedAt = beginning.adding(millis: 1)
    let later = IdentityRecord(
      assertion: assertion("oidc.other", "o-1", email: nil, tier: .unverified), accountID: "account-y",
      linkedAt: beginning.adding(millis: 1))
    state.identities.append(later)
    world.store.insert(state)
    let answer = try await world.reset(world.passwordReset())
    #expect(answer.revokedProviderIDs == ["phone", "google.com"])
    let stored = try #require(world.store.state("account-y"))
    #expect(stored.account.phoneNumber == nil)
    #expect(Set(stored.identities.map(\.key.providerID)) == ["oidc.corp", "oidc.other"])
  }

  @Test(arguments: ["assertion", "link", "change", "assertion and change"])
  func `3.5 sign-in methods from before an address that came verified stay`(_ path: String) async throws {
    world.store.insert(account(phone: number, identities: [corp(email: nil)]) { $0.phoneNumberSetAt = beginning })
    world.clock.advance(millis: 1)
    let session = try world.session(of: "account-y")
    var email = ada
    switch path {
    case "assertion": _ = try await world.link(google(), session).grant
    case "link": _ = try await world.link(world.emailLink(), session).grant
    case "change": _ = try await world.confirm(world.emailChange(to: ada, session), session)
    default:
      let linked = try await world.link(google(), session).grant
      email = "new@example.com"
      _ = try await world.confirm(world.emailChange(to: email, linked), linked)
    }
    world.clock.advance(millis: 1)
    #expect(try await world.reset(world.passwordReset(of: email)).revokedProviderIDs.isEmpty)
    let stored = try #require(world.store.state("account-y"))
    #expect(stored.account.phoneNumber == number && stored.holds(corp().identity))
  }

  @Test(arguments: ["click", "link", "assertion", "completion"])
  func `3.5 sign-in methods from before an existing address was verified are removed, however it was verified`(
    _ path: String
  ) async throws {
    let planted = corp("planted", email: nil)
    world.store.insert(
      account(.unverified(ada), password: true, phone: number, identities: [planted]) {
        $0.phoneNumberSetAt = beginning
      })
    world.clock.advance(millis: 1)
    let session = try world.session(of: "account-y")
    switch path {
    case "click": _ = try await world.confirm(world.verification(session), session)
    case "link": _ = try await world.link(world.emailLink(), session).grant
    case "assertion": _ = try await world.link(google(), session).grant
    default:
      let exists = try await world.signIn(google()).exists
      _ = try await world.signIn(rightPassword, pendingToken: exists.handle).grant
    }
    #expect(world.store.state("account-y")?.account.emailVerifiedAt == world.now)
    world.clock.advance(millis: 1)
    #expect(try await world.reset(world.passwordReset()).revokedProviderIDs == ["phone", "oidc.corp"])
    let stored = try #require(world.store.state("account-y"))
    #expect(stored.account.phoneNumber == nil && !stored.holds(planted.identity))
    #expect(stored.holds(google().identity) == ["assertion", "completion"].contains(path))
  }

  @Test(arguments: [false, true])
  func `3.5 sign-in methods in doubt stay so when the address is replaced, and when it comes back`(
    _ comesBack: Bool
  ) async throws {
    let new = "new@example.com"
    world.store.insert(
      account(.verified(ada), password: true, identities: [corp("planted", email: nil)]) {
        $0.emailVerifiedAt = beginning.adding(millis: 1)
      })
    world.clock.advance(millis: 2)
    let session = try world.session(of: "account-y")
    let confirmed = try await world.confirm(world.emailChange(to: new, session), session)
    if comesBack {
      let back = try world.code(.emailChanged, to: ada)
      world.clock.advance(millis: 1)
      _ = try await world.update(try #require(confirmed.session), email: "third@example.com")
      _ = try await world.confirm(back)
    }
    let answer = try await world.reset(world.passwordReset(of: comesBack ? ada : new))
    #expect(answer.revokedProviderIDs == ["oidc.corp"])
  }

  @Test func `3.3 a reset of an unverified account is a reclaim`() async throws {
    world.store.insert(account(.unverified(ada), password: true) { $0.displayName = "Squatter" })
    let squatter = try await world.signIn(rightPassword).grant
    let planted = world.hold(corp(), for: "account-y")
    let answer = try await world.reset(world.passwordReset())
    #expect(answer.revokedProviderIDs == ["password"])
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.emailAddress?.verification == .reset && stored.email == ada && stored.displayName.isEmpty)
    #expect(try world.row(planted) == nil)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(squatter.refreshToken, world.call()) }
    #expect(world.store.contents.events(of: "account-y") == ["RECLAIMED", "PASSWORD_RESET"])
    let reclaim = try #require(world.store.contents.audit.first { $0.event == "RECLAIMED" })
    #expect(reclaim.detailsJSON == #"{"provider_id":"password","revoked_provider_ids":"password"}"#)
    #expect(try await world.signIn(newPassword).grant.account.account.id == "account-y")
  }

  @Test func `check 8: an unverified account with more than a password is not reset, and the code stays valid`()
    async throws
  {
    let edits: [AccountState] = [
      account(.unverified(ada), password: true, phone: number),
      account(.unverified(ada), password: true, identities: [corp()]),
      account(.unverified(ada), password: true) { $0.customToken = true },
      // Made by an administrator and used with custom tokens: the owner of the mailbox must not take it (S12).
      account(.unverified(ada), madeByAdministrator: true) { $0.customToken = true },
    ]
    for owner in edits {
      let world = World.sending()
      world.store.insert(owner)
      let code = try await world.passwordReset()
      await refused(.unverifiedEmail) { try await world.reset(code) }
      #expect(world.store.state("account-y") == owner)
      #expect(try await world.check(code).mode == .resetPassword)
    }
    let refusing = World.sending { $0.reclaim = .refuse }
    refusing.store.insert(account(.unverified(ada), password: true))
    await refused(.unverifiedEmail) { try await refusing.reset(refusing.passwordReset()) }
  }

  @Test func `check 89: a reset of a verified account keeps its second factor, which sign-in requires`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    _ = try await world.reset(world.passwordReset())
    #expect(world.store.state("account-y")?.factors.count == 1)
    _ = try await world.signIn(newPassword).required
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
  }

  @Test func `check 89: a reset of an unverified account with a second factor changes nothing`() async throws
  {
    let owner = account(.unverified(ada), password: true, factors: [.totp])
    world.store.insert(owner)
    await refused(.requiresSecondFactor) { try await world.reset(world.passwordReset()) }
    #expect(world.store.state("account-y") == owner)
  }

  @Test func `S12 an administrator's account gets its first password and keeps its prepared data`()
    async throws
  {
    world.store.insert(account(.unverified(ada), madeByAdministrator: true) { $0.displayName = "Ada" })
    #expect(try await world.reset(world.passwordReset()).revokedProviderIDs.isEmpty)
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.displayName == "Ada" && stored.emailAddress?.verification == .reset && stored.passwordHash != nil)
  }

  @Test func `check 39: a known and an unknown address get one answer, and only the known one gets an email`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    var answers: [Timestamp] = []
    for email in [ada, "nobody@example.com"] {
      answers.append(
        try await SendPasswordReset(world.environment)(email, MailOrder(continueURI: page), world.call()))
    }
    #expect(Set(answers).count == 1)
    let rows = world.store.contents.pendings.values
    #expect(rows.count == 2 && Set(rows.map(\.sealed.count)).count == 1)
    #expect(world.store.contents.deliveries.count == 1)
    #expect(try world.lastMessage().recipient == .email(ada))
  }

  @Test func `check 39: with a full mail queue a known and an unknown address get the same error`() async throws {
    let full = World.sending { $0.deliveryQueueMax = 0 }
    full.store.insert(account(.verified(ada), password: true))
    for email in [ada, "nobody@example.com"] {
      await refused(.overloaded) {
        try await SendPasswordReset(full.environment)(email, MailOrder(continueURI: page), full.call())
      }
    }
    #expect(full.store.contents.pendings.isEmpty && full.store.contents.deliveries.isEmpty)
  }

  @Test func `check 106: a reset link is valid once, for an hour, and until the next one`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let former = try await world.passwordReset()
    let latter = try await world.passwordReset()
    await refused(.invalidCode) { try await world.reset(former) }
    _ = try await world.reset(latter)
    await refused(.expiredCode) { try await world.reset(latter) }
    let late = try await world.passwordReset()
    world.clock.advance(millis: 3_600_000)
    await refused(.expiredCode) { try await world.reset(late) }
  }

  @Test func `check 106: a code of another purpose sets no password`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let code = try await world.emailLink().linkCode
    await refused(.invalidCode) { try await world.reset(code) }
    let reset = try await world.passwordReset()
    await refused(.invalidCode) { try await world.signIn(.emailLink(email: ada, code: reset)) }
    await refused(.invalidCode) { try await world.confirm(reset) }
  }

  @Test func `a weak password is rejected, and the code stays valid`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let code = try await world.passwordReset()
    let failure = await refused(.weakPassword) { try await world.reset(code, to: "short") }
    #expect(failure?.field == "new_password")
    _ = try await world.reset(code)
  }

  @Test func `a disabled account, and one that no longer has the address, are not reset`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let code = try await world.passwordReset()
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    await refused(.userDisabled) { try await world.reset(code) }
    world.store.edit { tables in
      tables.accounts["account-y"]?.disabled = false
      tables.accounts["account-y"]?.emailAddress?.text = "new@example.com"
    }
    await refused(.invalidCode) { try await world.reset(code) }
  }

  @Test func `two concurrent resets set one password`() async throws {
    let store = MemoryStore(meetsRaces: true)
    let world = World(store: store) { $0.mailEnabled = true }
    store.insert(account(.verified(ada), password: true))
    let code = try await world.passwordReset()
    let done = await withTaskGroup(of: Int.self) { group in
      for index in 0..<20 {
        group.addTask { (try? await world.reset(code, to: "battery staple \(index)")) == nil ? 0 : 1 }
      }
      return await group.reduce(0, +)
    }
    #expect(done == 1 && store.contents.events(of: "account-y") == ["PASSWORD_RESET"])
  }

  @Test func `without passwords or mail no reset is sent`() async throws {
    for edit: @Sendable (inout Policy) -> Void in [{ $0.passwordEnabled = false }, { $0.mailEnabled = false }] {
      let closed = World.sending(policy: edit)
      await refused(.operationNotAllowed) { try await closed.passwordReset() }
    }
  }
}
