import Reactor
import Testing

@testable import Client

@Test func `a loop wakes at the time that was set last, and then sleeps again`() throws {
  let loop = try EventLoop()
  let begun = monotonicNanos()
  let moment = begun + 20_000_000
  var woken: Int64 = 0
  var turns = 0
  loop.wake(atNanos: begun + 60_000_000_000)
  loop.wake(atNanos: moment)
  loop.everyTurn = {
    turns += 1
    if woken == 0, monotonicNanos() >= moment {
      woken = monotonicNanos()
      loop.after(millis: 20) { loop.stop() }
    }
    return false
  }
  loop.run()
  #expect(woken >= moment && woken < begun + 60_000_000_000)
  // A timer that kept firing would have caused thousands of turns.
  #expect(turns < 20)
}

@Test func `a time in the past wakes the loop immediately`() throws {
  let loop = try EventLoop()
  let begun = monotonicNanos()
  var turns = 0
  loop.everyTurn = {
    turns += 1
    if turns == 1 { loop.wake(atNanos: 0) } else { loop.stop() }
    return false
  }
  loop.after(millis: 30_000) { loop.stop() }
  loop.run()
  #expect(turns == 2)
  #expect(monotonicNanos() - begun < 20_000_000_000)
}
