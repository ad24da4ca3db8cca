import Store
import Synchronization

/// Counters that all pools share.
final class StoreCounters: Sendable {
  private let observer: (any StoreObserver)?
  private let readings = Atomic<Int>(0)
  private let writings = Atomic<Int>(0)
  private let open = Atomic<Int>(0)
  private let inUse = Atomic<Int>(0)

  init(_ observer: (any StoreObserver)?) { self.observer = observer }

  var waitingReadings: Int { readings.load(ordering: .relaxed) }
  var waitingWritings: Int { writings.load(ordering: .relaxed) }

  var connections: (open: Int, inUse: Int) { (open.load(ordering: .relaxed), inUse.load(ordering: .relaxed)) }

  /// Adds the changes of one pool.
  func changed(open openChange: Int, inUse inUseChange: Int) {
    if openChange != 0 { open.add(openChange, ordering: .relaxed) }
    if inUseChange != 0 { inUse.add(inUseChange, ordering: .relaxed) }
  }

  func queued(_ kind: StoreRequest.Kind, _ count: Int) {
    switch kind {
    case .reading: readings.add(count, ordering: .relaxed)
    case .writing: writings.add(count, ordering: .relaxed)
    }
  }

  /// Reports the condition of the database, if the error reveals one.
  func report(_ error: ServerError) {
    if let trouble = error.trouble { observer?.met(trouble, error.text) }
  }

  func refusedByFullQueue() { observer?.refusedByFullQueue() }
}
