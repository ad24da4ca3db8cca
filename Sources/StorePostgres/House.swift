import Reactor
import Store
import Synchronization

/// The thread that turns a desk for everybody who has none: tasks that run on no reactor.
final class House: Sendable {
  private struct State {
    var failure: StoreError?
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// So often it is looked whether it is to end.
  private static let waitMillis: Int32 = 1_000

  let inbox: DeskInbox
  private let state = Mutex(State())
  private let closing = Atomic<Bool>(false)

  init(_ inbox: DeskInbox) { self.inbox = inbox }

  /// Returns once the desk is there, which the thread makes for itself.
  func start(_ makeDesk: @escaping @Sendable () throws(StoreError) -> Desk) throws(StoreError) {
    let tried = Wakeups()
    startThread(named: "store-house") { [self] in
      do throws(StoreError) {
        let desk = try makeDesk()
        tried.signal()
        run(desk)
      } catch {
        state.withLock { $0.failure = error }
        tried.signal()
      }
      end()
    }
    tried.wait()
    if let failure = state.withLock(\.failure) { throw failure }
  }

  private func run(_ desk: Desk) {
    while !closing.load(ordering: .acquiring) || !desk.isIdle {
      desk.turn(waitMillis: House.waitMillis)
      desk.send()
    }
    desk.close()
  }

  private func end() {
    let waiters = state.withLock { state in
      state.hasEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Takes no more, and ends once nothing is under way.
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
