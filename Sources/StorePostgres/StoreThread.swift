import Reactor
import Store
import Synchronization

/// The thread that drives a pool for all callers without one: tasks that do not run on a reactor.
final class StoreThread: Sendable {
  private struct State {
    var failure: StoreError?
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// The interval between checks whether the thread must end.
  private static let waitMillis: Int32 = 1_000

  let inbox: RequestQueue
  private let state = Mutex(State())
  private let closing = Atomic<Bool>(false)

  init(_ inbox: RequestQueue) { self.inbox = inbox }

  /// Starts the thread, and returns when it has made its pool.
  func start(_ makePool: @escaping @Sendable () throws(StoreError) -> ConnectionPool) throws(StoreError) {
    let tried = Wakeups()
    startThread(named: "store-house") { [self] in
      do throws(StoreError) {
        let pool = try makePool()
        tried.signal()
        run(pool)
      } catch {
        state.withLock { $0.failure = error }
        tried.signal()
      }
      end()
    }
    tried.wait()
    if let failure = state.withLock(\.failure) { throw failure }
  }

  private func run(_ pool: ConnectionPool) {
    while !closing.load(ordering: .acquiring) || !pool.isIdle {
      pool.turn(waitMillis: StoreThread.waitMillis)
      pool.send()
    }
    pool.close()
  }

  private func end() {
    let waiters = state.withLock { state in
      state.hasEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Rejects further requests, and ends the thread when nothing is in progress.
  func close() {
    closing.store(true, ordering: .releasing)
    inbox.close()
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
}
