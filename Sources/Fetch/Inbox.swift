import CLinux
import Glibc
import Synchronization

/// One caller waiting for one answer.
struct Exchange: Sendable {
  let order: Order
  let deadline: ContinuousClock.Instant
  /// The number of the thread that asked for it, or that has the mail.
  var home: Int
  let continuation: CheckedContinuation<FetchedBody, any Error>
  var isTrial = false

  func end(_ result: Result<FetchedBody, FetchError>) { continuation.resume(with: result.mapError { $0 as any Error }) }
}

/// How fetches cross to a driver's thread: the one object both sides hold.
final class Inbox: Sendable {
  private struct State {
    var exchanges: [Exchange] = []
    var closed = false
  }

  let wakeDescriptor: Int32
  private let state = Mutex(State())
  private let owner = Atomic<UInt>(0)

  init() throws(FetchError) {
    wakeDescriptor = lk_eventfd()
    guard wakeDescriptor >= 0 else { throw .unreachable("no eventfd: errno \(-wakeDescriptor)") }
  }

  deinit { lk_close(wakeDescriptor) }

  func adoptCurrentThread() { owner.store(UInt(pthread_self()), ordering: .relaxed) }

  var isOfCurrentThread: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// False: its thread has ended.
  func put(_ exchange: Exchange) -> Bool {
    let taken = state.withLock { state in
      if state.closed { return false }
      state.exchanges.append(exchange)
      return true
    }
    if taken { lk_eventfd_raise(wakeDescriptor) }
    return taken
  }

  func take() -> [Exchange] {
    state.withLock { state in
      defer { state.exchanges = [] }
      return state.exchanges
    }
  }

  var isEmpty: Bool { state.withLock { $0.exchanges.isEmpty } }

  /// Takes no more, and hands back what was not taken.
  func close() -> [Exchange] {
    owner.store(0, ordering: .relaxed)
    return state.withLock { state in
      state.closed = true
      defer { state.exchanges = [] }
      return state.exchanges
    }
  }
}
