import Testing

@testable import HTTP2

/// Bytes that leave a session which was asked for nothing.
private func greeting(_ session: Session) -> [UInt8] {
  var bytes: [UInt8] = []
  #expect(session.drain(into: &bytes, bytesMax: .max))
  return bytes
}

@Test func `a session has one frame buffer while it lives, and gives it back for the next`() throws {
  let pool = try #require(SessionPool())
  var sessions: [Session] = []
  for _ in 0..<3 { sessions.append(try #require(Session(SessionLimits(), pool, nowMillis: 0))) }
  let spare = pool.spareBuffers
  sessions.removeFirst()
  #expect(pool.spareBuffers == spare + 1)
  sessions.append(try #require(Session(SessionLimits(), pool, nowMillis: 0)))
  #expect(pool.spareBuffers == spare)
  sessions = []
  #expect(pool.spareBuffers == spare + 3)
}

@Test func `there are frame buffers for more sessions than one slab has, each its own`() throws {
  let pool = try #require(SessionPool())
  let sessions = try (0..<150).map { _ in try #require(Session(SessionLimits(), pool, nowMillis: 0)) }
  let plain = try #require(Session(SessionLimits(), nowMillis: 0))
  let expected = greeting(plain)
  for session in sessions { #expect(greeting(session) == expected) }
  #expect(pool.spareBuffers == 3 * 64 - 150)
}

/// Has so many calls answered on a connection of their own.
private func answer(_ calls: Int, _ pool: SessionPool) throws {
  let peer = Peer(pool: pool)
  for call in 0..<Int32(calls) {
    peer.send(.headers(1 + 2 * call), .data(1 + 2 * call, [1], end: true))
    let stream = try #require(peer.sink.stream(1 + 2 * call))
    peer.session.respond(stream, head: head, body: [1, 2, 3], trailers: trailers)
  }
  #expect(peer.drain().count { $0.kind == .data } == calls)
}

private let sizes = [64, 128, 160, 224]

@Test func `the small blocks of a session's calls are used again by the next session`() throws {
  let pool = try #require(SessionPool())
  let other = Peer(pool: pool)
  // malloc sometimes gives more than it was asked for, which makes a block one of the next size.
  for _ in 0..<50 { try answer(20, pool) }
  let spare = sizes.map(pool.spareBlocks)
  #expect(spare.allSatisfy { $0 > 0 })
  for _ in 0..<50 { try answer(20, pool) }
  #expect(sizes.map(pool.spareBlocks) == spare, "nothing was taken from malloc, and nothing lost")
  _ = other
}

@Test func `a thread without sessions holds no block`() throws {
  let pool = try #require(SessionPool())
  for _ in 0..<2 {
    try answer(20, pool)
    #expect(sizes.map(pool.spareBlocks) == [0, 0, 0, 0])
  }
}
