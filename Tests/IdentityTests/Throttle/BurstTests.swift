import Store
import Testing

@testable import Identity

private let wrong = Credential.password(email: ada, password: "wrong")

/// Guesses that come while another is checked, at an address that nobody had failed at before: the call that is checked
/// has seen no count then, so that there is none whose reset the store would refuse to it.
@Suite struct BurstTests {
  /// Three wrong passwords block, and so many come while the next one is checked.
  private func world() -> World {
    let world = World {
      $0.throttles[.passwordFailuresPerAccount].countMax = 3
      $0.throttles[.passwordFailuresPerDevice].countMax = 3
    }
    world.store.insert(account(.proved(ada), password: true))
    world.passwords.meet {
      for _ in 0..<3 { await refused(.invalidLoginCredentials) { try await world.signIn(wrong) } }
    }
    return world
  }

  @Test func `check 104: the right one of a burst is refused at a sign-in like the others`() async {
    let world = world()
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
    #expect(world.passwords.verifications.count == 4 && world.store.contents.sessions.isEmpty)
  }

  @Test func `check 104: the right one of a burst completes nothing`() async throws {
    let world = world()
    let handle = world.hold(corp(), for: "account-y")
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, pendingToken: handle) }
    #expect(world.passwords.verifications.count == 4 && world.store.contents.sessions.isEmpty)
    let row = try #require(try world.row(handle))
    #expect(row.completedAt == nil)
  }

  @Test func `check 104: the right one of a burst reauthenticates nobody`() async throws {
    let world = world()
    let session = try world.session(of: "account-y")
    await refused(.tooManyAttempts) { try await world.reauthenticate(rightPassword, session) }
    #expect(world.passwords.verifications.count == 4)
    #expect(world.store.contents.sessions.keys.sorted() == [session.sessionID])
  }

  @Test func `check 104: at an address that nobody has the answers of a burst are the same`() async {
    let world = world()
    world.store.edit { $0.accounts = [:] }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
  }
}
