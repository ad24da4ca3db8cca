internal import CLinux
internal import Synchronization

/// The queue through which other threads reach a reactor: commands for its driver, and jobs of tasks that prefer its
/// thread.
package final class CommandQueue<Command: Sendable>: TaskExecutor {
  private struct Waiting {
    var commands: [Command] = []
    var jobs: [UnownedJob] = []
  }

  let wakeDescriptor: Int32
  private let waiting = Mutex(Waiting())
  private let asleep = Atomic<Bool>(false)
  private let ownerThread = Atomic<UInt>(0)

  package init() throws {
    wakeDescriptor = lk_eventfd()
    guard wakeDescriptor >= 0 else { throw SystemError(code: -wakeDescriptor, call: "eventfd") }
  }

  deinit { lk_close(wakeDescriptor) }

  /// Number of commands and jobs that wait for the reactor. Any thread may read it.
  package var count: Int { waiting.withLock { $0.commands.count + $0.jobs.count } }

  /// Adds a command. Any thread may call it.
  package func post(_ command: Command) {
    waiting.withLock { $0.commands.append(command) }
    wake()
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let unowned = UnownedJob(job)
    waiting.withLock { $0.jobs.append(unowned) }
    wake()
  }

  /// Wakes the reactor. Makes at most one system call for any number of commands, and none while the reactor is awake:
  /// it checks the queue before it sleeps.
  private func wake() {
    if asleep.exchange(false, ordering: .acquiringAndReleasing) { lk_eventfd_raise(wakeDescriptor) }
  }

  func adoptCurrentThread() { ownerThread.store(UInt(pthread_self()), ordering: .relaxed) }

  /// Returns whether the queue is empty. If it is, the next command wakes the reactor.
  func prepareToSleep() -> Bool {
    asleep.store(true, ordering: .sequentiallyConsistent)
    let empty = waiting.withLock { $0.commands.isEmpty && $0.jobs.isEmpty }
    if !empty { asleep.store(false, ordering: .relaxed) }
    return empty
  }

  func clearWake() { lk_eventfd_clear(wakeDescriptor) }

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
    assert(ownerThread.load(ordering: .relaxed) == UInt(pthread_self()), "jobs run on the reactor's thread only")
    for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
