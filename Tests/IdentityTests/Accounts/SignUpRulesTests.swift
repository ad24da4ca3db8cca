import Store
import Testing

@testable import Identity

/// Blocks one domain with its subdomains.
private struct OneDomain: DomainList {
  let domain: String

  func contains(_ other: String) -> Bool { other == domain || other.hasSuffix("." + domain) }
}

private let app = LinkCaller(name: CallerName("spiffe://test/app"), redirectURIs: [page])

extension World {
  fileprivate func invite(_ email: String = ada, setsPassword: Bool = true, name: String = "") async throws -> Invited {
    let request = InviteRequest(
      email: email, setsPassword: setsPassword, displayName: name, mail: MailOrder(continueURI: page, locale: "de"))
    return try await InviteUser(environment)(request, for: app, call(caller: "spiffe://test/admin"))
  }
}

@Suite struct `Closed sign-up` {
  let world = World.mailingCodes { $0.signUp = .closed }

  @Test func `no call of a user creates an account`() async throws {
    for credential in [
      try await world.phoneCode(), try await world.emailLink(), try await world.emailCode(), .anonymous,
    ] {
      await refused(.signUpClosed) { try await world.signIn(credential) }
    }
    await refused(.signUpClosed) { try await world.signIn(google()) }
    await refused(.signUpClosed) { try await world.signIn(google(email: nil)) }
    let create = CreateAccountRequest(email: ada, password: "a long secret")
    await refused(.signUpClosed) { try await CreateAccount(world.environment)(create, world.call()) }
    await refused(.signUpClosed) { try await world.digits(for: .signUp) }
    #expect(world.store.contents.accounts.isEmpty && world.store.contents.sessions.isEmpty)
  }

  @Test func `an address with an account fails like a free one, and existing users sign in`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    var refusals: [Failure?] = []
    for email in [ada, "free@example.com"] {
      let create = CreateAccountRequest(email: email, password: "a long secret")
      refusals.append(
        await refused(.signUpClosed) { try await CreateAccount(world.environment)(create, world.call()) })
    }
    #expect(Set(refusals).count == 1)
    #expect(try await world.signIn(world.emailCode()).grant.account.account.id == "account-y")
    #expect(try await world.signIn(rightPassword).grant.account.account.id == "account-y")
  }

  @Test func `existing_only keeps its reason`() async throws {
    await refused(.accountNotFound) { try await world.signIn(google(), existingOnly: true) }
    await refused(.accountNotFound) { try await world.signIn(.anonymous, existingOnly: true) }
  }

  @Test func `no claim creates an account, and no conflict offers one`() async throws {
    world.store.insert(account(.unverified(ada), password: true, phone: number))
    #expect(try await world.signIn(world.emailCode()).exists.canClaimAddress == false)
    #expect(try await world.signIn(google(), claimAddress: true).exists.canClaimAddress == false)
    let reset = try await world.digits(for: .resetPassword)
    await refused(.signUpClosed) { try await world.reset(reset, claimAddress: true) }
  }

  @Test func `a custom token still creates its account`() async throws {
    let token = try await world.customToken(for: "user-1")
    #expect(try await world.signIn(.customToken(token)).grant.isNewAccount)
  }
}

/// Section 14: Invite.
@Suite struct `An invitation` {
  let world = World.mailingCodes { $0.signUp = .closed }

  @Test func `it makes an unentered account, and its link sets the first password`() async throws {
    let invited = try await world.invite(name: "Ada")
    #expect(invited.isNewAccount && invited.expiresAt == world.now.adding(millis: 7 * 86_400_000))
    let message = try world.lastMessage()
    #expect(message.kind == .invitation && message.locale == "de" && message.recipient == .email(ada))
    let state = try #require(world.store.state(invited.accountID))
    #expect(state.isUnentered(world.policy) && !state.account.emailVerified && state.account.displayName == "Ada")
    let code = try world.lastCode()
    #expect(try await world.check(code).mode == .resetPassword)
    world.clock.advance(millis: 6 * 86_400_000)
    #expect(try await world.reset(code, to: "battery staple").isNewAccount == false)
    let grant = try await world.signIn(.password(email: ada, password: "battery staple")).grant
    #expect(grant.account.account.id == invited.accountID && grant.account.account.emailVerified)
    #expect(grant.account.account.displayName == "Ada")
    #expect(
      world.store.contents.events(of: invited.accountID) == ["ACCOUNT_CREATED", "INVITED", "PASSWORD_RESET"])
  }

  @Test func `its link may sign in, and codes and trusted providers enter the account too`() async throws {
    let invited = try await world.invite(setsPassword: false)
    let link = Credential.emailLink(email: ada, code: try world.lastCode())
    let entered = try await world.signIn(link, world.call(binding: "any browser")).grant
    #expect(entered.account.account.id == invited.accountID)
    let second = try await world.invite("second@example.com")
    let code = try await world.emailCode(to: "second@example.com")
    #expect(try await world.signIn(code).grant.account.account.id == second.accountID)
    let third = try await world.invite("third@example.com")
    let grant = try await world.signIn(google("g-3", email: "third@example.com")).grant
    #expect(grant.account.account.id == third.accountID)
  }

  @Test func `a repeat sends another link, which replaces the first`() async throws {
    let first = try await world.invite()
    let former = try world.lastCode()
    let again = try await world.invite()
    #expect(again.accountID == first.accountID && !again.isNewAccount)
    await refused(.invalidCode) { try await world.check(former) }
    #expect(try await world.check(world.lastCode()).email == ada)
  }

  @Test(arguments: [true, false])
  func `a repeat for the other purpose replaces the first link too`(setsPassword: Bool) async throws {
    _ = try await world.invite(setsPassword: setsPassword)
    let former = try world.lastCode()
    _ = try await world.invite(setsPassword: !setsPassword)
    await refused(.invalidCode) { try await world.check(former) }
    #expect(try await world.check(world.lastCode()).email == ada)
  }

  @Test(arguments: [true, false])
  func `it ends when the user enters the account by another way`(setsPassword: Bool) async throws {
    let invited = try await world.invite(setsPassword: setsPassword)
    let code = try world.lastCode()
    let entered = try await world.signIn(google()).grant
    #expect(entered.account.account.id == invited.accountID)
    await refused(.expiredCode) {
      if setsPassword { return try await world.reset(code, to: "battery staple").isNewAccount }
      return try await world.signIn(.emailLink(email: ada, code: code)).grant.isNewAccount
    }
    #expect(world.store.state(invited.accountID)?.account.passwordHash == nil)
    await refused(.expiredCode) { try await world.check(code) }
  }

  @Test func `it completes no conflict of an account that the user has entered`() async throws {
    let invited = try await world.invite(setsPassword: false)
    let code = try world.lastCode()
    #expect(try await world.signIn(google()).grant.account.account.id == invited.accountID)
    let exists = try await world.signIn(corp()).exists
    await refused(.expiredCode) {
      try await world.signIn(.emailLink(email: ada, code: code), pendingToken: exists.handle)
    }
    #expect(world.store.state(invited.accountID)?.identities.count == 1)
  }

  @Test func `it stays ended when the user can no longer sign in`() async throws {
    let invited = try await world.invite(setsPassword: false)
    let code = try world.lastCode()
    _ = try await world.signIn(google()).grant
    world.store.edit { $0.identities = [:] }
    #expect(world.store.state(invited.accountID)?.isUnentered(world.policy) == true)
    await refused(.expiredCode) { try await world.signIn(.emailLink(email: ada, code: code)) }
    world.clock.advance(millis: 1_000)
    let again = try await world.invite(setsPassword: false)
    let grant = try await world.signIn(.emailLink(email: ada, code: world.lastCode())).grant
    #expect(grant.account.account.id == again.accountID)
  }

  @Test(arguments: [true, false])
  func `no link that another call sends to the address replaces it`(setsPassword: Bool) async throws {
    let invited = try await world.invite(setsPassword: setsPassword)
    let code = try world.lastCode()
    _ = try await world.digits(for: .resetPassword)
    _ = try await world.emailLink()
    if setsPassword {
      _ = try await world.reset(code, to: "battery staple")
    } else {
      _ = try await world.signIn(.emailLink(email: ada, code: code)).grant
    }
    #expect(world.store.state(invited.accountID)?.account.emailVerified == true)
  }

  @Test func `its link only signs in`() async throws {
    _ = try await world.invite(setsPassword: false)
    let code = try world.lastCode()
    world.store.insert(account(id: "b", .verified("bob@example.com"), password: true))
    let session = try world.session(of: "b")
    await refused(.invalidCode) { try await world.link(.emailLink(email: ada, code: code), session) }
    await refused(.invalidCode) { try await world.reauthenticate(.emailLink(email: ada, code: code), session) }
    _ = try await world.signIn(.emailLink(email: ada, code: code)).grant
  }

  @Test func `an account that a user has entered is not invited`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    await refused(.emailAlreadyInUse) { try await world.invite() }
    world.store.insert(account(id: "off", .unverified("off@example.com"), disabled: true, madeByAdministrator: true))
    await refused(.userDisabled) { try await world.invite("off@example.com") }
    let withoutLinks = World.mailingCodes { $0.emailLinkEnabled = false }
    await refused(.operationNotAllowed) { try await withoutLinks.invite(setsPassword: false) }
    let withoutMail = World.mailingCodes { $0.mailEnabled = false }
    await refused(.operationNotAllowed) { try await withoutMail.invite() }
  }
}

@Suite struct `Domains of email addresses` {
  let world = World.mailingCodes {
    $0.emailDomains.allowed = ["example.com", "mail.example.org"]
    $0.emailDomains.blocked = OneDomain(domain: "example.org")
  }

  @Test(arguments: [
    ("a@example.com", true), ("a@sub.example.com", false), ("a@example.net", false), ("a@mail.example.org", false),
    ("x\u{0D4E}@example.com", true), ("x\u{0D4E}@mail.example.org", false),
  ])
  func `an address needs an allowed domain that is not blocked`(_ email: String, _ isAllowed: Bool) {
    #expect(world.policy.emailDomains.allows(email) == isAllowed)
  }

  @Test func `a letter that forms one character with the at sign hides no domain`() {
    var rules = EmailDomainRules()
    rules.blocked = OneDomain(domain: "example.org")
    #expect(!rules.allows("x\u{0D4E}@example.org") && rules.allows("x\u{0D4E}@example.com"))
  }

  @Test func `every call that gives an account a new address checks it`() async throws {
    let other = "a@example.net"
    let create = CreateAccountRequest(email: other, password: "a long secret")
    let failure = await refused(.emailDomainNotAllowed) {
      try await CreateAccount(world.environment)(create, world.call())
    }
    #expect(failure?.field == "email")
    await refused(.emailDomainNotAllowed) { try await world.digits(for: .signUp, to: other) }
    await refused(.emailDomainNotAllowed) { try await world.signIn(world.emailCode(to: other)) }
    await refused(.emailDomainNotAllowed) { try await world.signIn(google(email: other)) }
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    await refused(.emailDomainNotAllowed) { try await world.emailChange(to: other, session) }
    await refused(.emailDomainNotAllowed) {
      try await world.digits(for: .changeEmail, to: other, page: page, in: session)
    }
    let update = UpdateAccountRequest(idToken: session.idToken, email: other)
    await refused(.emailDomainNotAllowed) {
      try await UpdateAccount(world.environment)(update, world.call(mayFetchByEmail: true))
    }
    world.store.insert(account(id: "phone", phone: number))
    let phone = try world.session(of: "phone", by: .phone)
    await refused(.emailDomainNotAllowed) { try await world.link(google(email: other), phone) }
    await refused(.emailDomainNotAllowed) {
      try await world.link(.password(email: other, password: "a long secret"), phone)
    }
  }

  @Test func `an account keeps the address that it has, and a known identity brings no other`() async throws {
    world.store.insert(account(.verified("old@example.net"), password: true))
    let code = try await world.emailCode(to: "old@example.net")
    #expect(try await world.signIn(code).grant.account.account.id == "account-y")
    world.store.insert(account(id: "google", identities: [google("g-2", email: nil)]))
    let grant = try await world.signIn(google("g-2", email: "new@example.net")).grant
    #expect(grant.account.account.id == "google" && grant.account.account.email == nil)
  }

  @Test func `an invitation is exempt`() async throws {
    #expect(try await world.invite("guest@example.net").isNewAccount)
  }
}

@Suite struct `Countries of phone numbers` {
  let world = World.sending { $0.phoneCountries = ["+44", "+1555"] }

  @Test func `only numbers of allowed countries get codes`() async throws {
    _ = try await world.phoneCode()
    _ = try await world.phoneCode(to: "+441632960961")
    for other in ["+14155550100", "+4915112345678"] {
      let failure = await refused(.phoneCountryNotAllowed) { try await world.phoneCode(to: other) }
      #expect(failure?.field == "phone_number")
    }
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    let request = StartEnrollmentRequest(idToken: session.idToken, kind: .phone, phoneNumber: "+4915112345678")
    await refused(.phoneCountryNotAllowed) { try await StartEnrollment(world.environment)(request, world.call()) }
  }
}
