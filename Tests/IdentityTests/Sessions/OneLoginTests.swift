import Store
import Testing

@testable import Identity

/// SEMANTICS.md, section 8: one login is one session, also after changes of the account.
@Suite struct OneLoginTests {
  let world = World.sending()

  private enum Change: CaseIterable, CustomTestStringConvertible {
    case link, linkAgain, profile, verification
    var testDescription: String { "\(self)" }
  }

  private func begin() throws -> SessionGrant {
    world.store.insert(account(.unverified(ada), password: true))
    return try world.session(of: "account-y")
  }

  private func make(_ change: Change, _ session: SessionGrant) async throws -> SessionGrant {
    switch change {
    case .link: return try await world.link(corp(email: nil), session).grant
    case .linkAgain:
      return try await world.link(corp(email: nil), try await world.link(corp(email: nil), session).grant).grant
    case .profile: return try await world.update(session, name: "Ada")
    case .verification:
      return try #require(try await world.confirm(world.verification(session), session).session)
    }
  }

  private func openSessions() -> [SessionRecord] { world.store.contents.openSessions(of: "account-y") }

  private func refresh(_ token: String) async throws -> SessionGrant {
    try await Refresh(world.environment)(token, world.call())
  }

  @Test(arguments: Change.allCases)
  private func `the change continues the session of the call, which is the only one`(_ change: Change) async throws {
    let session = try begin()
    let changed = try await make(change, session)
    #expect(changed.sessionID == session.sessionID && openSessions().map(\.id) == [session.sessionID])
    #expect(try world.claims(changed).sessionID == session.sessionID)
  }

  @Test(arguments: Change.allCases)
  private func `the former refresh token is valid until the new one is used, so a lost answer does no harm`(
    _ change: Change
  ) async throws {
    let session = try begin()
    let changed = try await make(change, session)
    world.clock.advance(millis: 3_600_000)
    // Any number of times, and long after the ten seconds of a refresh.
    for _ in 1...2 { #expect(try await refresh(session.refreshToken).refreshToken == changed.refreshToken) }
    let next = try await refresh(changed.refreshToken)
    world.clock.advance(millis: 3_600_000)
    await refused(.tokenRevoked) { try await refresh(session.refreshToken) }
    #expect(openSessions().isEmpty && next.sessionID == session.sessionID)
  }

  @Test(arguments: Change.allCases)
  private func `signing out with any token of the login ends all of it`(_ change: Change) async throws {
    for token in 0..<4 {
      let world = self.world
      world.store.edit { $0 = Tables() }
      let session = try begin()
      let changed = try await make(change, session)
      let ways: [SignOutRequest] = [
        .idToken(session.idToken), .idToken(changed.idToken), .refreshToken(session.refreshToken),
        .refreshToken(changed.refreshToken),
      ]
      try await SignOut(world.environment)(ways[token], world.call())
      #expect(openSessions().isEmpty)
      await refused(.tokenRevoked) { try await refresh(changed.refreshToken) }
    }
  }

  @Test func `all changes of one login leave one session, which names the method that was linked last`() async throws {
    var session = try begin()
    for change in Change.allCases where change != .linkAgain { session = try await make(change, session) }
    let record = try #require(openSessions().first)
    #expect(openSessions().count == 1 && record.signInProviderID == "oidc.corp" && record.methods == ["pwd", "fed"])
    let refreshed = try await refresh(session.refreshToken)
    #expect(try world.claims(refreshed).signInProviderID == "oidc.corp")
    #expect(try world.claims(refreshed).methods == ["pwd", "fed"])
  }

  @Test func `Link in a session that has been closed changes nothing`() async throws {
    let session = try begin()
    world.store.edit { $0.sessions[session.sessionID]?.closed = SessionEnd(at: world.now, reason: .revoked) }
    await refused(.tokenRevoked) { try await world.link(corp(email: nil), session) }
    #expect(world.store.state("account-y")?.identities.isEmpty == true)
  }

  @Test func `a new password and a new address open a new session, and it is the only one`() async throws {
    let session = try begin()
    let changed = try await world.update(session, password: "a longer secret")
    let moved = try await world.update(changed, email: "new@example.com")
    #expect(Set([session.sessionID, changed.sessionID, moved.sessionID]).count == 3)
    #expect(openSessions().map(\.id) == [moved.sessionID])
  }
}
