import Store
import Testing

@testable import Identity

/// Check 105 for second factors: an attacker who only knows the password has no known device of the account.
@Suite struct FactorThrottleTests {
  private func own(_ world: World) -> CallFacts { world.call(deviceID: "own") }

  /// An account with these factors, whose user is signed in on their own device, and on one without a name.
  private func person(
    _ world: World, _ kinds: [FactorKind], identities: [Assertion] = [google()]
  ) throws -> SessionGrant {
    world.insertPerson(kinds, identities: identities)
    _ = try world.session(of: "account-y", secondFactor: kinds[0].rawValue, call: world.call(deviceID: ""))
    return try world.session(of: "account-y", secondFactor: kinds[0].rawValue, call: own(world))
  }

  /// This many calls that wait for the factor, each with wrong codes until it ends.
  private func tryOut(_ world: World, attempts: Int, _ call: () -> CallFacts) async throws {
    for _ in 0..<attempts {
      let required = try await world.signIn(rightPassword, call()).required
      for _ in 0..<5 {
        await refused(.invalidCode) { try await world.finish(required, "factor-totp", "wrong", call()) }
      }
    }
  }

  private func blocked(
    _ world: World, _ call: () -> CallFacts, by kind: ThrottleKind, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let required = try await world.signIn(rightPassword, call()).required
    let failure = await refused(.tooManyAttempts, sourceLocation: sourceLocation) {
      try await world.finish(required, call())
    }
    #expect(failure?.throttle == kind, sourceLocation: sourceLocation)
  }

  @Test(arguments: ["strange", ""])
  func `check 105: other users' wrong codes of a second factor do not block its owner's known device`(
    device: String
  ) async throws {
    let world = World()
    _ = try person(world, [.totp])
    func strange() -> CallFacts { world.call(deviceID: device) }
    try await tryOut(world, attempts: 6, strange)
    try await blocked(world, strange, by: .codeFailuresPerAccount)
    let required = try await world.signIn(rightPassword, own(world)).required
    _ = try await world.finish(required, own(world)).grant
    try await blocked(world, strange, by: .codeFailuresPerAccount)
  }

  @Test func `check 106: the wrong codes of all known devices together are limited as well`() async throws {
    let world = World()
    _ = try person(world, [.totp])
    _ = try world.session(of: "account-y", secondFactor: "totp", call: world.call(deviceID: "second"))
    try await tryOut(world, attempts: 4) { own(world) }
    try await tryOut(world, attempts: 2) { world.call(deviceID: "second") }
    try await blocked(world, { own(world) }, by: .codeFailuresOnKnownDevices)
    let required = try await world.signIn(rightPassword, world.call(deviceID: "strange")).required
    _ = try await world.finish(required, world.call(deviceID: "strange")).grant
  }

  @Test func `a device of another account is not known, even if that account owns the asserted address`()
    async throws
  {
    let world = World { $0.throttles[.codeFailuresPerAccount].countMax = 2 }
    let said = google(email: "eve@example.com")
    _ = try person(world, [.totp], identities: [said])
    world.store.insert(account(id: "eve", .verified("eve@example.com"), password: true))
    func eves() -> CallFacts { world.call(deviceID: "eve's") }
    _ = try world.session(of: "eve", call: eves())
    let required = try await world.signIn(said, eves()).required
    for _ in 0..<2 {
      await refused(.invalidCode) { try await world.finish(required, "factor-totp", "wrong", eves()) }
    }
    let failure = await refused(.tooManyAttempts) { try await world.finish(required, eves()) }
    #expect(failure?.throttle == .codeFailuresPerAccount)
  }

  @Test func `check 105: other users' wrong codes do not prevent an enrolment on a known device`() async throws {
    let world = World()
    let session = try person(world, [.totp])
    try await tryOut(world, attempts: 6) { world.call(deviceID: "strange") }
    let started = try await world.startEnrollment(.recoveryCode, session)
    let failure = await refused(.tooManyAttempts) {
      try await world.finishEnrollment(started, session, "", world.call(deviceID: "strange"))
    }
    #expect(failure?.throttle == .codeFailuresPerAccount)
    _ = try await world.finishEnrollment(started, session, "", own(world))
  }

  @Test func `check 105: other users who use up a second factor's messages do not block its owner's known device`()
    async throws
  {
    let world = World.sending {
      ($0.throttles[.sendsPerRecipient].countMax, $0.throttles[.sendsOnKnownDevices].countMax) = (3, 3)
    }
    _ = try person(world, [.phone])
    let calls: [(ThrottleKind, () -> CallFacts)] = [
      (.sendsPerRecipient, { world.call(deviceID: "strange") }), (.sendsOnKnownDevices, { own(world) }),
    ]
    for (kind, call) in calls {
      let first = try await world.signIn(rightPassword, call()).required
      for _ in 0..<3 { _ = try await world.start(first, "factor-phone", call()) }
      let second = try await world.signIn(rightPassword, call()).required
      let failure = await refused(.tooManyAttempts) { try await world.start(second, "factor-phone", call()) }
      #expect(failure?.throttle == kind)
    }
    let nameless = try await world.signIn(rightPassword, world.call(deviceID: "")).required
    let failure = await refused(.tooManyAttempts) {
      try await world.start(nameless, "factor-phone", world.call(deviceID: ""))
    }
    #expect(failure?.throttle == .sendsPerRecipient)
  }
}
