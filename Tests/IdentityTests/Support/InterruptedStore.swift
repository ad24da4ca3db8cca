import Identity
import Store
import Synchronization

/// A store in which something else happens right before the first commit: the race that a guard is there for.
final class InterruptedStore: Store {
  private let store: MemoryStore
  private let interruption: Mutex<(@Sendable (MemoryStore) -> Void)?>

  init(_ store: MemoryStore, by interruption: @escaping @Sendable (MemoryStore) -> Void) {
    self.store = store
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
  func load(_ query: Query) async throws -> Facts { try await store.load(query) }

  func commit(_ change: Change, fate: Fate) async throws -> Outcome {
    let interrupt = interruption.withLock { pending in
      defer { pending = nil }
      return pending
    }
    interrupt?(store)
    return try await store.commit(change, fate: fate)
  }
}

extension World {
  /// The environment whose first commit comes too late.
  func environment(interruptedBy interruption: @escaping @Sendable (MemoryStore) -> Void) -> Environment {
    Environment(
      store: InterruptedStore(store, by: interruption), clock: clock, randomness: randomness,
      cryptography: cryptography, passwords: passwords, tokens: tokens, providers: providers, policy: policy)
  }
}
