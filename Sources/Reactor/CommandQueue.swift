internal import CLinux
internal import Synchronization

/// The queue through which other threads reach a reactor: commands for its driver, and jobs of tasks that prefer its
/// thread.
///
/// This is the only type with hand-written thread safety, which `TaskExecutor` conformance requires. `lock` guards both
/// lists. Everything else is immutable or atomic.
@safe package final class CommandQueue<Command: Sendable>: TaskExecutor, @unchecked Sendable {
  let wakeDescriptor: Int32
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private var commands: [Command] = []
  private var jobs: [UnownedJob] = []
  private let asleep = Atomic<Bool>(false)
  private let ownerThread = Atomic<UInt>(0)

  package init() throws {
    wakeDescriptor = lk_eventfd()
    guard wakeDescriptor >= 0 else { throw SystemError(code: -wakeDescriptor, call: "eventfd") }
    unsafe lock = .allocate(capacity: 1)
    unsafe pthread_mutex_init(lock, nil)
  }

  deinit {
    lk_close(wakeDescriptor)
    unsafe pthread_mutex_destroy(lock)
    unsafe lock.deallocate()
  }

  /// Number of commands and jobs that wait for the reactor. Any thread may read it.
  package var count: Int {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return commands.count + jobs.count
  }

  /// Adds a command. Any thread may call it.
  package func post(_ command: Command) {
    unsafe pthread_mutex_lock(lock)
    commands.append(command)
    unsafe pthread_mutex_unlock(lock)
    wake()
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let unowned = UnownedJob(job)
    unsafe pthread_mutex_lock(lock)
    jobs.append(unowned)
    unsafe pthread_mutex_unlock(lock)
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
    unsafe pthread_mutex_lock(lock)
    let empty = commands.isEmpty && jobs.isEmpty
    unsafe pthread_mutex_unlock(lock)
    if !empty { asleep.store(false, ordering: .relaxed) }
    return empty
  }

  func clearWake() { lk_eventfd_clear(wakeDescriptor) }

  func take() -> (commands: [Command], jobs: [UnownedJob]) {
    asleep.store(false, ordering: .relaxed)
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    let taken = (commands, jobs)
    if !commands.isEmpty { commands = [] }
    if !jobs.isEmpty { jobs = [] }
    return taken
  }

  func takeCommands() -> [Command] {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    let taken = commands
    commands = []
    return taken
  }

  func run(_ jobs: [UnownedJob]) {
    guard !jobs.isEmpty else { return }
    assert(ownerThread.load(ordering: .relaxed) == UInt(pthread_self()), "jobs run on the reactor's thread only")
    for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
