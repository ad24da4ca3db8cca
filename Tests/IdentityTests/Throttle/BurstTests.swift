import Store
import Testing

@testable import Identity

private let wrong = Credential.password(email: ada, password: "wrong")

/// Guesses that arrive while another is checked, at an address without earlier failures: the checked call has seen no
/// count, so the store could not reject a reset of the count.
@Suite struct BurstTests {
  /// Three wrong passwords block; further guesses arrive while the next one is checked.
  private func world() -> World {
    let world = World {
      $0.throttles[.passwordFailuresPerAccount].countMax = 3
      $0.throttles[.passwordFailuresPerDevice].countMax = 3
    }
    world.store.insert(account(.verified(ada), password: true))
    world.passwords.meet {
      for _ in 0..<3 { await refused(.invalidLoginCredentials) { try await world.signIn(wrong) } }
    }
    return world
  }

  @Test func `check 104: the right password in a burst is rejected at sign-in like the others`() async {
    let world = world()
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
    #expect(world.passwords.verifications.count == 4 && world.store.contents.sessions.isEmpty)
  }

  @Test func `check 104: the right password in a burst does not complete a conflict`() async throws {
    let world = world()
    let handle = world.hold(corp(), for: "account-y")
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, pendingToken: handle) }
    #expect(world.passwords.verifications.count == 4 && world.store.contents.sessions.isEmpty)
    let row = try #require(try world.row(handle))
    #expect(row.completedAt == nil)
  }

  @Test func `check 104: the right password in a burst does not reauthenticate`() async throws {
    let world = world()
    let session = try world.session(of: "account-y")
    await refused(.tooManyAttempts) { try await world.reauthenticate(rightPassword, session) }
    #expect(world.passwords.verifications.count == 4)
    #expect(world.store.contents.sessions.keys.sorted() == [session.sessionID])
  }

  @Test func `check 104: a burst gets the same answers at an unknown address`() async {
    let world = world()
    world.store.edit { $0.accounts = [:] }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
  }
}
