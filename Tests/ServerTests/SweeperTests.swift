import Logging
import Synchronization
import Testing

@testable import Observability
@testable import Server

private struct Broken: Error {}

private func sweep(_ parts: [Sweeper.Part], restMillis: UInt64, until isOver: () -> Bool) async throws {
  let sweeper = Sweeper(parts: parts, log: Log(JSONLines(level: .critical, descriptor: 2)), restMillis: restMillis)
  let task = Task { await sweeper.run() }
  for _ in 0..<500 where !isOver() { try await Task.sleep(for: .milliseconds(10)) }
  task.cancel()
  await task.value
}

@Test func `a part of the sweep that fails is retried, and does not delay others`() async throws {
  let failures = Atomic(0)
  let sweeps = Atomic(0)
  let broken = Sweeper.Part(name: "broken", portion: 1) { _ in
    failures.add(1, ordering: .relaxed)
    throw Broken()
  }
  let sound = Sweeper.Part(name: "sound", portion: 1) { _ in
    sweeps.add(1, ordering: .relaxed)
    return 0
  }
  try await sweep([broken, sound], restMillis: 1) {
    failures.load(ordering: .relaxed) > 2 && sweeps.load(ordering: .relaxed) > 2
  }
  #expect(failures.load(ordering: .relaxed) > 2 && sweeps.load(ordering: .relaxed) > 2)
}

@Test func `a part of the sweep pauses once it removes less than a portion`() async throws {
  let left = Mutex(25)
  let asked = Atomic(0)
  let part = Sweeper.Part(name: "rows", portion: 10) { most in
    asked.add(1, ordering: .relaxed)
    return left.withLock { left in
      let gone = min(left, most)
      left -= gone
      return gone
    }
  }
  try await sweep([part], restMillis: 60_000) { left.withLock { $0 } == 0 }
  #expect(asked.load(ordering: .relaxed) == 3)
}
