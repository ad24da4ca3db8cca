import Reactor
import Synchronization
import Testing

@testable import Server

@Test func `demands during a reload return at once and lead to one more reload`() async {
  let reloads = DemandedReloads()
  let count = Mutex(0)
  let (begun, released, ended) = (Completion(), Wakeups(), Completion())
  let reload: @Sendable () -> Void = {
    let number = count.withLock { count -> Int in
      count += 1
      return count
    }
    guard number == 1 else { return ended.end() }
    begun.end()
    released.wait()
  }
  reloads.demand(reload)
  #expect(await begun.wait(millis: 10_000))
  for _ in 0..<3 { reloads.demand(reload) }
  let duringTheFirst = count.withLock(\.self)
  #expect(duringTheFirst == 1)
  released.signal()
  #expect(await ended.wait(millis: 10_000))
  // The thread may still be about to end.
  try? await Task.sleep(for: .milliseconds(200))
  let inAll = count.withLock(\.self)
  #expect(inAll == 2)
}

@Test func `a demand after a reload leads to another one`() async {
  let reloads = DemandedReloads()
  for _ in 0..<3 {
    let ended = Completion()
    reloads.demand { ended.end() }
    #expect(await ended.wait(millis: 10_000))
  }
}
