import Store
import Synchronization

/// Counters that all pools share.
final class StoreCounters: Sendable {
  private let observer: (any StoreObserver)?
  private let readings = Atomic<Int>(0)
  private let writings = Atomic<Int>(0)

  init(_ observer: (any StoreObserver)?) { self.observer = observer }

  var waitingReadings: Int { readings.load(ordering: .relaxed) }
  var waitingWritings: Int { writings.load(ordering: .relaxed) }

  func queued(_ kind: StoreRequest.Kind, _ count: Int) {
    switch kind {
    case .reading: readings.add(count, ordering: .relaxed)
    case .writing: writings.add(count, ordering: .relaxed)
    }
  }

  func refusedByFullQueue() { observer?.refusedByFullQueue() }
}
