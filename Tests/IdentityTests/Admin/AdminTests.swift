import Store
import Testing

@testable import Identity

struct `Administrator changes of an account` {
  let world = World()

  init() { world.store.insert(account(.verified(ada), password: true)) }

  private var stored: AccountRecord? { world.store.state("account-y")?.account }

  @discardableResult
  func setDisabled(_ disabled: Bool, _ id: String = "account-y") async throws -> AccountState {
    try await SetDisabled(world.environment)(accountID: id, disabled: disabled, world.call())
  }

  @discardableResult
  func setClaims(_ json: String, _ id: String = "account-y") async throws -> AccountState {
    try await SetCustomClaims(world.environment)(accountID: id, claimsJSON: json, world.call())
  }

  func revoke(_ id: String = "account-y") async throws -> Int {
    try await RevokeSessions(world.environment)(accountID: id, world.call())
  }

  @Test func `disabling an account ends every session in the same change and is recorded`() async throws {
    _ = try world.session(of: "account-y")
    _ = try world.session(of: "account-y")
    let state = try await setDisabled(true)
    #expect(state == world.store.state("account-y") && state.account.disabled && state.account.version == 2)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    #expect(world.store.contents.sessions.values.allSatisfy { $0.closed?.reason == .disabled })
    #expect(world.store.contents.events(of: "account-y") == ["DISABLED"])
    await refused(.userDisabled) { try await world.signIn(rightPassword) }
  }

  @Test func `sessions of a disabled account fail as disabled, and as revoked once it is enabled again`() async throws {
    let session = try world.session(of: "account-y")
    let revoked = try world.session(of: "account-y")
    world.store.edit { $0.sessions[revoked.sessionID]?.closed = SessionEnd(at: world.now, reason: .revoked) }
    try await setDisabled(true)
    func refused(_ reason: Failure.Reason, _ session: SessionGrant) async {
      await IdentityTests.refused(reason) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
      await IdentityTests.refused(reason) { try await world.link(google(), session) }
    }
    await refused(.userDisabled, session)
    await refused(.tokenRevoked, revoked)
    try await setDisabled(false)
    await refused(.tokenRevoked, session)
  }

  @Test func `after it is enabled again the user can sign in, but not with an earlier custom token`() async throws {
    let token = try await world.customToken(for: "account-y")
    world.clock.advance(millis: 1_000)
    try await setDisabled(true)
    world.clock.advance(millis: 1_000)
    #expect(try await !setDisabled(false).account.disabled)
    #expect(world.store.contents.events(of: "account-y") == ["CUSTOM_TOKEN_CREATED", "DISABLED", "ENABLED"])
    _ = try await world.signIn(rightPassword).grant
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
  }

  @Test(arguments: [true, false])
  func `a change without effect writes nothing`(disabled: Bool) async throws {
    try await setDisabled(disabled)
    let before = world.store.contents
    try await setDisabled(disabled)
    #expect(world.store.contents == before)
    try await setClaims("")
    #expect(world.store.contents == before)
  }

  @Test func `claims are replaced as a whole, removed by empty ones, and included in the next tokens`() async throws {
    #expect(try await setClaims(#"{"role":"editor"}"#).account.customClaimsJSON == #"{"role":"editor"}"#)
    let grant = try await world.signIn(rightPassword).grant
    #expect(try world.claims(grant).customClaimsJSON == #"{"role":"editor"}"#)
    try await setClaims(#"{"plan":"gold"}"#)
    #expect(stored?.customClaimsJSON == #"{"plan":"gold"}"#)
    try await setClaims("")
    #expect(stored?.customClaimsJSON == "")
    let events = world.store.contents.events(of: "account-y")
    #expect(events == ["CUSTOM_CLAIMS_CHANGED", "CUSTOM_CLAIMS_CHANGED", "CUSTOM_CLAIMS_CHANGED"])
    let changes = world.store.contents.audit.filter { $0.event == "CUSTOM_CLAIMS_CHANGED" }
    #expect(changes.allSatisfy { $0.detailsJSON == "{}" }, "claims may be confidential")
  }

  @Test func `reserved claims and too many claims are rejected and nothing is written`() async throws {
    let before = world.store.contents
    #expect(await refused(.forbiddenClaim) { try await setClaims(#"{"sub":"x"}"#) }?.field == "claims_json")
    await refused(.claimsTooLarge) { try await setClaims("{\"a\":\"" + String(repeating: "x", count: 1_000) + "\"}") }
    #expect(world.store.contents == before)
  }

  @Test func `revoking closes and counts the open sessions, and rejects earlier custom tokens`() async throws {
    let token = try await world.customToken(for: "account-y")
    _ = try world.session(of: "account-y")
    _ = try world.session(of: "account-y")
    world.clock.advance(millis: 1_000)
    #expect(try await revoke() == 2)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    #expect(stored?.tokensValidAfter == world.now)
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
    #expect(try await revoke() == 0)
    let rows = world.store.contents.audit.filter { $0.event == "SESSIONS_REVOKED" }
    #expect(rows.map(\.detailsJSON) == [#"{"closed":"2"}"#, #"{"closed":"0"}"#])
    #expect(rows.allSatisfy { $0.accountID == "account-y" })
    _ = try await world.signIn(rightPassword).grant
  }

  @Test func `an expired session is not counted`() async throws {
    _ = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.sessionIdleMillis)
    #expect(try await revoke() == 0)
  }

  @Test func `an unknown account is not found`() async throws {
    let before = world.store.contents
    await refused(.accountNotFound) { try await setDisabled(true, "nobody") }
    await refused(.accountNotFound) { try await setClaims("{}", "nobody") }
    await refused(.accountNotFound) { try await revoke("nobody") }
    #expect(world.store.contents == before)
  }

  @Test func `continuous changes of the account delay neither its end nor that of its sessions`() async throws {
    _ = try world.session(of: "account-y")
    #expect(try await RevokeSessions(world.outrun)(accountID: "account-y", world.call()) == 1)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty && stored?.tokensValidAfter == world.now)
    _ = try world.session(of: "account-y")
    let shut = try await SetDisabled(world.outrun)(accountID: "account-y", disabled: true, world.call())
    #expect(shut.account.disabled && stored?.disabled == true)
    #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    try await EraseAccount(world.outrun)(accountID: "account-y", world.call())
    #expect(stored == nil && world.store.contents.sessions.isEmpty)
  }

  @Test func `one of two administrators that disable an account concurrently does it, and it is recorded once`()
    async throws
  {
    let environment = world.environment { store in
      store.edit {
        $0.accounts["account-y"]?.disabled = true
        $0.accounts["account-y"]?.version += 1
      }
    }
    let state = try await SetDisabled(environment)(accountID: "account-y", disabled: true, world.call())
    #expect(state == world.store.state("account-y") && state.account.disabled && state.account.version == 2)
    #expect(world.store.contents.events(of: "account-y").isEmpty, "the other's change has the row")
  }

  @Test func `many concurrent calls that disable an account record it once, and all succeed`()
    async throws
  {
    let world = World(store: MemoryStore(meetsRaces: true))
    world.store.insert(account(.verified(ada), password: true))
    try await withThrowingTaskGroup(of: AccountState.self) { group in
      for _ in 0..<10 {
        group.addTask {
          try await SetDisabled(world.environment)(accountID: "account-y", disabled: true, world.call())
        }
      }
      for try await state in group { #expect(state.account.disabled && state.account.version == 2) }
    }
    #expect(world.store.contents.events(of: "account-y") == ["DISABLED"])
  }

  @Test func `an account that is deleted during the call is not found`() async throws {
    let environment = world.environment { store in
      store.edit { _ = $0.carryOut(Change([.removal(of: "account-y")])) }
    }
    await refused(.accountNotFound) {
      try await SetDisabled(environment)(accountID: "account-y", disabled: true, world.call())
    }
    #expect(world.store.contents.events(of: "account-y").isEmpty)
  }

  @Test func `a concurrent change of the account is kept`() async throws {
    let environment = world.environment { store in
      store.edit {
        $0.accounts["account-y"]?.displayName = "Countess"
        $0.accounts["account-y"]?.version += 1
      }
    }
    let state = try await SetDisabled(environment)(accountID: "account-y", disabled: true, world.call())
    #expect(state.account.disabled)
    #expect(stored?.displayName == "Countess" && stored?.disabled == true && stored?.version == 3)
  }
}

struct `Pages of accounts` {
  let world = World()

  func page(_ token: String = "", _ size: Int = 2) async throws -> AccountPage {
    try await world.environment.read(try ListAccounts(pageToken: token, accountsMax: size))
  }

  func ids(_ page: AccountPage) -> [String] { page.accounts.map(\.account.id) }

  @Test func `each page has the token of the next, and the last has none`() async throws {
    for id in ["c", "a", "e", "b", "d"] { world.store.insert(account(id: id)) }
    let first = try await page()
    let second = try await page(try #require(first.nextToken))
    let third = try await page(try #require(second.nextToken))
    #expect([first, second, third].map(ids) == [["a", "b"], ["c", "d"], ["e"]] && third.nextToken == nil)
  }

  @Test func `the last page may be full, without a following page`() async throws {
    for id in ["a", "b"] { world.store.insert(account(id: id)) }
    #expect(try await page().nextToken == nil)
    #expect(try await page("", 1).nextToken != nil)
  }

  @Test func `accounts that are deleted between two pages hide no others, and new ones are on the page of their id`()
    async throws
  {
    for id in ["b", "d", "f"] { world.store.insert(account(id: id)) }
    let token = try #require(try await page().nextToken)
    world.store.edit {
      $0.accounts["d"] = nil
      $0.accounts["a"] = AccountRecord(id: "a", createdAt: beginning)
      $0.accounts["e"] = AccountRecord(id: "e", createdAt: beginning)
    }
    #expect(try await ids(page(token)) == ["e", "f"])
  }

  @Test func `a page ends before it is too large, and has at least one account`() async throws {
    for id in ["a", "b", "c"] {
      world.store.insert(
        account(id: id) { $0.photoURL = String(repeating: "x", count: ListAccounts.pageBytesMax * 2 / 5) })
    }
    #expect(try await ids(page("", 3)) == ["a", "b"])
    world.store.edit { $0.accounts["a"]?.photoURL = String(repeating: "x", count: ListAccounts.pageBytesMax + 1) }
    #expect(try await ids(page("", 3)) == ["a"])
  }

  @Test func `no accounts are one empty page`() async throws {
    #expect(try await page() == AccountPage(accounts: [], nextToken: nil))
  }

  @Test(arguments: ["x", "AA", "AQ", "AQEB", "AWE=", "AmE"])
  func `an invalid page token is rejected`(token: String) async throws {
    #expect(await refused(.invalidField) { try await page(token) }?.field == "page_token")
  }
}
