import Store
import Testing

@testable import Identity

/// Section 7: looking up sign-in methods.
struct `FetchProviders, all rules` {
  let world = World()

  func byToken(_ pendingToken: String, _ call: CallFacts, in world: World? = nil) async throws -> ProvidersAnswer {
    let environment = (world ?? self.world).environment
    return try await environment.read(try FetchByPendingToken(environment, pendingToken, call))
  }

  func byEmail(_ email: String, _ call: CallFacts? = nil, in world: World? = nil) async throws -> ProvidersAnswer {
    let call = call ?? self.world.call(mayFetchByEmail: true)
    return try await FetchByEmail((world ?? self.world).environment, email, call)()
  }

  @Test func `an address returns its providers and methods in the order to offer`() async throws {
    let gone = assertion("oidc.gone", "s-1", email: nil, tier: .unverified)
    world.store.insert(
      account(.verified(ada), password: true, phone: "+15550100", identities: [google(), gone], factors: [.totp]))
    let answer = try await byEmail(ada)
    #expect(answer.registered)
    #expect(answer.providerIDs == ["password", "phone", "google.com"])
    #expect(answer.methods == ["password", "phone", "google.com"])
  }

  @Test(arguments: [
    ([], true), ([.recoveryCode], true), ([.totp], true), ([.phone, .totp], true), ([.phone], false),
    ([.phone, .recoveryCode], false),
  ] as [([FactorKind], Bool)])
  func `3.4 a phone is offered unless it is the only second factor, by address and by pending token`(
    factors: [FactorKind], isOffered: Bool
  ) async throws {
    world.store.insert(account(.verified(ada), password: true, phone: "+15550100", factors: factors))
    let handle = world.hold(corp(tier: .verified), for: "account-y")
    let methods = isOffered ? ["password", "phone"] : ["password"]
    let byAddress = try await byEmail(ada)
    #expect(byAddress.methods == methods && byAddress.providerIDs == methods)
    #expect(try await byToken(handle, world.call()).methods == methods)
  }

  @Test func `3.4 a sign-in link is offered if a verified address is all there is`() async throws {
    for isEnabled in [true, false] {
      let world = World { $0.emailLinkEnabled = isEnabled }
      world.store.insert(account(.verified(ada), madeByAdministrator: true))
      world.store.insert(account(id: "account-z", .unverified("bea@example.com"), madeByAdministrator: true))
      let answer = try await byEmail(ada, in: world)
      #expect(answer.registered && answer.methods == (isEnabled ? ["emailLink"] : []))
      #expect(try await byEmail("bea@example.com", in: world).methods == [])
    }
  }

  @Test func `an unknown address is not registered and has no methods`() async throws {
    #expect(try await byEmail(ada) == ProvidersAnswer())
  }

  @Test func `check 36: a caller without the right gets the same answer for every address, without a look-up`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    for email in [ada, "nobody@example.com"] {
      #expect(try await byEmail(email, world.call()) == ProvidersAnswer())
      world.store.fail(with: .closed)
      #expect(try FetchByEmail(world.environment, email, world.call()).now() == ProvidersAnswer())
      world.store.fail(with: nil)
    }
  }

  @Test func `without enumeration protection every caller may ask`() async throws {
    let world = World { $0.emailEnumerationProtection = false }
    world.store.insert(account(.verified(ada), password: true))
    #expect(try await byEmail(ada, world.call(), in: world).methods == ["password"])
  }

  @Test func `the owner of the address takes precedence over an account that links an identity with it`() async throws {
    world.store.insert(account(id: "linked", .verified("bob@example.com"), identities: [google(email: ada)]))
    #expect(try await byEmail(ada).methods == ["google.com"])
    world.store.insert(account(id: "owner", .unverified(ada), password: true))
    #expect(try await byEmail(ada).methods == ["password"])
  }

  @Test func `a linked identity's address counts only at tier verified and above`() async throws {
    world.store.insert(account(.verified("bob@example.com"), identities: [corp(email: ada, tier: .unverified)]))
    #expect(try await byEmail(ada) == ProvidersAnswer())
  }

  @Test func `duplicate mode lists only password and sign-in link`() async throws {
    let world = World {
      $0.oneAccountPerEmail = false
      $0.emailLinkEnabled = true
    }
    world.store.insert(account(.verified(ada), password: true, emailLink: true, identities: [google()]))
    world.store.insert(account(id: "linked", identities: [google("g-2", email: "bob@example.com")]))
    #expect(try await byEmail(ada, in: world).methods == ["password", "emailLink"])
    #expect(try await byEmail("bob@example.com", in: world) == ProvidersAnswer())
  }

  @Test func `check 37: a pending credential returns the methods of the account and its own details`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(corp(tier: .verified), for: "account-y")
    let answer = try await byToken(handle, world.call())
    #expect(answer.registered && answer.methods == ["password"])
    let pending = try #require(answer.pending)
    #expect(pending.purpose == .link && pending.providerID == "oidc.corp" && pending.email == ada)
    #expect(pending.username == corp().username && pending.displayName == corp().displayName)
    #expect(pending.expiresAt == world.now.adding(millis: world.policy.pendingLifetimeMillis))
  }

  @Test func `below tier verified a pending credential returns methods only to callers with the right`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(corp(tier: .unverified), for: "account-y")
    let answer = try await byToken(handle, world.call())
    #expect(answer.registered && answer.methods.isEmpty && answer.providerIDs.isEmpty && answer.pending != nil)
    #expect(try await byToken(handle, world.call(mayFetchByEmail: true)).methods == ["password"])
  }

  @Test func `conflict_reveals_methods = always reveals methods at any tier`() async throws {
    let world = World { $0.conflictRevealsMethods = .always }
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(corp(tier: .unverified), for: "account-y")
    #expect(try await byToken(handle, world.call(), in: world).methods == ["password"])
  }

  @Test func `3.1 the mailbox of a verified address is offered if every other method is disabled`() async throws {
    var world = World { ($0.emailLinkEnabled, $0.passwordEnabled) = (true, false) }
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(corp(tier: .verified), for: "account-y")
    #expect(try await byToken(handle, world.call(), in: world).methods == ["emailLink"])
    // S8: the mailbox may have a new holder.
    world.store.insert(account(.verified(ada), password: true, identities: [corp("c-old")]))
    world.policy.enabledProviderIDs.remove("oidc.corp")
    let changed = world.hold(corp("c-new", tier: .verified), for: "account-y")
    #expect(try await byToken(changed, world.call(), in: world).methods.isEmpty)
  }

  @Test func `S8 a changed subject is offered neither that provider nor the mailbox`() async throws {
    let world = World { $0.emailLinkEnabled = true }
    world.store.insert(account(.verified(ada), password: true, emailLink: true, identities: [corp("c-old")]))
    let handle = world.hold(corp("c-new", tier: .verified), for: "account-y")
    #expect(try await byToken(handle, world.call(), in: world).methods == ["password"])
  }

  @Test func `check 15: another caller's or browser's pending token is unknown`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(corp(), for: "account-y", world.call(binding: "browser"))
    for call in [world.call(caller: "spiffe://test/other", binding: "browser"), world.call(binding: "another")] {
      await refused(.pendingCredentialMismatch) { try await byToken(handle, call) }
    }
    #expect(try await byToken(handle, world.call(binding: "browser")).pending != nil)
  }

  @Test func `a pending token that was completed or has expired fails with that reason`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let used = world.hold(corp(), for: "account-y")
    _ = try await world.link(.pendingToken(used), try world.session(of: "account-y")).grant
    await refused(.pendingCredentialUsed) { try await byToken(used, world.call()) }
    let late = world.hold(corp("c-2"), for: "account-y")
    world.clock.advance(millis: world.policy.pendingLifetimeMillis)
    await refused(.pendingCredentialExpired) { try await byToken(late, world.call()) }
  }

  @Test func `a task repeats a look-up that the store cannot answer immediately`() async throws {
    let world = World(store: MemoryStore(answersNow: false))
    world.store.insert(account(.verified(ada), password: true))
    let fetch = FetchByEmail(world.environment, ada, world.call(mayFetchByEmail: true))
    #expect(try fetch.now() == nil)
    #expect(try await fetch().registered)
  }
}
