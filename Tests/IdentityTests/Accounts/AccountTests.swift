import Store
import Testing

@testable import Identity

struct `CreateAccount, all rules` {
  let world = World()

  func create(
    _ email: String = ada, _ password: String = "a long secret", _ call: CallFacts? = nil
  ) async throws -> SessionGrant {
    let request = CreateAccountRequest(email: email, password: password, displayName: "Ada", photoURL: "https://p/a")
    return try await CreateAccount(world.environment)(request, call ?? world.call()).grant
  }

  @Test func `a free address becomes an unverified account with a session`() async throws {
    let grant = try await create()
    let state = try #require(world.store.state(grant.account.account.id))
    #expect(grant.isNewAccount && grant.account == state)
    #expect(state.account.email == ada)
    #expect(!state.account.emailVerified)
    #expect(state.account.emailAddress?.source == "password")
    #expect(state.account.displayName == "Ada" && state.account.photoURL == "https://p/a")
    #expect(state.account.passwordHash == "hash:a long secret" && state.account.id.count == 28)
    let claims = try world.claims(grant)
    #expect(claims.methods == ["pwd"] && claims.authTime == world.now)
    #expect(world.store.contents.events(of: state.account.id) == ["ACCOUNT_CREATED"])
  }

  @Test func `an address that has an owner is rejected and nothing is written`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let before = world.store.contents
    await refused(.emailAlreadyInUse) { try await create() }
    #expect(world.store.contents.uncounted == before)
  }

  @Test func `check 103: short, long and common passwords are rejected before any look-up`() async throws {
    #expect(await refused(.weakPassword) { try await create(ada, "seven77") }?.field == "password")
    await refused(.invalidField) { try await create(ada, String(repeating: "x", count: 1025)) }
    await refused(.weakPassword) { try await create(ada, "password1") }
    #expect(world.store.contents.accounts.isEmpty)
  }

  @Test func `a full queue of password work is refused before the account is made`() async throws {
    world.passwords.fail(with: Failure(.overloaded, retryAfterMillis: 500))
    #expect(await refused(.overloaded) { try await create() }?.retryAfterMillis == 500)
    #expect(world.store.contents.accounts.isEmpty)
  }

  @Test func `check 34: the same key creates one account and returns its session again`() async throws {
    let first = try await create(ada, "a long secret", world.call(key: "k"))
    let again = try await create(ada, "a long secret", world.call(key: "k"))
    #expect(again.sessionID == first.sessionID && again.isNewAccount)
    #expect(world.store.contents.accounts.count == 1)
    let claims = try world.claims(again)
    #expect(claims.accountID == first.account.account.id)
    _ = try await Refresh(world.environment)(again.refreshToken, world.call())
  }

  @Test func `a repeat whose session was signed out fails as revoked`() async throws {
    let first = try await create(ada, "a long secret", world.call(key: "k"))
    try await SignOut(world.environment)(.idToken(first.idToken), world.call())
    await refused(.tokenRevoked) { try await create(ada, "a long secret", world.call(key: "k")) }
  }

  @Test(arguments: 1...20)
  func `exactly one of fifty concurrent calls for one address creates an account`(_ seed: UInt64) async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true), seed: seed)
    let made = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<50 {
        group.addTask {
          let request = CreateAccountRequest(email: ada, password: "a long secret")
          return (try? await CreateAccount(world.environment)(request, world.call())) != nil
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(made == 1 && world.store.contents.accounts.count == 1 && world.store.contents.sessions.count == 1)
  }

  @Test func `fifty concurrent repeats of one key create one account and return one session`() async throws {
    let world = World(store: MemoryStore(answersNow: false, meetsRaces: true))
    let sessionIDs = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 {
        group.addTask {
          let request = CreateAccountRequest(email: ada, password: "a long secret")
          return try await CreateAccount(world.environment)(request, world.call(key: "k")).grant.sessionID
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(sessionIDs.count == 1 && world.store.contents.accounts.count == 1)
  }
}

struct `GetAccount, all rules` {
  let world = World()

  @Test func `the answer is the account as it is now, not as it is in the token`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.store.edit { $0.accounts["account-y"]?.displayName = "Countess" }
    let reading = try GetAccount(world.environment, idToken: session.idToken, world.call())
    #expect(try await world.environment.read(reading) == world.store.state("account-y"))
  }

  @Test func `a closed session gets nothing`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    try await SignOut(world.environment)(.idToken(session.idToken), world.call())
    let reading = try GetAccount(world.environment, idToken: session.idToken, world.call())
    await refused(.tokenRevoked) { try await world.environment.read(reading) }
  }
}

struct `DeleteAccount, all rules` {
  let world = World()

  func delete(_ session: SessionGrant, _ call: CallFacts? = nil) async throws {
    try await DeleteAccount(world.environment)(idToken: session.idToken, call ?? world.call())
  }

  @Test func `everything that belongs to the account is deleted, and an audit row stays`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let session = try world.session(of: "account-y")
    _ = world.hold(corp(), for: "account-y")
    try await delete(session)
    let left = world.store.contents
    #expect(left.accounts.isEmpty && left.identities.isEmpty && left.sessions.isEmpty && left.pendings.isEmpty)
    #expect(left.events(of: "account-y") == ["DELETED"])
    await refused(.tokenRevoked) { try await delete(session) }
  }

  @Test func `check 90: the window closes exactly, and nothing is removed after it`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.recentLoginMillis)
    let before = world.store.contents
    await refused(.requiresRecentLogin) { try await delete(session) }
    #expect(world.store.contents == before)
    world.clock.advance(millis: -1)
    try await delete(session)
  }

  @Test func `check 90: the window is configurable`() async throws {
    let world = World { $0.recentLoginMillis = 1000 }
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: 1000)
    let failure = await refused(.requiresRecentLogin) {
      try await DeleteAccount(world.environment)(idToken: session.idToken, world.call())
    }
    #expect(failure?.metadata["max_age_seconds"] == "1")
  }

  @Test func `check 87: a refresh does not reopen the window`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: world.policy.recentLoginMillis)
    let refreshed = try await Refresh(world.environment)(session.refreshToken, world.call())
    await refused(.requiresRecentLogin) { try await delete(refreshed) }
  }

  @Test func `a session that did not pass the account's factor deletes nothing`() async throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    let session = try world.session(of: "account-y")
    await refused(.requiresSecondFactor) { try await delete(session) }
    try await delete(try world.session(of: "account-y", secondFactor: "totp"))
  }

  @Test func `check 91: an anonymous account can be deleted however old the session is`() async throws {
    world.store.insert(account(anonymous: true))
    let session = try world.session(of: "account-y", by: .anonymous)
    world.clock.advance(millis: world.policy.recentLoginMillis)
    try await delete(session)
    #expect(world.store.contents.accounts.isEmpty)
  }

  @Test func `check 34: the same key gets the same answer although session and account are gone`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    try await delete(session, world.call(key: "k"))
    try await delete(session, world.call(key: "k"))
    #expect(world.store.contents.events(of: "account-y") == ["DELETED"])
  }

  @Test func `check 115: nothing is removed after the call was cancelled`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let commitDecision = CommitDecision()
    #expect(commitDecision.cancel())
    await refused(.cancelled) { try await delete(session, world.call(commitDecision: commitDecision)) }
    #expect(world.store.state("account-y") != nil)
  }
}

struct `Administration` {
  let world = World()

  @Test func `an account is found by id, email address, phone number and identity`() async throws {
    let state = account(.verified(ada), phone: "+15550100", identities: [google()])
    world.store.insert(state)
    let subjects: [LookupAccount.Subject] = [
      .accountID("account-y"), .email(ada), .phoneNumber("+15550100"), .identity(google().identity),
    ]
    for subject in subjects { #expect(try await world.environment.read(LookupAccount(subject)) == state) }
  }

  @Test func `an unknown id, address, number or identity is not found`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let subjects: [LookupAccount.Subject] = [
      .accountID("account-x"), .email("bob@example.com"), .phoneNumber("+15550100"), .identity(corp().identity),
    ]
    for subject in subjects {
      await refused(.accountNotFound) { try await world.environment.read(LookupAccount(subject)) }
    }
  }

  func mint(_ request: CreateCustomTokenRequest) async throws -> CustomTokenGrant {
    try await CreateCustomToken(world.environment)(request, world.call())
  }

  @Test func `a custom token names its account and expires after an hour at the latest`() async throws {
    let grant = try await mint(CreateCustomTokenRequest(accountID: "uid-1", claimsJSON: #"{"role":"a"}"#))
    let token = try world.tokens.verifyCustomToken(grant.customToken, at: world.now)
    #expect(token.accountID == "uid-1" && token.claimsJSON == #"{"role":"a"}"#)
    #expect(grant.expiresAt == world.now.adding(millis: 3_600_000) && token.expiresAt == grant.expiresAt)
    let short = try await mint(CreateCustomTokenRequest(accountID: "uid", lifetimeMillis: 1000))
    #expect(short.expiresAt == world.now.adding(millis: 1000))
  }

  @Test func `an audit row records a custom token, even without an account, and never contains the token`()
    async throws
  {
    let call = world.call(caller: "admin")
    let grant = try await CreateCustomToken(world.environment)(CreateCustomTokenRequest(accountID: "uid"), call)
    let row = try #require(world.store.contents.audit.first)
    #expect(row.event == "CUSTOM_TOKEN_CREATED" && row.accountID == "uid" && row.caller == CallerName("admin"))
    #expect(row.detailsJSON == "{\"expires_at_millis\":\"\(grant.expiresAt.millis)\"}")
    #expect(world.store.contents.audit.count == 1 && world.store.contents.accounts.isEmpty)
  }

  @Test func `a custom token of a cancelled call is neither recorded nor returned`() async {
    let commitDecision = CommitDecision()
    #expect(commitDecision.cancel())
    await refused(.cancelled) {
      try await CreateCustomToken(world.environment)(
        CreateCustomTokenRequest(accountID: "uid"), world.call(commitDecision: commitDecision))
    }
    #expect(world.store.contents.audit.isEmpty)
  }

  @Test func `the reported expiry is that of the token, in whole seconds`() async throws {
    world.clock.advance(millis: 999)
    let custom = try await mint(CreateCustomTokenRequest(accountID: "uid"))
    let session = try await world.signIn(.anonymous).grant
    for end in [custom.expiresAt, session.idTokenExpiresAt] {
      #expect(end == world.now.adding(millis: 3_600_000 - 999))
    }
  }

  @Test(arguments: [-1, 0, 999, 3_600_001])
  func `a lifetime of less than a second or more than an hour is refused`(_ millis: Int64) async throws {
    let request = CreateCustomTokenRequest(accountID: "uid", lifetimeMillis: millis)
    #expect(await refused(.invalidField) { try await mint(request) }?.field == "lifetime")
  }

  @Test(arguments: ["", "a b", String(repeating: "a", count: 129), "naïve", "tab\t", "nul\0"])
  func `an id that is not 1 to 128 printable ASCII characters is refused`(_ id: String) async throws {
    let failure = await refused(.invalidField) { try await mint(CreateCustomTokenRequest(accountID: id)) }
    #expect(failure?.field == "account_id")
  }

  @Test func `reserved and too many claims are refused by name`() async throws {
    await refused(.forbiddenClaim) {
      try await mint(CreateCustomTokenRequest(accountID: "uid", claimsJSON: #"{"sub":"x"}"#))
    }
    let large = String(repeating: "x", count: 1001)
    let failure = await refused(.claimsTooLarge) {
      try await mint(CreateCustomTokenRequest(accountID: String(repeating: "a", count: 128), claimsJSON: large))
    }
    #expect(failure?.field == "claims_json")
  }

  @Test func `no custom token is minted if custom tokens are disabled`() async throws {
    let world = World { $0.customTokenEnabled = false }
    await refused(.operationNotAllowed) {
      try await CreateCustomToken(world.environment)(CreateCustomTokenRequest(accountID: "uid"), world.call())
    }
  }
}
