import Identity
import Store
import Synchronization
import TestSupport
import Testing

/// A store in which another change happens at one point of a call: the race that a guard prevents.
final class InterruptedStore: UncopiedStore {
  /// The point that another change precedes.
  enum Point { case firstCommit, everyCommit, firstLoad }

  private let store: MemoryStore
  private let point: Point
  private let interruption: Mutex<(@Sendable (MemoryStore) -> Void)?>

  init(_ store: MemoryStore, before point: Point, by interruption: @escaping @Sendable (MemoryStore) -> Void) {
    self.store = store
    self.point = point
    self.interruption = Mutex(interruption)
  }

  func attachThread() throws {}
  func detachThread() {}
  func endTurn() {}
  func close() async {}
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    try await store.sweep(at: now, rowsMax: rowsMax, auditedBefore: auditedBefore)
  }
  func now(_ query: Query) throws -> Facts? { try store.now(query) }
  func load(_ query: Query) async throws -> Facts {
    if point == .firstLoad { interrupt() }
    return try await store.load(query)
  }
  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { try store.now(query) }
  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { try await store.load(query) }

  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome {
    if point != .firstLoad { interrupt() }
    return try await store.commit(change, commitDecision: commitDecision)
  }

  private func interrupt() {
    let change = interruption.withLock { pending in
      defer { if point != .everyCommit { pending = nil } }
      return pending
    }
    change?(store)
  }
}

extension World {
  /// An environment in which another change precedes one point of a call.
  func environment(
    before point: InterruptedStore.Point = .firstCommit,
    interruptedBy interruption: @escaping @Sendable (MemoryStore) -> Void
  ) -> Environment {
    Environment(
      store: InterruptedStore(store, before: point, by: interruption), clock: clock, randomness: randomness,
      cryptography: cryptography, passwords: passwords, tokens: tokens, providers: providers, policy: policy)
  }

  /// Runs `body` while the session is signed out, which does not change the account's version. `body` must fail and
  /// write nothing.
  func signedOut(
    _ session: SessionGrant, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (Environment) async throws -> Void
  ) async {
    let now = self.now
    var expected = store.contents
    expected.sessions[session.sessionID]?.closed = SessionEnd(at: now, reason: .revoked)
    let interrupted = self.environment { store in
      store.edit { $0.sessions[session.sessionID]?.closed = SessionEnd(at: now, reason: .revoked) }
    }
    await refused(.tokenRevoked, sourceLocation: sourceLocation) { try await body(interrupted) }
    #expect(store.contents == expected, sourceLocation: sourceLocation)
  }

  /// An environment in which another change of the account precedes each commit.
  var outrun: Environment {
    environment(before: .everyCommit) { store in
      store.edit { $0.accounts["account-y"]?.version += 1 }
    }
  }
}
