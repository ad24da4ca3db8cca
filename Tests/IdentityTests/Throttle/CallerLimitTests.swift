import Store
import Testing

@testable import Identity

/// A limit that all users of a caller share stops an attack from very many networks, but no user.
@Suite struct CallerLimitTests {
  private let wrong = Credential.password(email: "nobody@example.com", password: "wrong")

  /// A world whose caller has used up its limit from as many networks.
  private func attacked(_ kind: ThrottleKind = .passwordFailuresPerCaller) async -> World {
    let world = World.sending {
      $0.throttles[kind] = ThrottleRule(4, inMillis: 600_000)
      for each in [ThrottleKind.passwordFailuresPerNetwork, .sendsPerNetwork, .sendsPerRecipient] {
        $0.throttles[each] = ThrottleRule(100, inMillis: 600_000)
      }
    }
    world.store.insert(account(.verified(ada), password: true))
    return world
  }

  private func attackPasswords(_ world: World, times: Int = 4) async {
    for number in 0..<times {
      await refused(.invalidLoginCredentials) {
        try await world.signIn(
          .password(email: "p\(number)@example.com", password: "wrong"),
          world.call(ipAddress: "198.51.100.\(number)", deviceID: ""))
      }
    }
  }

  @Test func `a known device is not rejected, even from a network of the attack`() async throws {
    let world = await attacked()
    _ = try world.session(of: "account-y", call: world.call(deviceID: "own"))
    await attackPasswords(world)
    _ = try await world.signIn(rightPassword, world.call(ipAddress: "", deviceID: "own")).grant
  }

  @Test func `a network that is not part of the attack has five attempts in a window`() async throws {
    let world = await attacked()
    await attackPasswords(world)
    func call() -> CallFacts { world.call(ipAddress: "203.0.113.1", deviceID: "") }
    for _ in 1...5 { await refused(.invalidLoginCredentials) { try await world.signIn(wrong, call()) } }
    let failure = await refused(.tooManyAttempts) { try await world.signIn(rightPassword, call()) }
    #expect(failure?.throttle == .passwordFailuresPerCaller)
    _ = try await world.signIn(rightPassword, world.call(ipAddress: "203.0.113.2", deviceID: "")).grant
    world.clock.advance(millis: 600_000)
    _ = try await world.signIn(rightPassword, call()).grant
  }

  @Test func `all of an IPv6 /48 have those five attempts together`() async throws {
    let world = await attacked()
    await attackPasswords(world)
    for number in 1...5 {
      await refused(.invalidLoginCredentials) {
        try await world.signIn(wrong, world.call(ipAddress: "2001:db8:1:\(number)00::1", deviceID: ""))
      }
    }
    await refused(.tooManyAttempts) {
      try await world.signIn(rightPassword, world.call(ipAddress: "2001:db8:1:9900::1", deviceID: ""))
    }
    _ = try await world.signIn(rightPassword, world.call(ipAddress: "2001:db8:2::1", deviceID: "")).grant
  }

  @Test func `past the limit, a client without a network is rejected, and before it is not`() async throws {
    let world = await attacked()
    await attackPasswords(world, times: 3)
    _ = try await world.signIn(rightPassword, world.call(ipAddress: "", deviceID: "")).grant
    await attackPasswords(world, times: 1)
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(ipAddress: "", deviceID: "")) }
  }

  @Test func `an attack on other networks' households is counted by /56 and /48`() async {
    let world = World { $0.throttles[.passwordFailuresPerNetwork] = ThrottleRule(2, inMillis: 600_000) }
    func attempt(_ address: String) async -> ThrottleKind? {
      do {
        _ = try await world.signIn(wrong, world.call(ipAddress: address, deviceID: ""))
      } catch let failure as Failure {
        return failure.throttle
      } catch {
        Issue.record(error)
      }
      return nil
    }
    // One in each of 8 networks of a household, which may have four times the limit of a host.
    for number in 0..<8 { #expect(await attempt("2001:db8:1:\(number)::1") == nil) }
    #expect(await attempt("2001:db8:1:ff::1") == .passwordFailuresPerNetwork)
    // Three more households of the same organization.
    for number in 0..<24 { #expect(await attempt("2001:db8:1:\(number / 8 + 1)0\(number % 8)::1") == nil) }
    #expect(await attempt("2001:db8:1:ff00::1") == .passwordFailuresPerNetwork)
    #expect(await attempt("2001:db8:2::1") == nil)
  }

  @Test func `a session can send messages past the caller's limit, and a guest cannot`() async throws {
    let world = await attacked(.sendsPerCaller)
    let session = try world.session(of: "account-y")
    for number in 0..<4 { _ = try await world.emailLink(to: "p\(number)@example.com", world.call(ipAddress: "")) }
    await refused(.tooManyAttempts) { try await world.emailLink(to: "q@example.com", world.call(ipAddress: "")) }
    _ = try await SendEmailChange(world.environment)(
      idToken: session.idToken, newEmail: "new@example.com", MailOrder(continueURI: page), world.call(ipAddress: ""))
    world.store.insert(account(id: "guest") { $0.anonymous = true })
    let guest = try world.session(of: "guest")
    await refused(.tooManyAttempts) {
      try await world.phoneCode(for: .link, in: guest, world.call(ipAddress: ""))
    }
  }

  @Test func `attempts that are allowed past the limit do not extend it`() async throws {
    let world = await attacked()
    await attackPasswords(world)
    world.clock.advance(millis: 599_000)
    await refused(.invalidLoginCredentials) {
      try await world.signIn(wrong, world.call(ipAddress: "203.0.113.1", deviceID: ""))
    }
    world.clock.advance(millis: 1_000)
    _ = try await world.signIn(rightPassword, world.call(ipAddress: "", deviceID: "")).grant
  }
}
