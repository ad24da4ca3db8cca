internal import Synchronization

/// The end of something, such as a thread, for any number of tasks that wait for it.
package final class Completion: Sendable {
  private struct State {
    var hasEnded = false
    /// The waiting tasks by the number of their wait.
    var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
    var waits = 0
  }

  private let state = Mutex(State())

  package init() {}

  package func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      defer { state.waiting = [:] }
      return state.waiting
    }
    for task in waiting.values { task.resume(returning: true) }
  }

  package func wait() async { _ = await withCheckedContinuation { _ = add($0) } }

  /// Waits for the end or the timeout. Returns whether it has ended.
  package func wait(millis: Int64) async -> Bool {
    var alarm: Task<Void, Never>?
    defer { alarm?.cancel() }
    return await withCheckedContinuation { continuation in
      guard let number = add(continuation) else { return }
      alarm = Task.detached { [self] in
        do { try await Task.sleep(nanoseconds: UInt64(millis) * 1_000_000) } catch { return }
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: false)
      }
    }
  }

  /// Adds a waiting task and returns the number of its wait. If the end has come, resumes the task and returns nil.
  private func add(_ task: CheckedContinuation<Bool, Never>) -> Int? {
    let number = state.withLock { state -> Int? in
      guard !state.hasEnded else { return nil }
      state.waits += 1
      state.waiting[state.waits] = task
      return state.waits
    }
    if number == nil { task.resume(returning: true) }
    return number
  }
}
