import Store

/// Deletes the account of an ID token and all of its data.
package struct DeleteAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(idToken: String, _ call: CallFacts) async throws {
    guard try await environment.recorded(call) == nil else { return }
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.look(for: call.idempotency)
    let facts = try await environment.first(query)
    _ = try await environment.settle(query, facts, call: call) { facts, now -> Step<Void> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      if let refusal = DeleteAccount.refusal(caller, policy: environment.policy, now: now) { return .refuse(refusal) }
      return .commit(delete(caller, call, now), ())
    }
  }

  /// Returns why the deletion is rejected, or nil. An anonymous user cannot log in again, so needs no recent login
  /// (check 91).
  static func refusal(_ caller: CallerSession, policy: Policy, now: Timestamp) -> Failure? {
    do {
      if !caller.state.account.anonymous {
        try SessionCheck.requireRecentLogin(caller, for: .delete, policy: policy, now: now)
      }
      try SessionCheck.requireSecondFactor(caller)
      return nil
    } catch {
      return error
    }
  }

  private func delete(_ caller: CallerSession, _ call: CallFacts, _ now: Timestamp) -> Change {
    let account = caller.state.account
    let writes: [Write] = [
      .session(.requireOpen(id: caller.session.id, at: now)),
      .account(.close(ClosedAccountRecord(id: account.id, closedAt: now), version: account.version)),
      environment.audit(AuditNote(.deleted, accountID: account.id), call: call, now: now),
    ]
    return Change(
      writes + call.remember("deleted", accountID: account.id, sessionID: nil, policy: environment.policy, now: now))
  }
}
