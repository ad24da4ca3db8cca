internal import CLinux
internal import Synchronization

/// Threads for slow computation, such as password hashing, with a bounded queue. If the queue is full, work is rejected
/// before it costs anything.
package final class Workers: Sendable {
  package struct Full: Error {}

  private struct Queue {
    var waiting: [@Sendable () -> Void] = []
    var closed = false
  }

  private let queue = Mutex(Queue())
  private let count: Int
  private let queueMax: Int
  private let wakeups = Wakeups()

  /// - Parameter niceness: A positive value lets the reactors run first when both need the same core.
  package init(name: String, count: Int, queueMax: Int, niceness: Int32) {
    self.count = count
    self.queueMax = queueMax
    for index in 0..<count {
      startThread(named: "\(name)-\(index)", niceness: niceness) { [self] in
        while let work = next() { work() }
      }
    }
  }

  package var queued: Int { queue.withLock { $0.waiting.count } }

  /// Whether `run` would throw `Full` now.
  package var isFull: Bool { queued >= queueMax }

  /// Runs `body` on a worker. Throws `Full` immediately if `queueMax` jobs are waiting.
  package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      let accepted = queue.withLock { queue in
        guard !queue.closed, queue.waiting.count < queueMax else { return false }
        queue.waiting.append { continuation.resume(returning: body()) }
        return true
      }
      if accepted { wakeups.signal() } else { continuation.resume(throwing: Full()) }
    }
  }

  /// Ends the threads after all queued work.
  package func close() {
    queue.withLock { $0.closed = true }
    for _ in 0..<count { wakeups.signal() }
  }

  private func next() -> (@Sendable () -> Void)? {
    while true {
      wakeups.wait()
      let (work, ended) = queue.withLock { queue in
        queue.waiting.isEmpty ? (nil, queue.closed) : (queue.waiting.removeFirst(), false)
      }
      if let work { return work }
      if ended { return nil }
    }
  }
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
