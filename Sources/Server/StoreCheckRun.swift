internal import Observability
internal import Reactor
internal import Store
internal import Synchronization

/// The integrity check of the store after the start, in the background.
final class StoreCheckRun: Sendable {
  /// The state in the metrics.
  enum State: String, CaseIterable {
    /// The check is disabled, or the store cannot check itself.
    case off
    case running
    case sound
    case corrupt
    /// The time limit, or the end of the server, stopped it.
    case unfinished
    case failed
  }

  private let check: OpenedStore.Check?
  private let limitMillis: Int64
  private let log: Log
  private let state: Mutex<State>
  private let isCancelled = Atomic<Bool>(false)

  /// - Parameter limitMillis: maximum duration, since the store's log grows during the check; 0 disables it.
  init(_ check: OpenedStore.Check?, limitMillis: Int64, log: Log) {
    self.check = limitMillis > 0 ? check : nil
    self.limitMillis = limitMillis
    self.log = log
    state = Mutex(self.check == nil ? .off : .running)
  }

  func report(to registry: MetricsRegistry) {
    registry.collect(Catalogue.storeCheck) { [self] in
      let current = state.withLock(\.self)
      return State.allCases.map { (Labels([("state", $0.rawValue)]), .count($0 == current ? 1 : 0)) }
    }
  }

  func run() async {
    guard let check else { return }
    let begun = monotonicMillis()
    let deadline = begun + limitMillis
    let end: State
    do {
      let result = try await withTaskCancellationHandler {
        try await check { [self] in !isCancelled.load(ordering: .acquiring) && monotonicMillis() < deadline }
      } onCancel: {
        isCancelled.store(true, ordering: .releasing)
      }
      end = finished(result, tookMillis: monotonicMillis() - begun)
    } catch {
      log.error("the check of the store failed", ["why": "\(error)"])
      end = .failed
    }
    state.withLock { $0 = end }
  }

  private func finished(_ result: StoreCheck, tookMillis: Int64) -> State {
    switch result {
    case .sound:
      log.info("the store is sound", ["took_millis": "\(tookMillis)"])
      return .sound
    // The store has reported the damage.
    case .corrupt: return .corrupt
    case .unfinished:
      if !isCancelled.load(ordering: .acquiring) {
        log.warning(
          "the check of the store is unfinished", ["fix": "Increase `store.check_seconds`, or check a backup instead."])
      }
      return .unfinished
    }
  }
}
