import Store
import Testing

@testable import Identity

@Suite struct `Sign-in links` {
  let world = World.sending()

  @Test func `a link signs up a new address as verified, and then signs in`() async throws {
    let first = try await world.signIn(world.emailLink()).grant
    #expect(first.isNewAccount && first.account.account.email == ada)
    #expect(first.account.account.emailAddress?.verification == .emailLink)
    #expect(first.account.account.emailVerifiedAt == nil)
    #expect(first.account.account.emailLink && first.account.account.emailAddress?.source == "password")
    #expect(try world.claims(first).signInProviderID == "emailLink")
    let again = try await world.signIn(world.emailLink()).grant
    #expect(!again.isNewAccount && again.account.account.id == first.account.account.id)
    #expect(SignInMethods(again.account, world.policy).methods == ["emailLink"])
  }

  @Test func `the link is the caller's page with mode, code and address in its query`() async throws {
    let odd = "a+b&c@example.com"
    _ = try await SendEmailLink(world.environment)(
      odd, MailOrder(continueURI: "https://app.example/back?page=1", locale: "de"), world.call())
    let message = try world.lastMessage()
    let link = try #require(message.values["link"])
    #expect(message.locale == "de" && message.recipient == .email(odd) && message.kind == .emailLink)
    #expect(
      link.wholeMatch(
        of: /https:\/\/app\.example\/back\?page=1&mode=signIn&code=[A-Za-z0-9_-]{43}&email=a%2Bb%26c%40example\.com/)
        != nil)
    #expect(
      EmailLink.uri("https://a.example/?", mode: .verifyEmail, code: "c", email: "é@x.example")
        == "https://a.example/?mode=verifyEmail&code=c&email=%C3%A9%40x.example")
  }

  @Test(arguments: ["", "https://app.example/callback/", "https://app.example/Callback", "https://evil.example/"])
  func `check 70: a page that is not on the caller's list gets no link`(_ page: String) async throws {
    let failure = await refused(.redirectURINotAllowed) {
      try await SendEmailLink(world.environment)(ada, MailOrder(continueURI: page), world.call())
    }
    #expect(failure?.field == "continue_uri")
    #expect(world.store.contents.deliveries.isEmpty && world.store.contents.pendings.isEmpty)
  }

  @Test func `check 106: a link is valid once, for six hours, and until the next one`() async throws {
    let used = try await world.emailLink()
    _ = try await world.signIn(used)
    await refused(.expiredCode) { try await world.signIn(used) }
    let former = try await world.emailLink()
    let latter = try await world.emailLink()
    await refused(.invalidCode) { try await world.signIn(former) }
    world.clock.advance(millis: 6 * 3_600_000)
    await refused(.expiredCode) { try await world.signIn(latter) }
  }

  @Test func `a wrong address does not use the code up`() async throws {
    let code = try await world.emailLink().linkCode
    for _ in 0..<9 {
      await refused(.invalidCode) { try await world.signIn(.emailLink(email: "eve@example.com", code: code)) }
    }
    #expect(try await world.signIn(.emailLink(email: ada, code: code)).grant.isNewAccount)
  }

  @Test func `check 23: a link that was requested in one browser does not sign in in another`() async throws {
    let link = try await world.emailLink(world.call(binding: "browser of ada"))
    await refused(.invalidCode) { try await world.signIn(link, world.call(binding: "browser of eve")) }
    await refused(.invalidCode) { try await world.signIn(link) }
    await refused(.invalidCode) { try await world.signIn(link, world.call(caller: "x", binding: "browser of ada")) }
    #expect(try await world.signIn(link, world.call(binding: "browser of ada")).grant.isNewAccount)
  }

  @Test func `check 39: a known and an unknown address get the same answer and the same writes`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for target in [ada, "nobody@example.com"] {
      _ = try await world.emailLink(to: target)
      #expect(try world.lastMessage().recipient == .email(target))
    }
    #expect(world.store.contents.pendings.count == 2)
    #expect(Set(world.store.contents.pendings.values.map(\.expiresAt)).count == 1)
  }

  @Test func `without mail, or with links disabled, no link is sent and none is accepted`() async throws {
    for edit: @Sendable (inout Policy) -> Void in [{ $0.mailEnabled = false }, { $0.emailLinkEnabled = false }] {
      let closed = World.sending(policy: edit)
      await refused(.operationNotAllowed) { try await closed.emailLink() }
      #expect(closed.store.contents.pendings.isEmpty)
    }
    let closed = World.sending { $0.emailLinkEnabled = false }
    await refused(.operationNotAllowed) { try await closed.signIn(.emailLink(email: ada, code: "x")) }
  }

  @Test func `fifty redemptions of one link sign in once`() async throws {
    let store = MemoryStore(meetsRaces: true)
    let world = World(store: store) { policy in
      policy.mailEnabled = true
      policy.emailLinkEnabled = true
    }
    let link = try await world.emailLink()
    let sessions = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { if case .session? = try? await world.signIn(link) { 1 } else { 0 } } }
      return await group.reduce(0, +)
    }
    #expect(sessions == 1 && store.contents.accounts.count == 1)
  }
}

@Suite struct `A sign-in link meets an account` {
  let world = World.sending()

  private func claiming(_ credential: Credential) async throws -> SignInAnswer {
    try await SignIn(world.environment)(SignInRequest(credential: credential, claimAddress: true), world.call())
  }

  @Test func `a verified account is signed in to, and nothing is removed from it (check 9)`() async throws {
    let owner = account(.verified(ada), password: true, phone: number, identities: [google()])
    world.store.insert(owner)
    let grant = try await world.signIn(world.emailLink()).grant
    #expect(grant.account.account.id == "account-y" && grant.revokedProviderIDs.isEmpty)
    #expect(grant.account.account.emailAddress?.verification == .confirmation && grant.account.account.emailLink)
    #expect(grant.account.account.passwordHash != nil && grant.account.identities == owner.identities)
  }

  @Test func `3.3 a second factor does not prevent the owner of an unverified address from claiming it`()
    async throws
  {
    let owner = account(.unverified(ada), password: true, factors: [.totp])
    world.store.insert(owner)
    _ = try await world.signIn(world.emailLink()).required
    let mine = try await claiming(world.emailLink()).grant
    #expect(mine.isNewAccount && mine.account.account.email == ada && mine.account.account.emailVerified)
    let left = try #require(world.store.state("account-y"))
    #expect(left.account.email == nil && left.factors == owner.factors)
  }

  @Test(arguments: [FactorKind.totp, .phone])
  func `S12 the address of an imported account with a factor and without a sign-in cannot be claimed`(
    _ kind: FactorKind
  ) async throws {
    let imported = account(.unverified(ada), factors: [kind], madeByAdministrator: true)
    world.store.insert(imported)
    _ = try await claiming(world.emailLink()).required
    #expect(world.store.state("account-y") == imported && world.store.contents.accounts.count == 1)
  }

  @Test func `a known device has its own email limit only at a verified address: a squatter's devices add none`()
    async throws
  {
    for isVerified in [false, true] {
      let world = World.sending {
        ($0.throttles[.sendsPerRecipient].countMax, $0.throttles[.sendsOnKnownDevices].countMax) = (1, 1)
      }
      world.store.insert(account(isVerified ? .verified(ada) : .unverified(ada), password: true))
      _ = try world.session(of: "account-y", call: world.call(deviceID: "own"))
      _ = try await world.emailLink(to: ada, world.call(deviceID: "strange"))
      guard !isVerified else {
        _ = try await world.emailLink(to: ada, world.call(deviceID: "own"))
        continue
      }
      let failure = await refused(.tooManyAttempts) { try await world.emailLink(to: ada, world.call(deviceID: "own")) }
      #expect(failure?.throttle == .sendsPerRecipient)
    }
  }

  @Test func `a disabled account fails as disabled`() async throws {
    world.store.insert(account(.verified(ada), password: true, disabled: true))
    await refused(.userDisabled) { try await world.signIn(world.emailLink()) }
  }

  @Test func `existing_only creates no account`() async throws {
    await refused(.accountNotFound) { try await world.signIn(world.emailLink(), existingOnly: true) }
  }

  @Test func `checks 5 to 7: an unverified account with only a password is reclaimed, and planted data is removed`()
    async throws
  {
    world.store.insert(account(.unverified(ada), password: true) { $0.displayName = "Squatter" })
    let squatter = try await world.signIn(rightPassword).grant
    let planted = world.hold(corp(), for: "account-y")
    let grant = try await world.signIn(world.emailLink()).grant
    #expect(grant.account.account.id == "account-y" && grant.revokedProviderIDs == ["password"])
    let stored = try #require(world.store.state("account-y")).account
    #expect(stored.emailAddress?.verification == .emailLink && stored.emailLink && stored.passwordHash == nil)
    #expect(stored.displayName.isEmpty)
    #expect(try world.row(planted) == nil)
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [grant.sessionID])
    await refused(.tokenRevoked) { try await Refresh(world.environment)(squatter.refreshToken, world.call()) }
    await refused(.invalidLoginCredentials) { try await world.signIn(rightPassword) }
    #expect(world.store.contents.events(of: "account-y") == ["RECLAIMED"])
  }

  @Test(arguments: ["google", "link", "reset"])
  func `check 6: a session that was refreshed for ninety days ends`(_ path: String) async throws {
    world.store.insert(account(.unverified(ada), password: true))
    var squatter = try await world.signIn(rightPassword).grant
    for _ in 0..<9 {
      world.clock.advance(millis: 10 * 86_400_000)
      squatter = try await Refresh(world.environment)(squatter.refreshToken, world.call())
    }
    switch path {
    case "google": _ = try await world.signIn(google()).grant
    case "link": _ = try await world.signIn(world.emailLink()).grant
    default: _ = try await world.reset(world.passwordReset())
    }
    await refused(.tokenRevoked) { try await Refresh(world.environment)(squatter.refreshToken, world.call()) }
    await refused(.tokenRevoked) { try await world.link(corp(), squatter) }
  }

  @Test func `check 8: an unverified account with more methods is a conflict, and the code can claim the address`()
    async throws
  {
    let owner = account(.unverified(ada), password: true, phone: number, identities: [corp()])
    world.store.insert(owner)
    let link = try await world.emailLink()
    let exists = try await world.signIn(link).exists
    #expect(exists.canClaimAddress && exists.methods == ["password", "phone", "oidc.corp"])
    #expect(world.store.state("account-y") == owner)
    let mine = try await claiming(link).grant
    #expect(mine.isNewAccount)
    #expect(mine.account.account.email == ada)
    #expect(mine.account.account.emailAddress?.verification == .emailLink)
    let left = try #require(world.store.state("account-y"))
    #expect(left.account.email == nil && left.account.passwordHash == nil && left.account.phoneNumber == number)
    #expect(world.store.contents.events(of: "account-y") == ["ADDRESS_DETACHED"])
    await refused(.invalidCode) { try await world.signIn(link) }
  }

  @Test func `the user of an account whose address was claimed is notified on every other channel`() async throws {
    let trusted = corp(email: "work@example.com", tier: .verified)
    world.store.insert(account(.unverified(ada), password: true, phone: number, identities: [trusted]))
    _ = try await claiming(world.emailLink()).grant
    let told = world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
      .filter { $0.kind == .addressDetached }
    #expect(Set(told.map(\.recipient)) == [.email("work@example.com"), .phoneNumber(number)])
    #expect(told.allSatisfy { $0.values == ["email": ada] })
  }

  @Test func `a user with both methods completes the conflict, and the address is verified`() async throws {
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let exists = try await world.signIn(world.emailLink()).exists
    let grant = try await world.signIn(rightPassword, pendingToken: exists.handle).grant
    #expect(grant.account.account.emailAddress?.verification == .emailLink && grant.account.account.emailLink)
    #expect(grant.account.account.passwordHash != nil && grant.account.identities.count == 1)
  }

  @Test func `an unverified account is a conflict if reclaim is disabled`() async throws {
    let world = World.sending { $0.reclaim = .refuse }
    world.store.insert(account(.unverified(ada), password: true))
    #expect(try await world.signIn(world.emailLink()).exists.canClaimAddress)
  }

  @Test func `S12 an administrator's account without a sign-in method is signed in to, with its prepared data`()
    async throws
  {
    world.store.insert(account(.unverified(ada), madeByAdministrator: true) { $0.displayName = "Ada" })
    let grant = try await world.signIn(world.emailLink()).grant
    #expect(grant.account.account.displayName == "Ada")
    #expect(grant.account.account.emailAddress?.verification == .emailLink)
  }

  @Test(arguments: [AddressState.verified(ada), .unverified(ada)])
  func `check 89: an account with a second factor requires it, and nothing is removed`(
    _ address: AddressState
  ) async throws {
    let owner = account(address, password: true, factors: [.totp])
    world.store.insert(owner)
    let session = try world.session(of: "account-y", secondFactor: "totp")
    let link = try await world.emailLink()
    _ = try await world.signIn(link).required
    #expect(world.store.state("account-y") == owner)
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [session.sessionID])
    await refused(.expiredCode) { try await world.signIn(link) }
    _ = try await world.signIn(world.emailLink()).required
  }

  @Test func `after its factor an unverified account is signed in to unchanged, and verified`() async throws {
    let owner = account(.unverified(ada), password: true, identities: [corp()], factors: [.totp])
    let identity = IdentityKey(providerID: "emailLink", subject: ada)
    var facts = Facts()
    facts.emailOwner = owner
    let decision = AssertionDecision(
      assertion: Assertion(identity: identity, email: ada, tier: .authoritative), passedFor: "account-y",
      policy: world.policy, now: world.now, newAccountID: { "new" })
    guard case .open(let opening) = decision.byCode(facts) else {
      Issue.record("not opened")
      return
    }
    #expect(opening.state.account.passwordHash != nil && opening.state.identities == owner.identities)
    #expect(opening.state.account.emailAddress?.verification == .emailLink && opening.revokedProviderIDs.isEmpty)
  }

  @Test func `check 84: a sign-in link that is new to a verified account causes an event and a notice`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    _ = try await world.signIn(world.emailLink()).grant
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
    #expect(world.store.contents.deliveries.map(\.kind).contains("linked"))
    _ = try await world.signIn(world.emailLink()).grant
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"], "the first time only")
  }

  @Test func `duplicate mode: a link still names the account by its address`() async throws {
    let world = World.sending { $0.oneAccountPerEmail = false }
    world.store.insert(account(.verified(ada), password: true))
    #expect(try await world.signIn(world.emailLink()).grant.account.account.id == "account-y")
  }
}

// MARK: Completion, Link and Reauthenticate

@Suite struct `Sign-in links that complete a pending credential, and in a session` {
  let world = World.sending()

  /// The providers of the notices about links.
  private func linkedProviders() -> [String?] {
    world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }.filter { $0.kind == .linked }
      .map { $0.values["provider_id"] }
  }

  @Test func `a conflict is completed by a link to the account's verified address`() async throws {
    world.store.insert(account(.verified(ada), password: true, emailLink: true))
    let exists = try await world.signIn(google()).exists
    let grant = try await world.signIn(world.emailLink(), pendingToken: exists.handle).grant
    #expect(grant.account.identities.map(\.key) == [google().identity] && grant.account.account.passwordHash != nil)
  }

  @Test func `a link on an unverified account completes by reclaim, and the row is kept`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let squatter = try await world.signIn(rightPassword).grant
    let exists = try await world.signIn(corp()).exists
    let link = try await world.emailLink()
    let grant = try await world.signIn(link, pendingToken: exists.handle).grant
    #expect(grant.account.identities.map(\.key) == [corp().identity] && grant.revokedProviderIDs == ["password"])
    #expect(grant.account.account.emailAddress?.verification == .emailLink && grant.account.account.passwordHash == nil)
    #expect(try world.row(exists.handle)?.completedSessionID == grant.sessionID)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(squatter.refreshToken, world.call()) }
    #expect(world.store.contents.events(of: "account-y") == ["RECLAIMED", "LINKED"])
    #expect(linkedProviders() == ["oidc.corp"], "the pending identity causes a notice, as in any completion")
  }

  @Test func `check 84: a sign-in link that is new and completes a conflict causes its own event and a notice`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    let exists = try await world.signIn(google()).exists
    _ = try await world.signIn(world.emailLink(), pendingToken: exists.handle).grant
    #expect(world.store.contents.events(of: "account-y") == ["LINKED", "LINKED"])
    let details = world.store.contents.audit.filter { $0.event == "LINKED" }.map(\.detailsJSON)
    #expect(
      details == [
        #"{"proof":"sign-in","provider_id":"google.com"}"#, #"{"proof":"code","provider_id":"emailLink"}"#,
      ])
    #expect(linkedProviders() == ["google.com", "emailLink"])
    let again = try await world.signIn(corp()).exists
    _ = try await world.signIn(world.emailLink(), pendingToken: again.handle).grant
    #expect(linkedProviders() == ["google.com", "emailLink", "oidc.corp"], "the first time only")
  }

  @Test func `a link on an unverified account with more than a password completes nothing`() async throws {
    let owner = account(.unverified(ada), password: true, phone: number)
    world.store.insert(owner)
    let exists = try await world.signIn(corp()).exists
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(world.emailLink(), pendingToken: exists.handle)
    }
    #expect(world.store.state("account-y") == owner)
  }

  @Test func `a link on an unverified account completes nothing by reclaim if reclaim is disabled`()
    async throws
  {
    let world = World.sending { $0.reclaim = .refuse }
    let owner = account(.unverified(ada), password: true)
    world.store.insert(owner)
    let exists = try await world.signIn(corp()).exists
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(world.emailLink(), pendingToken: exists.handle)
    }
    #expect(world.store.state("account-y") == owner)
  }

  @Test func `S8 a link completes no changed subject, not even after the unlink`() async throws {
    world.store.insert(account(.verified(ada), password: true, emailLink: true, identities: [google("old")]))
    let exists = try await world.signIn(google("new")).exists
    await refused(.providerAlreadyLinked) { try await world.signIn(world.emailLink(), pendingToken: exists.handle) }
    world.clock.advance(millis: 1)
    _ = try await world.unlink("google.com", try world.session(of: "account-y"))
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(world.emailLink(), pendingToken: exists.handle)
    }
  }

  @Test func `L5 an account without an address gets it as verified`() async throws {
    world.store.insert(account(phone: number))
    let session = try world.session(of: "account-y", by: .phone)
    let grant = try await world.link(world.emailLink(), session).grant
    #expect(grant.account.account.email == ada && grant.account.account.emailAddress?.verification == .emailLink)
    #expect(SignInMethods(grant.account, world.policy).methods == ["emailLink", "phone"])
  }

  @Test func `L6 a link to the account's own address in a session verifies it, and keeps all methods`() async throws {
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let session = try world.session(of: "account-y")
    let grant = try await world.link(world.emailLink(), session).grant
    #expect(grant.account.account.emailAddress?.verification == .emailLink && grant.account.account.passwordHash != nil)
    let again = try await world.emailLink()
    guard case .session(let session, true) = try await world.link(again, grant, world.call(key: "k")),
      case .session(_, true) = try await world.link(again, session, world.call(key: "k"))
    else {
      Issue.record("L1: linked before, and a repeat is answered the same")
      return
    }
    await refused(.expiredCode) { try await world.signIn(again) }
  }

  @Test func `L4 another account's address, and L7 a second address, are rejected`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "other", .verified("bob@example.com"), password: true))
    let session = try world.session(of: "other")
    await refused(.emailAlreadyInUse) { try await world.link(world.emailLink(), session) }
    let failure = await refused(.invalidField) {
      try await world.link(world.emailLink(to: "free@example.com"), session)
    }
    #expect(failure?.field == "credential")
    #expect(failure?.hint.contains("SendEmailChange") == true, "the hint names the call")
  }

  @Test func `a link to the account's verified address reauthenticates, and no other link does`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "other", .unverified("bob@example.com"), password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: 600_000)
    let grant = try await world.reauthenticate(world.emailLink(), session).grant
    #expect(try world.claims(grant).authTime == world.now)
    let other = try world.session(of: "other")
    await refused(.userMismatch) { try await world.reauthenticate(world.emailLink(), other) }
    await refused(.userMismatch) { try await world.reauthenticate(world.emailLink(to: "bob@example.com"), other) }
  }

  @Test func `unlink removes the sign-in link, and then the password is the last method`() async throws {
    world.store.insert(account(.verified(ada), password: true, emailLink: true))
    let grant = try await world.unlink("emailLink", try world.session(of: "account-y"))
    #expect(SignInMethods(grant.account, world.policy).methods == ["password"])
    let last = try world.session(of: "account-y")
    await refused(.lastSignInMethod) { try await world.unlink("password", last) }
  }
}
