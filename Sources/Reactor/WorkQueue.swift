internal import Synchronization

/// The reason why a queue takes no job.
package enum QueueRefusal: Error, Hashable { case full, closed }

/// A bounded queue of jobs for worker threads. The lock is held for an append or a removal, never during the work.
package final class WorkQueue<Job: Sendable>: Sendable {
  private struct State {
    var jobs: [Job] = []
    var sleepers = 0
    var isClosed = false

    /// Counts sleeping threads as woken, and returns their number.
    mutating func wake(atMost most: Int) -> Int {
      let woken = min(most, sleepers)
      sleepers -= woken
      return woken
    }
  }

  private enum Step {
    case work([Job])
    case sleep
    case end
  }

  private let state = Mutex(State())
  private let jobsMax: Int
  /// Signalled only for a thread that sleeps, so that a busy queue costs no system call.
  private let wakeups = Wakeups()

  package init(jobsMax: Int) { self.jobsMax = jobsMax }

  package var count: Int { state.withLock { $0.jobs.count } }

  package func push(_ job: Job) throws(QueueRefusal) {
    if let refusal = push([job]).refusal { throw refusal }
  }

  /// Appends as many jobs as fit. The caller must answer the others.
  package func push(_ jobs: [Job]) -> (taken: Int, refusal: QueueRefusal?) {
    let jobsMax = jobsMax
    let (taken, refusal, woken) = state.withLock { state -> (Int, QueueRefusal?, Int) in
      if state.isClosed { return (0, .closed, 0) }
      let taken = min(jobs.count, jobsMax - state.jobs.count)
      state.jobs += jobs[..<taken]
      return (taken, taken < jobs.count ? .full : nil, state.wake(atMost: taken))
    }
    signal(woken)
    return (taken, refusal)
  }

  /// Waits for jobs, on a worker thread. nil: the queue is closed and all earlier jobs have been taken.
  package func take(atMost most: Int) -> [Job]? {
    while true {
      let step = state.withLock { state -> Step in
        if state.jobs.count > most {
          defer { state.jobs.removeFirst(most) }
          return .work(Array(state.jobs.prefix(most)))
        }
        if !state.jobs.isEmpty {
          // The worker allocates the buffers that it frees: to free those of another thread would slow both.
          var jobs: [Job] = []
          jobs.reserveCapacity(state.jobs.count)
          swap(&jobs, &state.jobs)
          return .work(jobs)
        }
        if state.isClosed { return .end }
        state.sleepers += 1
        return .sleep
      }
      switch step {
      case .work(let jobs): return jobs
      case .end: return nil
      case .sleep: wakeups.wait()
      }
    }
  }

  /// Rejects further jobs. The worker threads end after the earlier ones.
  package func close() {
    signal(
      state.withLock { state in
        state.isClosed = true
        return state.wake(atMost: .max)
      })
  }

  private func signal(_ threads: Int) { for _ in 0..<threads { wakeups.signal() } }
}
