import Identity
import Store
import Synchronization
import TestSupport

/// A store in memory that keeps every promise of `Store`: unique keys, versions, atomic changes, commit decisions. It
/// answers `now` like a store in the same process, or never, like one behind a network.
final class MemoryStore: UncopiedStore {
  private let tables = Mutex(Tables())
  private let answersNow: Bool
  private let meetsRaces: Bool
  private let failure = Mutex<StoreError?>(nil)

  /// - Parameter meetsRaces: Lets other tasks run between a load and its commit, so that races occur.
  init(answersNow: Bool = true, meetsRaces: Bool = false) {
    self.answersNow = answersNow
    self.meetsRaces = meetsRaces
  }

  func attachThread() throws {}
  func detachThread() {}
  func endTurn() {}
  func close() async {}
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    tables.withLock { $0.sweep(at: now) }
  }

  func now(_ query: Query) throws -> Facts? { answersNow ? try facts(query) : nil }

  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { answersNow ? .some(try methods(query)) : nil }

  func load(_ query: Query) async throws -> Facts { try facts(query) }

  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { try methods(query) }

  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome {
    if meetsRaces { await Task.yield() }
    if let error = failure.withLock({ $0 }) { throw error }
    guard commitDecision.take() else { return .cancelled }
    let outcome = tables.withLock { $0.carryOut(change) }
    if outcome != .committed { commitDecision.release() }
    return outcome
  }

  private func facts(_ query: Query) throws -> Facts {
    if let error = failure.withLock({ $0 }) { throw error }
    return tables.withLock { $0.facts(query) }
  }

  private func methods(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord? {
    if let error = failure.withLock({ $0 }) { throw error }
    return tables.withLock { $0.methods(query) }
  }
}

// MARK: Changes that tests make directly

extension MemoryStore {
  /// All contents, to compare before and after.
  var contents: Tables { tables.withLock { $0 } }

  func edit(_ body: (inout Tables) -> Void) { tables.withLock { body(&$0) } }

  func fail(with error: StoreError?) { failure.withLock { $0 = error } }

  func insert(_ state: AccountState) {
    edit { tables in
      tables.accounts[state.account.id] = state.account
      for identity in state.identities { tables.identities[identity.key] = identity }
      tables.factors += state.factors
      tables.unlinks += state.unlinks
    }
  }

  func state(_ accountID: String) -> AccountState? { contents.state(accountID) }
}
