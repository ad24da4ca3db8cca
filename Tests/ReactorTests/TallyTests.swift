import Synchronization
import Testing

@testable import Reactor

@Test func `a tally keeps its counters apart`() {
  let tally = Tally(count: 40)
  for index in 0..<40 { for _ in 0...index { tally.add(1, at: index) } }
  tally.add(-5, at: 7)
  #expect((0..<40).map(tally.read) == (0..<40).map { $0 == 7 ? 3 : $0 + 1 })
}

@Test func `who reads a tally while its thread writes sees each number rise to its end`() {
  let tally = Tally(count: 2)
  let isOver = Wakeups()
  let rounds = 200_000
  startThread(named: "writer") {
    for _ in 0..<rounds {
      tally.add(1, at: 0)
      tally.add(1, at: 1)
    }
    isOver.signal()
  }
  var last = 0
  while last < rounds {
    let seen = tally.read(0)
    #expect(seen >= last)
    last = seen
  }
  isOver.wait()
  #expect(tally.read(0) == rounds && tally.read(1) == rounds)
}
