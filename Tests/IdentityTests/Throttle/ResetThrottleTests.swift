import Store
import Testing

@testable import Identity

/// The effects of resets by email, password blocks and password changes in a session on each other.
@Suite struct ResetThrottleTests {
  private let wrong = Credential.password(email: ada, password: "wrong")
  private let newPassword = Credential.password(email: ada, password: "battery staple")
  private let world = World.sending {
    for kind in [ThrottleKind.passwordFailuresPerAccount, .passwordFailuresPerDevice] {
      $0.throttles[kind].countMax = 3
    }
    for kind in [ThrottleKind.sendsPerRecipient, .sendsOnKnownDevices, .resetsPerRecipient, .resetsOnKnownDevices] {
      $0.throttles[kind] = ThrottleRule(2, inMillis: 3_600_000)
    }
    $0.throttles[.passwordChangesPerAccount].countMax = 2
  }

  private func insertOwner() { world.store.insert(account(.verified(ada), password: true)) }

  private func fail(on deviceID: String) async {
    for _ in 0..<3 {
      await refused(.invalidLoginCredentials) { try await world.signIn(wrong, world.call(deviceID: deviceID)) }
    }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(deviceID: deviceID)) }
  }

  @Test func `a reset lifts the block of the password`() async throws {
    insertOwner()
    await fail(on: "")
    _ = try await world.reset(world.passwordReset())
    #expect(try await world.signIn(newPassword, world.call(deviceID: "")).grant.account.account.id == "account-y")
  }

  @Test(arguments: [true, false])
  func `a reset lifts the block of a known device, signed in or signed out`(isOpen: Bool) async throws {
    insertOwner()
    let session = try world.session(of: "account-y", call: world.call(deviceID: "own"))
    if !isOpen { try await SignOut(world.environment)(.idToken(session.idToken), world.call()) }
    await fail(on: "own")
    _ = try await world.reset(world.passwordReset(), deviceID: "another")
    _ = try await world.signIn(newPassword, world.call(deviceID: "own")).grant
  }

  @Test func `a reset does not lift the block of another address or of a network`() async throws {
    insertOwner()
    world.store.insert(account(id: "account-z", .verified("zoe@example.com"), password: true))
    let zoe = Credential.password(email: "zoe@example.com", password: "wrong")
    for _ in 0..<3 { await refused(.invalidLoginCredentials) { try await world.signIn(zoe, world.call(deviceID: "")) } }
    let networks = world.store.contents.throttles.count
    _ = try await world.reset(world.passwordReset())
    await refused(.tooManyAttempts) { try await world.signIn(zoe, world.call(deviceID: "")) }
    #expect(world.store.contents.throttles.count >= networks)
  }

  @Test func `a claim lifts the block of its address too`() async throws {
    world.store.insert(account(.unverified(ada), password: true, phone: number))
    await fail(on: "")
    let answer = try await world.reset(world.passwordReset(), claimAddress: true)
    #expect(answer.isNewAccount)
    _ = try await world.signIn(newPassword, world.call(deviceID: "")).grant
  }

  @Test func `resets and sign-in links have counts of their own`() async throws {
    insertOwner()
    for _ in 1...2 { _ = try await world.emailLink(world.call(deviceID: "")) }
    await refused(.tooManyAttempts) { try await world.emailLink(world.call(deviceID: "")) }
    for _ in 1...2 { _ = try await world.passwordReset(world.call(deviceID: "")) }
    let failure = await refused(.tooManyAttempts) { try await world.passwordReset(world.call(deviceID: "")) }
    #expect(failure?.throttle == .resetsPerRecipient)
  }

  @Test func `resets requested on a known device are counted separately`() async throws {
    insertOwner()
    _ = try world.session(of: "account-y", call: world.call(deviceID: "own"))
    for _ in 1...2 { _ = try await world.passwordReset(world.call(deviceID: "strange")) }
    for _ in 1...2 { _ = try await world.passwordReset(world.call(deviceID: "own")) }
    let failure = await refused(.tooManyAttempts) { try await world.passwordReset(world.call(deviceID: "own")) }
    #expect(failure?.throttle == .resetsOnKnownDevices)
  }

  @Test(arguments: ["reset", "link"])
  func `the links and resets requested for an unverified address survive password changes`(_ way: String) async throws {
    world.store.insert(account(.unverified(ada), password: true))
    var attacker = try world.session(of: "account-y")
    let code = way == "reset" ? try await world.passwordReset() : ""
    let link = way == "link" ? try await world.emailLink() : nil
    for password in ["a longer secret", "another long secret"] {
      attacker = try await world.update(attacker, password: password)
    }
    if let link {
      #expect(try await world.signIn(link).grant.revokedProviderIDs == ["password"])
    } else {
      _ = try await world.reset(code)
      _ = try await world.signIn(newPassword).grant
    }
    await refused(.tokenRevoked) { try await world.update(attacker, name: "Eve") }
  }

  @Test func `a change of the email address invalidates links that were sent to the old one`() async throws {
    insertOwner()
    let session = try world.session(of: "account-y")
    let code = try await world.passwordReset()
    _ = try await world.update(session, email: "new@example.com", password: "a longer secret")
    await refused(.invalidCode) { try await world.reset(code) }
  }

  @Test func `password changes in a session are limited, before anything is hashed, and a reset is not`() async throws {
    insertOwner()
    var session = try world.session(of: "account-y")
    for password in ["a longer secret", "another long secret"] {
      session = try await world.update(session, password: password)
    }
    let before = world.store.contents
    let failure = await refused(.tooManyAttempts) { try await world.update(session, password: "one too many here") }
    #expect(failure?.throttle == .passwordChangesPerAccount && failure?.retryAfterMillis == 600_000)
    #expect(world.store.contents == before)
    _ = try await world.update(session, name: "Ada")
    _ = try await world.reset(world.passwordReset())
    world.clock.advance(millis: 600_000)
    let grant = try await world.signIn(newPassword).grant
    _ = try await world.update(grant, password: "a longer secret")
  }
}
