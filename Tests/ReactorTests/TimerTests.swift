import Testing

@testable import Reactor

private func entry(_ atMillis: Int64) -> Timers.Entry {
  Timers.Entry(atMillis: atMillis, ticket: Ticket(slot: 0, generation: 0), kind: 0)
}

extension Timers {
  fileprivate mutating func popAll(at nowMillis: Int64) -> [Int64] {
    var popped: [Int64] = []
    while let entry = popDue(at: nowMillis) { popped.append(entry.atMillis) }
    return popped
  }
}

@Test func `timers are due in order of time, in whatever order they were added`() {
  var random = UInt64(1)
  for count in 0...100 {
    var timers = Timers()
    var moments: [Int64] = []
    for _ in 0..<count {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      moments.append(Int64(random >> 58))
      timers.add(entry(moments[moments.count - 1]))
    }
    #expect(timers.popAll(at: 31) == moments.filter { $0 <= 31 }.sorted(), "\(count) timers")
    #expect(timers.popAll(at: 63) == moments.filter { $0 > 31 }.sorted(), "\(count) timers")
    #expect(timers.sleepMillis(from: 63) == -1)
  }
}

@Test func `a timer is due at its time, not a millisecond before`() {
  var timers = Timers()
  timers.add(entry(100))
  #expect(timers.popAll(at: 99) == [])
  #expect(timers.popAll(at: 100) == [100])
  #expect(timers.popAll(at: 100) == [])
}

@Test func `epoll sleeps until the next timer, indefinitely without one, and not at all past one`() {
  var timers = Timers()
  #expect(timers.sleepMillis(from: 0) == -1)
  timers.add(entry(500))
  timers.add(entry(300))
  #expect(timers.sleepMillis(from: 100) == 200)
  #expect(timers.sleepMillis(from: 300) == 0)
  #expect(timers.sleepMillis(from: 9_999) == 0)
}

@Test func `for a timer in the far future epoll sleeps as long as possible`() {
  var timers = Timers()
  timers.add(entry(.max))
  #expect(timers.sleepMillis(from: 0) == .max)
}
