import Testing

@testable import Reactor

@Test func `entries are served in order of arrival`() {
  var queue = FIFOQueue<Int>()
  for member in 0..<3 { queue.append(member) }
  #expect(queue.popFirst() == 0)
  queue.append(0)
  #expect((0..<4).map { _ in queue.popFirst() } == [1, 2, 0, nil])
  #expect(queue.isEmpty)
}

@Test func `a queue that is never empty serves each entry equally often`() throws {
  var queue = FIFOQueue<Int>()
  for member in 0..<1_000 { queue.append(member) }
  var served = [Int](repeating: 0, count: 1_000)
  for _ in 0..<50_000 {
    let next = queue.popFirst()
    let member = try #require(next)
    served[member] += 1
    queue.append(member)
    #expect(queue.count == 1_000)
  }
  #expect(Set(served) == [50])
}

@Test func `an entry is released when it is served`() {
  final class Entry {}
  var queue = FIFOQueue<Entry>()
  weak var first: Entry?
  for _ in 0..<3 {
    let entry = Entry()
    first = first ?? entry
    queue.append(entry)
  }
  #expect(first != nil)
  _ = queue.popFirst()
  #expect(first == nil && queue.count == 2)
}
