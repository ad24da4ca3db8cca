import Testing

@testable import Transport

@Test func `who waits is served in the order of coming, and whoever comes again stands behind`() {
  var list = ReadyList<Int>()
  for member in 0..<3 { list.append(member) }
  #expect(list.next() == 0)
  list.append(0)
  #expect((0..<4).map { _ in list.next() } == [1, 2, 0, nil])
  #expect(list.isEmpty)
}

@Test func `a list that is never empty serves everybody alike and does not grow`() throws {
  var list = ReadyList<Int>()
  for member in 0..<1_000 { list.append(member) }
  var served = [Int](repeating: 0, count: 1_000)
  for _ in 0..<50_000 {
    let next = list.next()
    let member = try #require(next)
    served[member] += 1
    list.append(member)
    #expect(list.count == 1_000)
  }
  #expect(Set(served) == [50])
}
