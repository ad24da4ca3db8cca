import CLinux
import Glibc
import Synchronization

/// A fetch with its waiting caller.
struct Exchange: Sendable {
  let job: FetchJob
  let deadline: ContinuousClock.Instant
  /// The number of the thread that requested the fetch, or that sends the mail.
  var home: Int
  let continuation: CheckedContinuation<FetchedBody, any Error>
  var isTrial = false

  func end(_ result: Result<FetchedBody, FetchError>) { continuation.resume(with: result.mapError { $0 as any Error }) }
}

/// The queue through which fetches reach a driver's thread.
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
    guard wakeDescriptor >= 0 else { throw .unreachable("cannot create an eventfd: errno \(-wakeDescriptor)") }
  }

  deinit { lk_close(wakeDescriptor) }

  func adoptCurrentThread() { owner.store(UInt(pthread_self()), ordering: .relaxed) }

  var isOfCurrentThread: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Adds a fetch. Returns false if the driver's thread has ended.
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

  /// Accepts no more fetches, and returns those that were not taken.
  func close() -> [Exchange] {
    owner.store(0, ordering: .relaxed)
    return state.withLock { state in
      state.closed = true
      defer { state.exchanges = [] }
      return state.exchanges
    }
  }
}
