import Store
import Testing

@testable import Identity

/// The limit on changes of one account by the holder of a session.
struct `Changes of one account` {
  let world = World.sending { $0.throttles[.changesPerAccount].countMax = 2 }

  /// An account that has used up its changes in the window, and a session of it.
  private func usedUp() async throws -> SessionGrant {
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    for name in ["a", "b"] { _ = try await world.update(session, name: name) }
    return session
  }

  private func refusedChange<R>(_ body: () async throws -> R) async throws {
    let before = world.store.contents
    let failure = await refused(.tooManyAttempts, body)
    #expect(failure?.throttle == .changesPerAccount && world.store.contents == before)
  }

  @Test func `are allowed up to the limit, and write nothing after that`() async throws {
    let session = try await usedUp()
    try await refusedChange { try await world.update(session, name: "c") }
    world.clock.advance(millis: 600_000)
    _ = try await world.update(try world.session(of: "account-y"), name: "c")
    #expect(world.store.state("account-y")?.account.displayName == "c")
  }

  @Test func `of another account are counted separately`() async throws {
    _ = try await usedUp()
    world.store.insert(account(id: "account-z", .verified("zoe@example.com"), password: true))
    _ = try await world.update(try world.session(of: "account-z"), name: "Zoe")
  }

  @Test func `are links and completions too, however often they are undone`() async throws {
    world.insertPerson([])
    var session = try world.session(of: "account-y")
    for _ in 1...2 {
      session = try await world.link(corp(), session).grant
      session = try await world.unlink("oidc.corp", session)
    }
    try await refusedChange { try await world.link(corp(), session) }
    let handle = world.hold(corp(), for: "account-y")
    try await refusedChange { try await world.link(.pendingToken(handle), session) }
    try await refusedChange { try await world.signIn(rightPassword, pendingToken: handle) }
  }

  @Test func `are completions of a sign-in as well`() async throws {
    world.insertPerson([])
    for _ in 1...2 {
      let handle = world.hold(corp(), for: "account-y")
      let grant = try await world.signIn(rightPassword, pendingToken: handle).grant
      _ = try await world.unlink("oidc.corp", grant)
    }
    let session = try world.session(of: "account-y")
    try await refusedChange { try await world.update(session, name: "c") }
  }

  @Test func `do not hide a wrong password of a completion, which still counts`() async throws {
    _ = try await usedUp()
    let handle = world.hold(corp(), for: "account-y")
    let wrong = Credential.password(email: ada, password: "wrong")
    let counted = world.store.contents.throttles.count
    await refused(.invalidLoginCredentials) { try await world.signIn(wrong, pendingToken: handle) }
    #expect(try world.row(handle)?.attemptsLeft == 4)
    #expect(world.store.contents.throttles.count > counted)
  }

  @Test func `do not spend a redirect if the completion is over the limit`() async throws {
    _ = try await usedUp()
    let handle = world.hold(corp(), for: "account-y")
    let redirect = world.redirect(try await world.start(), google())
    try await refusedChange { try await world.signIn(redirect, pendingToken: handle) }
    #expect(world.providers.redeemed.isEmpty)
  }

  @Test func `do not keep the owner of an address from reclaiming an account that another user created`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let unknown = try world.session(of: "account-y")
    for name in ["a", "b"] { _ = try await world.update(unknown, name: name) }
    let exists = try await world.signIn(corp()).exists
    let grant = try await world.signIn(world.emailLink(), pendingToken: exists.handle).grant
    #expect(grant.revokedProviderIDs == ["password"])
  }

  @Test func `are enrolled factors too`() async throws {
    let session = try await usedUp()
    let started = try await world.startEnrollment(.totp, session)
    let code = try world.code(of: started)
    try await refusedChange { try await world.finishEnrollment(started, session, code) }
  }

  @Test func `do not include Unlink, a new password and RevokeAll, which drive an attacker out`() async throws {
    let session = try await usedUp()
    let other = try await world.unlink("google.com", session)
    let fresh = try await world.update(other, password: "a longer secret")
    _ = try await RevokeAll(world.environment)(idToken: fresh.idToken, world.call())
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:a longer secret")
  }
}
