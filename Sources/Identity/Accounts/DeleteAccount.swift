import Store

/// Deletes the account of an ID token and all of its data.
package struct DeleteAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the result for each token, once the account is deleted. A repeat of the call returns none, and asks no
  /// provider.
  @discardableResult
  package func callAsFunction(
    idToken: String, revoking tokens: [TokenToRevoke] = [], _ call: CallFacts
  ) async throws -> [TokenRevocation] {
    guard try await environment.recorded(call) == nil else { return [] }
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.look(for: call.idempotency)
    let facts = try await environment.first(query)
    let end = try await environment.settle(query, facts, call: call) { facts, now -> Step<AccountState> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      if let refusal = DeleteAccount.refusal(caller, policy: environment.policy, now: now) { return .refuse(refusal) }
      return .commit(delete(caller, call, now), caller.state)
    }
    guard !tokens.isEmpty, case .decided(let state) = end else { return [] }
    return await environment.revoke(tokens, of: state, call: call)
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
