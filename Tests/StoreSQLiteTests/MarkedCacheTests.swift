import Testing

@testable import StoreSQLite

@Suite struct MarkedCacheTests {
  private let marks = CommitMarks()
  private let hash = AccountCache.hash(ofAccount: "ann")

  @Test func `a key has its newest value`() {
    let cache = MarkedCache<Int, String>(room: 4, marks: marks)
    for value in ["first", "second"] {
      cache.keep(value, of: 1, account: hash, asOf: marks.commit)
      #expect(cache.find(1) == value)
    }
    // The first entry left no place in which it would be found again.
    for key in 2...4 { cache.keep("other", of: key, account: hash, asOf: marks.commit) }
    #expect(cache.find(1) == "second")
  }

  @Test func `a set has four entries, and a new one replaces the least recently read`() {
    let cache = MarkedCache<Int, Int>(room: 4, marks: marks)
    let others = AccountCache.hash(ofAccount: "bob")
    for key in [3, 1, 2, 4] {
      cache.keep(key, of: key, account: others, asOf: marks.commit)
      marks.advance()
    }
    cache.keep(3, of: 3, account: others, asOf: marks.commit)
    #expect((1...4).allSatisfy { cache.find($0) == $0 })
    cache.keep(5, of: 5, account: others, asOf: marks.commit)
    #expect((1...5).map { cache.find($0) } == [nil, 2, 3, 4, 5])
  }

  @Test func `a change of its account invalidates a value until it is read again`() {
    let cache = MarkedCache<Int, String>(room: 4, marks: marks)
    cache.keep("before", of: 1, account: hash, asOf: marks.commit)
    marks.touch(hash)
    #expect(cache.find(1) == nil)
    cache.keep("not committed yet", of: 1, account: hash, asOf: marks.commit)
    #expect(cache.find(1) == nil)
    marks.advance()
    cache.keep("after", of: 1, account: hash, asOf: marks.commit)
    #expect(cache.find(1) == "after")
  }

  @Test func `a half-full table keeps nearly all entries`() {
    let cache = MarkedCache<Int, Int>(room: 4096, marks: marks)
    for key in 0..<2048 { cache.keep(key, of: key, account: hash, asOf: marks.commit) }
    #expect((0..<2048).count { cache.find($0) == $0 } > 1900)
  }

  @Test func `a table without room keeps nothing`() {
    let cache = MarkedCache<Int, Int>(room: 0, marks: marks)
    cache.keep(1, of: 1, account: hash, asOf: marks.commit)
    #expect(cache.find(1) == nil)
  }
}
