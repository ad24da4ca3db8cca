import Store
import Testing

@testable import Identity

/// Sections 3.3 to 3.5, 4 and 6: a code by email proves the mailbox like an emailed link.
@Suite struct `A code by email meets an account` {
  let world = World.mailingCodes()

  private func claiming(_ credential: Credential) async throws -> SignInAnswer {
    try await SignIn(world.environment)(SignInRequest(credential: credential, claimAddress: true), world.call())
  }

  @Test func `a verified account is signed in to, and the mailbox counts as a method from then on`() async throws {
    world.store.insert(account(.verified(ada), password: true, phone: number, identities: [google()]))
    let grant = try await world.signIn(world.emailCode()).grant
    #expect(grant.account.account.id == "account-y" && grant.revokedProviderIDs.isEmpty)
    let methods = SignInMethods(grant.account, world.policy)
    #expect(methods.methods.prefix(3) == ["password", "emailLink", "emailCode"])
    #expect(!methods.providerIDs.contains("emailLink") && !methods.providerIDs.contains("emailCode"))
  }

  @Test func `an unverified account with a password is reclaimed`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let grant = try await world.signIn(world.emailCode()).grant
    #expect(grant.account.account.id == "account-y" && grant.revokedProviderIDs == ["password"])
    #expect(world.store.state("account-y")?.account.passwordHash == nil)
  }

  @Test func `an account with more is a conflict, and the same code claims the address`() async throws {
    world.store.insert(account(.unverified(ada), password: true, phone: number))
    let code = try await world.emailCode()
    let exists = try await world.signIn(code).exists
    #expect(exists.canClaimAddress)
    let grant = try await claiming(code).grant
    #expect(grant.isNewAccount && grant.account.account.id != "account-y")
    await refused(.invalidCode) { try await claiming(code) }
  }

  @Test func `S12: an unentered account is entered`() async throws {
    world.store.insert(account(.unverified(ada), madeByAdministrator: true))
    let grant = try await world.signIn(world.emailCode()).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount)
  }

  @Test func `existing_only creates nothing and leaves the code valid`() async throws {
    let code = try await world.emailCode()
    await refused(.accountNotFound) {
      try await SignIn(world.environment)(SignInRequest(credential: code, existingOnly: true), world.call())
    }
    #expect(try await world.signIn(code).grant.isNewAccount)
  }

  @Test func `L5: a code adds an address to an account without one, in the session that asked for it`() async throws {
    world.store.insert(account(phone: number))
    let session = try world.session(of: "account-y", by: .phone)
    let other = try world.session(of: "account-y", by: .phone)
    let code = try await world.emailCode(for: .link, in: session)
    await refused(.invalidCode) { try await world.link(code, other) }
    await refused(.invalidCode) { try await world.signIn(code) }
    _ = try await world.link(code, session)
    let account = try #require(world.store.state("account-y")?.account)
    #expect(account.email == ada && account.emailVerified && account.emailLink)
  }

  @Test func `L7: a code for another address than the account's own is not linked`() async throws {
    world.store.insert(account(.verified("own@example.com"), password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.emailCode(for: .link, in: session)
    await refused(.invalidField) { try await world.link(code, session) }
  }

  @Test func `it reauthenticates the account of its session only`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let other = try world.session(of: "account-y")
    let code = try await world.emailCode(for: .reauthenticate, in: session)
    await refused(.invalidCode) { try await world.reauthenticate(code, other) }
    world.clock.advance(millis: 60_000)
    let grant = try await world.reauthenticate(code, session).grant
    #expect(grant.sessionID != session.sessionID)
    world.store.insert(account(id: "unverified", .unverified("eve@example.com"), password: true))
    let eve = try world.session(of: "unverified")
    await refused(.operationNotAllowed) { try await world.emailCode(for: .reauthenticate, in: eve) }
  }

  @Test func `it verifies the address in its session, and a repeat changes nothing`() async throws {
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let session = try world.session(of: "account-y")
    let digits = try await world.digits(for: .verifyEmail, in: session)
    #expect(try world.lastMessage().kind == .verifyEmailCode)
    await refused(.requiresRecentLogin) { try await world.confirm(digits) }
    await refused(.invalidCode) { try await world.confirm(digits, world.session(of: "account-y")) }
    #expect(try await world.confirm(digits, session).email == ada)
    let state = try #require(world.store.state("account-y"))
    #expect(state.account.emailVerified && state.account.passwordHash != nil && state.identities.count == 1)
    #expect(try await world.confirm(digits, session).email == ada)
    #expect(world.store.contents.events(of: "account-y") == ["EMAIL_VERIFIED"])
  }

  @Test func `it changes the address, and the old one gets the link that reverts it`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let digits = try await world.digits(for: .changeEmail, to: "ada@new.example", page: page, in: session)
    #expect(try await world.confirm(digits, session).email == "ada@new.example")
    #expect(try await world.check(world.code(.emailChanged, to: ada)).mode == .revertEmail)
    let late = try world.session(of: "account-y")
    world.clock.advance(millis: 301_000)
    await refused(.requiresRecentLogin) {
      try await world.digits(for: .changeEmail, to: "x@new.example", page: page, in: late)
    }
  }

  @Test func `a new password ends a code for a change, because it ends the session`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let digits = try await world.digits(for: .changeEmail, to: "ada@new.example", page: page, in: session)
    let signIn = try await world.emailCode()
    let update = UpdateAccountRequest(idToken: session.idToken, newPassword: "another secret")
    let renewed = try await UpdateAccount(world.environment)(update, world.call())
    await refused(.tokenRevoked) { try await world.confirm(digits, session) }
    await refused(.invalidCode) { try await world.confirm(digits, renewed) }
    #expect(try await world.signIn(signIn).grant.account.account.id == "account-y")
  }

  @Test func `it resets the password of a verified account`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let digits = try await world.digits(for: .resetPassword)
    #expect(try world.lastMessage().kind == .resetPasswordCode)
    #expect(try await world.reset(digits).email == ada)
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:battery staple")
    await refused(.expiredCode) { try await world.reset(digits) }
  }

  @Test func `a reset of an unverified account with more fails, and the same code claims`() async throws {
    world.store.insert(account(.unverified(ada), password: true, phone: number))
    let digits = try await world.digits(for: .resetPassword)
    await refused(.unverifiedEmail) { try await world.reset(digits) }
    #expect(try await world.reset(digits, claimAddress: true).isNewAccount)
  }

  @Test(arguments: [Policy.SignUp.immediate, .verifyFirst])
  func `it signs up with a verified address under each policy`(_ signUp: Policy.SignUp) async throws {
    let world = World.mailingCodes { $0.signUp = signUp }
    let digits = try await world.digits(for: .signUp)
    await refused(.invalidCode) { try await world.create(digits, email: "eve@example.com") }
    let grant = try await world.create(digits).grant
    #expect(grant.isNewAccount && grant.account.account.emailVerified)
    #expect(grant.account.account.passwordHash == "hash:a long secret")
  }

  @Test func `a second factor follows the code, and the code is spent`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let code = try await world.emailCode()
    _ = try await world.signIn(code).required
    await refused(.expiredCode) { try await world.signIn(code) }
  }

  @Test func `it completes a conflict`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let exists = try await world.signIn(google(tier: .verified)).exists
    let grant = try await world.signIn(world.emailCode(), pendingToken: exists.handle).grant
    #expect(grant.account.account.id == "account-y")
    #expect(world.store.state("account-y")?.identities.count == 1)
  }
}
