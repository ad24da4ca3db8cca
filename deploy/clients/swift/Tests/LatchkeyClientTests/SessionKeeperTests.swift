import GRPCCore
import GRPCProtobuf
import Synchronization
import Testing

@testable import LatchkeyClient

/// Storage that records its use, and fails on request.
private actor RecordingStorage: SessionStorage {
  struct DiskFull: Error {}

  var saved: [String] = []
  var isRemoved = false
  var isFull = false

  func load() -> Latchkey_V1_Session? { nil }

  func save(_ session: Latchkey_V1_Session) throws {
    if isFull { throw DiskFull() }
    saved.append(session.refreshToken)
  }

  func remove() { isRemoved = true }

  func fill() { isFull = true }
}

extension SessionKeeper {
  fileprivate func endPause() { nextAttempt = .now }
}

private func keeper(
  _ client: LatchkeyClient, seconds: Double, _ storage: any SessionStorage = InMemorySessionStorage()
) async throws -> SessionKeeper {
  try await SessionKeeper(starting: .sample("first", seconds: seconds), with: client.sessions, storage: storage)
}

@Test func `a token that is valid for longer than the margin is returned`() async throws {
  let server = TestServer()
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: 3600)
    #expect(try await keeper.idToken() == "first")
  }
  #expect(server.state.withLock(\.refreshes) == [])
}

@Test func `one refresh runs for many tasks`() async throws {
  let server = TestServer()
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: 60)
    try await withThrowingTaskGroup { group in
      for _ in 0..<16 { group.addTask { try await keeper.idToken() } }
      for try await token in group { #expect(token == "id 1") }
    }
  }
  let refreshes = server.state.withLock(\.refreshes)
  #expect(refreshes.map(\.refreshToken) == ["refresh first"])
  #expect(refreshes.first?.idempotencyKey.isEmpty == false)
}

@Test func `a session is stored before its tokens are used`() async throws {
  let server = TestServer()
  let storage = RecordingStorage()
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: 60, storage)
    #expect(try await keeper.idToken() == "id 1")
  }
  #expect(await storage.saved == ["refresh first", "refresh id 1"])
}

@Test func `a refresh that was not stored is repeated with the same key`() async throws {
  let server = TestServer()
  let storage = RecordingStorage()
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: 60, storage)
    await storage.fill()
    for _ in 0..<2 {
      await #expect(throws: RecordingStorage.DiskFull.self) { try await keeper.idToken() }
    }
    #expect(await keeper.session.idToken == "first")
  }
  let refreshes = server.state.withLock(\.refreshes)
  #expect(refreshes.count == 2)
  #expect(refreshes.first == refreshes.last)
}

@Test func `the present token is returned while the server is unavailable`() async throws {
  let server = TestServer()
  server.state.withLock { $0.failures = [.of(.unavailable, "STORE_UNAVAILABLE")] }
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: 60)
    #expect(try await keeper.idToken() == "first")
    #expect(try await keeper.idToken() == "first")
    #expect(server.state.withLock(\.refreshes.count) == 1, "The second call came within the pause.")
    await keeper.endPause()
    #expect(try await keeper.idToken() == "id 2")
  }
  let refreshes = server.state.withLock(\.refreshes)
  #expect(refreshes.first == refreshes.last)
}

@Test func `an expired token is not returned while the server is unavailable`() async throws {
  let server = TestServer()
  server.state.withLock { $0.failures = [.of(.unavailable, "STORE_UNAVAILABLE")] }
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: -1)
    let error = await #expect(throws: LatchkeyError.self) { try await keeper.idToken() }
    #expect(error?.reason == .storeUnavailable)
  }
}

@Test func `a cancelled refresh is repeated with the same key`() async throws {
  let server = TestServer()
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: 60)
    let cancelled = Task { try await keeper.idToken() }
    while server.state.withLock(\.refreshes.isEmpty) { try await Task.sleep(for: .milliseconds(1)) }
    cancelled.cancel()
    await #expect(throws: (any Error).self) { try await cancelled.value }
    #expect(try await keeper.idToken() == "id 2")
  }
  let refreshes = server.state.withLock(\.refreshes)
  #expect(refreshes.first == refreshes.last)
}

@Test func `a session that has ended is removed from the storage`() async throws {
  let server = TestServer()
  let storage = RecordingStorage()
  server.state.withLock { $0.failures = [.of(.unauthenticated, "TOKEN_REVOKED")] }
  try await withClient(of: server) { client in
    let keeper = try await keeper(client, seconds: 60, storage)
    let error = await #expect(throws: LatchkeyError.self) { try await keeper.idToken() }
    #expect(error?.reason == .tokenRevoked)
  }
  #expect(await storage.isRemoved)
}

@Test func `a restored session continues, and an adopted one replaces it`() async throws {
  let server = TestServer()
  let storage = InMemorySessionStorage()
  try await withClient(of: server) { client in
    #expect(try await SessionKeeper(restoring: storage, with: client.sessions) == nil)
    _ = try await keeper(client, seconds: 3600, storage)
    let keeper = try #require(try await SessionKeeper(restoring: storage, with: client.sessions))
    #expect(try await keeper.idToken() == "first")
    try await keeper.adopt(.sample("linked", seconds: 3600))
    #expect(try await keeper.idToken() == "linked")
    #expect(await storage.load()?.idToken == "linked")
    try await keeper.signOut()
    #expect(await storage.load() == nil)
  }
  #expect(server.state.withLock(\.signOuts).map(\.refreshToken) == ["refresh linked"])
}
