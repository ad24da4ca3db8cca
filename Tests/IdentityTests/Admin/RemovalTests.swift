import Store
import Testing

@testable import Identity

struct `An account that an administrator removes` {
  let world = World()

  private func erase(_ id: String = "account-y") async throws {
    try await EraseAccount(world.environment)(accountID: id, world.call())
  }

  @Test func `everything that belongs to it is deleted, including open sessions, and an audit row stays`()
    async throws
  {
    world.insertPerson()
    let session = try world.session(of: "account-y")
    _ = world.hold(corp(), for: "account-y")
    try await erase()
    let left = world.store.contents
    #expect(left.accounts.isEmpty && left.identities.isEmpty && left.factors.isEmpty)
    #expect(left.sessions.isEmpty && left.pendings.isEmpty && left.deliveries.isEmpty)
    #expect(left.events(of: "account-y") == ["DELETED"])
    #expect(left.audit.map(\.detailsJSON) == [#"{"by":"administrator"}"#])
    await refused(.invalidRefreshToken) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
    await refused(.invalidLoginCredentials) { try await world.signIn(rightPassword) }
  }

  @Test func `its address is free for others, and its id is never used again`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let before = try await world.customToken(for: "account-y")
    world.clock.advance(millis: 1_000)
    try await erase()
    await refused(.accountNotFound) { try await world.signIn(.customToken(before)) }
    await refused(.accountNotFound) { try await world.customToken(for: "account-y") }
    let grant = try await world.signIn(google()).grant
    #expect(grant.isNewAccount && grant.account.account.email == ada && grant.account.account.id != "account-y")
  }

  @Test func `a concurrent change does not prevent the removal`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let environment = world.environment { store in store.edit { $0.accounts["account-y"]?.version += 1 } }
    try await EraseAccount(environment)(accountID: "account-y", world.call())
    #expect(world.store.state("account-y") == nil && world.store.contents.events(of: "account-y") == ["DELETED"])
  }

  @Test func `an unknown or removed account is not found`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    try await erase()
    let before = world.store.contents
    await refused(.accountNotFound) { try await erase() }
    await refused(.accountNotFound) { try await erase("nobody") }
    #expect(world.store.contents == before)
  }
}

struct `Second factors that an administrator removes` {
  let world = World {
    $0.textMessagesEnabled = true
    $0.mailEnabled = true
  }

  private func remove(_ id: String = "account-y") async throws -> (state: AccountState, removed: Int) {
    try await RemoveSecondFactors(world.environment)(accountID: id, world.call())
  }

  @Test func `all are removed with the recovery codes, and the first factor alone signs in`() async throws {
    let before = world.insertPerson([.totp, .phone, .recoveryCode])
    let token = try await world.customToken(for: "account-y")
    let waiting = try await world.signIn(rightPassword).required
    let session = try world.session(of: "account-y", secondFactor: "totp")
    world.clock.advance(millis: 1_000)
    let (state, removed) = try await remove()
    #expect(removed == 3 && state.factors.isEmpty && state == world.store.state("account-y"))
    #expect(state.account.version == before.account.version + 1 && state.identities == before.identities)
    #expect(state.account.tokensValidAfter == world.now)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty && world.store.contents.pendings.isEmpty)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
    await refused(.pendingCredentialMismatch) { try await world.finish(waiting) }
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
    let grant = try await world.signIn(rightPassword).grant
    #expect(try world.claims(grant).signInSecondFactor == nil)
  }

  @Test func `each of them is recorded, and the user is notified of each except the codes`() async throws {
    world.insertPerson([.totp, .phone, .recoveryCode])
    _ = try await remove()
    let rows = world.store.contents.audit
    #expect(rows.allSatisfy { $0.accountID == "account-y" && $0.event == "FACTOR_WITHDRAWN" })
    let details = ["totp", "phone", "recovery_code"].map {
      #"{"by":"administrator","factor_id":"factor-\#($0)","kind":"\#($0)"}"#
    }
    #expect(rows.map(\.detailsJSON) == details)
    let mails = world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
    #expect(mails.allSatisfy { $0.kind == .factorWithdrawn && $0.recipient == .email(ada) })
    #expect(mails.map { $0.values["factor"] } == ["totp", "phone"])
  }

  @Test func `an account without factors does not change, and its sessions stay open`() async throws {
    world.insertPerson([])
    _ = try world.session(of: "account-y")
    let before = world.store.contents
    let (state, removed) = try await remove()
    #expect(removed == 0 && state == before.state("account-y") && world.store.contents == before)
  }

  @Test func `pending steps from before end, except the revert link of a change of address`() async throws {
    world.insertPerson()
    for purpose in [PendingPurpose.link, .enrollment, .revertEmail] {
      _ = world.hold(corp(), for: "account-y", purpose: purpose)
    }
    _ = try await remove()
    #expect(world.store.contents.pendings.values.map(\.purpose) == [.revertEmail])
  }

  @Test func `a factor that is enrolled during the call is removed, too`() async throws {
    world.insertPerson()
    let environment = world.environment { store in
      store.edit {
        $0.factors.append(enrolled(.phone, of: "account-y"))
        $0.accounts["account-y"]?.version += 1
      }
    }
    let (state, removed) = try await RemoveSecondFactors(environment)(accountID: "account-y", world.call())
    #expect(removed == 3 && state.factors.isEmpty && world.store.contents.factors.isEmpty)
  }

  @Test func `continuous changes of the account do not delay the removal`() async throws {
    world.insertPerson([.totp, .recoveryCode])
    let (state, removed) = try await RemoveSecondFactors(world.outrun)(accountID: "account-y", world.call())
    #expect(removed == 2 && state.factors.isEmpty && world.store.state("account-y")?.factors == [])
  }

  @Test func `the factors of an unknown account are not found`() async throws {
    await refused(.accountNotFound) { try await remove("nobody") }
  }
}
