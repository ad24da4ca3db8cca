import CLinux
import Glibc
import Synchronization
import Testing

@testable import Reactor

extension CommandQueue {
  /// The number of times that the descriptor was signalled since the last check.
  fileprivate var raises: UInt64 {
    var count: UInt64 = 0
    return unsafe lk_read(wakeDescriptor, &count, 8) == 8 ? count : 0
  }
}

@Test func `many commands wake a sleeping reactor once`() throws {
  let commandQueue = try CommandQueue<Int>()
  let isAsleep = commandQueue.prepareToSleep()
  #expect(isAsleep)
  for command in 0..<1_000 { commandQueue.post(command) }
  #expect(commandQueue.raises == 1)
  #expect(commandQueue.take().commands == Array(0..<1_000))
}

@Test func `commands to a reactor that is awake send no signal, and it does not sleep before it handles them`() throws {
  let commandQueue = try CommandQueue<Int>()
  _ = commandQueue.take()
  commandQueue.post(1)
  let isAsleep = commandQueue.prepareToSleep()
  #expect(!isAsleep)
  commandQueue.post(2)
  #expect(commandQueue.raises == 0)
  #expect(commandQueue.take().commands == [1, 2])
  #expect(commandQueue.take().commands == [])
}

@Test func `concurrent commands of many threads wake a sleeping reactor once, and none is lost`() throws {
  let commandQueue = try CommandQueue<Int>()
  for round in 0..<20 {
    _ = commandQueue.prepareToSleep()
    let (threads, done) = (8, Wakeups())
    for thread in 0..<threads {
      startThread(named: "poster") {
        for command in 0..<100 { commandQueue.post(thread * 100 + command) }
        done.signal()
      }
    }
    for _ in 0..<threads { done.wait() }
    #expect(commandQueue.raises == 1, "round \(round)")
    #expect(commandQueue.take().commands.sorted() == Array(0..<800), "round \(round)")
  }
}

/// Commands that were handled, for a thread that spins.
private final class Handled: Sendable {
  let count = Atomic<Int>(0)
}

@Test func `a command that arrives while the reactor falls asleep wakes it`() async throws {
  let (commandQueue, handled) = (try CommandQueue<Int>(), Handled())
  let commands = 60_000
  startThread(named: "poster") {
    for command in 0..<commands {
      while handled.count.load(ordering: .acquiring) < command {}
      // A little later each time, so that a command meets the sleeper at every step of going to sleep.
      for _ in 0..<command % 64 { _ = handled.count.load(ordering: .relaxed) }
      commandQueue.post(command)
    }
  }
  // Only the work of a turn, so that the thread is going to sleep nearly all the time.
  let lost = await withCheckedContinuation { continuation in
    startThread(named: "sleeper") {
      while handled.count.load(ordering: .relaxed) < commands {
        if commandQueue.prepareToSleep() {
          var entry = pollfd(fd: commandQueue.wakeDescriptor, events: Int16(POLLIN), revents: 0)
          guard unsafe poll(&entry, 1, 3_000) == 1 else { break }
          commandQueue.clearWake()
        }
        handled.count.add(commandQueue.take().commands.count, ordering: .releasing)
      }
      continuation.resume(returning: commands - handled.count.load(ordering: .relaxed))
      handled.count.store(commands, ordering: .relaxed)
    }
  }
  #expect(lost == 0)
}

@Test func `the jobs of a task that prefers the command queue run on the reactor's thread`() async throws {
  let loop = try Loop()
  let reactorThread = Notes<UInt>()
  loop.act { _ in reactorThread.add(currentThread()) }
  let task = Task(executorPreference: loop.commandQueue) {
    var threads = [currentThread()]
    for _ in 0..<10 {
      await Task.yield()
      threads.append(currentThread())
    }
    return threads
  }
  let threads = await task.value
  loop.end()
  #expect(Set(threads) == Set(reactorThread.all))
  #expect(threads[0] != currentThread())
}

@Test func `the answers of a turn's jobs are delivered in the same turn`() throws {
  let loop = try Loop()
  loop.actUntilSignalled { [commandQueue = loop.commandQueue, events = loop.events] _, done in
    Task(executorPreference: commandQueue) {
      events.add("job")
      commandQueue.post(.note("its answer"))
      commandQueue.post(.act { _ in done.signal() })
    }
  }
  loop.end()
  #expect(loop.events.all.drop { $0 != "job" }.prefix(3) == ["job", "its answer", "end"])
}
