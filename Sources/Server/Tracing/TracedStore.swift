internal import Observability
internal import Store
internal import Tracing

/// A store with a span for each commit of a sampled call.
final class TracedStore: Store {
  private let store: any Store
  private let tracer: CallTracer
  private let system: String

  /// - Parameter system: `db.system.name` of the semantic conventions.
  init(_ store: any Store, _ tracer: CallTracer, system: String) {
    self.store = store
    self.tracer = tracer
    self.system = system
  }

  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome {
    try await tracer.within("store.commit", .client, attributes(of: change)) { span in
      let outcome = try await store.commit(change, commitDecision: commitDecision)
      span?.attributes["latchkey.outcome"] = outcome == .committed ? "committed" : "not_committed"
      return outcome
    }
  }

  private func attributes(of change: Change) -> SpanAttributes {
    [
      "db.system.name": .string(system), "db.operation.name": "COMMIT",
      "db.operation.batch.size": .int64(Int64(change.writes.count)),
    ]
  }

  // MARK: Passed on unchanged

  var watchedDescriptor: Int32? { store.watchedDescriptor }
  func attachThread() throws { try store.attachThread() }
  func detachThread() { store.detachThread() }
  func turn() { store.turn() }
  func endTurn() { store.endTurn() }
  func now(_ query: Query) throws -> Facts? { try store.now(query) }
  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { try store.now(query) }
  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { try await store.load(query) }
  func load(_ query: Query) async throws -> Facts { try await store.load(query) }
  func search(_ query: SearchQuery) async throws -> SearchResult { try await store.search(query) }
  func buildSearchIndex(accountsMax: Int) async throws -> Int {
    try await store.buildSearchIndex(accountsMax: accountsMax)
  }
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    try await store.sweep(at: now, rowsMax: rowsMax, auditedBefore: auditedBefore)
  }
  func probe() async throws { try await store.probe() }
  func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    try await store.copy(to: path, while: isWanted)
  }
  func close() async { await store.close() }
}
