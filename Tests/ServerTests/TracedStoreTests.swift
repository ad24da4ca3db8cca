import Observability
import Store
import Testing

@testable import Server

/// A store that overrides each method for which the protocol has a default.
private final class OwnStore: Store {
  let watchedDescriptor: Int32? = 7
  func attachThread() throws {}
  func detachThread() {}
  func endTurn() {}
  func now(_ query: Query) throws -> Facts? { nil }
  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { nil }
  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { nil }
  func load(_ query: Query) async throws -> Facts { Facts() }
  func buildSearchIndex(accountsMax: Int) async throws -> Int { accountsMax }
  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome { .committed }
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int { rowsMax }
  func probe() async throws { throw StoreError.closed }
  func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    StoreCopy(accountCount: 1, lastEvent: 2)
  }
  func close() async {}
}

@Test func `a traced store passes on what the protocol has defaults for`() async throws {
  let tracer = CallTracer(TraceSampler(ratio: 1, followsCallers: true))
  let store: any Store = TracedStore(OwnStore(), tracer, system: "sqlite")
  #expect(store.watchedDescriptor == 7)
  #expect(try await store.buildSearchIndex(accountsMax: 3) == 3)
  await #expect(throws: StoreError.closed) { try await store.probe() }
  #expect(try await store.commit(Change([]), commitDecision: CommitDecision()) == .committed)
  #expect(tracer.buffer.take(atMost: 9).isEmpty, "no sampled call")
}
