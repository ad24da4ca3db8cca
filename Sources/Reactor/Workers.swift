internal import CLinux

/// Threads for slow computation, such as password hashing, with a bounded queue. If the queue is full, work is rejected
/// before it costs anything.
package final class Workers: Sendable {
  package struct Full: Error {}

  private let queue: WorkQueue<@Sendable () -> Void>
  private let queueMax: Int

  /// - Parameter niceness: A positive value lets the reactors run first when both need the same core.
  package init(name: String, count: Int, queueMax: Int, niceness: Int32) {
    queue = WorkQueue(jobsMax: queueMax)
    self.queueMax = queueMax
    for index in 0..<count {
      startThread(named: "\(name)-\(index)", niceness: niceness) { [queue] in
        while let jobs = queue.take(atMost: 1) { for job in jobs { job() } }
      }
    }
  }

  package var queued: Int { queue.count }

  /// Whether `run` would throw `Full` now.
  package var isFull: Bool { queued >= queueMax }

  /// Runs `body` on a worker. Throws `Full` if `queueMax` jobs are waiting or the workers are closed.
  package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      do throws(QueueRefusal) {
        try queue.push { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(throwing: Full())
      }
    }
  }

  /// Ends the threads after all queued work.
  package func close() { queue.close() }
}

/// A counting semaphore. Threads sleep in it without holding a queue's lock.
@safe package final class Wakeups: Sendable {
  private nonisolated(unsafe) let semaphore: UnsafeMutablePointer<sem_t>

  package init() {
    unsafe semaphore = .allocate(capacity: 1)
    unsafe sem_init(semaphore, 0, 0)
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  package func signal() { unsafe sem_post(semaphore) }

  package func wait() { while unsafe sem_wait(semaphore) != 0 {} }
}
