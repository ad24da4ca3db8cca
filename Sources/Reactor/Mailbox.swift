internal import CLinux
internal import Synchronization

/// How other threads reach a reactor: letters for its driver, and the jobs of tasks that prefer its thread.
///
/// The one place, with `TaskExecutor` conformance, where objects are shared between threads by hand: both lists are
/// guarded by `lock`, everything else is immutable or atomic.
@safe package final class Mailbox<Letter: Sendable>: TaskExecutor, @unchecked Sendable {
  let wakeDescriptor: Int32
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private var letters: [Letter] = []
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

  /// Letters and jobs that the reactor has yet to take. From any thread.
  package var count: Int {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return letters.count + jobs.count
  }

  /// Called from any thread.
  package func post(_ letter: Letter) {
    unsafe pthread_mutex_lock(lock)
    letters.append(letter)
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

  /// One system call at most for any number of letters, and none when the reactor is awake: it looks again before it
  /// sleeps.
  private func wake() {
    if asleep.exchange(false, ordering: .acquiringAndReleasing) { lk_eventfd_raise(wakeDescriptor) }
  }

  func adoptCurrentThread() { ownerThread.store(UInt(pthread_self()), ordering: .relaxed) }

  /// True: nothing waits, and from now on a letter wakes the reactor.
  func prepareToSleep() -> Bool {
    asleep.store(true, ordering: .sequentiallyConsistent)
    unsafe pthread_mutex_lock(lock)
    let empty = letters.isEmpty && jobs.isEmpty
    unsafe pthread_mutex_unlock(lock)
    if !empty { asleep.store(false, ordering: .relaxed) }
    return empty
  }

  func clearWake() { lk_eventfd_clear(wakeDescriptor) }

  func take() -> (letters: [Letter], jobs: [UnownedJob]) {
    asleep.store(false, ordering: .relaxed)
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    let taken = (letters, jobs)
    if !letters.isEmpty { letters = [] }
    if !jobs.isEmpty { jobs = [] }
    return taken
  }

  func takeLetters() -> [Letter] {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    let taken = letters
    letters = []
    return taken
  }

  func run(_ jobs: [UnownedJob]) {
    guard !jobs.isEmpty else { return }
    assert(ownerThread.load(ordering: .relaxed) == UInt(pthread_self()), "jobs run on the reactor's thread only")
    for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
