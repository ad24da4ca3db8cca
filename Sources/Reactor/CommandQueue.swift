internal import CLinux
internal import Synchronization

/// The queue through which other threads reach an event loop: commands, and, if a `Reactor` takes them, jobs of tasks
/// that prefer its thread.
package final class CommandQueue<Command: Sendable>: TaskExecutor {
  private struct Waiting {
    var commands: [Command] = []
    var jobs: [UnownedJob] = []
    var isClosed = false
  }

  private let wakeEvent: WakeEvent
  private let waiting = Mutex(Waiting())
  /// Whether the next command must wake the loop. A loop that has not begun finds its first command that way.
  private let asleep = Atomic<Bool>(true)
  private let ownerThread = Atomic<UInt>(0)

  package init() throws(SystemError) { wakeEvent = try WakeEvent() }

  var wakeDescriptor: Int32 { wakeEvent.descriptor }

  /// Number of commands and jobs that wait for the loop. Any thread may read it.
  package var count: Int { waiting.withLock { $0.commands.count + $0.jobs.count } }

  package var isClosed: Bool { waiting.withLock { $0.isClosed } }

  /// Adds a command. Any thread may call it. Returns false if the queue is closed.
  @discardableResult
  package func post(_ command: Command) -> Bool {
    let isTaken = waiting.withLock { waiting in
      if !waiting.isClosed { waiting.commands.append(command) }
      return !waiting.isClosed
    }
    if isTaken { wake() }
    return isTaken
  }

  /// Rejects further commands and wakes the loop. It can still take the earlier ones.
  package func close() {
    waiting.withLock { $0.isClosed = true }
    ownerThread.store(0, ordering: .relaxed)
    wake()
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let unowned = UnownedJob(job)
    waiting.withLock { $0.jobs.append(unowned) }
    wake()
  }

  /// Wakes the loop. Makes at most one system call for any number of commands, and none while a reactor is awake: it
  /// checks the queue before it sleeps.
  private func wake() {
    if asleep.exchange(false, ordering: .acquiringAndReleasing) { wakeEvent.raise() }
  }

  package func adoptCurrentThread() { ownerThread.store(UInt(pthread_self()), ordering: .relaxed) }

  /// Whether the calling thread runs the loop.
  package var isOfCurrentThread: Bool { ownerThread.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Returns the commands for a component that watches the queue through a `Poll`. The next command wakes it again.
  package func takeFromPoll() -> [Command] {
    wakeEvent.clear()
    asleep.store(true, ordering: .sequentiallyConsistent)
    return takeCommands()
  }

  /// Returns whether the queue is empty. If it is, the next command wakes the reactor.
  func prepareToSleep() -> Bool {
    asleep.store(true, ordering: .sequentiallyConsistent)
    let empty = waiting.withLock { $0.commands.isEmpty && $0.jobs.isEmpty }
    if !empty { asleep.store(false, ordering: .relaxed) }
    return empty
  }

  func clearWake() { wakeEvent.clear() }

  func take() -> (commands: [Command], jobs: [UnownedJob]) {
    asleep.store(false, ordering: .relaxed)
    return waiting.withLock { waiting in
      let taken = (waiting.commands, waiting.jobs)
      if !waiting.commands.isEmpty { waiting.commands = [] }
      if !waiting.jobs.isEmpty { waiting.jobs = [] }
      return taken
    }
  }

  func takeCommands() -> [Command] {
    waiting.withLock { waiting in
      let taken = waiting.commands
      waiting.commands = []
      return taken
    }
  }

  func run(_ jobs: [UnownedJob]) {
    guard !jobs.isEmpty else { return }
    assert(isOfCurrentThread, "jobs run on the reactor's thread only")
    for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
