import Glibc
import Testing

@testable import HTTP2

/// Bytes that leave a session which was asked for nothing.
private func greeting(_ session: Session) -> [UInt8] {
  var bytes: [UInt8] = []
  #expect(session.drain(into: &bytes, bytesMax: .max))
  return bytes
}

@Test func `a session has a frame buffer and a table while it lives, and gives them back for the next`() throws {
  let pool = try #require(SessionPool())
  var sessions: [Session] = []
  for _ in 0..<3 { sessions.append(try #require(Session(SessionLimits(), pool, nowMillis: 0))) }
  let (frames, tables) = (pool.spareFrames, pool.spareTables)
  sessions.removeFirst()
  #expect(pool.spareFrames == frames + 1)
  #expect(pool.spareTables == tables + 1)
  sessions.append(try #require(Session(SessionLimits(), pool, nowMillis: 0)))
  #expect(pool.spareFrames == frames)
  #expect(pool.spareTables == tables)
  sessions = []
  #expect(pool.spareFrames == frames + 3)
  #expect(pool.spareTables == tables + 3)
}

/// How many of these begin with a page that is in memory.
private func resident(_ runs: [UnsafeRawPointer]) -> Int {
  unsafe runs.count { run in
    var state: UInt8 = 0
    return unsafe mincore(UnsafeMutableRawPointer(mutating: run), 1, &state) == 0 && state & 1 == 1
  }
}

@Test func `a session that rests holds no page of its own, and answers as before`() {
  let peer = Peer(pool: SessionPool())
  let pages = unsafe peer.session.memory.pages
  #expect(unsafe pages.count == 2)
  for call in 0..<Int32(3) {
    let id = 1 + 2 * call
    let stream = peer.owe(id, bytes: 3)
    #expect(peer.drain().map(\.kind) == [.headers, .data, .headers])
    #expect(stream.isClosed)
    #expect(unsafe resident(pages) == 2)
    peer.session.rest()
    #expect(unsafe resident(pages) == 0)
  }
}

@Test func `what comes back stays in memory for as many sessions as a slab has, and tells them nothing`() throws {
  let pool = try #require(SessionPool())
  let expected = greeting(try #require(Session(SessionLimits(), nowMillis: 0)))
  var pages: [UnsafeRawPointer] = unsafe []
  do {
    let peers = (0..<100).map { _ in Peer(pool: pool) }
    for peer in peers {
      _ = peer.owe(1, bytes: 9_000)
      _ = peer.drain()
      unsafe pages += peer.session.memory.pages
    }
    #expect(unsafe resident(pages) == 200)
  }
  #expect(unsafe resident(pages) == 2 * 64)
  #expect(unsafe pages.allSatisfy { unsafe $0.load(as: UInt64.self) == 0 })
  for _ in 0..<100 {
    let session = try #require(Session(SessionLimits(), pool, nowMillis: 0))
    #expect(greeting(session) == expected)
  }
}

@Test func `a session with an open stream keeps its table when it rests`() {
  let peer = Peer(pool: SessionPool())
  let stream = peer.open(1)
  peer.session.rest()
  #expect(unsafe resident(peer.session.memory.pages) == 1)
  peer.send(.data(1, [1], end: true))
  peer.session.respond(stream, head: head, body: [1, 2, 3], trailers: trailers)
  #expect(peer.drain().map(\.kind) == [.headers, .data, .headers])
}

@Test func `a session that has something to say does not rest`() {
  let peer = Peer(pool: SessionPool())
  _ = peer.owe(1, bytes: 40_000)
  _ = peer.drain(bytesMax: 1)
  peer.session.rest()
  #expect(unsafe resident(peer.session.memory.pages) == 2)
  let rest = peer.drain()
  #expect(rest.last?.endsStream == true)
  #expect(rest.filter { $0.kind == .data }.reduce(0) { $0 + $1.payload.count } == 40_000)
}

@Test func `what has come of a request is kept while its session rests`() throws {
  let peer = Peer(pool: SessionPool()) { $0.headerListBytesMax = 65_536 }
  // As long as a frame: what the decoder keeps it in is of a frame buffer's size.
  let name = String(repeating: "n", count: 16_300)
  let bytes = Frame.headers(1, Frame.request + [(name, "v")], end: true).bytes
  #expect(peer.feed(Array(bytes[..<16_000])))
  peer.session.rest()
  #expect(peer.feed(Array(bytes[16_000...])))
  let stream = try #require(peer.sink.stream(1))
  #expect(stream.headers.text.last == "\(name): v")
}

@Test func `a table that grew past a page is left to malloc`() throws {
  let pool = try #require(SessionPool())
  let peer = Peer(pool: pool) { $0.streamsMax = 400 }
  let spare = pool.spareTables
  for call in 0..<Int32(300) { _ = peer.open(1 + 2 * call, end: true) }
  #expect(pool.spareTables == spare + 1)
  peer.session.rest()
  for call in 0..<Int32(300) {
    let stream = try #require(peer.sink.stream(1 + 2 * call))
    peer.session.respond(stream, head: head, body: [1], trailers: trailers)
  }
  #expect(peer.drain().count(where: \.endsStream) == 300)
}

@Test func `there are frame buffers for more sessions than one slab has, each its own`() throws {
  let pool = try #require(SessionPool())
  let sessions = try (0..<150).map { _ in try #require(Session(SessionLimits(), pool, nowMillis: 0)) }
  let plain = try #require(Session(SessionLimits(), nowMillis: 0))
  let expected = greeting(plain)
  for session in sessions { #expect(greeting(session) == expected) }
  #expect(pool.spareFrames == 3 * 64 - 150)
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
  for _ in 0..<50 { try answer(20, pool) }
  let spare = sizes.map(pool.spareBlocks)
  #expect(spare.allSatisfy { $0 > 0 })
  for _ in 0..<50 { try answer(20, pool) }
  // malloc sometimes gives more than it was asked for, which makes a block one of the next size. Those that nobody uses
  // again would come to a thousand.
  for (now, before) in zip(sizes.map(pool.spareBlocks), spare) { #expect(abs(now - before) < 5) }
  _ = other
}

@Test func `a thread without sessions holds no block`() throws {
  let pool = try #require(SessionPool())
  for _ in 0..<2 {
    try answer(20, pool)
    #expect(sizes.map(pool.spareBlocks) == [0, 0, 0, 0])
  }
}
