import Store
import Testing

@testable import Identity

/// Section 15: what hooks change, and races while they are asked.
struct `Changes by hooks` {
  private func world(_ hooks: FakeHooks, policy: (inout Policy) -> Void = { _ in }) -> World {
    var world = World.sending(policy: policy)
    world.hooks = hooks
    return world
  }

  @Test func `a new account is stored with all changes, and BeforeSignIn sees them`() async throws {
    let hooks = FakeHooks { question in
      guard case .create = question else { return .allowing { $0.sessionClaimsJSON = "{\"b\":2}" } }
      return .allowing { changes in
        changes.displayName = "Countess"
        changes.photoURL = ""
        changes.emailVerified = true
        changes.customClaimsJSON = "{\"role\":\"x\"}"
        changes.sessionClaimsJSON = "{\"a\":1}"
      }
    }
    let world = world(hooks)
    let grant = try await world.signIn(corp()).grant
    let stored = try #require(world.store.state(grant.account.account.id)).account
    #expect(stored.displayName == "Countess" && stored.photoURL == "" && stored.customClaimsJSON == "{\"role\":\"x\"}")
    #expect(stored.emailVerified && stored.emailVerifiedAt == nil)
    #expect(stored.emailAddress?.verification == .administrator)
    #expect(grant.account.account.displayName == "Countess")
    guard case .signIn(let login, true)? = hooks.asked.last else {
      Issue.record("other questions: \(hooks.asked)")
      return
    }
    #expect(login.account.displayName == "Countess" && login.account.emailVerified)
    #expect(login.sessionClaimsJSON == "{\"a\":1}")
    let token = try world.claims(grant)
    #expect(token.sessionClaimsJSON == "{\"a\":1,\"b\":2}" && token.customClaimsJSON == "{\"role\":\"x\"}")
    #expect(token.name == "Countess" && token.emailVerified)
    let changed = world.store.contents.audit.filter { $0.event == "HOOK_CHANGED" }.map(\.detailsJSON)
    #expect(changed.count == 2)
    #expect(
      changed.first?.contains("display_name,photo_url,email_verified,custom_claims,session_claims") == true)
  }

  @Test func `a login with a second factor takes over changes of the account, in one update`() async throws {
    let hooks = FakeHooks { _ in .allowing { $0.displayName = "New" } }
    let world = world(hooks)
    world.insertPerson([.totp])
    let version = try #require(world.store.state("account-y")).account.version
    let grant = try await world.finish(try await world.signIn(google()).required).grant
    let after = try #require(world.store.state("account-y")).account
    #expect(after.displayName == "New" && after.version == version + 1 && after.lastSignInAt == world.now)
    hooks.use { _ in .allowing { $0.customClaimsJSON = "{\"role\":\"x\"}" } }
    world.clock.advance(millis: 60_000)
    let credential = Credential.providerToken(world.providers.token(google()))
    _ = try await world.finish(try await world.reauthenticate(credential, grant).required)
    #expect(world.store.state("account-y")?.account.customClaimsJSON == "{\"role\":\"x\"}")
    #expect(world.store.contents.audit.count { $0.event == "HOOK_CHANGED" } == 2)
  }

  @Test func `an existing account is updated at the version that the decision saw`() async throws {
    let hooks = FakeHooks { _ in .allowing { $0.displayName = "New" } }
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    let version = try #require(world.store.state("account-y")).account.version
    let grant = try await world.signIn(rightPassword).grant
    let after = try #require(world.store.state("account-y")).account
    #expect(after.displayName == "New" && after.version == version + 1 && after.lastSignInAt == world.now)
    #expect(grant.account.account.displayName == "New")
    // An answer that states what is so already changes nothing.
    _ = try await world.signIn(rightPassword).grant
    #expect(world.store.state("account-y")?.account.version == version + 1)
    #expect(world.store.contents.audit.count { $0.event == "HOOK_CHANGED" } == 1)
  }

  @Test func `session claims stay in the tokens of a Refresh, and are not those of the next session`() async throws {
    let hooks = FakeHooks { _ in .allowing { $0.sessionClaimsJSON = "{\"role\":\"x\"}" } }
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    let grant = try await world.signIn(rightPassword).grant
    let refreshed = try await Refresh(world.environment)(grant.refreshToken, world.call())
    #expect(try world.claims(refreshed).sessionClaimsJSON == "{\"role\":\"x\"}")
    hooks.use { _ in .allowing { _ in } }
    #expect(try world.claims(try await world.signIn(rightPassword).grant).sessionClaimsJSON == "")
  }

  @Test func `session claims are added to those of a custom token`() async throws {
    let hooks = FakeHooks { _ in .allowing { $0.sessionClaimsJSON = "{\"hook\":1}" } }
    let world = world(hooks) { $0.customTokenEnabled = true }
    world.store.insert(account(.verified(ada), password: true))
    let order = CreateCustomTokenRequest(accountID: "account-y", claimsJSON: "{\"token\":1}")
    let text = try await CreateCustomToken(world.environment)(order, world.call()).customToken
    let grant = try await world.signIn(.customToken(text)).grant
    #expect(try world.claims(grant).sessionClaimsJSON == "{\"token\":1,\"hook\":1}")
  }

  @Test func `a new account that a hook disables exists without a session`() async throws {
    let hooks = FakeHooks { _ in .allowing { $0.disables = true } }
    let world = world(hooks)
    await refused(.userDisabled) { try await world.signIn(google(), world.call(key: "1")) }
    let contents = world.store.contents
    #expect(contents.accounts.values.map(\.disabled) == [true] && contents.identities.count == 1)
    #expect(contents.sessions.isEmpty && hooks.asked.count == 1)
    #expect(contents.audit.map(\.event) == ["ACCOUNT_CREATED", "HOOK_CHANGED", "DISABLED"])
    // No record of a session remains: the repeat is decided again, and meets the disabled account.
    await refused(.userDisabled) { try await world.signIn(google(), world.call(key: "1")) }
  }

  @Test func `an account that a hook disables loses its sessions`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    _ = try await world.signIn(rightPassword).grant
    hooks.use { _ in .allowing { $0.disables = true } }
    await refused(.userDisabled) { try await world.signIn(rightPassword) }
    #expect(world.store.state("account-y")?.account.disabled == true)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    #expect(world.store.contents.events(of: "account-y") == ["DISABLED"])
  }

  // MARK: Races

  @Test func `a race that leaves the facts as they were does not ask again`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    hooks.whileAsked { [store = world.store] count in
      if count == 1 { store.edit { $0.accounts["account-y"]?.version += 1 } }
    }
    _ = try await world.signIn(rightPassword).grant
    #expect(hooks.asked.count == 1)
  }

  @Test func `a race that changes the facts asks about the new ones`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    hooks.whileAsked { [store = world.store] count in
      guard count == 1 else { return }
      store.edit { tables in
        tables.accounts["account-y"]?.version += 1
        tables.accounts["account-y"]?.displayName = "Changed"
      }
    }
    let grant = try await world.signIn(rightPassword).grant
    #expect(hooks.asked.count == 2 && grant.account.account.displayName == "Changed")
  }

  @Test func `an account that is disabled while a hook answers opens no session`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    world.store.insert(account(.verified(ada), password: true))
    hooks.whileAsked { [store = world.store] _ in
      store.edit { tables in
        tables.accounts["account-y"]?.version += 1
        tables.accounts["account-y"]?.disabled = true
      }
    }
    await refused(.userDisabled) { try await world.signIn(rightPassword) }
    #expect(world.store.contents.sessions.isEmpty)
  }

  @Test func `two parallel first sign-ins of an identity create one account and ask about it under one id each`()
    async throws
  {
    let hooks = FakeHooks()
    let world = world(hooks)
    hooks.whileAsked { [world] count in
      guard count == 1 else { return }
      world.store.insert(account(.verified(ada), identities: [google()]))
    }
    let grant = try await world.signIn(google()).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount)
    #expect(hooks.asked.map(\.event) == [.beforeCreate, .beforeSignIn, .beforeSignIn])
    #expect(world.store.contents.accounts.count == 1)
  }

  // MARK: Messages

  @Test func `a denied message is not sent, and counts`() async throws {
    let hooks = FakeHooks { _ in .denying("TOLL", "Not to this country.") }
    let world = world(hooks)
    let failure = await refused(.deniedByHook) { try await world.phoneCode() }
    #expect(failure?.metadata["code"] == "TOLL")
    let contents = world.store.contents
    #expect(contents.deliveries.isEmpty && contents.pendings.isEmpty && !contents.throttles.isEmpty)
    #expect(contents.audit.map(\.event) == ["HOOK_DENIED"])
    guard case .send(let message)? = hooks.asked.first else {
      Issue.record("other questions: \(hooks.asked)")
      return
    }
    #expect(message.kind == .phoneCode)
  }

  @Test func `the question about a message is the same for a known and an unknown address`() async throws {
    let hooks = FakeHooks()
    let world = world(hooks)
    _ = try await world.emailLink(to: ada)
    world.store.insert(account(.verified(ada), password: true))
    _ = try await world.emailLink(to: ada)
    #expect(hooks.asked.count == 2 && Set(hooks.asked).count == 1)
  }
}
