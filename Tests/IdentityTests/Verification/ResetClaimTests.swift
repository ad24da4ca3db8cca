import Store
import Testing

@testable import Identity

private let newPassword = Credential.password(email: ada, password: "battery staple")

/// Section 3.3 without emailed links: a reset is the only method for the owner of a mailbox.
@Suite struct `A reset that claims the address` {
  private func world(_ reclaim: Policy.Reclaim = .authoritative, store: MemoryStore = MemoryStore()) -> World {
    World.sending(store: store) {
      $0.emailLinkEnabled = false
      $0.reclaim = reclaim
    }
  }

  @Test(arguments: Policy.Reclaim.allCases)
  func `check 8: takes it from an account with other sign-in methods, which keeps those, its id and its data`(
    _ reclaim: Policy.Reclaim
  ) async throws {
    let world = world(reclaim)
    let owner = account(.unverified(ada), password: true, emailLink: true, phone: number, identities: [corp()]) {
      $0.displayName = "Keeps this"
    }
    world.store.insert(owner)
    let planted = world.hold(google("g-9"), for: "account-y")
    _ = try world.session(of: "account-y")
    let byCorp = try world.session(of: "account-y", by: .provider("oidc.corp"))
    let answer = try await world.reset(world.passwordReset(), claimAddress: true)
    #expect(answer == PasswordWasReset(email: ada, isNewAccount: true))
    let left = try #require(world.store.state("account-y"))
    #expect(left.account.email == nil && left.account.emailAddress?.source == nil)
    #expect(left.account.passwordHash == nil && !left.account.emailLink)
    #expect(left.account.phoneNumber == number && left.account.displayName == "Keeps this")
    #expect(left.identities == owner.identities)
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [byCorp.sessionID])
    #expect(try world.row(planted) == nil)

    let mine = try await world.signIn(newPassword).grant.account.account
    #expect(mine.id != "account-y" && mine.emailAddress?.verification == .reset && mine.emailVerifiedAt == nil)
    #expect(mine.emailAddress?.source == "password")
    await refused(.invalidLoginCredentials) { try await world.signIn(rightPassword) }
    #expect(try await world.signIn(corp()).grant.account.account.id == "account-y")
    #expect(world.store.contents.events(of: "account-y") == ["ADDRESS_DETACHED"])
    #expect(world.store.contents.events(of: mine.id) == ["ACCOUNT_CREATED"])
  }

  @Test(arguments: Policy.Reclaim.allCases)
  func `check 8: requires its flag, and the code stays valid until then`(
    _ reclaim: Policy.Reclaim
  ) async throws {
    let world = world(reclaim)
    let owner = account(.unverified(ada), password: true, identities: [corp()])
    world.store.insert(owner)
    let code = try await world.passwordReset()
    let failure = await refused(.unverifiedEmail) { try await world.reset(code) }
    #expect(failure?.hint.contains("claim_address") == true)
    #expect(failure?.hint.contains("sign-in link") == false, "none is mailed here")
    #expect(world.store.state("account-y") == owner && world.store.contents.accounts.count == 1)
    #expect(try await world.reset(code, claimAddress: true).isNewAccount)
    await refused(.invalidCode) { try await world.reset(code, claimAddress: true) }
  }

  @Test func `names sign-in links in the error too, if they are enabled`() async throws {
    let world = World.sending()
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let failure = await refused(.unverifiedEmail) { try await world.reset(world.passwordReset()) }
    #expect(failure?.hint.contains("claim_address") == true && failure?.hint.contains("sign-in link") == true)
  }

  @Test(arguments: Policy.Reclaim.allCases)
  func `reclaims an account that has nothing but the address, if reclaim is allowed`(
    _ reclaim: Policy.Reclaim
  ) async throws {
    let world = world(reclaim)
    world.store.insert(account(.unverified(ada), password: true))
    let isClaim = reclaim == .refuse
    let answer = try await world.reset(world.passwordReset(), claimAddress: true)
    #expect(answer.isNewAccount == isClaim && answer.revokedProviderIDs == (isClaim ? [] : ["password"]))
    let id = try await world.signIn(newPassword).grant.account.account.id
    #expect((id == "account-y") == !isClaim)
    #expect(world.store.contents.accounts.count == (isClaim ? 2 : 1))
  }

  @Test(arguments: Policy.Reclaim.allCases)
  func `check 89: leaves a second factor with its account, and does not require it`(
    _ reclaim: Policy.Reclaim
  ) async throws {
    let world = world(reclaim)
    let owner = account(.unverified(ada), password: true, factors: [.totp])
    world.store.insert(owner)
    let code = try await world.passwordReset()
    let failure = await refused(.requiresSecondFactor) { try await world.reset(code) }
    #expect(failure?.hint == "Repeat with claim_address to move the email address to a new account.")
    #expect(world.store.state("account-y") == owner)
    #expect(try await world.reset(code, claimAddress: true).isNewAccount)
    let left = try #require(world.store.state("account-y"))
    #expect(left.account.email == nil && left.factors == owner.factors)
    #expect(try await world.signIn(newPassword).grant.account.factors.isEmpty)
  }

  @Test func `S12 does not take it from an imported account with a factor and without a sign-in`() async throws {
    let world = world()
    let imported = account(.unverified(ada), factors: [.totp], madeByAdministrator: true)
    world.store.insert(imported)
    let failure = await refused(.requiresSecondFactor) {
      try await world.reset(world.passwordReset(), claimAddress: true)
    }
    #expect(failure?.hint == "Ask an administrator.")
    #expect(world.store.state("account-y") == imported)
  }

  @Test func `does not take it from a disabled account, and the code stays valid`() async throws {
    let world = world()
    let owner = account(.unverified(ada), password: true, identities: [corp()], disabled: true)
    world.store.insert(owner)
    let code = try await world.passwordReset()
    await refused(.userDisabled) { try await world.reset(code, claimAddress: true) }
    #expect(world.store.state("account-y") == owner)
    #expect(try await world.check(code).mode == .resetPassword)
  }

  @Test func `does not take it from an account that has verified it, which gets the password instead`() async throws {
    let world = world()
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    #expect(try await world.reset(world.passwordReset(), claimAddress: true) == PasswordWasReset(email: ada))
    #expect(world.store.contents.accounts.count == 1)
  }

  @Test func `does not take an address that is verified during the call`() async throws {
    let world = world()
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let code = try await world.passwordReset()
    let environment = world.environment(interruptedBy: { store in
      store.edit { tables in
        tables.accounts["account-y"]?.emailAddress?.verification = .confirmation
        tables.accounts["account-y"]?.version += 1
      }
    })
    let answer = try await ResetPassword(environment)(
      .link(code: code), newPassword: "battery staple", claimAddress: true, world.call())
    #expect(answer == PasswordWasReset(email: ada))
    #expect(try await world.signIn(newPassword).grant.account.account.id == "account-y")
  }

  @Test func `notifies the user of the other account on every other channel`() async throws {
    let world = world()
    let trusted = corp(email: "work@example.com", tier: .verified)
    world.store.insert(account(.unverified(ada), password: true, phone: number, identities: [trusted]))
    _ = try await world.reset(world.passwordReset(), claimAddress: true)
    let told = world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
      .filter { $0.kind == .addressDetached }
    #expect(Set(told.map(\.recipient)) == [.email("work@example.com"), .phoneNumber(number)])
    #expect(told.allSatisfy { $0.values == ["email": ada] })
  }

  @Test func `creates one account in twenty concurrent calls`() async throws {
    let store = MemoryStore(meetsRaces: true)
    let world = world(store: store)
    store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let code = try await world.passwordReset()
    let done = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<20 {
        group.addTask { (try? await world.reset(code, claimAddress: true)) == nil ? 0 : 1 }
      }
      return await group.reduce(0, +)
    }
    #expect(done == 1 && store.contents.accounts.count == 2)
  }
}
