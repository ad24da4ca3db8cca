import Store
import Testing

@testable import Identity

extension World {
  fileprivate func unlinkProvider(_ providerID: String, of id: String = "account-y") async throws -> AccountState {
    try await UnlinkProvider(environment)(accountID: id, providerID: providerID, call())
  }
}

struct `A sign-in method that an administrator removes` {
  let world = World.sending()

  /// An account with every kind of sign-in method.
  private func everybody() -> AccountState {
    let state = account(
      .verified(ada), password: true, emailLink: true, phone: number, identities: [google(), corp()], factors: [.totp])
    world.store.insert(state)
    return state
  }

  @Test(arguments: ["password", "emailLink", "phone", "google.com", "oidc.corp"])
  func `each kind is removed as by the user's own unlink, and all others stay`(_ providerID: String) async throws {
    let before = everybody()
    let all = Set(SignInMethods(before, world.policy).methods)
    let state = try await world.unlinkProvider(providerID)
    #expect(state == world.store.state("account-y") && state.account.version == before.account.version + 1)
    #expect(all.count == 5 && Set(SignInMethods(state, world.policy).methods) == all.subtracting([providerID]))
    #expect(state.account.email == ada)
    #expect(state.account.emailAddress?.verification == before.account.emailAddress?.verification)
    #expect(state.factors == before.factors && state.account.tokensValidAfter == nil)
  }

  @Test(arguments: ["password", "emailLink", "phone", "google.com"])
  func `the last method can be removed, too`(_ providerID: String) async throws {
    world.store.insert(
      account(
        .verified(ada), password: providerID == "password", emailLink: providerID == "emailLink",
        phone: providerID == "phone" ? number : nil, identities: providerID == "google.com" ? [google()] : []))
    let state = try await world.unlinkProvider(providerID)
    #expect(state == world.store.state("account-y") && SignInMethods(state, world.policy).isEmpty)
    #expect(state.account.email == ada && state.account.emailVerified)
  }

  @Test(arguments: ["oidc.corp", "phone", "emailLink", "nothing"])
  func `a method that is not linked is not found, and nothing is written`(_ providerID: String) async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let before = world.store.contents
    #expect(await refused(.noSuchProvider) { try await world.unlinkProvider(providerID) }?.field == "provider_id")
    #expect(world.store.contents == before)
  }

  @Test func `the sign-in method of an unknown account is not found`() async throws {
    await refused(.accountNotFound) { try await world.unlinkProvider("google.com", of: "nobody") }
  }

  @Test func `the address stays verified although it came from that identity only`() async throws {
    let before = account(
      .verified(ada, by: .assertion(providerID: "google.com")), phone: number, identities: [google()])
    world.store.insert(before)
    var expected = before.account
    expected.version += 1
    #expect(try await world.unlinkProvider("google.com").account == expected)
  }

  @Test func `an address that another identity asserts then belongs to that identity`() async throws {
    world.store.insert(
      account(
        .verified(ada, by: .assertion(providerID: "google.com")), identities: [google(), corp(tier: .verified)]))
    let record = try await world.unlinkProvider("google.com").account
    #expect(record.emailAddress?.source == "oidc.corp")
    #expect(record.emailAddress?.verification == .assertion(providerID: "oidc.corp"))
  }

  @Test func `it is recorded, leaves an audit row with the administrator, and the user is notified`()
    async throws
  {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let state = try await world.unlinkProvider("google.com")
    #expect(state.unlinks == [UnlinkRecord(accountID: "account-y", key: google().identity, at: world.now)])
    #expect(world.store.contents.events(of: "account-y") == ["UNLINKED"])
    #expect(world.store.contents.audit.map(\.detailsJSON) == [#"{"by":"administrator","provider_id":"google.com"}"#])
    let messages = world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
    #expect(messages.map(\.kind) == [.unlinked] && messages.map(\.recipient) == [.email(ada)])
    #expect(messages.map(\.values) == [["provider_id": "google.com"]])
  }

  @Test func `check 82: if another method is left, sessions that began with the removed one end`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let over = try world.session(of: "account-y", by: .provider("google.com"))
    let other = try world.session(of: "account-y")
    _ = try await world.unlinkProvider("google.com")
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [other.sessionID])
    #expect(world.store.contents.sessions[over.sessionID]?.closed?.reason == .unlinked)
  }

  @Test func `if none is left, every session ends, and earlier custom tokens become invalid`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let token = try await world.customToken(for: "account-y")
    _ = try world.session(of: "account-y", by: .provider("google.com"))
    _ = try world.session(of: "account-y")
    world.clock.advance(millis: 1_000)
    #expect(try await world.unlinkProvider("google.com").account.tokensValidAfter == world.now)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
  }

  @Test func `a concurrent change of the account is not lost`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let environment = world.environment { store in
      store.edit {
        $0.accounts["account-y"]?.displayName = "Countess"
        $0.accounts["account-y"]?.version += 1
      }
    }
    let unlink = UnlinkProvider(environment)
    let state = try await unlink(accountID: "account-y", providerID: "google.com", world.call())
    #expect(state.account.displayName == "Countess" && state == world.store.state("account-y"))
  }

  @Test func `continuous changes of the account delay the removal until an administrator disables it`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    await refused(.overloaded) {
      try await UnlinkProvider(world.outrun)(accountID: "account-y", providerID: "google.com", world.call())
    }
    _ = try await SetDisabled(world.outrun)(accountID: "account-y", disabled: true, world.call())
    let state = try await world.unlinkProvider("google.com")
    #expect(state.account.disabled && state.identities.isEmpty)
  }
}

/// S8 has nothing to offer: the same address, a new subject, and no other sign-in method.
struct `A changed subject, after the administrator was asked` {
  private let former = google("g-0")
  private let recreated = google("g-1")
  let world = World { $0.passwordEnabled = false; $0.phoneEnabled = false }

  private func unlinked(_ state: AccountState, in world: World? = nil) async throws {
    let world = world ?? self.world
    world.store.insert(state)
    _ = try await world.unlinkProvider("google.com")
  }

  @Test func `S8 and S12: the new subject signs in to the same account`() async throws {
    let first = try await world.signIn(former).grant
    let id = first.account.account.id
    let asked = try await world.signIn(recreated).exists
    #expect(asked.reason == .askAdministrator && asked.methods.isEmpty)
    await refused(.lastSignInMethod) { try await world.unlink("google.com", first) }
    let state = try await world.unlinkProvider("google.com", of: id)
    #expect(state.identities.isEmpty && state.account.email == ada && state.account.emailVerified)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(first.refreshToken, world.call()) }
    let again = try await world.signIn(recreated).grant
    #expect(again.account.account.id == id && !again.isNewAccount)
    #expect(again.account.identities.map(\.key) == [recreated.identity])
    #expect(world.store.contents.events(of: id) == ["ACCOUNT_CREATED", "UNLINKED", "LINKED"])
    #expect(try await world.signIn(recreated).grant.account.account.id == id)
    #expect(try await world.signIn(former).exists.reason == .askAdministrator)
  }

  @Test func `S12 neither the removed subject nor an assertion of a lower tier signs in`() async throws {
    try await unlinked(account(.verified(ada), identities: [former]))
    let before = world.store.state("account-y")
    for word in [former, google("g-1", tier: .verified), corp(tier: .verified)] {
      let exists = try await world.signIn(word).exists
      #expect(exists.reason == .askAdministrator && exists.methods.isEmpty && !exists.canClaimAddress)
    }
    #expect(try await world.signIn(corp()).exists.methods.isEmpty)
    #expect(world.store.state("account-y") == before)
  }

  @Test func `S12 below the authoritative tier a sign-in link signs in, if links are enabled`() async throws {
    let world = World.sending()
    try await unlinked(account(.verified(ada), identities: [former]), in: world)
    let exists = try await world.signIn(corp(tier: .verified)).exists
    #expect(exists.methods == ["emailLink"])
    let grant = try await world.signIn(world.emailLink(), pendingToken: exists.handle).grant
    #expect(grant.account.account.id == "account-y" && grant.account.identities.map(\.key) == [corp().identity])
  }

  @Test func `S11 the second factor is still required before the new subject is linked`() async throws {
    let person = world.insertPerson(identities: [former]) {
      $0.passwordHash = nil
      $0.passwordSetAt = nil
    }
    #expect(try await world.unlinkProvider("google.com").factors == person.factors)
    let required = try await world.signIn(recreated).required
    #expect(world.store.state("account-y")?.identities.isEmpty == true)
    let grant = try await world.finish(required).grant
    #expect(grant.account.account.id == "account-y" && grant.account.holds(recreated.identity))
  }

  @Test func `S12 a disabled account stays disabled`() async throws {
    try await unlinked(account(.verified(ada), identities: [former], disabled: true))
    await refused(.userDisabled) { try await world.signIn(recreated) }
  }

  @Test func `disabled sign-in methods count until they are removed as well`() async throws {
    try await unlinked(account(.verified(ada), password: true, phone: number, identities: [former]))
    for providerID in ["password", "phone"] {
      #expect(try await world.signIn(recreated).exists.reason == .askAdministrator)
      _ = try await world.unlinkProvider(providerID)
    }
    #expect(try await world.signIn(recreated).grant.account.account.id == "account-y")
  }

  @Test func `an account with custom tokens signs in with one, and then links`() async throws {
    try await unlinked(account(.verified(ada), identities: [former]) { $0.customToken = true })
    #expect(try await world.signIn(recreated).exists.reason == .askAdministrator)
    world.clock.advance(millis: 1_000)
    let token = try await world.customToken(for: "account-y")
    let grant = try await world.signIn(.customToken(token)).grant
    #expect(try await world.link(recreated, grant).grant.account.holds(recreated.identity))
  }

  @Test func `check 5: the owner of an unverified address reclaims the account and does not adopt it`() async throws {
    try await unlinked(
      account(.unverified(ada), identities: [google("g-0", tier: .unverified)]) {
        $0.displayName = "Eve"
        $0.customClaimsJSON = #"{"role":"editor"}"#
      })
    let grant = try await world.signIn(recreated).grant
    #expect(grant.account.account.id == "account-y" && grant.account.account.emailVerified)
    #expect(grant.account.account.displayName != "Eve")
    #expect(grant.account.account.customClaimsJSON == #"{"role":"editor"}"#)
    #expect(world.store.contents.events(of: "account-y") == ["UNLINKED", "RECLAIMED"])
  }

  @Test func `another sign-in method that is left completes the earlier conflict`() async throws {
    world.store.insert(account(.verified(ada), identities: [former, corp()]))
    let exists = try await world.signIn(recreated).exists
    #expect(exists.reason == .subjectChanged && exists.methods == ["oidc.corp"])
    await refused(.providerAlreadyLinked) { try await world.signIn(corp(), pendingToken: exists.handle) }
    _ = try await world.unlinkProvider("google.com")
    let grant = try await world.signIn(corp(), pendingToken: exists.handle).grant
    #expect(grant.account.account.id == "account-y" && grant.account.holds(recreated.identity))
  }
}
