import CLinux
import Glibc
import Store
import Synchronization

/// A queue of jobs for one worker thread. The lock is held for an append or a swap, never during the work.
final class JobQueue<Job: Sendable>: Sendable {
  private struct State {
    var jobs: [Job] = []
    var isAsleep = false
    var isClosed = false
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private enum Step {
    case work([Job])
    case sleep
    case end
  }

  private let state = Mutex(State())
  private let jobsMax: Int
  /// An eventfd, signalled only if the thread sleeps, so a busy queue costs no system call.
  private let wakeup: Int32

  init(jobsMax: Int) throws(StoreError) {
    self.jobsMax = jobsMax
    wakeup = eventfd(0, Int32(EFD_CLOEXEC))
    guard wakeup >= 0 else {
      let code = errno
      throw .unavailable("eventfd failed, errno \(code)")
    }
  }

  deinit { _ = Glibc.close(wakeup) }

  var count: Int { state.withLock { $0.jobs.count } }

  func push(_ job: Job) throws(StoreError) {
    if let refusal = push([job]).refusal { throw refusal }
  }

  /// Appends as many jobs as fit. The caller must answer the others.
  func push(_ jobs: [Job]) -> (taken: Int, refusal: StoreError?) {
    let jobsMax = jobsMax
    let (taken, refusal, wakes) = state.withLock { state -> (Int, StoreError?, Bool) in
      if state.isClosed { return (0, .closed, false) }
      let taken = min(jobs.count, jobsMax - state.jobs.count)
      state.jobs += jobs[..<taken]
      defer { if taken > 0 { state.isAsleep = false } }
      return (taken, taken < jobs.count ? .unavailable("store queue full") : nil, taken > 0 && state.isAsleep)
    }
    if wakes { ring() }
    return (taken, refusal)
  }

  /// Waits for jobs, on the worker thread. nil: the queue is closed and all earlier jobs have been taken.
  func take(atMost groupMax: Int) -> [Job]? {
    while true {
      let step = state.withLock { state -> Step in
        if state.jobs.count > groupMax {
          defer { state.jobs.removeFirst(groupMax) }
          return .work(Array(state.jobs.prefix(groupMax)))
        }
        if !state.jobs.isEmpty {
          var jobs: [Job] = []
          jobs.reserveCapacity(state.jobs.count)
          swap(&jobs, &state.jobs)
          return .work(jobs)
        }
        if state.isClosed { return .end }
        state.isAsleep = true
        return .sleep
      }
      switch step {
      case .work(let jobs): return jobs
      case .end: return nil
      case .sleep:
        var rings: eventfd_t = 0
        _ = unsafe eventfd_read(wakeup, &rings)
      }
    }
  }

  /// Reports the end of the worker thread and resumes all callers that wait for it.
  func end() {
    let waiters = state.withLock { state in
      state.hasEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Rejects further jobs and lets the worker thread end.
  func close() {
    state.withLock { $0.isClosed = true }
    ring()
  }

  func closeAndWait() async {
    close()
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiters.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  private func ring() { _ = eventfd_write(wakeup, 1) }
}
