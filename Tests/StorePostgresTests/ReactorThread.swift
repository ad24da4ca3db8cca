import Glibc
import Reactor
import Store
import Synchronization

@testable import StorePostgres

/// A thread that runs tasks like a reactor: jobs first, then the end of the turn, then a wait for the store.
final class ReactorThread: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let isOver = Atomic<Bool>(false)
  /// Turns that ended.
  let turns = Atomic<Int>(0)

  private init(_ store: PostgresStore) {
    startThread(named: "test-reactor") { [self] in
      while !isOver.load(ordering: .acquiring) {
        let ready = jobs.withLock { jobs in
          defer { jobs = [] }
          return jobs
        }
        for job in ready { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        store.endTurn()
        turns.add(1, ordering: .relaxed)
        ReactorThread.wait(for: store.watchedDescriptor)
        store.turn()
      }
    }
  }

  /// Waits a millisecond, or until the store has an event.
  private static func wait(for descriptor: Int32?) {
    guard let descriptor else { return sleepThread(millis: 1) }
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&entry, 1, 1)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let unowned = UnownedJob(job)
    jobs.withLock { $0.append(unowned) }
  }

  /// Runs `body` on a new thread that is attached to the store, and ends the thread.
  static func run<Value: Sendable>(
    on store: PostgresStore, _ body: @escaping @Sendable (ReactorThread) async throws -> Value
  ) async throws -> Value {
    let thread = ReactorThread(store)
    let result = await Task(executorPreference: thread) {
      try store.attachThread()
      defer { store.detachThread() }
      return try await body(thread)
    }.result
    thread.isOver.store(true, ordering: .releasing)
    return try result.get()
  }
}
