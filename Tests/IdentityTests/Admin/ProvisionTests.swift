import Store
import Testing

@testable import Identity

private func row(_ change: (inout ImportRow) -> Void = { _ in }) -> ImportRow {
  var row = ImportRow()
  change(&row)
  return row
}

struct `An account that an administrator creates` {
  let world = World.sending()

  @discardableResult
  private func create(_ row: ImportRow, password: String? = nil) async throws -> AccountState {
    try await ProvisionAccount(world.environment)(ProvisionAccountRequest(row: row, password: password), world.call())
  }

  @Test func `it has every field, and its user signs in with the password`() async throws {
    let wanted = row {
      ($0.id, $0.email, $0.emailVerified) = ("user-17", ada, true)
      ($0.phoneNumber, $0.displayName, $0.photoURL) = (number, "Ada", "https://a.example/a.png")
      $0.customClaimsJSON = #"{"role":"editor"}"#
    }
    let state = try await create(wanted, password: "correct horse")
    #expect(state == world.store.state("user-17"))
    let account = state.account
    #expect(account.emailAddress?.verification == .administrator && account.madeByAdministrator)
    #expect(account.phoneNumber == number && account.customClaimsJSON == #"{"role":"editor"}"#)
    #expect(world.store.contents.sessions.isEmpty)
    #expect(world.store.contents.audit.map(\.detailsJSON) == [#"{"by":"administrator","provider_id":"password"}"#])
    _ = try await world.signIn(rightPassword).grant
  }

  @Test func `without an id and without a method it is empty, and its event names no provider`() async throws {
    let state = try await create(row())
    #expect(state.account.id.utf8.count == 28 && SignInMethods(state, world.policy).isEmpty)
    #expect(world.store.contents.audit.map(\.detailsJSON) == [#"{"by":"administrator"}"#])
  }

  @Test func `identifiers of other accounts are conflicts, and nothing is written`() async throws {
    world.store.insert(account(.verified(ada), phone: number))
    let before = world.store.contents
    let conflicts: [(ImportRow, Failure.Reason, String)] = [
      (row { $0.id = "account-y" }, .accountIDInUse, "account_id"),
      (row { $0.email = ada }, .emailAlreadyInUse, "email"),
      (row { $0.phoneNumber = number }, .providerAlreadyLinked, "phone_number"),
      (row { $0.id = "with space" }, .invalidField, "account_id"),
    ]
    for (row, reason, field) in conflicts { #expect(await refused(reason) { try await create(row) }?.field == field) }
    #expect(await refused(.invalidField) { try await create(row(), password: "correct horse") }?.field == "email")
    await refused(.weakPassword) { try await create(row { $0.email = "b@example.com" }, password: "short") }
    await refused(.forbiddenClaim) { try await create(row { $0.customClaimsJSON = #"{"sub":"x"}"# }) }
    #expect(world.store.contents == before)
  }

  @Test func `an id that another call takes first is a conflict`() async throws {
    let environment = world.environment { $0.insert(account(id: "user-17")) }
    await refused(.accountIDInUse) {
      try await ProvisionAccount(environment)(
        ProvisionAccountRequest(row: row { $0.id = "user-17" }), world.call())
    }
  }
}

struct `An id that an administrator frees` {
  let world = World.sending()

  private func forget(_ id: String = "account-y") async throws -> Timestamp {
    try await ForgetAccount(world.environment)(accountID: id, world.call())
  }

  private func erase() async throws {
    try await EraseAccount(world.environment)(accountID: "account-y", world.call())
  }

  private func create() async throws -> AccountState {
    try await ProvisionAccount(world.environment)(
      ProvisionAccountRequest(row: row { ($0.id, $0.email) = ("account-y", ada) }, password: "correct horse"),
      world.call())
  }

  @Test func `only a removed account can be forgotten, and twice changes nothing`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    #expect(await refused(.operationNotAllowed) { try await forget() }?.field == "account_id")
    await refused(.accountNotFound) { try await forget("nobody") }
    let closedAt = world.now
    try await erase()
    await refused(.accountIDInUse) { try await create() }
    world.clock.advance(millis: 5_000)
    #expect(try await forget() == closedAt.adding(millis: world.policy.idTokenLifetimeMillis))
    let before = world.store.contents
    #expect(try await forget() == closedAt.adding(millis: world.policy.idTokenLifetimeMillis))
    #expect(world.store.contents == before)
    #expect(before.events(of: "account-y") == ["DELETED", "ACCOUNT_FORGOTTEN"])
  }

  @Test func `every token of the removed account stays invalid for the new one`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let token = try await world.customToken(for: "account-y")
    world.clock.advance(millis: 1_000)
    try await erase()
    world.clock.advance(millis: 1_000)
    _ = try await forget()
    await refused(.accountNotFound) { try await world.signIn(.customToken(token)) }
    await refused(.accountNotFound) { try await world.customToken(for: "account-y") }
    let state = try await create()
    #expect(state.account.tokensValidAfter == world.now && world.store.contents.closedAccounts.isEmpty)
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
    await refused(.invalidRefreshToken) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
    await refused(.tokenRevoked) { try await world.link(google(), session) }
    world.clock.advance(millis: 1_000)
    _ = try await world.signIn(.customToken(try await world.customToken(for: "account-y"))).grant
  }

  @Test func `an import may have the id, and a repeat of it is unchanged`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    try await erase()
    let rows = [row { ($0.id, $0.email) = ("account-y", ada) }]
    let importing = ImportAccounts(world.environment, world.call())
    guard case .refused = try await importing(rows, dryRun: false)[0] else { return #expect(Bool(false)) }
    _ = try await forget()
    #expect(try await importing(rows, dryRun: false) == [.imported])
    #expect(world.store.state("account-y")?.account.tokensValidAfter == world.now)
    #expect(try await importing(rows, dryRun: false) == [.unchanged])
  }
}
