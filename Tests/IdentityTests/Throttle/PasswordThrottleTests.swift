import Store
import Testing

@testable import Identity

@Suite struct PasswordThrottleTests {
  private let wrong = Credential.password(email: ada, password: "wrong")
  private func world(max: Int = 3, known: Bool = true) -> World {
    let world = World {
      for kind in [ThrottleKind.passwordFailuresPerAccount, .passwordFailuresPerDevice] {
        $0.throttles[kind].countMax = max
      }
    }
    if known { world.store.insert(account(.verified(ada), password: true, identities: [google()])) }
    return world
  }

  private func fail(_ world: World, _ times: Int, _ call: (() -> CallFacts)? = nil) async {
    for _ in 0..<times {
      await refused(.invalidLoginCredentials) { try await world.signIn(wrong, call?() ?? world.call()) }
    }
  }

  @Test func `check 104: 100 wrong passwords in a row block the password`() async throws {
    let world = world(max: 100)
    #expect(Policy().throttles[.passwordFailuresPerAccount].countMax == 100)
    await fail(world, 100)
    let hashes = world.passwords.verifications.count
    let failure = await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
    #expect(failure?.retryAfterMillis == 900_000)
    #expect(failure?.throttle == .passwordFailuresPerAccount)
    #expect(world.passwords.verifications.count == hashes, "a blocked call computes no hash")
    world.clock.advance(millis: 900_000)
    _ = try await world.signIn(rightPassword).grant
  }

  @Test func `check 105: a block of the password does not block another sign-in method`() async throws {
    let world = world()
    await fail(world, 3)
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
    _ = try await world.signIn(google()).grant
  }

  @Test func `check 105: a device that the user has signed in on has a separate count, in both directions`()
    async throws
  {
    let world = world()
    _ = try world.session(of: "account-y", call: world.call(deviceID: "own"))
    await fail(world, 3) { world.call(deviceID: "strange") }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(deviceID: "other")) }
    await fail(world, 2) { world.call(deviceID: "own") }
    _ = try await world.signIn(rightPassword, world.call(deviceID: "own")).grant
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(deviceID: "other")) }
    await fail(world, 3) { world.call(deviceID: "own") }
    let failure = await refused(.tooManyAttempts) {
      try await world.signIn(rightPassword, world.call(deviceID: "own"))
    }
    #expect(failure?.throttle == .passwordFailuresPerDevice)
  }

  @Test func `a success resets the count, and writes nothing if nothing was counted`() async throws {
    let world = world()
    for _ in 0..<3 {
      await fail(world, 2)
      _ = try await world.signIn(rightPassword).grant
    }
    let counted = world.store.contents.throttles
    _ = try await world.signIn(rightPassword).grant
    #expect(world.store.contents.throttles == counted)
    #expect(!counted.values.contains { $0.count > 6 })
  }

  @Test func `an unknown address is blocked like a known one`() async {
    let (known, unknown) = (world(), world(known: false))
    await fail(known, 3)
    await fail(unknown, 3)
    let first = await refused(.tooManyAttempts) { try await known.signIn(rightPassword) }
    let second = await refused(.tooManyAttempts) { try await unknown.signIn(rightPassword) }
    #expect(first == second)
  }

  @Test func `50 parallel failures count 50`() async {
    let world = World(store: MemoryStore(meetsRaces: true))
    world.store.insert(account(.verified(ada), password: true))
    await withTaskGroup { group in
      for _ in 0..<50 { group.addTask { await fail(world, 1) } }
    }
    #expect(world.store.contents.throttles.values.contains { $0.count == 50 })
  }

  @Test func `a right password is rejected if the block began during its check`() async throws {
    let world = world()
    await fail(world, 1)
    let environment = world.environment { store in
      store.edit { tables in
        for key in tables.throttles.keys { tables.throttles[key]?.blockedUntil = world.now.adding(millis: 1) }
      }
    }
    await refused(.tooManyAttempts) {
      try await SignIn(environment)(SignInRequest(credential: rightPassword), world.call())
    }
    #expect(world.store.contents.sessions.isEmpty)
  }

  @Test func `check 104: a burst of guesses gets as many answers as the limit allows, right or wrong`() async {
    let world = World(store: MemoryStore(meetsRaces: true)) { $0.throttles[.passwordFailuresPerAccount].countMax = 5 }
    world.store.insert(account(.verified(ada), password: true))
    await fail(world, 1)
    let answers = await withTaskGroup(of: Failure.Reason?.self) { group in
      for number in 0..<50 {
        group.addTask {
          do {
            _ = try await world.signIn(number == 25 ? rightPassword : wrong)
            return nil
          } catch {
            return (error as? Failure)?.reason
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
    #expect(answers[.invalidLoginCredentials, default: 0] <= 4)
    #expect(Set(answers.keys).isSubset(of: [nil, .invalidLoginCredentials, .tooManyAttempts]))
  }

  @Test func `a wrong password is rejected like a right one if the block began during its check`()
    async throws
  {
    let world = world()
    await fail(world, 1)
    let environment = world.environment { store in
      store.edit { tables in
        for key in tables.throttles.keys { tables.throttles[key]?.blockedUntil = world.now.adding(millis: 1) }
      }
    }
    await refused(.tooManyAttempts) { try await SignIn(environment)(SignInRequest(credential: wrong), world.call()) }
  }

  @Test func `check 105: an idempotency key does not change who is blocked`() async throws {
    let world = world()
    _ = try world.session(of: "account-y", call: world.call(deviceID: "own"))
    await fail(world, 3) { world.call(deviceID: "strange") }
    _ = try await world.signIn(rightPassword, world.call(key: "k", deviceID: "own")).grant
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(key: "l", deviceID: "other")) }
    let free = World { $0.throttles[.passwordFailuresPerAccount].countMax = 3 }
    await fail(free, 3)
    let request = CreateAccountRequest(email: ada, password: "correct horse")
    _ = try await CreateAccount(free.environment)(request, free.call(key: "k"))
  }

  @Test func `check 104: failures at any account count against their /64 network`() async {
    let world = World { $0.throttles[.passwordFailuresPerNetwork].countMax = 3 }
    for number in 1...3 {
      await refused(.invalidLoginCredentials) {
        try await world.signIn(
          .password(email: "p\(number)@example.com", password: "wrong"),
          world.call(ipAddress: "2001:db8::\(number)"))
      }
    }
    let failure = await refused(.tooManyAttempts) {
      try await world.signIn(rightPassword, world.call(ipAddress: "2001:db8::ffff:1"))
    }
    #expect(failure?.throttle == .passwordFailuresPerNetwork)
    await fail(world, 1) { world.call(ipAddress: "2001:db8:0:1::1") }
    await fail(world, 1) { world.call(ipAddress: "") }
  }

  @Test func `wrong passwords count in reauthentication and completion as well`() async throws {
    let world = world()
    let session = try world.session(of: "account-y")
    await fail(world, 1)
    await refused(.invalidLoginCredentials) { try await world.reauthenticate(wrong, session) }
    let handle = world.hold(corp(), for: "account-y")
    await refused(.invalidLoginCredentials) { try await world.signIn(wrong, pendingToken: handle) }
    await refused(.tooManyAttempts) { try await world.reauthenticate(rightPassword, session) }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, pendingToken: handle) }
  }

  @Test func `another request under one idempotency key is a failed attempt`() async throws {
    let world = world()
    _ = try await world.signIn(rightPassword, world.call(key: "k", request: "right")).grant
    for guess in 1...3 {
      await refused(.idempotencyKeyReused) { try await world.signIn(wrong, world.call(key: "k", request: "\(guess)")) }
    }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(key: "k", request: "right")) }
  }

  @Test func `a call that was cancelled before its password was checked does not count`() async {
    let world = world()
    let commitDecision = CommitDecision()
    _ = commitDecision.cancel()
    await refused(.cancelled) { try await world.signIn(wrong, world.call(commitDecision: commitDecision)) }
    #expect(world.store.contents.throttles.isEmpty)
  }

  @Test func `a call that was cancelled after its password was checked counts`() async throws {
    let world = world()
    let session = try world.session(of: "account-y")
    world.passwords.giveUpAfterwards()
    await refused(.invalidLoginCredentials) { try await world.signIn(wrong) }
    await refused(.invalidLoginCredentials) { try await world.reauthenticate(wrong, session) }
    await refused(.invalidLoginCredentials) { try await world.signIn(wrong) }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
  }

  @Test func `sign-ups without a verified identity are limited by network, including rejected ones`() async throws {
    let world = World { $0.throttles[.signUpsPerNetwork].countMax = 3 }
    let create = CreateAccount(world.environment)
    let request = CreateAccountRequest(email: ada, password: "correct horse")
    _ = try await create(request, world.call())
    await refused(.emailAlreadyInUse) { try await create(request, world.call()) }
    _ = try await world.signIn(.anonymous).grant
    for _ in 0..<2 {
      await refused(.tooManyAttempts) { try await create(request, world.call()) }
      await refused(.tooManyAttempts) { try await world.signIn(.anonymous) }
    }
    _ = try await world.signIn(.anonymous, world.call(ipAddress: "192.0.2.2")).grant
    _ = try await world.signIn(google(email: "g@example.com")).grant
  }

  @Test func `the rows do not reveal address, device or network, and each kind has its own keys`() {
    let world = World()
    var (passwords, sends) = (Query(), Query())
    let environment = world.environment
    environment.throttle(.passwordFailures, of: ada, byDevice: true, call: world.call()).look(into: &passwords)
    environment.throttle(.sends, of: ada, byDevice: true, call: world.call()).look(into: &sends)
    #expect(Set(passwords.throttles + sends.throttles).count == 8)
  }

  @Test func `a disabled limit is not counted`() {
    let world = World { $0.throttles[.sendsPerCaller].countMax = 0 }
    var query = Query()
    world.environment.throttle(.sends, of: ada, call: world.call()).look(into: &query)
    #expect(query.throttles.count == 2)
  }
}
