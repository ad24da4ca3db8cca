import Store
import Testing

@testable import Identity

/// Section 6: a new password.
@Suite struct `A new password` {
  let world = World.mailingCodes()

  @Test(arguments: [("short", "length"), ("password1", "common"), ("a leaked secret", "block_list")])
  func `each rule rejects it, and the metadata names the rule`(_ password: String, _ rule: String) async throws {
    let request = CreateAccountRequest(email: ada, password: password)
    let failure = await refused(.weakPassword) { try await CreateAccount(world.environment)(request, world.call()) }
    #expect(failure?.metadata == ["rule": rule] && failure?.field == "password")
    #expect(failure?.rule?.rawValue == "password_" + rule)
    #expect(world.store.contents.accounts.isEmpty)
  }

  @Test func `every call that sets a password applies the rules`() async throws {
    let blocked = "a leaked secret"
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let reset = try await world.digits(for: .resetPassword)
    await refused(.weakPassword) { try await world.reset(reset, to: blocked) }
    let update = UpdateAccountRequest(idToken: session.idToken, newPassword: blocked)
    await refused(.weakPassword) { try await UpdateAccount(world.environment)(update, world.call()) }
    world.store.insert(account(id: "other", .verified("other@example.com"), emailLink: true))
    let other = try world.session(of: "other", by: .emailLink)
    let link = Credential.password(email: "other@example.com", password: blocked)
    await refused(.weakPassword) { try await world.link(link, other) }
    let verifying = World.sending { $0.signUp = .verifyFirst }
    let create = CreateAccountRequest(email: ada, password: blocked, mail: MailOrder(continueURI: page))
    await refused(.weakPassword) { try await CreateAccount(verifying.environment)(create, verifying.call()) }
  }

  @Test func `a sign-in with a listed password succeeds, and an event reports it`() async throws {
    world.store.insert(account(.verified(ada), edit: { $0.passwordHash = "hash:a leaked secret" }))
    _ = try await world.signIn(.password(email: ada, password: "a leaked secret")).grant
    #expect(world.store.contents.events(of: "account-y") == ["PASSWORD_COMPROMISED"])
    await refused(.invalidLoginCredentials) {
      try await world.signIn(.password(email: ada, password: "wrong secret"))
    }
    #expect(world.store.contents.events(of: "account-y") == ["PASSWORD_COMPROMISED"])
  }

  @Test func `the event is written once if a second factor follows, when the password passes`() async throws {
    world.insertPerson { $0.passwordHash = "hash:a leaked secret" }
    let required = try await world.signIn(.password(email: ada, password: "a leaked secret")).required
    #expect(world.store.contents.events(of: "account-y") == ["PASSWORD_COMPROMISED"])
    _ = try await world.finish(required)
    #expect(world.store.contents.events(of: "account-y") == ["PASSWORD_COMPROMISED"])
  }

  @Test func `a listed password that completes a conflict is reported too`() async throws {
    world.store.insert(account(.verified(ada), edit: { $0.passwordHash = "hash:a leaked secret" }))
    let handle = try await world.signIn(google()).exists.handle
    _ = try await world.signIn(.password(email: ada, password: "a leaked secret"), pendingToken: handle).grant
    #expect(world.store.contents.events(of: "account-y").contains("PASSWORD_COMPROMISED"))
  }
}
