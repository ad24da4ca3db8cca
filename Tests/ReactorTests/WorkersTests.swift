import CLinux
import TestSupport
import Testing

@testable import Reactor

/// Work that signals its beginning and waits for permission to end.
private final class Gate: Sendable {
  private let began = Notes<Bool>()
  let open = Wakeups()

  var isReached: Bool { !began.all.isEmpty }

  @Sendable func pass() {
    began.add(true)
    open.wait()
  }
}

private func niceness() -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }

@Test func `work runs on its own thread and returns its value`() async throws {
  let workers = Workers(name: "w", count: 1, queueMax: 4, niceness: 0)
  defer { workers.close() }
  let (thread, value) = try await workers.run { (currentThread(), 6 * 7) }
  #expect(value == 42)
  #expect(thread != currentThread())
}

@Test func `a full queue refuses work immediately, and accepts it again when a place is free`() async throws {
  let workers = Workers(name: "w", count: 1, queueMax: 2, niceness: 0)
  defer { workers.close() }
  let gate = Gate()
  async let running: Void = workers.run(gate.pass)
  #expect(await eventually { gate.isReached })
  async let first = workers.run { 1 }
  async let second = workers.run { 2 }
  #expect(await eventually { workers.queued == 2 })
  let refused = Notes<Bool>()
  let third = Task { do { _ = try await workers.run { 3 } } catch { refused.add(error is Workers.Full) } }
  #expect(await eventually { refused.all == [true] }, "immediately: the worker is still busy")
  #expect(workers.queued == 2)
  gate.open.signal()
  await third.value
  try await running
  #expect(try await first == 1)
  #expect(try await second == 2)
  #expect(try await workers.run { 4 } == 4)
}

@Test func `workers run in parallel`() async throws {
  let workers = Workers(name: "w", count: 2, queueMax: 8, niceness: 0)
  defer { workers.close() }
  let (one, other) = (Gate(), Gate())
  async let first: Void = workers.run(one.pass)
  async let second: Void = workers.run(other.pass)
  #expect(await eventually { one.isReached && other.isReached })
  one.open.signal()
  other.open.signal()
  _ = try await (first, second)
}

@Test func `workers, and only they, have a lower priority than the reactors`() async throws {
  let workers = Workers(name: "w", count: 1, queueMax: 1, niceness: 10)
  defer { workers.close() }
  let ours = niceness()
  #expect(try await workers.run { niceness() } == 10)
  #expect(niceness() == ours)
}

@Test func `workers that are closed finish queued work, refuse new work and end`() async throws {
  weak var weakly: Workers?
  do {
    let workers = Workers(name: "w", count: 2, queueMax: 8, niceness: 0)
    weakly = workers
    let (one, other) = (Gate(), Gate())
    async let first: Void = workers.run(one.pass)
    async let second: Void = workers.run(other.pass)
    #expect(await eventually { one.isReached && other.isReached })
    async let third = workers.run { 3 }
    #expect(await eventually { workers.queued == 1 })
    workers.close()
    await #expect(throws: Workers.Full.self) { try await workers.run { 4 } }
    one.open.signal()
    other.open.signal()
    _ = try await (first, second)
    #expect(try await third == 3)
  }
  #expect(await eventually { weakly == nil }, "the threads hold their workers until they end")
}

@Test func `a prompt thread keeps its policy and nice value, and has short time slices if the kernel supports them`()
  async
{
  let (nice, policy, slice) = await withCheckedContinuation { continuation in
    startThread(named: "prompt", niceness: 3) {
      bePrompt()
      let text = readFile("/proc/thread-self/sched", bytesMax: 65_536).map { String(decoding: $0, as: UTF8.self) } ?? ""
      let line = text.split(separator: "\n").first { $0.hasPrefix("se.slice") }
      let slice = line?.split(separator: " ").last.map(String.init)
      continuation.resume(returning: (niceness(), sched_getscheduler(0), slice))
    }
  }
  #expect(nice == 3 && policy == SCHED_OTHER)
  // Older kernels do not have this line.
  if let slice { #expect(slice == "100000") }
}

@Test func `a thread has its name`() async {
  let name = await withCheckedContinuation { continuation in
    startThread(named: "sixteen bytes are cut") {
      continuation.resume(returning: readFile("/proc/thread-self/comm", bytesMax: 64))
    }
  }
  #expect(name == Array("sixteen bytes a\n".utf8))
}
