package import Store

/// A store for tests that makes no copies, and in which no email address has an account by default.
package protocol UncopiedStore: Store {}

extension UncopiedStore {
  package func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { nil }
  package func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { nil }

  package func probe() async throws {}

  package func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    throw StoreCopyError.unsupported("This store is for tests.")
  }
}

/// An observer that handles some notifications of a store, and ignores the others.
package protocol PartialObserver: StoreObserver {}

extension PartialObserver {
  package func committed(changes: Int, took: Duration) {}
  package func lostCommit() {}
  package func settled(_ result: Result<Outcome, StoreError>) {}
  package func refusedByFullQueue() {}
  package func lostDatabase(_ why: String) {}
  package func foundDatabase() {}
  package func met(_ trouble: StoreTrouble, _ why: String) {}
  package func lacksConnections(_ why: String) {}
  package func leftUnswept(_ what: String, _ why: String) {}
  package func heldUpEvents(_ why: String) {}
  package func freedEvents() {}
  package func holds(pendingRows: Int) {}
  package func removedPending(for purpose: PendingPurpose) {}
  package func holds(waitingDeliveries: Int) {}
  package func leftUnqueued(_ why: UnqueuedNotice) {}
  package func reachedHalf(of limit: ThrottleKind) {}
}
