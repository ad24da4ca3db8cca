import Store
import Testing

@testable import Identity

struct `RemoveIdleAccounts, all rules` {
  let world = World()
  let day = 86_400_000 as Int64

  func guest(_ id: String) throws -> SessionGrant {
    world.store.insert(account(id: id, anonymous: true) { $0.createdAt = world.now })
    return try world.session(of: id, by: .anonymous)
  }

  func remove(_ accountsMax: Int = 100) async throws -> Int {
    try await RemoveIdleAccounts(world.environment)(accountsMax: accountsMax)
  }

  @Test func `an anonymous account that was unused for the time is removed with its sessions, and leaves an audit row`()
    async throws
  {
    _ = try guest("idle")
    world.clock.advance(millis: world.policy.anonymousIdleMillis)
    #expect(try await remove() == 0)
    world.clock.advance(millis: 1)
    #expect(try await remove() == 1)
    let left = world.store.contents
    #expect(left.accounts.isEmpty && left.sessions.isEmpty && left.events(of: "idle") == ["IDLE_REMOVED"])
    #expect(left.audit.first?.caller == CallerName("latchkeyd"))
  }

  @Test func `an account that was used stays, and is checked again only a full period after that use`() async throws {
    let session = try guest("used")
    world.clock.advance(millis: 20 * day)
    _ = try await Refresh(world.environment)(session.refreshToken, world.call())
    world.clock.advance(millis: 11 * day)
    #expect(try await remove() == 1)
    #expect(try await remove() == 0 && world.store.state("used") != nil)
    world.clock.advance(millis: 20 * day)
    #expect(try await remove() == 1 && world.store.state("used") == nil)
  }

  @Test func `a permanent account stays however long it is not used`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    world.clock.advance(millis: 1000 * day)
    #expect(try await remove() == 0 && world.store.state("account-y") != nil)
  }

  @Test func `the requested number of accounts is checked, the longest unused first`() async throws {
    for number in 0..<5 {
      _ = try guest("guest-\(number)")
      world.clock.advance(millis: 1)
    }
    world.clock.advance(millis: 31 * day)
    #expect(try await remove(2) == 2)
    #expect(Set(world.store.contents.accounts.keys) == ["guest-2", "guest-3", "guest-4"])
  }

  @Test func `an account that is used or linked right before its removal stays`() async throws {
    let session = try guest("guest")
    world.clock.advance(millis: 31 * day)
    let now = world.now
    let used = world.environment(interruptedBy: { store in
      store.edit { $0.sessions[session.sessionID]?.lastUsedAt = now }
    })
    // The account stays, so the next sweep does not process it immediately.
    #expect(try await RemoveIdleAccounts(used)(accountsMax: 10) == 0)
    #expect(world.store.state("guest") != nil)
    world.store.edit { $0.sessions[session.sessionID]?.lastUsedAt = beginning }
    let linked = world.environment(interruptedBy: { store in store.edit { $0.accounts["guest"]?.version += 1 } })
    _ = try await RemoveIdleAccounts(linked)(accountsMax: 10)
    #expect(world.store.state("guest") != nil)
  }

  @Test func `a removal that fails is reported after all accounts were tried`() async throws {
    for id in ["one", "other"] { _ = try guest(id) }
    world.clock.advance(millis: 31 * day)
    let failing = world.environment(before: .everyCommit) { store in store.fail(with: .unavailable("gone")) }
    await #expect(throws: StoreError.unavailable("gone")) { try await RemoveIdleAccounts(failing)(accountsMax: 10) }
    world.store.fail(with: nil)
    #expect(try await remove() == 2 && world.store.contents.accounts.isEmpty)
  }

  @Test func `no account is removed without a configured time`() async throws {
    let world = World { $0.anonymousIdleMillis = 0 }
    world.store.insert(account(anonymous: true))
    #expect(try await RemoveIdleAccounts(world.environment)(accountsMax: 10) == 0)
    #expect(world.store.contents.accounts.count == 1)
  }
}
