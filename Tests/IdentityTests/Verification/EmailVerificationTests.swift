import Store
import Testing

@testable import Identity

@Suite struct `Verification of an address` {
  let world = World.sending()

  @Test func `a link that is followed in a session verifies the address, and keeps earlier sign-in methods`()
    async throws
  {
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let session = try world.session(of: "account-y")
    let code = try await world.verification(session)
    let message = try world.lastMessage()
    #expect(message.kind == .verifyEmail && message.recipient == .email(ada) && message.locale == "de")
    #expect(message.values["link"]?.contains("?mode=verifyEmail&code=") == true)
    let confirmed = try await world.confirm(code, session)
    let grant = try #require(confirmed.session)
    let claims = try world.claims(grant)
    #expect(confirmed.email == ada && claims.emailVerified)
    let stored = try #require(world.store.state("account-y"))
    #expect(stored.account.emailAddress?.verification == .confirmation && stored.account.emailVerifiedAt == world.now)
    #expect(stored.account.passwordHash != nil && stored.identities.count == 1)
    #expect(world.store.contents.events(of: "account-y") == ["EMAIL_VERIFIED"])
  }

  @Test func `3.5 without a session a verification fails and the code stays valid`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.verification(session)
    for _ in 0..<9 { await refused(.requiresRecentLogin) { try await world.confirm(code) } }
    #expect(world.store.state("account-y")?.account.emailVerified == false)
    #expect(try await world.confirm(code, session).session != nil)
  }

  @Test func `a session of another account is rejected, and the code stays valid`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    world.store.insert(account(id: "other", phone: number))
    let session = try world.session(of: "account-y")
    let code = try await world.verification(session)
    let other = try world.session(of: "other", by: .phone)
    await refused(.userMismatch) { try await world.confirm(code, other) }
    #expect(try await world.confirm(code, session).session != nil)
  }

  @Test func `check 106: a verification link is valid for three days, and until the next one`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let former = try await world.verification(session)
    let latter = try await world.verification(session)
    await refused(.invalidCode) { try await world.confirm(former, session) }
    #expect(try await world.check(latter).expiresAt == world.now.adding(millis: 3 * 86_400_000))
    world.clock.advance(millis: 3 * 86_400_000)
    await refused(.expiredCode) { try await world.confirm(latter) }
  }

  @Test func `an address that the account has left since is not verified`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.verification(session)
    world.store.edit { $0.accounts["account-y"]?.emailAddress?.text = "new@example.com" }
    await refused(.invalidCode) { try await world.confirm(code, session) }
  }

  @Test func `a code is invalid if its account is deleted after the code was read`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.verification(session)
    let closing = Write.account(.close(ClosedAccountRecord(id: "account-y", closedAt: world.now), version: nil))
    let deleted = world.environment(before: .firstLoad) { store in
      store.edit { tables in
        let outcome = tables.carryOut(Change([closing]))
        #expect(outcome == .committed)
      }
    }
    let failure = await refused(.invalidCode) {
      try await ConfirmEmail(deleted)(.link(code: code), idToken: session.idToken, world.call())
    }
    #expect(failure?.field == "code" && world.store.state("account-y") == nil)
  }

  @Test func `an account without an address, or an ended session, gets no email`() async throws {
    world.store.insert(account(phone: number))
    let session = try world.session(of: "account-y", by: .phone)
    await refused(.operationNotAllowed) { try await world.verification(session) }
    world.store.edit { $0.sessions[session.sessionID]?.closed = SessionEnd(at: world.now, reason: .revoked) }
    await refused(.tokenRevoked) { try await world.verification(session) }
    #expect(world.store.contents.deliveries.isEmpty)
  }

  @Test func `twenty clicks at the same time verify once, and all succeed`() async throws {
    let store = MemoryStore(meetsRaces: true)
    let world = World(store: store) { $0.mailEnabled = true }
    store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let code = try await world.verification(session)
    let done = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<20 { group.addTask { (try? await world.confirm(code, session)) == nil ? 0 : 1 } }
      return await group.reduce(0, +)
    }
    #expect(done == 20 && store.contents.events(of: "account-y") == ["EMAIL_VERIFIED"])
  }

  @Test func `a page can ask for the purpose of a code without using it up`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let signIn = try await world.emailLink(world.call(binding: "browser of ada")).linkCode
    let (verify, reset) = (try await world.verification(session), try await world.passwordReset())
    let change = try await world.emailChange(to: "b@x.example", session)
    let codes = [
      (signIn, CodeMode.signIn), (verify, .verifyEmail), (reset, .resetPassword), (change, .changeEmail),
    ]
    for (code, mode) in codes {
      for _ in 0..<2 {
        let check = try await world.check(code)
        #expect(check.mode == mode && check.email == (mode == .changeEmail ? "b@x.example" : ada))
      }
    }
    await refused(.invalidCode) { try await world.check(signIn, world.call(caller: "other")) }
    await refused(.invalidCode) { try await world.check("nonsense") }
    let phone = try await world.phoneCode()
    await refused(.invalidCode) { try await world.check(phone.verificationID) }
  }
}
