import Reactor
import Store

@testable import StoreSQLite

/// A thread that runs tasks like a reactor, but ends no turn: a test can hold a snapshot on it across awaits. It hands
/// over the commits of its tasks after each job.
final class ReactorThread: TaskExecutor {
  private let jobs = WorkQueue<UnownedJob>(jobsMax: 1000)
  private let ended = Completion()

  private init(_ store: SQLiteStore) throws {
    let (jobs, ended) = (jobs, ended)
    try tryStartThread(named: "test-reactor") { [unowned self] in
      while let ready = jobs.take(atMost: 1) {
        for job in ready { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        store.handOver()
      }
      ended.end()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    do throws(QueueRefusal) {
      try jobs.push(UnownedJob(job))
    } catch {
      preconditionFailure("a test left a task behind: \(error)")
    }
  }

  /// Runs `body` on a new thread that is attached to the store, and ends the thread.
  static func run<Value: Sendable>(
    on store: SQLiteStore, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let thread = try ReactorThread(store)
    let result = await Task(executorPreference: thread) {
      try store.attachThread()
      defer { store.detachThread() }
      return try await body()
    }.result
    thread.jobs.close()
    await thread.ended.wait()
    return try result.get()
  }
}
