package import Store

/// Frees the id of a removed account for a new one.
package struct ForgetAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns when the last ID token of the removed account expires, as services see it that verify tokens themselves.
  package func callAsFunction(accountID: String, _ call: CallFacts) async throws -> Timestamp {
    var query = Query()
    query.accountID = accountID
    let lifetimeMillis = environment.policy.idTokenLifetimeMillis
    return try await environment.decideAndCommit(query, try await environment.load(query), call: call) { facts, now in
      switch ForgetAccount.decide(facts) {
      case .refuse(let failure): return .refuse(failure)
      case .unchanged(let closed): return .answer(closed.closedAt.adding(millis: lifetimeMillis))
      case .forget(let closed):
        let note = AuditNote(.forgotten, accountID: accountID)
        let writes: [Write] = [
          .account(.forget(id: accountID, at: now)), environment.audit(note, call: call, now: now),
        ]
        return .commit(Change(writes), closed.closedAt.adding(millis: lifetimeMillis))
      }
    }
  }

  enum Decision: Hashable, Sendable {
    case refuse(Failure)
    /// The id is free already.
    case unchanged(ClosedAccountRecord)
    case forget(ClosedAccountRecord)
  }

  static func decide(_ facts: Facts) -> Decision {
    if facts.account != nil {
      return .refuse(Failure(.operationNotAllowed, field: "account_id", hint: "The account exists. Delete it first."))
    }
    guard let closed = facts.closedAccount else { return .refuse(Failure(.accountNotFound, field: "account_id")) }
    return closed.forgottenAt == nil ? .forget(closed) : .unchanged(closed)
  }
}
