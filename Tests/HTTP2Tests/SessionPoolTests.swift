import CSessionMemory
import Glibc
import Testing

@testable import HTTP2

/// The bytes of a session that only sends its preface.
private func greeting(_ session: Session) -> [UInt8] {
  var bytes: [UInt8] = []
  #expect(session.drain(into: &bytes, bytesMax: .max))
  return bytes
}

@Test func `a session uses large blocks while it lives, and the next session uses the same ones`() throws {
  let pool = try #require(SessionPool())
  var sessions: [Session] = []
  for _ in 0..<3 { sessions.append(try #require(Session(SessionLimits(), pool, nowMillis: 0))) }
  let spare = pool.spareRuns
  sessions.removeFirst()
  let each = pool.spareRuns - spare
  #expect(each >= 1)
  sessions.append(try #require(Session(SessionLimits(), pool, nowMillis: 0)))
  #expect(pool.spareRuns == spare)
  sessions = []
  #expect(pool.spareRuns == spare + 3 * each)
  #expect(pool.liveBlocks == 0)
}

@Test func `sessions that do not fit into one slab also have their own blocks`() throws {
  let pool = try #require(SessionPool())
  let expected = greeting(try #require(Session(SessionLimits(), nowMillis: 0)))
  for _ in 0..<2 {
    let sessions = try (0..<150).map { _ in try #require(Session(SessionLimits(), pool, nowMillis: 0)) }
    for session in sessions { #expect(greeting(session) == expected) }
  }
}

@Test func `a session answers many streams from blocks that earlier sessions have written`() throws {
  let pool = try #require(SessionPool())
  for _ in 0..<3 {
    let peer = Peer(pool: pool) { $0.streamsMax = 400 }
    for call in 0..<Int32(300) { _ = peer.open(1 + 2 * call, end: true) }
    for call in 0..<Int32(300) {
      let stream = try #require(peer.sink.stream(1 + 2 * call))
      peer.session.respond(stream, head: head, body: [1], trailers: trailers)
    }
    #expect(peer.drain().count(where: \.endsStream) == 300)
  }
}

/// Makes this many calls on a new connection.
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

@Test func `the next session reuses the small blocks of a session's calls`() throws {
  let pool = try #require(SessionPool())
  let other = Peer(pool: pool)
  for _ in 0..<50 { try answer(20, pool) }
  let spare = sizes.map(pool.spareBlocks)
  #expect(spare.contains { $0 > 0 })
  for _ in 0..<50 { try answer(20, pool) }
  #expect(sizes.map(pool.spareBlocks) == spare)
  _ = other
}

@Test func `a thread without sessions holds no block`() throws {
  let pool = try #require(SessionPool())
  for _ in 0..<2 {
    try answer(20, pool)
    #expect(sizes.map(pool.spareBlocks) == [0, 0, 0, 0])
    #expect(pool.liveBlocks == 0)
  }
}

// Tests of the pool itself, called as nghttp2 calls it.

/// A block by its address.
private struct Block: Equatable {
  let address: UInt

  var pointer: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(bitPattern: address)! }
  func fill(_ byte: UInt8, _ bytes: Int) { unsafe memset(pointer, Int32(byte), bytes) }
  func holds(_ byte: UInt8, _ bytes: Int) -> Bool {
    unsafe UnsafeRawBufferPointer(start: pointer, count: bytes).allSatisfy { $0 == byte }
  }

  /// Whether the page with this distance from the block's first page is in memory.
  func isResident(page number: UInt) -> Bool {
    var state: UInt8 = 0
    let page = unsafe UnsafeMutableRawPointer(bitPattern: address & ~4_095 + number * 4_096)!
    return unsafe mincore(page, 1, &state) == 0 && state & 1 == 1
  }
}

@safe private final class RawPool {
  let handle: OpaquePointer
  let memory: nghttp2_mem
  init() {
    unsafe handle = lk_pool_new()!
    unsafe memory = lk_pool_functions(handle)
  }
  deinit { unsafe lk_pool_free(handle) }

  func take(_ bytes: Int) -> Block? { unsafe block(memory.malloc(bytes, memory.mem_user_data)) }
  func takeZero(_ count: Int, _ bytes: Int) -> Block? {
    unsafe block(memory.calloc(count, bytes, memory.mem_user_data))
  }
  func resize(_ old: Block, _ bytes: Int) -> Block? {
    unsafe block(memory.realloc(old.pointer, bytes, memory.mem_user_data))
  }
  func give(_ block: Block?) { unsafe memory.free(block?.pointer, memory.mem_user_data) }
  var live: Int { unsafe lk_pool_live(handle) }

  private func block(_ pointer: UnsafeMutableRawPointer?) -> Block? {
    unsafe pointer.map { Block(address: UInt(bitPattern: $0)) }
  }
}

@Test func `an idle session has written only the first page of its frame buffer`() throws {
  let pool = RawPool()
  let block = try #require(pool.take(16_394))
  #expect((1...3).map(block.isResident) == [false, false, false])
  block.fill(1, 100)
  #expect((1...3).map(block.isResident) == [false, false, false])
  pool.give(block)
}

@Test func `returned blocks leave memory, except as many as one slab has`() throws {
  let pool = RawPool()
  let blocks = try (0..<100).map { _ in try #require(pool.take(16_394)) }
  for block in blocks { block.fill(0xff, 16_394) }
  for block in blocks { pool.give(block) }
  #expect(blocks.count { $0.isResident(page: 1) } == 64)
}

@Test(arguments: [0, 1, 16, 17, 255, 256, 257, 4_095, 4_096, 16_394, 20_464, 20_465, 100_000])
func `a block has the requested size and alignment, and is zeroed if requested`(bytes: Int) throws {
  let pool = RawPool()
  for _ in 0..<20 {
    let dirty = try (0..<70).map { _ in try #require(pool.take(bytes)) }
    #expect(dirty.allSatisfy { $0.address % 16 == 0 })
    for block in dirty { block.fill(0xff, bytes) }
    for block in dirty { pool.give(block) }
    let zero = try #require(pool.takeZero(1, bytes))
    #expect(zero.holds(0, bytes))
    pool.give(zero)
  }
  #expect(pool.live == 0)
}

@Test func `a block keeps its content as it grows from size to size, and does not move while it has room`() throws {
  let pool = RawPool()
  var block = try #require(pool.take(8))
  block.fill(7, 8)
  var bytes = 8
  while bytes < 100_000 {
    let grown = bytes * 3 / 2
    block = try #require(pool.resize(block, grown))
    #expect(block.holds(7, bytes))
    block.fill(7, grown)
    bytes = grown
  }
  #expect(pool.resize(block, 1) == block)
  pool.give(block)
  #expect(pool.live == 0)
}

@Test func `an impossible size returns no block, and freeing nothing has no effect`() {
  let pool = RawPool()
  #expect(pool.take(.max) == nil)
  #expect(pool.takeZero(.max, 2) == nil)
  pool.give(nil)
  #expect(pool.live == 0)
}

@Test func `without a pool the functions behave like malloc`() {
  let memory = unsafe lk_pool_functions(nil)
  let block = unsafe memory.realloc(memory.calloc(2, 8, nil), 10_000, nil)
  #expect(unsafe block?.load(as: UInt64.self) == 0)
  unsafe memory.free(block, nil)
}
