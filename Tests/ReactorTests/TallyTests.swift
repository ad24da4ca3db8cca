import Synchronization
import Testing

@testable import Reactor

@Test func `a tally counts each counter separately`() {
  let tally = Tally(count: 40)
  for index in 0..<40 { for _ in 0...index { tally.add(1, at: index) } }
  tally.add(-5, at: 7)
  #expect((0..<40).map(tally.read) == (0..<40).map { $0 == 7 ? 3 : $0 + 1 })
}

@Test func `a reader of a tally sees each number rise while its thread writes`() {
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
