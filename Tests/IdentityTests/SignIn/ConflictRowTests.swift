import Store
import Testing

@testable import Identity

/// Section 3.1, rows S5 to S8, S10 and S12: another account has the address.
struct `SignIn, the address of an account` {
  let world = World()

  /// The expected conflict, which writes nothing but a pending row.
  private func conflict(
    _ assertion: Assertion, claimAddress: Bool = false, in world: World? = nil, _ call: CallFacts? = nil
  ) async throws -> AccountExists {
    let world = world ?? self.world
    let before = world.store.contents
    let exists = try await world.signIn(assertion, claimAddress: claimAddress, call).exists
    let row = try #require(try world.row(exists.handle))
    #expect(row.purpose == .link && row.identity == assertion.identity && row.email == assertion.email)
    #expect(exists.email == ada && exists.expiresAt == world.now.adding(millis: 600_000))
    var after = world.store.contents
    after.pendings[row.digest] = nil
    #expect(after == before)
    return exists
  }

  @Test(arguments: TrustTier.allCases)
  func `S5 check 1 and 2: an address never signs in to a verified owner, at any tier`(_ tier: TrustTier)
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, identities: [corp()]))
    let exists = try await conflict(google(tier: tier), world.call(mayFetchByEmail: true))
    #expect(exists.methods == ["password", "oidc.corp"] && exists.providerIDs == ["password", "oidc.corp"])
    #expect(exists.reason == .none && !exists.canClaimAddress)
  }

  @Test(arguments: [EmailVerification.assertion(providerID: "oidc.corp"), .emailLink, .confirmation])
  func `S5 check 3: auto_link links if both sides are verified, and the event names both`(
    _ proof: EmailVerification
  ) async throws {
    let world = World { $0.autoLink = .authoritative }
    world.store.insert(account(.verified(ada, by: proof), password: true))
    let grant = try await world.signIn(google()).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount && grant.revokedProviderIDs.isEmpty)
    #expect(world.store.state("account-y")?.holds(google().identity) == true)
    #expect(world.store.state("account-y")?.account.passwordHash != nil)
    let details = try #require(world.store.contents.audit.first).detailsJSON
    #expect(details.contains("\"account_proof\":\"\(proof.kind.rawValue)\""))
    #expect(details.contains("\"proof\":\"authoritative assertion\""))
  }

  @Test(arguments: [EmailVerification.reset, .administrator])
  func `S5 auto_link does not accept an address verified by a reset or an administrator`(
    _ proof: EmailVerification
  ) async throws {
    let world = World { $0.autoLink = .authoritative }
    world.store.insert(account(.verified(ada, by: proof), password: true))
    _ = try await conflict(google(), in: world)
  }

  @Test func `S5 auto_link requires an authoritative tier`() async throws {
    let world = World { $0.autoLink = .authoritative }
    world.store.insert(account(.verified(ada), password: true))
    _ = try await conflict(google(tier: .verified), in: world)
  }

  @Test func `S5 check 4: auto_link never touches an owner whose address is not verified`() async throws {
    let world = World {
      $0.autoLink = .authoritative; $0.reclaim = .refuse
    }
    world.store.insert(account(.unverified(ada), password: true))
    _ = try await conflict(google(), in: world)
  }

  @Test func `S5 auto_link does not undo a recorded unlink`() async throws {
    let world = World { $0.autoLink = .authoritative }
    var owner = account(.verified(ada), password: true)
    owner.unlinks = [UnlinkRecord(accountID: "account-y", key: google().identity, at: beginning)]
    world.store.insert(owner)
    _ = try await conflict(google(), in: world)
  }

  @Test func `S5 auto_link leaves an account made by an administrator alone`() async throws {
    let world = World { $0.autoLink = .authoritative }
    world.store.insert(account(.verified(ada), password: true, madeByAdministrator: true))
    _ = try await conflict(google(), in: world)
  }

  @Test func `S5 with S11: auto_link requires the owner's second factor before it writes`() async throws {
    let world = World { $0.autoLink = .authoritative }
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let before = world.store.state("account-y")
    _ = try await world.signIn(google()).required
    #expect(world.store.state("account-y") == before)
  }

  @Test(arguments: [
    account(.unverified(ada), password: true, identities: [corp()]),
    account(.unverified(ada), password: true, phone: "+15550100"),
    account(.unverified(ada), password: true, factors: [.totp]),
    account(.unverified(ada), identities: [assertion("oidc.gone", "1", email: ada, tier: .unverified)]),
  ])
  func `S6b an unverified owner with an identity, a phone or a factor is not taken over`(
    _ owner: AccountState
  ) async throws {
    world.store.insert(owner)
    #expect(try await conflict(google()).canClaimAddress)
  }

  @Test func `S6b a merely verified tier does not reclaim and cannot claim`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    #expect(try await conflict(google(tier: .verified), claimAddress: true).canClaimAddress == false)
  }

  @Test func `S7 an unverified owner and an unverified tier are a conflict`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let exists = try await conflict(corp(), claimAddress: true, world.call(mayFetchByEmail: true))
    #expect(exists.methods == ["password"] && !exists.canClaimAddress)
  }

  @Test(arguments: TrustTier.allCases)
  func `S8 check 26: another subject of a linked provider is a conflict, never a login, a link or a reclaim`(
    _ tier: TrustTier
  ) async throws {
    let world = World {
      $0.autoLink = .authoritative; $0.emailLinkEnabled = true
    }
    world.store.insert(account(.verified(ada), password: true, emailLink: true, identities: [google("g-0")]))
    let exists = try await conflict(google("g-1", tier: tier), in: world, world.call(mayFetchByEmail: true))
    #expect(exists.reason == .subjectChanged)
    #expect(exists.methods == ["password"] && exists.providerIDs == ["password"])
  }

  @Test func `S8 without another sign-in method only an administrator can help`() async throws {
    world.store.insert(account(.unverified(ada), identities: [google("g-0")]))
    let exists = try await conflict(google("g-1"), claimAddress: true)
    #expect(exists.reason == .askAdministrator && exists.methods.isEmpty && !exists.canClaimAddress)
  }

  @Test func `check 37: below the tier that reveals the methods, the conflict names no reason either`() async throws {
    for owner in [
      account(.verified(ada), password: true, identities: [corp("c-0")]),
      account(.verified(ada), identities: [corp("c-0")]),
    ] {
      let world = World()
      world.store.insert(owner)
      let exists = try await conflict(corp("c-1"), in: world)
      #expect(exists.reason == .none && exists.methods.isEmpty && exists.providerIDs.isEmpty)
      let told = try await conflict(corp("c-1"), in: world, world.call(mayFetchByEmail: true))
      #expect(told.reason != .none)
    }
  }

  @Test func `S8 comes before S10: a disabled owner's changed subject is a conflict`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google("g-0")], disabled: true))
    #expect(try await conflict(google("g-1")).reason == .subjectChanged)
  }

  @Test(arguments: [TrustTier.verified, .authoritative])
  func `S10 a disabled owner with a verified tier fails as disabled, and nothing is written`(
    _ tier: TrustTier
  ) async throws {
    world.store.insert(account(.unverified(ada), password: true, disabled: true))
    #expect(
      await world.untouched {
        await refused(.userDisabled) { try await world.signIn(google(tier: tier), claimAddress: true) }
      })
  }

  @Test func `S10 a disabled owner and an unverified tier is a conflict like any other`() async throws {
    world.store.insert(account(.verified(ada), password: true, disabled: true))
    let exists = try await conflict(corp())
    await refused(.userDisabled) { try await world.signIn(rightPassword, pendingToken: exists.handle) }
  }

  @Test(arguments: [
    account(.unverified(ada), madeByAdministrator: true),
    account(.verified(ada, by: .administrator), madeByAdministrator: true),
  ])
  func `S12 an authoritative assertion gets an account of an administrator without a sign-in method`(
    _ owner: AccountState
  ) async throws {
    world.store.insert(owner)
    let grant = try await world.signIn(google()).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount)
    #expect(world.store.state("account-y")?.holds(google().identity) == true)
    #expect(world.store.state("account-y")?.account.emailVerified == true)
    #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
  }

  @Test func `S12 an account that a custom token has signed in to belongs to its user, not to the address owner`()
    async throws
  {
    let owner = account(.unverified(ada), madeByAdministrator: true) { $0.customToken = true }
    world.store.insert(owner)
    let exists = try await conflict(google())
    #expect(exists.methods.isEmpty && exists.canClaimAddress, "the address can be claimed (S6b), but not the account")
    #expect(world.store.state("account-y") == owner)
  }

  @Test(arguments: [
    account(.unverified(ada), identities: [corp()], madeByAdministrator: true),
    account(.unverified(ada), phone: number, madeByAdministrator: true),
  ])
  func `checks 5 and 83: S12 does not apply to disabled sign-in methods, which may be another user's`(
    _ owner: AccountState
  ) async throws {
    let world = World {
      $0.enabledProviderIDs.remove("oidc.corp")
      $0.phoneEnabled = false
    }
    world.store.insert(owner)
    let exists = try await conflict(google(), in: world)
    #expect(exists.methods.isEmpty && exists.canClaimAddress)
    let claimed = try await world.signIn(google(), claimAddress: true).grant
    #expect(claimed.isNewAccount && world.store.state("account-y")?.account.email == nil)
  }

  @Test func `check 5: S12 a password from before passwords were disabled is removed by the reclaim`() async throws {
    let world = World { $0.passwordEnabled = false }
    world.store.insert(account(.unverified(ada), password: true, madeByAdministrator: true))
    let grant = try await world.signIn(google()).grant
    #expect(grant.revokedProviderIDs == ["password"])
    #expect(world.store.state("account-y")?.account.passwordHash == nil)
  }

  @Test func `S5 if the operator disabled every other method, a sign-in link to the verified address completes`()
    async throws
  {
    let world = World.sending { $0.enabledProviderIDs = ["oidc.corp"] }
    world.store.insert(account(.verified(ada), identities: [google()]))
    let exists = try await conflict(corp(tier: .verified), in: world)
    #expect(exists.methods == ["emailLink"] && exists.reason == .none)
    let grant = try await world.signIn(world.emailLink(), pendingToken: exists.handle).grant
    #expect(grant.account.account.id == "account-y" && grant.account.holds(corp().identity))
  }

  @Test func `S12 below the authoritative tier only a sign-in link signs in`() async throws {
    let world = World { $0.emailLinkEnabled = true }
    world.store.insert(account(.unverified(ada), madeByAdministrator: true))
    let exists = try await conflict(google(tier: .verified), in: world)
    #expect(exists.methods == ["emailLink"] && exists.reason == .none)
  }

  @Test func `S12 without sign-in links only an administrator can help`() async throws {
    world.store.insert(account(.unverified(ada), madeByAdministrator: true))
    let exists = try await conflict(google(tier: .verified))
    #expect(exists.methods.isEmpty && exists.reason == .askAdministrator)
  }

  @Test func `S12 comes before S10 but never signs in to a disabled account`() async throws {
    world.store.insert(account(.unverified(ada), disabled: true, madeByAdministrator: true))
    #expect(await world.untouched { await refused(.userDisabled) { try await world.signIn(google()) } })
    _ = try await conflict(google(tier: .verified))
  }

  @Test func `S12 with S11: an enrolled factor is required before anything is linked`() async throws {
    world.store.insert(account(.unverified(ada), factors: [.totp], madeByAdministrator: true))
    _ = try await world.signIn(google()).required
    #expect(world.store.state("account-y")?.identities.isEmpty == true)
  }

  @Test func `section 7: below the verified tier a conflict names no methods`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let hidden = try await conflict(corp())
    #expect(hidden.methods.isEmpty && hidden.providerIDs.isEmpty && hidden.reason == .none)
    #expect(try await conflict(corp(tier: .verified)).methods == ["password", "google.com"])
  }

  @Test func `section 7: without enumeration protection a conflict names the methods that FetchProviders returns`()
    async throws
  {
    let world = World { $0.emailEnumerationProtection = false }
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let exists = try await conflict(corp(), in: world)
    #expect(exists.methods == ["password", "google.com"] && exists.providerIDs == exists.methods)
    let byHandle = try FetchByPendingToken(world.environment, exists.handle, world.call())
    #expect(try await world.environment.read(byHandle).methods == exists.methods)
    #expect(!MailMethods(world.environment).mayApply(to: world.call()))
  }

  @Test func `section 7: conflict_reveals_methods = always names the methods at any tier`() async throws {
    let world = World { $0.conflictRevealsMethods = .always }
    world.store.insert(account(.verified(ada), password: true))
    #expect(try await conflict(corp(), in: world).methods == ["password"])
  }

  @Test func `check 38: a conflict names no account id`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let exists = try await conflict(google())
    #expect(!"\(exists)".contains("account-y"))
  }
}
