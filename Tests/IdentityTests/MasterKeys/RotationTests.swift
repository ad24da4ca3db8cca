import Store
import Testing

@testable import Identity

/// Servers in the phases of a rotation: the old key only, both in either order, the new key only.
@Suite struct `A rotation of the master key` {
  private let world = World {
    for kind in [ThrottleKind.passwordFailuresPerAccount, .passwordFailuresPerDevice] {
      $0.throttles[kind].countMax = 4
    }
  }
  private var before: World { world.server("old") }
  private var oldFirst: World { world.server("old", "new") }
  private var newFirst: World { world.server("new", "old") }
  private var after: World { world.server("new") }

  private func refresh(_ token: String, at server: World) async throws -> SessionGrant {
    try await Refresh(server.environment)(token, server.call())
  }

  // MARK: Refresh tokens

  @Test func `a refresh token of each phase is accepted in the next, and the session continues`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    var token = try before.session(of: "account-y").refreshToken
    for server in [before, oldFirst, newFirst, oldFirst, newFirst, after, newFirst, after] {
      token = try await refresh(token, at: server).refreshToken
    }
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
  }

  @Test func `a repeated refresh returns the same text on a server with the other order`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for (first, second) in [(oldFirst, newFirst), (newFirst, oldFirst), (before, oldFirst), (newFirst, after)] {
      let session = try first.session(of: "account-y")
      let answer = try await refresh(session.refreshToken, at: first)
      #expect(try await refresh(session.refreshToken, at: second).refreshToken == answer.refreshToken)
      #expect(try await refresh(session.refreshToken, at: first).refreshToken == answer.refreshToken)
      #expect(world.store.contents.openSessions(of: "account-y").contains { $0.id == session.sessionID })
    }
  }

  @Test func `a copied token ends its session, whichever server issued its successors`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for (first, second) in [(oldFirst, newFirst), (newFirst, oldFirst)] {
      let stolen = try first.session(of: "account-y")
      let next = try await refresh(stolen.refreshToken, at: second)
      _ = try await refresh(next.refreshToken, at: first)
      await refused(.tokenRevoked) { try await refresh(stolen.refreshToken, at: second) }
      #expect(!world.store.contents.openSessions(of: "account-y").contains { $0.id == stolen.sessionID })
    }
  }

  @Test func `without the old key, its tokens are refused and end nothing`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try before.session(of: "account-y")
    await refused(.invalidRefreshToken) { try await refresh(session.refreshToken, at: after) }
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
    _ = try await refresh(session.refreshToken, at: newFirst)
  }

  @Test func `of two refreshes at the same time on servers with either order, both get the same token`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for round in 0..<50 {
      let racing = World(store: MemoryStore(meetsRaces: true), seed: UInt64(round))
      racing.store.insert(account(.verified(ada), password: true))
      let session = try racing.server("old", "new").session(of: "account-y")
      let tokens = try await withThrowingTaskGroup(of: String.self) { group in
        for server in [racing.server("old", "new"), racing.server("new", "old")] {
          group.addTask { try await Refresh(server.environment)(session.refreshToken, server.call()).refreshToken }
        }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(tokens.count == 1)
    }
  }

  // MARK: Throttles

  @Test func `a limit holds over servers of all phases, in any order of calls`() async throws {
    let phases = [
      [before, before, oldFirst, oldFirst], [before, oldFirst, before, oldFirst],
      [oldFirst, newFirst, oldFirst, newFirst], [newFirst, newFirst, oldFirst, oldFirst],
      [newFirst, after, newFirst, after],
    ]
    for servers in phases {
      world.store.edit { $0.throttles = [:] }
      world.store.insert(account(.verified(ada), password: true))
      for server in servers {
        await refused(.invalidLoginCredentials) {
          try await server.signIn(.password(email: ada, password: "wrong"), server.call(deviceID: ""))
        }
      }
      for server in servers.suffix(2) {
        await refused(.tooManyAttempts) { try await server.signIn(rightPassword, server.call(deviceID: "")) }
      }
    }
  }

  @Test func `each event is counted once under each key, and a success resets both counts`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for server in [oldFirst, newFirst, oldFirst] {
      await refused(.invalidLoginCredentials) {
        try await server.signIn(.password(email: ada, password: "wrong"), server.call(deviceID: ""))
      }
    }
    let keys = ["old", "new"].map { key in
      world.server(key).environment.throttleKey(.passwordFailuresPerAccount, [ada], masterKey: 0)
    }
    #expect(keys.map { world.store.contents.throttles[$0]?.count } == [3, 3])
    _ = try await newFirst.signIn(rightPassword, newFirst.call(deviceID: "")).grant
    #expect(keys.map { world.store.contents.throttles[$0]?.count } == [nil, nil])
  }

  @Test func `a single key counts in a single row`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    await refused(.invalidLoginCredentials) {
      try await before.signIn(.password(email: ada, password: "wrong"), before.call(deviceID: ""))
    }
    let single = world.store.contents.throttles.count
    world.store.edit { $0.throttles = [:] }
    await refused(.invalidLoginCredentials) {
      try await oldFirst.signIn(.password(email: ada, password: "wrong"), oldFirst.call(deviceID: ""))
    }
    #expect(world.store.contents.throttles.count == 2 * single)
  }

  // MARK: Idempotency

  @Test func `a repeat is found on servers of the neighbouring phases, and another request is refused`() async throws {
    for (first, second) in [(before, oldFirst), (oldFirst, newFirst), (newFirst, oldFirst), (newFirst, after)] {
      world.store.edit { $0 = Tables() }
      let grant = try await first.signIn(google(), first.call(key: "k")).grant
      let again = try await second.signIn(google(), second.call(key: "k")).grant
      #expect(again.sessionID == grant.sessionID && world.store.contents.sessions.count == 1)
      await refused(.idempotencyKeyReused) { try await second.signIn(google(), second.call(key: "k", request: "2")) }
    }
  }

  @Test func `a sealed answer is repeated on a server with the other order`() async throws {
    for (first, second) in [(before, oldFirst), (oldFirst, newFirst), (newFirst, oldFirst), (newFirst, after)] {
      world.store.edit { $0 = Tables() }
      world.store.insert(account(.verified(ada), password: true))
      let exists = try await first.signIn(corp(), first.call(key: "k")).exists
      #expect(try await second.signIn(corp(), second.call(key: "k")).exists.handle == exists.handle)
    }
  }

  @Test func `of two equal calls at the same time on servers with either order, one takes effect`() async throws {
    for round in 0..<50 {
      let racing = World(store: MemoryStore(meetsRaces: true), seed: UInt64(round))
      let sessions = try await withThrowingTaskGroup(of: String.self) { group in
        for server in [racing.server("old", "new"), racing.server("new", "old")] {
          group.addTask { try await server.signIn(.anonymous, server.call(key: "k")).grant.sessionID }
        }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(sessions.count == 1 && racing.store.contents.accounts.count == 1)
    }
  }
}
