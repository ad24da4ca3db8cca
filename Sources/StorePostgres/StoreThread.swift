import Reactor
import Store

/// The thread that drives a pool for all callers without one: tasks that do not run on a reactor.
final class StoreThread: Sendable {
  let queue: CommandQueue<PoolCommand>
  private let ended = Completion()

  init(_ queue: CommandQueue<PoolCommand>) { self.queue = queue }

  /// Starts the thread, and returns when it has made its pool.
  func start(_ makePool: @escaping @Sendable () throws(StoreError) -> ConnectionPool) throws(StoreError) {
    do {
      try startPart(named: "store") { [self] in
        let pool = try makePool()
        return {
          self.run(pool)
          self.ended.end()
        }
      }
    } catch {
      throw error as? StoreError ?? .unavailable("\(error)")
    }
  }

  private func run(_ pool: ConnectionPool) {
    while !queue.isClosed || !pool.isIdle {
      // Requests, connections and the close of the queue wake it.
      pool.turn(waitMillis: -1)
      pool.send()
    }
    pool.close()
  }

  /// Rejects further requests, and ends the thread when nothing is in progress.
  func close() { queue.close() }

  func closeAndWait() async {
    close()
    await ended.wait()
  }
}
