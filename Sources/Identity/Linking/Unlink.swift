import Store

/// Removes a sign-in method from the account of an ID token, but never the last usable one.
package struct Unlink: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: UnlinkRequest, _ call: CallFacts) async throws -> SessionGrant {
    if let record = try await environment.recorded(call) {
      return try await environment.repeatSession(of: record, call: call)
    }
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.idempotency = call.idempotency?.key
    let facts = try await environment.first(query)
    let settled = try await environment.settle(query, facts, call: call) { facts, now -> Step<Result> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      switch UnlinkDecision.decide(request.providerID, caller, policy: environment.policy, now: now) {
      case .refuse(let failure): return .refuse(failure)
      case .unlink(let edit): return unlink(request.providerID, edit, caller, call, now)
      }
    }
    switch settled {
    case .repeated(let record): return try await environment.repeatSession(of: record, call: call)
    case .decided(let (opened, state)): return try await environment.grant(opened, state, now: environment.clock.now())
    }
  }

  private typealias Result = (OpenedSession, AccountState)

  /// Writes an unlink. The caller continues in a new session. Every other session that began with the removed method
  /// ends (check 82).
  private func unlink(
    _ providerID: String, _ edit: AccountEdit, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    let accountID = caller.state.account.id
    let opened = environment.continueSession(caller.session, call: call, now: now)
    let note = AuditNote(.unlinked, accountID: accountID, details: ["provider_id": providerID])
    let writes: [Write] = [.session(.requireOpen(id: caller.session.id, at: now))] + edit.writes + [
      .session(.close(id: caller.session.id, at: now, reason: "continued")),
      .session(.closeBegun(
        accountID: accountID, beganWith: providerID, except: nil, at: now, reason: "unlinked")),
      .session(.insert(opened.record)),
      environment.audit(note, call: call, now: now),
    ]
    let remembered = call.remember(
      "unlinked", accountID: accountID, sessionID: opened.record.id, policy: environment.policy, now: now)
    let notices = environment.notices(ofUnlinked: providerID, by: edit, now: now)
    return .commit(Change(writes + notices + remembered), (opened, edit.state))
  }
}
