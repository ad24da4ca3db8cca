internal import CLinux
internal import Synchronization

/// Threads for slow computing, such as password hashing, behind a queue that is never longer than its limit: past it
/// work is refused before it costs anything.
package final class Workers: Sendable {
  package struct Full: Error {}

  /// What a worker does once when it had no work for so long, and at its end: it gives back what it kept for the next.
  package struct Rest: Sendable {
    let after: Duration
    let body: @Sendable () -> Void

    package init(after: Duration, _ body: @escaping @Sendable () -> Void) {
      self.after = after
      self.body = body
    }
  }

  private struct Queue {
    var waiting: [@Sendable () -> Void] = []
    var closed = false
  }

  private let queue = Mutex(Queue())
  private let count: Int
  private let queueMax: Int
  private let wakeups = Wakeups()

  /// `niceness` keeps the workers behind the reactors when both want the same core.
  package init(name: String, count: Int, queueMax: Int, niceness: Int32, rest: Rest? = nil) {
    self.count = count
    self.queueMax = queueMax
    for index in 0..<count {
      startThread(named: "\(name)-\(index)", niceness: niceness) { [self] in
        while let work = next(rest) { work() }
        rest?.body()
      }
    }
  }

  package var queued: Int { queue.withLock { $0.waiting.count } }

  /// Runs `body` on a worker. Throws `Full` at once when `queueMax` are waiting.
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

  /// Ends the threads after the work that is queued.
  package func close() {
    queue.withLock { $0.closed = true }
    for _ in 0..<count { wakeups.signal() }
  }

  private func next(_ rest: Rest?) -> (@Sendable () -> Void)? {
    while true {
      sleep(rest)
      let (work, ended) = queue.withLock { queue in
        queue.waiting.isEmpty ? (nil, queue.closed) : (queue.waiting.removeFirst(), false)
      }
      if let work { return work }
      if ended { return nil }
    }
  }

  private func sleep(_ rest: Rest?) {
    guard let rest else { return wakeups.wait() }
    guard !wakeups.wait(atMost: rest.after) else { return }
    rest.body()
    wakeups.wait()
  }
}

/// A counting semaphore: threads sleep in it without holding a queue's lock.
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

  /// False: there was no signal in that time.
  package func wait(atMost duration: Duration) -> Bool {
    unsafe lk_wait_at_most(semaphore, Int64(duration / .nanoseconds(1))) != 0
  }
}
