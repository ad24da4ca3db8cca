import CLinux
import Store
import Synchronization

/// Passes requests from other threads, and new connections, to the thread of a pool.
final class RequestQueue: Sendable {
  private struct State {
    var requests: [StoreRequest] = []
    var made: [ReadyConnection] = []
    var isClosed = false
  }

  let wakeDescriptor: Int32
  private let state = Mutex(State())

  init() throws(StoreError) {
    wakeDescriptor = lk_eventfd()
    guard wakeDescriptor >= 0 else { throw .unavailable("eventfd failed, errno \(-wakeDescriptor)") }
  }

  deinit { lk_close(wakeDescriptor) }

  /// False: the pool has closed.
  func put(_ request: StoreRequest) -> Bool {
    let (isTaken, isFirst) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      state.requests.append(request)
      return (true, state.requests.count == 1)
    }
    if isFirst { wake() }
    return isTaken
  }

  /// False: the pool has closed, and the caller still owns the connection.
  func put(_ made: ReadyConnection) -> Bool {
    let isTaken = state.withLock { state in
      if !state.isClosed { state.made.append(made) }
      return !state.isClosed
    }
    if isTaken { wake() }
    return isTaken
  }

  func take() -> (requests: [StoreRequest], made: [ReadyConnection]) {
    state.withLock { state in
      defer { (state.requests, state.made) = ([], []) }
      return (state.requests, state.made)
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Rejects further items. Earlier ones can still be taken.
  func close() {
    state.withLock { $0.isClosed = true }
    wake()
  }

  private func wake() { lk_eventfd_raise(wakeDescriptor) }
}
