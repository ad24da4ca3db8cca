import CLinux
import Store
import Synchronization

/// How orders of other threads, and connections that were made, cross to the thread of a desk.
final class DeskInbox: Sendable {
  private struct State {
    var orders: [Order] = []
    var made: [MadeConnection] = []
    var isClosed = false
  }

  let wakeDescriptor: Int32
  private let state = Mutex(State())

  init() throws(StoreError) {
    wakeDescriptor = lk_eventfd()
    guard wakeDescriptor >= 0 else { throw .unavailable("eventfd failed, errno \(-wakeDescriptor)") }
  }

  deinit { lk_close(wakeDescriptor) }

  /// False: its desk has closed.
  func put(_ order: Order) -> Bool {
    let (isTaken, isFirst) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      state.orders.append(order)
      return (true, state.orders.count == 1)
    }
    if isFirst { wake() }
    return isTaken
  }

  /// False: its desk has closed, and the connection is still the caller's.
  func put(_ made: MadeConnection) -> Bool {
    let isTaken = state.withLock { state in
      if !state.isClosed { state.made.append(made) }
      return !state.isClosed
    }
    if isTaken { wake() }
    return isTaken
  }

  func take() -> (orders: [Order], made: [MadeConnection]) {
    state.withLock { state in
      defer { (state.orders, state.made) = ([], []) }
      return (state.orders, state.made)
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Takes no more; what was put before can still be taken.
  func close() {
    state.withLock { $0.isClosed = true }
    wake()
  }

  private func wake() { lk_eventfd_raise(wakeDescriptor) }
}
