import Store
import Testing

@testable import Identity

/// Devices that count separately, and the counts that they share.
@Suite struct KnownDeviceTests {
  private let wrong = Credential.password(email: ada, password: "wrong")

  private func world() -> World {
    let world = World {
      $0.throttles[.passwordFailuresPerAccount].countMax = 3
      $0.throttles[.passwordFailuresPerDevice].countMax = 3
    }
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    return world
  }

  private func block(_ world: World) async {
    for _ in 0..<3 {
      await refused(.invalidLoginCredentials) { try await world.signIn(wrong, world.call(deviceID: "strange")) }
    }
  }

  @Test func `check 105: a device that only continues a session does not become known`() async throws {
    let world = world()
    let stolen = try world.session(of: "account-y", call: world.call(deviceID: "own"))
    func thief() -> CallFacts { world.call(deviceID: "thief") }
    _ = try await world.update(stolen, name: "Eve", thief())
    _ = try await world.link(corp(), stolen, thief()).grant
    _ = try await Refresh(world.environment)(stolen.refreshToken, thief())
    _ = try await world.unlink("oidc.corp", stolen, thief())
    #expect(Set(world.store.contents.sessions.values.map(\.deviceID)) == ["own"])
    await block(world)
    let failure = await refused(.tooManyAttempts) { try await world.signIn(wrong, thief()) }
    #expect(failure?.throttle == .passwordFailuresPerAccount)
    _ = try await world.signIn(rightPassword, world.call(deviceID: "own")).grant
  }

  @Test func `check 105: a device is known once the user has authenticated on it, inside a session as well`()
    async throws
  {
    let world = world()
    let session = try world.session(of: "account-y", call: world.call(deviceID: "own"))
    _ = try await world.reauthenticate(rightPassword, session, world.call(deviceID: "second")).grant
    _ = try await world.signIn(google(), world.call(deviceID: "third")).grant
    await block(world)
    for device in ["second", "third"] {
      _ = try await world.signIn(rightPassword, world.call(deviceID: device)).grant
    }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(deviceID: "fourth")) }
  }

  @Test func `all known devices of a user share one count of messages and one of wrong codes`()
    async throws
  {
    let world = World.sending {
      ($0.throttles[.codeFailuresOnKnownDevices].countMax, $0.throttles[.sendsOnKnownDevices].countMax) = (3, 4)
    }
    world.store.insert(account(phone: number))
    func own(_ device: Int) -> CallFacts { world.call(deviceID: "own \(device)") }
    for device in 0..<5 { _ = try world.session(of: "account-y", call: own(device)) }
    let code = try await world.phoneCode(own(0))
    for device in 1..<4 { await refused(.invalidCode) { try await world.signIn(code.mistyped, own(device)) } }
    let failures = await refused(.tooManyAttempts) { try await world.signIn(code, own(4)) }
    #expect(failures?.throttle == .codeFailuresOnKnownDevices)
    for device in 1..<4 { _ = try await world.phoneCode(own(device)) }
    let sends = await refused(.tooManyAttempts) { try await world.phoneCode(own(4)) }
    #expect(sends?.throttle == .sendsOnKnownDevices)
    _ = try await world.phoneCode(world.call(deviceID: "strange"))
  }
}
