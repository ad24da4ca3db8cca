import Reactor
import Synchronization
import Testing

@testable import Transport

@Test func `a reactor is stalled ten seconds after a command that it did not process`() throws {
  let (queue, load) = (try CommandQueue<WorkerCommand>(), Load())
  let liveness = Liveness([(queue, load)])
  #expect(liveness.stalledCount(nowMillis: 1_000) == 0)
  #expect(queue.count == 1)
  #expect(liveness.stalledCount(nowMillis: 10_999) == 0)
  #expect(queue.count == 1, "one command waits, regardless of the number of checks")
  #expect(liveness.stalledCount(nowMillis: 11_000) == 1)
  // What the worker does.
  load.beatMillis.store(0, ordering: .relaxed)
  #expect(liveness.stalledCount(nowMillis: 30_000) == 0)
  #expect(liveness.stalledCount(nowMillis: 39_999) == 0)
}

@Test func `a reactor that has ended is not stalled`() throws {
  let queue = try CommandQueue<WorkerCommand>()
  let liveness = Liveness([(queue, Load())])
  queue.close()
  for millis in [1_000, 20_000, 40_000] as [Int64] { #expect(liveness.stalledCount(nowMillis: millis) == 0) }
}
