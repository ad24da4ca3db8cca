import Store
import Testing

@testable import Identity

/// Many parallel calls on one store: exactly one winner, typed answers for the rest, a consistent store.
struct `SignIn, races` {
  private static let rounds = 20
  private static let callers = 50

  private func world(seed: Int, policy: (inout Policy) -> Void = { _ in }) -> World {
    World(store: MemoryStore(meetsRaces: true), seed: UInt64(seed), policy: policy)
  }

  /// The outcomes of many parallel calls.
  private func parallel(
    _ body: @escaping @Sendable (Int) async throws -> SignInAnswer
  ) async throws -> [Result<SignInAnswer, Failure>] {
    try await withThrowingTaskGroup(of: Result<SignInAnswer, Failure>.self) { group in
      for index in 0..<`SignIn, races`.callers {
        group.addTask {
          do { return .success(try await body(index)) } catch let failure as Failure { return .failure(failure) }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func `parallel first sign-ins of one identity create one account, and all succeed`() async throws {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      let answers = try await parallel { _ in try await world.signIn(google()) }
      let grants = try answers.map { try $0.get().grant }
      #expect(grants.count(where: \.isNewAccount) == 1)
      #expect(Set(grants.map(\.account.account.id)).count == 1)
      #expect(world.store.contents.accounts.count == 1 && world.store.contents.identities.count == 1)
      #expect(Set(grants.map(\.sessionID)).count == `SignIn, races`.callers)
    }
  }

  @Test func `check 32: two providers with one address create one account and conflicts, never two accounts`()
    async throws
  {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round) { $0.pendingLimits.perAccountMax = 100 }
      let answers = try await parallel { index in
        try await world.signIn(index % 2 == 0 ? google(tier: .verified) : corp(tier: .verified))
      }
      let outcomes = try answers.map { try $0.get() }
      #expect(outcomes.count { if case .session(let grant) = $0 { grant.isNewAccount } else { false } } == 1)
      #expect(outcomes.count { if case .accountExists = $0 { true } else { false } } == `SignIn, races`.callers / 2)
      #expect(world.store.contents.accounts.count == 1 && world.store.contents.identities.count == 1)
      #expect(world.store.contents.pendings.count == `SignIn, races`.callers / 2)
    }
  }

  @Test func `check 13: parallel completions of one pending token link once, and all get the same session`()
    async throws
  {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      world.store.insert(account(.verified(ada), password: true))
      let handle = try await world.signIn(google()).exists.handle
      let answers = try await parallel { _ in try await world.signIn(rightPassword, pendingToken: handle) }
      let grants = try answers.map { try $0.get().grant }
      #expect(Set(grants.map(\.sessionID)).count == 1)
      #expect(world.store.contents.sessions.count == 1)
      #expect(world.store.contents.events(of: "account-y") == ["LINKED"])
      #expect(Set(grants.map(\.refreshToken)).count <= 2, "the winner's, and one for all repeats")
    }
  }

  @Test func `a pending token that is presented in parallel opens one session`() async throws {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      world.store.insert(account(.verified(ada), identities: [google()]))
      let handle = world.hold(google(), for: "account-y", purpose: .credentialInUse)
      let answers = try await parallel { _ in try await world.signIn(.pendingToken(handle)) }
      #expect(answers.count { (try? $0.get()) != nil } == 1)
      for case .failure(let failure) in answers { #expect(failure.reason == .pendingCredentialUsed) }
      #expect(world.store.contents.sessions.count == 1)
    }
  }

  @Test func `a single-use token that is presented in parallel opens one session`() async throws {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      let token = Credential.providerToken(
        world.providers.token(google(), singleUseUntil: world.now.adding(millis: 600_000)))
      let answers = try await parallel { _ in try await world.signIn(token) }
      #expect(answers.count { (try? $0.get()) != nil } == 1)
      for case .failure(let failure) in answers { #expect(failure.reason == .missingOrInvalidNonce) }
      #expect(world.store.contents.sessions.count == 1)
    }
  }

  @Test func `check 34: parallel calls with one idempotency key take effect once`() async throws {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      let answers = try await parallel { _ in try await world.signIn(.anonymous, world.call(key: "k")) }
      let grants = try answers.map { try $0.get().grant }
      #expect(Set(grants.map(\.account.account.id)).count == 1 && Set(grants.map(\.sessionID)).count == 1)
      #expect(world.store.contents.accounts.count == 1 && world.store.contents.sessions.count == 1)
    }
  }

  @Test func `parallel sign-ins with an older hash all succeed, and it is upgraded once`() async throws {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      world.store.insert(account(.verified(ada), password: true) { $0.passwordHash = "old:correct horse" })
      let answers = try await parallel { _ in try await world.signIn(rightPassword) }
      #expect(try answers.map { try $0.get().grant }.count == `SignIn, races`.callers)
      #expect(world.store.state("account-y")?.account.passwordHash == "hash:correct horse")
      #expect(world.store.state("account-y")?.account.version == 2)
    }
  }

  @Test func `a reclaim during a squatter's sign-ins leaves none of the squatter's sessions open`() async throws {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      world.store.insert(account(.unverified(ada), password: true))
      let answers = try await parallel { index in
        index == 25 ? try await world.signIn(google()) : try await world.signIn(rightPassword)
      }
      #expect(world.store.state("account-y")?.account.passwordHash == nil)
      #expect(world.store.contents.openSessions(of: "account-y").allSatisfy { $0.signInProviderID == "google.com" })
      for case .failure(let failure) in answers { #expect(failure.reason == .invalidLoginCredentials) }
    }
  }

  @Test func `after a password change during sign-ins, no session opens with the old password`() async throws {
    for round in 1...`SignIn, races`.rounds {
      let world = world(seed: round)
      world.store.insert(account(.verified(ada), password: true))
      _ = try await parallel { index in
        guard index == 25 else { return try await world.signIn(rightPassword) }
        world.store.edit { tables in
          tables.accounts["account-y"]?.passwordHash = "hash:new"
          tables.accounts["account-y"]?.version += 1
          for id in tables.sessions.keys { tables.sessions[id]?.closed = SessionEnd(at: world.now, reason: .revoked) }
        }
        throw Failure(.cancelled)
      }
      #expect(world.store.contents.openSessions(of: "account-y").isEmpty)
    }
  }
}
