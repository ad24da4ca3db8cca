import Store
import Testing

@testable import Identity

/// CreateAccount that verifies the email address first.
@Suite struct `Sign-up that verifies first` {
  let world = World.sending { $0.signUp = .verifyFirst }

  func create(
    _ email: String = ada, password: String = "a long secret", page: String = page, code: String = "",
    _ call: CallFacts? = nil, in world: World? = nil
  ) async throws -> CreateAnswer {
    let world = world ?? self.world
    let request = CreateAccountRequest(
      email: email, password: password, mail: MailOrder(continueURI: page, locale: "de"),
      proof: code.isEmpty ? nil : .link(code: code))
    return try await CreateAccount(world.environment)(request, call ?? world.call())
  }

  /// Requests the sign-up, and returns the code of the email.
  func asked(_ email: String = ada) async throws -> String {
    _ = try await create(email)
    return try world.code(.signUp, to: email)
  }

  @Test func `the session opens after the code, and the address is verified`() async throws {
    let expiresAt = world.now.adding(millis: 6 * 3_600_000)
    #expect(try await create() == .verificationSent(expiresAt: expiresAt))
    #expect(world.store.contents.accounts.isEmpty && world.store.contents.sessions.isEmpty)
    let message = try world.lastMessage()
    #expect(message.kind == .signUp && message.locale == "de" && message.expiresAt == expiresAt)
    let code = try world.lastCode()
    let check = try await world.check(code)
    #expect(check.mode == .signUp && check.email == ada)
    let grant = try await create(password: "another secret", code: code).grant
    let account = grant.account.account
    #expect(grant.isNewAccount && account.emailAddress?.verification == .emailLink && account.emailVerifiedAt == nil)
    #expect(account.passwordHash == "hash:another secret", "from the call with the code, not from the first one")
    #expect(world.store.contents.events(of: account.id) == ["ACCOUNT_CREATED"])
  }

  @Test func `check 39: an address with an owner gets the same answer and rows, and the owner an email without a link`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true))
    let known = try await create()
    let message = try world.lastMessage()
    #expect(message.kind == .signUpKnown && message.recipient == .email(ada) && message.values.isEmpty)
    #expect(try await create("free@example.com") == known)
    let contents = world.store.contents
    #expect(contents.pendings.count == 2 && contents.deliveries.count == 2 && contents.accounts.count == 1)
  }

  @Test func `a code is valid once, for its address, its caller and six hours`() async throws {
    let code = try await asked()
    await refused(.invalidCode) { try await create("eve@example.com", code: code) }
    await refused(.invalidCode) { try await create(code: code, world.call(caller: "spiffe://test/other")) }
    _ = try await create(code: code).grant
    #expect(await refused(.expiredCode) { try await create(code: code) }?.field == "code")
    let late = try await asked("late@example.com")
    world.clock.advance(millis: 6 * 3_600_000)
    await refused(.expiredCode) { try await create("late@example.com", code: late) }
    await refused(.invalidCode) { try await create(code: "x") }
  }

  @Test func `the code of a sign-in link is not valid here, and a sign-up code is not valid there`() async throws {
    let link = try await world.emailLink().linkCode
    await refused(.invalidCode) { try await create(code: link) }
    let code = try await asked()
    await refused(.invalidCode) { try await world.signIn(.emailLink(email: ada, code: code)) }
    await refused(.invalidCode) { try await world.reset(code) }
  }

  @Test func `a new request invalidates the earlier code`() async throws {
    let (former, latter) = (try await asked(), try await asked())
    await refused(.invalidCode) { try await create(code: former) }
    _ = try await create(code: latter).grant
  }

  @Test func `an address that was taken after the email was sent is rejected`() async throws {
    let code = try await asked()
    world.store.insert(account(.verified(ada), password: true))
    await refused(.emailAlreadyInUse) { try await create(code: code) }
    #expect(world.store.contents.accounts.count == 1)
  }

  @Test func `a weak password or an unregistered page is rejected before anything is sent`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for email in [ada, "free@example.com"] {
      #expect(await refused(.weakPassword) { try await create(email, password: "seven77") }?.field == "password")
      await refused(.redirectURINotAllowed) { try await create(email, page: "https://evil.example/") }
    }
    #expect(world.store.contents.deliveries.isEmpty && world.store.contents.pendings.isEmpty)
  }

  @Test func `requests are limited by network and by address`() async throws {
    let world = World.sending {
      $0.signUp = .verifyFirst
      $0.throttles[.signUpsPerNetwork].countMax = 2
      $0.throttles[.sendsPerRecipient].countMax = 1
    }
    _ = try await create(in: world)
    await refused(.tooManyAttempts) { try await create(in: world) }
    _ = try await create("bob@example.com", in: world)
    await refused(.tooManyAttempts) { try await create("eve@example.com", in: world) }
  }

  @Test func `fifty calls with one code create one account`() async throws {
    let world = World.sending(store: MemoryStore(answersNow: false, meetsRaces: true)) { $0.signUp = .verifyFirst }
    _ = try await create(in: world)
    let code = try world.lastCode()
    let made = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<50 { group.addTask { (try? await create(code: code, in: world).grant) != nil } }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(made == 1 && world.store.contents.accounts.count == 1 && world.store.contents.sessions.count == 1)
  }

  @Test func `check 39: the same key sends no second email, for free addresses and those with an owner`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    var answers: [CreateAnswer] = []
    for (email, key) in [(ada, "a"), ("free@example.com", "f")] {
      let first = try await create(email, world.call(key: key))
      let sent = world.store.contents
      world.clock.advance(millis: 60_000)
      #expect(try await create(email, world.call(key: key)) == first)
      let contents = world.store.contents
      #expect(contents.deliveries == sent.deliveries && contents.pendings == sent.pendings)
      answers.append(first)
      world.clock.advance(millis: -60_000)
    }
    #expect(answers[0] == answers[1])
    let records = world.store.contents.idempotency.values
    #expect(records.count == 2 && records.allSatisfy { $0.accountID.isEmpty && $0.sessionID == nil })
    #expect(Set(records.map(\.outcome)).count == 1)
  }

  @Test func `the key of an email request cannot be reused for another address, or for the call with the code`()
    async throws
  {
    _ = try await create(ada, world.call(key: "k"))
    let code = try world.lastCode()
    await refused(.idempotencyKeyReused) { try await create("eve@example.com", world.call(key: "k", request: "eve")) }
    await refused(.idempotencyKeyReused) { try await create(code: code, world.call(key: "k", request: "code")) }
    #expect(world.store.contents.deliveries.count == 1)
    _ = try await create(code: code, world.call(key: "another")).grant
    let again = try await create(ada, world.call(key: "k"))
    #expect(again == .verificationSent(expiresAt: world.now.adding(millis: 6 * 3_600_000)), "with any outcome")
  }

  @Test func `fifty concurrent equal calls send one email`() async throws {
    let world = World.sending(store: MemoryStore(answersNow: false, meetsRaces: true)) { $0.signUp = .verifyFirst }
    let answers = await withTaskGroup(of: CreateAnswer?.self) { group in
      for _ in 0..<50 { group.addTask { try? await create(ada, world.call(key: "k"), in: world) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(answers).count == 1 && answers[0] != nil)
    #expect(world.store.contents.deliveries.count == 1 && world.store.contents.pendings.count == 1)
  }

  @Test func `the same key returns the session again although its code is used`() async throws {
    let code = try await asked()
    let first = try await create(code: code, world.call(key: "k")).grant
    #expect(try await create(code: code, world.call(key: "k")).grant.sessionID == first.sessionID)
  }
}
