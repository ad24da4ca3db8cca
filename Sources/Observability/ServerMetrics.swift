internal import API
package import Callers
internal import CoreMetrics
package import GRPC
package import Identity
internal import Protobuf
package import Reactor
package import Store
internal import Synchronization
package import Tokens

/// Metrics outside the call path. The events are rare enough for swift-metrics, and each handle is created once.
package final class ServerMetrics: Sendable {
  package let registry: MetricsRegistry
  /// Reason label of internal errors.
  private static let internalFault = "INTERNAL"
  /// Result labels of a rejected code. A code that was used, or has no tries left, counts as expired.
  private static let wrongCode = "wrong"
  private static let expiredCode = "expired"
  /// Label of a request to an unconfigured provider.
  private static let noProvider = "none"
  private let refusals: CounterSet
  private let failures: CounterSet
  private let handshakes: CounterSet
  private let changes: CounterSet
  private let fetches = Mutex<[String: CounterSet]>([:])
  private let skippedKeys = Mutex<[String: CounterSet]>([:])
  private let accepted, gone: Counter
  private let commitSeconds: Timer
  private let commitChanges: Recorder
  private let commitFailures: Counter
  private let pendingRows, storeReachable: Meter
  private let sweptRows, rowsSealedAgain, noticesMerged: Counter
  private let throttleAlarms, failedAttempts, ruleRejections: CounterSet
  private let codeRejections: [CodeKind: CounterSet]
  private let pendingsRemoved: CounterSet
  /// Counters by message kind and transport.
  private let deliveries: [[String]: CounterSet]
  private let deliveriesWaiting, deliveriesBuried, deliveryOldest: Meter
  /// Signalled when the number of waiting messages changes.
  package let queueEvent = AsyncEvent()
  private let storeHealth: StoreHealth?
  package let outcomes: OutcomeMetrics
  package let hooks: HookMetrics

  /// - Parameters:
  ///   - providers: the configured providers, which are labels of requests.
  ///   - callers: the labels of callers.
  ///   - transports: the configured transports, which are labels of deliveries.
  ///   - storeHealth: notified when the store becomes unreachable or reachable.
  package init(
    _ registry: MetricsRegistry, providers: [String] = [], transports: [String] = [],
    callers: CallerLabels = CallerLabels(), storeHealth: StoreHealth? = nil
  ) {
    self.registry = registry
    self.storeHealth = storeHealth
    outcomes = OutcomeMetrics(registry, providers: providers, callers: callers)
    hooks = HookMetrics(registry)
    registry.describe(Catalogue.commitSeconds, bounds: Bounds.seconds)
    registry.describe(Catalogue.commitChanges, bounds: Bounds.counts)
    func set(_ family: MetricFamily, _ label: String, _ values: [String]) -> CounterSet {
      registry.describe(family)
      return CounterSet(family.name, label, values, registry)
    }
    func counter(_ family: MetricFamily) -> Counter {
      registry.describe(family)
      return Counter(label: family.name, factory: registry)
    }
    func meter(_ family: MetricFamily) -> Meter {
      registry.describe(family)
      return Meter(label: family.name, factory: registry)
    }
    let limits = LimitKind.allCases.map(\.rawValue) + Refused.allCases.map(\.rawValue)
    refusals = set(Catalogue.refusals, "limit", limits + ThrottleKind.allCases.map(\.rawValue))
    throttleAlarms = set(
      Catalogue.throttleAlarms, "limit", ThrottleKind.allCases.filter(\.isPerCaller).map(\.rawValue))
    failedAttempts = set(Catalogue.failedAttempts, "result", FailureLog.End.allCases.map(\.rawValue))
    ruleRejections = set(Catalogue.ruleRejections, "rule", RejectionRule.allCases.map(\.rawValue))
    codeRejections = ServerMetrics.codeRejections(registry)
    pendingsRemoved = set(Catalogue.pendingsRemoved, "purpose", PendingPurpose.allCases.map(\.rawValue))
    let reasons = Failure.Reason.allCases.map(\.rawValue) + [ServerMetrics.internalFault]
    failures = set(Catalogue.failures, "reason", reasons)
    handshakes = set(Catalogue.handshakes, "result", HandshakeEnd.labels)
    changes = set(Catalogue.changes, "outcome", ChangeEnd.allCases.map(\.rawValue))
    accepted = counter(Catalogue.accepted)
    gone = counter(Catalogue.clientGone)
    commitSeconds = Timer(label: Catalogue.commitSeconds.name, factory: registry)
    commitChanges = Recorder(label: Catalogue.commitChanges.name, factory: registry)
    commitFailures = counter(Catalogue.commitFailures)
    pendingRows = meter(Catalogue.pendingRows)
    storeReachable = meter(Catalogue.storeReachable)
    storeReachable.set(1)
    sweptRows = counter(Catalogue.sweptRows)
    rowsSealedAgain = counter(Catalogue.rowsSealedAgain)
    noticesMerged = counter(Catalogue.noticesMerged)
    deliveries = ServerMetrics.deliveries(registry, transports)
    deliveriesWaiting = meter(Catalogue.deliveriesWaiting)
    deliveriesBuried = meter(Catalogue.deliveriesBuried)
    deliveryOldest = meter(Catalogue.deliveryOldest)
    registry.describe(Catalogue.fetches)
    registry.describe(Catalogue.skippedKeys)
    addFetches(from: [ServerMetrics.noProvider])
    add(providers: providers)
  }

  /// Creates the counters of configured providers that have none yet.
  package func add(providers: [String]) {
    outcomes.add(providers: providers)
    addFetches(from: providers)
    let reasons = SkippedKey.Reason.allCases.map(\.rawValue)
    skippedKeys.withLock { sets in
      for provider in providers where sets[provider] == nil {
        sets[provider] = CounterSet(
          Catalogue.skippedKeys.name, "reason", reasons, of: [("provider", provider)], registry)
      }
    }
  }

  private func addFetches(from providers: [String]) {
    let ends = FetchEnd.allCases.map(\.rawValue)
    fetches.withLock { sets in
      for provider in providers where sets[provider] == nil {
        sets[provider] = CounterSet(Catalogue.fetches.name, "result", ends, of: [("provider", provider)], registry)
      }
    }
  }

  private static func deliveries(_ registry: MetricsRegistry, _ transports: [String]) -> [[String]: CounterSet] {
    registry.describe(Catalogue.deliveries)
    let pairs = OutgoingMessage.Kind.allCases.flatMap { kind in transports.map { [kind.rawValue, $0] } }
    return Dictionary(
      uniqueKeysWithValues: pairs.map { pair in
        let ends = DeliveryEnd.allCases.map(\.rawValue)
        return (
          pair,
          CounterSet(
            Catalogue.deliveries.name, "result", ends, of: [("kind", pair[0]), ("transport", pair[1])], registry)
        )
      })
  }

  private static func codeRejections(_ registry: MetricsRegistry) -> [CodeKind: CounterSet] {
    registry.describe(Catalogue.codeRejections)
    let pairs = CodeKind.allCases.map { kind in
      (
        kind,
        CounterSet(
          Catalogue.codeRejections.name, "result", [wrongCode, expiredCode], of: [("kind", kind.rawValue)], registry)
      )
    }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  package func reached(_ limit: LimitKind) { refusals.count(limit.rawValue) }

  package func refused(_ limit: Refused) { refusals.count(limit.rawValue) }

  package func accepts() { accepted.increment() }

  package func clientGone() { gone.increment() }

  package func handshake(_ end: HandshakeEnd) { handshakes.count(end.label) }

  /// Counts a failed call by its error and status.
  package func failed(_ error: any Error, _ code: GRPC.Status.Code) {
    switch error {
    case let failure as Failure:
      failures.count(failure.reason.rawValue)
      if let kind = failure.throttle { refusals.count(kind.rawValue) }
      if let rule = failure.rule { ruleRejections.count(rule.rawValue) }
      if let kind = failure.rejectedCode {
        codeRejections[kind]?.count(
          failure.reason == .expiredCode ? ServerMetrics.expiredCode : ServerMetrics.wrongCode)
      }
      if let limit = failure.watchLimit { refused(limit == .perCaller ? .watchersPerCaller : .watchersInAll) }
      switch failure.reason {
      case .callerNotAllowed: refused(.callerRights)
      case .idempotencyKeyReused: refused(.idempotencyKeyReused)
      default: break
      }
    case let refusal as CallerRefusal:
      failures.count(Failure.Reason.callerUnidentified.rawValue)
      switch refusal {
      case .unidentified: refused(.callerUnidentified)
      case .unknown: refused(.callerUnknown)
      case .expired: refused(.callerKeyExpired)
      case .contradictory: refused(.callerContradictory)
      case .ambiguous: refused(.callerAmbiguous)
      case .malformedForward: refused(.callerForwardMalformed)
      }
    case ProtobufError.tooLarge: refused(.messageParts)
    case ProtobufError.text: failures.count(Failure.Reason.invalidField.rawValue)
    case ProtobufError.malformed: break
    default: if code == .internal { failures.count(ServerMetrics.internalFault) }
    }
  }

  package func sealedAgain(_ rows: Int) { rowsSealedAgain.increment(by: rows) }

  package func failedAttempts(_ end: FailureLog.End, _ count: Int) { failedAttempts.count(end.rawValue, by: count) }

  package func swept(_ rows: Int) { sweptRows.increment(by: rows) }

  package func delivery(_ record: DeliveryRecord, _ end: DeliveryEnd, by transport: String) {
    deliveries[[record.kind, transport]]?.count(end.rawValue)
  }

  package func saw(_ queue: DeliveryQueue, now: Timestamp) {
    deliveriesWaiting.set(queue.waitingCount)
    deliveriesBuried.set(queue.buriedCount)
    deliveryOldest.set(queue.oldestCreatedAt.map { max(0, now.seconds - $0.seconds) } ?? 0)
  }

  package func skipped(_ reason: SkippedKey.Reason, of provider: String) {
    skippedKeys.withLock { $0[provider] }?.count(reason.rawValue)
  }

  func fetched(_ end: FetchEnd, from provider: String) {
    fetches.withLock { $0[provider] ?? $0[ServerMetrics.noProvider] }?.count(end.rawValue)
  }
}

/// Counters of one metric that differ in one label, all created in advance. Other values are not counted, so external
/// text never becomes a label.
struct CounterSet: Sendable {
  private let counters: [String: Counter]

  /// - Parameter fixed: labels of all counters.
  init(
    _ name: String, _ label: String, _ values: [String], of fixed: [(String, String)] = [], _ registry: MetricsRegistry
  ) {
    counters = Dictionary(
      uniqueKeysWithValues: values.map { value in
        (value, Counter(label: name, dimensions: fixed + [(label, value)], factory: registry))
      })
  }

  func count(_ value: String, by count: Int = 1) { counters[value]?.increment(by: count) }
}

extension ServerMetrics: StoreObserver {
  package func committed(changes: Int, took: Duration) {
    commitSeconds.recordNanoseconds(Int64(took / .nanoseconds(1)))
    commitChanges.record(changes)
  }

  package func lostCommit() { commitFailures.increment() }

  package func settled(_ result: Result<Outcome, StoreError>) {
    changes.count(ChangeEnd(result).rawValue)
    if case .success(.limited(let scope)) = result {
      switch scope {
      case .account: refused(.pendingPerAccount)
      case .caller: refused(.pendingPerCaller)
      case .total: refused(.pendingInAll)
      case .deliveries: refused(.deliveryQueue)
      }
    }
  }

  package func refusedByFullQueue() { refused(.storeQueue) }

  package func lostDatabase(_ why: String) {
    storeReachable.set(0)
    storeHealth?.lost(why)
  }

  package func foundDatabase() {
    storeReachable.set(1)
    storeHealth?.found()
  }

  package func met(_ trouble: StoreTrouble, _ why: String) { storeHealth?.met(trouble, why) }

  package func lacksConnections(_ why: String) { storeHealth?.lacksConnections(why) }

  package func leftUnswept(_ what: String, _ why: String) { storeHealth?.leftUnswept(what, why) }

  package func heldUpEvents(_ why: String) { storeHealth?.heldUpEvents(why) }

  package func freedEvents() { storeHealth?.freedEvents() }

  package func holds(pendingRows count: Int) { pendingRows.set(count) }

  package func holds(waitingDeliveries count: Int) { queueEvent.signal() }

  package func reachedHalf(of limit: ThrottleKind) {
    throttleAlarms.count(limit.rawValue)
    storeHealth?.reachedHalf(of: limit.rawValue)
  }

  package func removedPending(for purpose: PendingPurpose) { pendingsRemoved.count(purpose.rawValue) }

  package func leftUnqueued(_ why: UnqueuedNotice) {
    switch why {
    case .merged: noticesMerged.increment()
    case .overLimit: refusals.count(ThrottleKind.noticesPerAccount.rawValue)
    case .queueFull: refused(.noticeQueue)
    }
  }
}
