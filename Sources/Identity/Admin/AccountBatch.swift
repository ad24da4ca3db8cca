import Store

/// One change of many accounts. A rejected row does not affect the others.
package struct AccountBatch: Sendable {
  package enum Action: Hashable, Sendable {
    case erase
    case setDisabled(Bool)
  }

  package enum Verdict: Hashable, Sendable {
    case done
    /// The account was in the requested state.
    case unchanged
    case refused(Failure)
  }

  package static let rowsMax = 1_000
  /// Number of rows in one change: large enough to share the work, small enough for other changes to come between.
  static let rowsPerChangeMax = 50

  private let environment: Environment
  private let call: CallFacts
  private let action: Action

  package init(_ environment: Environment, _ action: Action, _ call: CallFacts) {
    self.environment = environment
    self.action = action
    self.call = call
  }

  /// Returns one verdict for each id, in order, once the changes are durable. A repeated id has the same verdict.
  package func callAsFunction(_ ids: [String]) async throws -> [Verdict] {
    var verdicts: [String: Verdict] = [:]
    var known: Set<String> = []
    let distinct = ids.filter { known.insert($0).inserted }
    for start in stride(from: 0, to: distinct.count, by: AccountBatch.rowsPerChangeMax) {
      let portion = distinct[start..<min(start + AccountBatch.rowsPerChangeMax, distinct.count)]
      verdicts.merge(try await carryOut(Array(portion))) { _, new in new }
      // Other calls need this reactor, too.
      await Task.yield()
    }
    return ids.map { verdicts[$0] ?? .unchanged }
  }

  private func carryOut(_ ids: [String]) async throws -> [String: Verdict] {
    var (verdicts, writes) = ([String: Verdict](), [Write]())
    for id in ids { verdicts[id] = try await decide(id, adding: &writes) }
    guard !writes.isEmpty, try await !commit(writes) else { return verdicts }
    // One row lost a race. Each row is now changed separately, to find its own verdict.
    for id in ids where verdicts[id] == .done { verdicts[id] = try await carryOutAlone(id) }
    return verdicts
  }

  private func carryOutAlone(_ id: String) async throws -> Verdict {
    for _ in 0..<environment.policy.decisionsMax {
      var writes: [Write] = []
      let verdict = try await decide(id, adding: &writes)
      guard verdict == .done else { return verdict }
      if try await commit(writes) { return verdict }
    }
    return .refused(Failure(.overloaded, hint: "Concurrent calls keep changing this account. Try again."))
  }

  private func decide(_ id: String, adding writes: inout [Write]) async throws -> Verdict {
    var query = Query()
    query.accountID = id
    let facts = try await environment.load(query)
    guard let state = facts.account else {
      let survivorID = facts.closedAccount?.survivorID ?? ""
      return .refused(
        Failure(
          .accountNotFound, hint: survivorID.isEmpty ? "There is no such account." : "It was merged into \(survivorID)."
        ))
    }
    let now = environment.clock.now()
    switch action.decision(state, now) {
    case .refuse(let failure): return .refused(failure)
    case .unchanged: return .unchanged
    case .change(_, let changes, let notes):
      writes += changes + notes.map { environment.audit($0, call: call, now: now) }
      return .done
    }
  }

  /// Commits the changes. Returns false if another call changed one of the accounts.
  private func commit(_ writes: [Write]) async throws -> Bool {
    // Each change of the call has its own commit decision. No change begins after the call was cancelled.
    guard !call.commitDecision.isCancelled else { throw Failure(.cancelled) }
    return try await environment.commit(Change(writes), CommitDecision())
  }
}

extension AccountBatch.Action {
  fileprivate func decision(_ state: AccountState, _ now: Timestamp) -> AdminDecision {
    switch self {
    case .erase: AdminDecision.erase(state, now: now)
    case .setDisabled(let disabled): AdminDecision.setDisabled(disabled, state, now: now)
    }
  }
}
