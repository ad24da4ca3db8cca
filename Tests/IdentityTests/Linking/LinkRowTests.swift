import Store
import Testing

@testable import Identity

/// Section 4, row by row.
struct `Link, the rows` {
  let world = World()
  let other = "bob@example.com"

  @Test func `L1 an identity that is already linked is reported as such and nothing of the account is written`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    guard case .session(let grant, alreadyLinked: true) = try await world.link(google(), session) else {
      Issue.record("not already linked")
      return
    }
    let after = world.store.contents
    #expect(after.accounts == before.accounts && after.identities == before.identities && after.audit == before.audit)
    #expect(Set(after.sessions.keys) == Set(before.sessions.keys) && grant.sessionID == session.sessionID)
    let kept = try await Refresh(world.environment)(session.refreshToken, world.call())
    #expect(kept.refreshToken == grant.refreshToken, "the client's token and the new one are the same")
    #expect(try await Refresh(world.environment)(grant.refreshToken, world.call()).sessionID == session.sessionID)
  }

  @Test func `check 46: L1 spends a single-use token, which cannot sign in afterwards`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    // The first link moves the session on. The second one finds it moved, and has nothing else to write.
    for count in 1...2 {
      let token = Credential.providerToken(
        world.providers.token(google(), singleUseUntil: world.now.adding(millis: 60_000)))
      guard case .session(let grant, alreadyLinked: true) = try await world.link(token, session) else {
        Issue.record("not already linked")
        return
      }
      #expect(grant.sessionID == session.sessionID && world.store.contents.spent.count == count)
      let after = world.store.contents
      await refused(.missingOrInvalidNonce) { try await world.signIn(token) }
      await refused(.missingOrInvalidNonce) { try await world.link(token, session) }
      #expect(world.store.contents == after)
      #expect(after.accounts == before.accounts && after.identities == before.identities)
      #expect(after.audit == before.audit && Set(after.sessions.keys) == Set(before.sessions.keys))
      #expect(after.sessions[session.sessionID]?.parentDigest == before.sessions[session.sessionID]?.refreshDigest)
    }
    #expect(try await Refresh(world.environment)(session.refreshToken, world.call()).sessionID == session.sessionID)
  }

  @Test func `check 34: an L1 that spent its token can be repeated under its key, and no other L1 is recorded`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let session = try world.session(of: "account-y")
    _ = try await world.link(google(), session, world.call(key: "another"))
    #expect(world.store.contents.idempotency.isEmpty && world.store.contents.spent.isEmpty)
    let token = Credential.providerToken(
      world.providers.token(google(), singleUseUntil: world.now.adding(millis: 60_000)))
    for _ in 0..<2 {
      guard case .session(let grant, alreadyLinked: true) = try await world.link(token, session, world.call(key: "k"))
      else {
        Issue.record("not already linked")
        return
      }
      #expect(grant.sessionID == session.sessionID)
      _ = try await Refresh(world.environment)(grant.refreshToken, world.call())
    }
    #expect(world.store.contents.idempotency.count == 1 && world.store.contents.spent.count == 1)
  }

  @Test func `L1 with a pending token completes its row with the stored token, and can be repeated`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    let token = Credential.providerToken(
      world.providers.token(google(), singleUseUntil: world.now.adding(millis: 60_000)))
    let handle = try await world.signIn(token).exists.handle
    let session = try world.session(of: "account-y")
    _ = try await world.link(google(), session)
    for _ in 0..<2 {
      #expect(try await world.link(.pendingToken(handle), session).grant.sessionID == session.sessionID)
      #expect(try world.row(handle)?.completedSessionID == session.sessionID)
    }
    await refused(.missingOrInvalidNonce) { try await world.signIn(token) }
  }

  @Test func `L2 an identity of another account becomes a pending credential of that account, and neither changes`()
    async throws
  {
    world.store.insert(account(id: "owner", .verified(other), identities: [google(email: other)]))
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    let inUse = try await world.link(google(email: other), session).inUse
    let row = try #require(try world.row(inUse.handle))
    #expect(row.purpose == .credentialInUse && row.accountID == "owner")
    #expect(inUse.email == other)
    #expect(world.store.contents.accounts == before.accounts)
    #expect(world.store.contents.identities == before.identities)
    #expect(world.store.contents.sessions == before.sessions)
  }

  @Test func `L2 a repeat under the same key gets the first pending token`() async throws {
    world.store.insert(account(id: "owner", .verified(other), identities: [google(email: other)]))
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    var first = try await world.link(google(email: other), session, world.call(key: "k")).inUse
    first.tokens = nil
    #expect(try await world.link(google(email: other), session, world.call(key: "k")).inUse == first)
    #expect(world.store.contents.pendings.count == 1)
  }

  @Test func `L3 another subject of a linked provider is rejected`() async throws {
    world.store.insert(account(.verified(ada), identities: [google("g-1")]))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    await refused(.providerAlreadyLinked) { try await world.link(google("g-2"), session) }
    #expect(world.store.contents == before)
  }

  @Test(arguments: TrustTier.allCases)
  func `L4 an asserted address of another account is refused at any tier`(_ tier: TrustTier) async throws {
    world.store.insert(account(id: "owner", .unverified(other), password: true))
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    let failure = await refused(.emailAlreadyInUse) {
      try await world.link(google(email: other, tier: tier), session)
    }
    #expect(failure?.metadata == ["email": other], "after a redirect the client learns it here only")
    #expect(world.store.contents == before)
  }

  @Test func `L4 in duplicate mode addresses are neither compared nor copied nor verified`() async throws {
    let world = World { $0.oneAccountPerEmail = false }
    world.store.insert(account(id: "owner", .unverified(other), password: true))
    world.store.insert(account(.none, identities: [corp(email: nil)]))
    world.store.insert(account(id: "same", .unverified(ada), password: true))
    let linked = try await world.link(google(email: other), try world.session(of: "account-y")).grant
    #expect(linked.account.account.email == nil)
    let same = try await world.link(google("g-2", email: ada), try world.session(of: "same")).grant
    #expect(!same.account.account.emailVerified)
  }

  @Test(arguments: TrustTier.allCases)
  func `L5 an account without an address gets the asserted one, verified by its tier`(_ tier: TrustTier) async throws {
    world.store.insert(account(.none, identities: [corp(email: nil)]))
    _ = try await world.link(google(tier: tier), try world.session(of: "account-y"))
    let record = try #require(world.store.state("account-y")?.account)
    #expect(record.email == ada)
    #expect(record.emailVerified == (tier >= .verified))
    #expect(record.emailAddress?.source == "google.com")
  }

  @Test(arguments: TrustTier.allCases)
  func `L6 the account's own address is verified by an assertion of tier verified or above`(
    _ tier: TrustTier
  ) async throws {
    world.store.insert(account(.unverified(ada), password: true))
    _ = try await world.link(google(tier: tier), try world.session(of: "account-y"))
    let state = try #require(world.store.state("account-y"))
    #expect(state.holds(google().identity))
    #expect(state.account.emailVerified == (tier >= .verified))
    #expect(state.account.passwordHash != nil, "the proof has an ID token of the account, so its methods stay")
  }

  @Test func `L6 an existing verification does not change`() async throws {
    world.store.insert(account(.verified(ada, by: .confirmation), password: true))
    _ = try await world.link(google(), try world.session(of: "account-y"))
    #expect(world.store.state("account-y")?.account.emailAddress?.verification == .confirmation)
  }

  @Test(arguments: [nil, "bob@example.com"])
  func `L7 an identity with another free address, or none, is linked and the account keeps its own address`(
    _ email: String?
  ) async throws {
    world.store.insert(account(.unverified(ada), password: true))
    _ = try await world.link(google(email: email), try world.session(of: "account-y"))
    let state = try #require(world.store.state("account-y"))
    #expect(state.holds(google().identity))
    #expect(state.account.email == ada && !state.account.emailVerified)
  }

  @Test func `L8 a password is linked under the account's own address, which stays verified`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let credential = Credential.password(email: ada, password: "a long secret")
    let linked = try await world.link(credential, try world.session(of: "account-y")).grant
    let record = try #require(world.store.state("account-y")?.account)
    #expect(record.passwordHash == "hash:a long secret" && record.passwordSetAt == world.now)
    #expect(record.emailAddress?.verification == .confirmation)
    #expect(try world.claims(linked).signInProviderID == "password")
  }

  @Test func `L8 a password under another account's address is refused`() async throws {
    world.store.insert(account(id: "owner", .unverified(other), password: true))
    world.store.insert(account(.verified(ada), identities: [google()]))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    await refused(.emailAlreadyInUse) {
      try await world.link(.password(email: other, password: "a long secret"), session)
    }
    #expect(world.store.contents.uncounted == before)
  }

  @Test(arguments: ["bob@example.com", "free@example.com"])
  func `L8 if sign-up verifies first, a password can only be linked under the account's address`(
    email: String
  ) async throws {
    let world = World { $0.signUp = .verifyFirst }
    world.store.insert(account(id: "owner", .unverified(other), password: true))
    world.store.insert(account(.verified(ada), identities: [google()]))
    let password = Credential.password(email: email, password: "a long secret")
    let guest = try await world.signIn(.anonymous).grant
    let before = world.store.contents
    let failure = await refused(.operationNotAllowed) { try await world.link(password, guest) }
    #expect(failure?.field == "credential.password.email")
    await refused(.invalidField) { try await world.link(password, try world.session(of: "account-y")) }
    #expect(world.store.contents.accounts == before.accounts)
  }

  @Test(arguments: [
    (Policy.SignUp.verifyFirst, true, "sign-in link or code"), (.closed, true, "sign-in link or code"),
    (.verifyFirst, false, "merge"), (.closed, false, "administrator"),
  ])
  func `L8 the hint names a way to a password that the policy leaves`(
    signUp: Policy.SignUp, byLink: Bool, hint: String
  ) async throws {
    let world = World.sending {
      $0.signUp = signUp
      $0.emailLinkEnabled = byLink
    }
    world.store.insert(account(identities: [google(email: nil)]))
    let password = Credential.password(email: ada, password: "a long secret")
    let session = try world.session(of: "account-y")
    let failure = await refused(.operationNotAllowed) { try await world.link(password, session) }
    #expect(failure?.hint.contains(hint) == true)
  }

  @Test func `check 36: addresses probed by linking a password count as sign-ups`() async throws {
    let world = World { $0.throttles[.signUpsPerNetwork].countMax = 3 }
    world.store.insert(account(id: "owner", .unverified(other), password: true))
    let guest = try await world.signIn(.anonymous).grant
    let taken = Credential.password(email: other, password: "a long secret")
    for _ in 0..<2 { await refused(.emailAlreadyInUse) { try await world.link(taken, guest) } }
    await refused(.tooManyAttempts) { try await world.link(taken, guest) }
    // Nor does a free address answer without a limit.
    world.store.insert(account(.verified(ada), identities: [corp()]))
    let user = try world.session(of: "account-y")
    let free = Credential.password(email: "free@example.com", password: "a long secret")
    let network = world.call(ipAddress: "198.51.100.7")
    for _ in 0..<3 { await refused(.invalidField) { try await world.link(free, user, network) } }
    await refused(.tooManyAttempts) { try await world.link(free, user, network) }
    _ = try await world.link(google(email: nil), guest).grant
  }

  @Test func `L8 a second password is refused`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let before = world.store.contents.uncounted
    await refused(.providerAlreadyLinked) {
      try await world.link(.password(email: ada, password: "a long secret"), session)
    }
    #expect(world.store.contents.uncounted == before)
  }

  @Test func `L8 a free address does not replace the account's own`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let session = try world.session(of: "account-y")
    let before = world.store.contents.uncounted
    let failure = await refused(.invalidField) {
      try await world.link(.password(email: other, password: "a long secret"), session)
    }
    #expect(failure?.field == "credential.password.email")
    #expect(failure?.hint.contains("SendEmailChange") == true, "the hint names the call")
    #expect(world.store.contents.uncounted == before)
  }

  @Test func `L8 a free address becomes the account's own by an email to it, and can then have a password`()
    async throws
  {
    let world = World.sending()
    world.store.insert(account(.verified(ada), identities: [google()]))
    let session = try world.session(of: "account-y")
    let confirmed = try await world.confirm(world.emailChange(to: other, session), session)
    let changed = try #require(confirmed.session)
    let state = try await world.link(.password(email: other, password: "a long secret"), changed).grant.account
    #expect(state.account.email == other && state.account.emailVerified && state.account.passwordHash != nil)
  }

  @Test func `L9 an anonymous account keeps its id, becomes permanent and gets name and photo`() async throws {
    world.store.insert(account(anonymous: true))
    let session = try world.session(of: "account-y", by: .anonymous)
    let linked = try await world.link(google(), session).grant
    let state = try #require(world.store.state("account-y"))
    #expect(!state.account.anonymous)
    #expect(state.account.displayName == "Ada at google.com" && !state.account.photoURL.isEmpty)
    #expect(state.account.email == ada && state.account.emailVerified)
    #expect(linked.account == state)
    #expect(try world.claims(linked).signInProviderID == "google.com")
  }

  @Test func `check 99: L9 ends every session of the guest, since another user may have a copy`() async throws {
    world.store.insert(account(anonymous: true))
    let guest = try world.session(of: "account-y", by: .anonymous)
    let renamed = try await world.update(guest, name: "Guest")
    let linked = try await world.link(google(), renamed).grant
    for before in [guest, renamed] {
      await refused(.tokenRevoked) { try await Refresh(world.environment)(before.refreshToken, world.call()) }
      await refused(.tokenRevoked) { try await world.link(google("g-2"), before) }
    }
    #expect(try await Refresh(world.environment)(linked.refreshToken, world.call()).sessionID == linked.sessionID)
  }

  @Test func `L1 a guest whose answer was lost gets the session again, with the same credential only`()
    async throws
  {
    world.store.insert(account(anonymous: true))
    let guest = try world.session(of: "account-y", by: .anonymous)
    _ = try await world.link(google(), guest)
    guard case .session(let grant, alreadyLinked: true) = try await world.link(google(), guest) else {
      Issue.record("the identity is the account's")
      return
    }
    #expect(try world.claims(grant).signInProviderID == "google.com")
    #expect(try await Refresh(world.environment)(grant.refreshToken, world.call()).sessionID == grant.sessionID)
    for other in [google("g-2"), corp()] {
      await refused(.tokenRevoked) { try await world.link(other, guest) }
    }
    // Neither is checked: an unknown handle would be a mismatch, and a short password a weak one.
    for other in [Credential.pendingToken("none"), .password(email: ada, password: "short")] {
      await refused(.tokenRevoked) { try await world.link(other, guest) }
    }
    await refused(.tokenRevoked) { try await Refresh(world.environment)(guest.refreshToken, world.call()) }
  }

  @Test func `check 99: a custom token ends every session of the guest, by a sign-in and by a reauthentication`()
    async throws
  {
    for signsIn in [true, false] {
      let world = World()
      world.store.insert(account(anonymous: true))
      let guest = try world.session(of: "account-y", by: .anonymous)
      let token = Credential.customToken(try await world.customToken(for: "account-y"))
      let grant = try await signsIn ? world.signIn(token).grant : world.reauthenticate(token, guest).grant
      #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [grant.sessionID])
    }
  }

  @Test func `L9 an anonymous user may link a password however old the session is`() async throws {
    world.store.insert(account(anonymous: true))
    let session = try world.session(of: "account-y", by: .anonymous)
    world.clock.advance(millis: world.policy.idTokenLifetimeMillis - 1)
    let credential = Credential.password(email: ada, password: "a long secret")
    let linked = try await world.link(credential, session).grant
    let record = try #require(world.store.state("account-y")?.account)
    #expect(record.email == ada && !record.emailVerified && !record.anonymous)
    #expect(try world.claims(linked).authTime == world.now, "it is this user's first login")
  }

  @Test func `L9 an anonymous user who links an identity of another account loses nothing and may try again`()
    async throws
  {
    world.store.insert(account(id: "owner", .verified(other), identities: [google(email: other)]))
    world.store.insert(account(anonymous: true))
    let session = try world.session(of: "account-y", by: .anonymous)
    for _ in 0..<2 {
      _ = try await world.link(google(email: other), session).inUse
    }
    #expect(world.store.state("account-y")?.account.anonymous == true)
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
  }

  @Test func `L11 a session that did not pass the account's factor only gets a pending link`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let session = try world.session(of: "account-y")
    let before = world.store.contents
    let required = try await world.link(google(), session).required
    let row = try #require(try world.row(required.handle))
    #expect(row.purpose == .secondFactor && row.accountID == "account-y")
    #expect(required.factors.map(\.id) == ["factor-totp"])
    var after = world.store.contents
    after.pendings = before.pendings
    #expect(after == before, "only the row was written")
  }

  @Test func `L11 the row that waits for the factor contains the credential to link`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()], factors: [.totp]))
    let session = try world.session(of: "account-y")
    let credential = Credential.password(email: ada, password: "a long secret")
    let required = try await world.link(credential, session).required
    let row = try world.row(required.handle)
    let opened = try world.environment.openPending(row, purpose: .secondFactor, call: world.call(), now: world.now)
    guard case .held(_, let held) = opened else {
      Issue.record("not held")
      return
    }
    #expect(held.intent == .link && held.sessionID == session.sessionID)
    #expect(held.passwordHash == "hash:a long secret" && held.assertion.email == ada)
  }

  @Test func `L11 a session that passed the factor links immediately`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let session = try world.session(of: "account-y", secondFactor: "totp")
    let linked = try await world.link(google(), session).grant
    #expect(try world.claims(linked).signInSecondFactor == "totp")
  }

  @Test func `L12 the link window closes exactly at its end`() async throws {
    let world = World { $0.idTokenLifetimeMillis = 2 * $0.linkRecentLoginMillis }
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.linkRecentLoginMillis)
    let before = world.store.contents
    let failure = await refused(.requiresRecentLogin) { try await world.link(google(), session) }
    #expect(failure?.metadata == ["max_age_seconds": "3600", "methods": "password"])
    #expect(world.store.contents == before)
    world.clock.advance(millis: -1)
    _ = try await world.link(google(), session).grant
  }
}
