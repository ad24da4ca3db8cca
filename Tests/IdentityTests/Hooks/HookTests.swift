import Store
import Testing

@testable import Identity

/// Section 15: what hooks are asked, and what their answers do.
struct `Questions to hooks` {
  private func world(_ hooks: FakeHooks, policy: (inout Policy) -> Void = { _ in }) -> World {
    var world = World.sending(policy: policy)
    world.hooks = hooks
    return world
  }

  private func events(_ hooks: FakeHooks) -> [HookEvent] { hooks.asked.map(\.event) }

  // MARK: Which calls ask

  @Test(arguments: [
    Credential.anonymous, .phoneCode(verificationID: "", digits: ""), .emailLink(email: ada, code: ""),
    .customToken(""), .providerToken(ProviderToken(providerID: "google.com")),
  ])
  func `each credential that creates an account asks about it, then about its session`(credential: Credential)
    async throws
  {
    let hooks = FakeHooks()
    let world = world(hooks) { $0.anonymousEnabled = true; $0.customTokenEnabled = true }
    let credential = try await present(credential, in: world)
    let before = hooks.asked.count
    let grant = try await world.signIn(credential).grant
    let asked = Array(hooks.asked[before...])
    #expect(grant.isNewAccount)
    #expect(asked.map(\.event) == [.beforeCreate, .beforeSignIn])
    guard case .create(let login)? = asked.first, case .signIn(let second, true)? = asked.last else {
      Issue.record("other questions: \(asked)")
      return
    }
    #expect(login.account.id == grant.account.account.id && second.account.id == login.account.id)
    #expect(login.account.createdAt == nil)
  }

  /// A valid credential of the same kind.
  private func present(_ credential: Credential, in world: World) async throws -> Credential {
    switch credential {
    case .phoneCode: try await world.phoneCode()
    case .emailLink: try await world.emailLink(to: ada)
    case .customToken: .customToken(try await world.customToken(for: "new-account"))
    case .providerToken: .providerToken(world.providers.token(google()))
    default: credential
    }
  }

  @Test func `Create asks about the account, then about its session`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    let request = CreateAccountRequest(email: ada, password: "correct horse battery")
    _ = try await CreateAccount(world.environment)(request, world.call()).grant
    #expect(events(hooks) == [.beforeCreate, .beforeSignIn])
  }

  @Test func `a sign-in to an account asks once, with the profile of the provider`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), identities: [google()]))
    _ = try await world.signIn(google()).grant
    guard case .signIn(let login, isNewAccount: false)? = hooks.asked.first else {
      Issue.record("other questions: \(hooks.asked)")
      return
    }
    #expect(hooks.asked.count == 1)
    #expect(login.userInfo?.profileJSON == "{\"sub\":\"g-1\"}" && login.account.email == ada)
    #expect(login.methods == ["fed"] && login.account.createdAt == beginning)
  }

  @Test func `a reauthentication asks, a Refresh and a Link that continue a session do not`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let grant = try await world.signIn(google()).grant
    _ = try await world.link(corp(), grant).grant
    _ = try await Refresh(world.environment)(grant.refreshToken, world.call())
    #expect(hooks.asked.count == 1)
    _ = try await world.reauthenticate(.providerToken(world.providers.token(google())), grant).grant
    #expect(events(hooks) == [.beforeSignIn, .beforeSignIn])
  }

  @Test func `a Link that makes an anonymous account permanent asks about its first login`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks) { $0.anonymousEnabled = true }
    let guest = try await world.signIn(.anonymous).grant
    hooks.use { _ in .denying("DOMAIN") }
    await refused(.deniedByHook) { try await world.link(google(), guest) }
    #expect(events(hooks) == [.beforeCreate, .beforeSignIn, .beforeSignIn])
    #expect(world.store.contents.identities.isEmpty)
  }

  @Test func `a second factor asks after the factor, not before`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.insertPerson([.totp])
    let required = try await world.signIn(google()).required
    #expect(hooks.asked.isEmpty)
    hooks.use { _ in .allowing { $0.sessionClaimsJSON = "{\"role\":\"x\"}" } }
    _ = try await world.finish(required)
    guard case .signIn(let login, _)? = hooks.asked.first else {
      Issue.record("other questions: \(hooks.asked)")
      return
    }
    #expect(login.secondFactor == "totp" && hooks.asked.count == 1)
    #expect(world.store.contents.sessions.values.map(\.claimsJSON) == ["{\"role\":\"x\"}"])
  }

  @Test func `conflicts and wrong credentials ask nothing`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    _ = try await world.signIn(google()).exists
    await refused(.invalidLoginCredentials) {
      try await world.signIn(.password(email: ada, password: "a wrong password"))
    }
    #expect(hooks.asked.isEmpty)
  }

  @Test func `other callers and events ask nothing`() async throws {
    let hooks = FakeHooks([.beforeCreate], callers: ["spiffe://test/app"]) { _ in .denying("NO") }
    let world = world(hooks)
    _ = try await world.signIn(google(), world.call(caller: "spiffe://test/other")).grant
    _ = try await world.signIn(google()).grant
    await refused(.deniedByHook) { try await world.signIn(corp(email: nil)) }
    #expect(events(hooks) == [.beforeCreate])
  }

  @Test func `a completion asks once`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    let handle = try await world.signIn(google()).exists.handle
    _ = try await world.signIn(rightPassword, pendingToken: handle).grant
    #expect(events(hooks) == [.beforeSignIn])
    // A repeated completion continues the session.
    _ = try await world.signIn(rightPassword, pendingToken: handle).grant
    #expect(hooks.asked.count == 1)
  }

  @Test func `a repeat under the idempotency key does not ask again`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    let first = try await world.signIn(google(), world.call(key: "1")).grant
    let second = try await world.signIn(google(), world.call(key: "1")).grant
    #expect(first.sessionID == second.sessionID && hooks.asked.count == 2)
  }

  // MARK: Denied

  @Test func `a denied account leaves nothing but an event, and the client learns the reason`() async throws {
    let hooks = FakeHooks { _ in .denying("DOMAIN", "Only for staff.") }
    let world = world(hooks)
    let failure = await refused(.deniedByHook) { try await world.signIn(google()) }
    #expect(failure?.metadata == ["code": "DOMAIN", "reason": "Only for staff."])
    #expect(failure?.hint == "Only for staff.")
    let contents = world.store.contents
    #expect(contents.accounts.isEmpty && contents.sessions.isEmpty && contents.identities.isEmpty)
    #expect(contents.audit.map(\.event) == ["HOOK_DENIED"])
    let details = try #require(contents.audit.first).detailsJSON
    #expect(details.contains("\"code\":\"DOMAIN\"") && !details.contains("staff"))
  }

  @Test func `a denied sign-in changes nothing of the account, and is recorded for it`() async throws {
    let hooks = FakeHooks { _ in .denying("") }
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    let before = world.store.state("account-y")
    let failure = await refused(.deniedByHook) { try await world.signIn(rightPassword) }
    #expect(failure?.accountID == "account-y" && failure?.metadata == [:])
    #expect(world.store.state("account-y") == before && world.store.contents.sessions.isEmpty)
    #expect(world.store.contents.events(of: "account-y") == ["HOOK_DENIED"])
  }

  @Test func `a denied anonymous sign-up counts like one`() async throws {
    let hooks = FakeHooks { _ in .denying("NO") }
    let world = world(hooks) { $0.anonymousEnabled = true }
    await refused(.deniedByHook) { try await world.signIn(.anonymous) }
    #expect(!world.store.contents.throttles.isEmpty)
  }

  @Test func `a denied completion counts an attempt of its row`() async throws {
    let hooks = FakeHooks { _ in .denying("NO") }
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    let handle = try await world.signIn(google()).exists.handle
    let before = try #require(try world.row(handle)).attemptsLeft
    await refused(.deniedByHook) { try await world.signIn(rightPassword, pendingToken: handle) }
    #expect(try world.row(handle)?.attemptsLeft == before - 1)
  }

  @Test func `an invitation asks before it is made, and a denied one leaves nothing but an event`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    func invite() async throws -> Invited {
      let request = InviteRequest(email: ada, setsPassword: true, mail: MailOrder(continueURI: page, locale: "de"))
      let redeemer = LinkCaller(name: CallerName("spiffe://test/app"), redirectURIs: [page])
      return try await InviteUser(world.environment)(request, for: redeemer, world.call(caller: "spiffe://test/admin"))
    }
    hooks.use { _ in .denying("DOMAIN") }
    await refused(.deniedByHook) { try await invite() }
    let contents = world.store.contents
    #expect(contents.accounts.isEmpty && contents.deliveries.isEmpty && contents.pendings.isEmpty)
    #expect(contents.audit.map(\.event) == ["HOOK_DENIED"])
    hooks.use { _ in .failed(hook: "rules", isAllowed: false) }
    await refused(.hookUnavailable) { try await invite() }
    hooks.use { _ in .allowing { _ in } }
    #expect(try await invite().isNewAccount)
    let message = HookedMessage(kind: .invitation, recipient: .email(ada), locale: "de")
    #expect(hooks.asked == Array(repeating: .send(message), count: 3))
  }

  // MARK: Failures

  @Test func `a failed hook denies or allows by its setting`() async throws {
    let hooks = FakeHooks { _ in .failed(hook: "rules", isAllowed: false) }
    let world = world(hooks)
    let untouched = await world.untouched {
      let failure = await refused(.hookUnavailable) { try await world.signIn(google()) }
      #expect(failure?.retryAfterMillis == 1_000)
    }
    #expect(untouched)
    hooks.use { _ in .failed(hook: "rules", isAllowed: true) }
    #expect(try await world.signIn(google()).grant.isNewAccount)
  }
}
