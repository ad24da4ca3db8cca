import Store

package struct WithdrawRequest: Hashable, Sendable {
  package var idToken: String
  package var factorID: String

  package init(idToken: String, factorID: String) {
    self.idToken = idToken
    self.factorID = factorID
  }
}

/// Removes a second factor, and with the last one the recovery codes.
///
/// A session that passed the factor then counts as a session without one. Its next tokens state that, and operations
/// that need a factor require one again.
package struct Withdraw: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: WithdrawRequest, _ call: CallFacts) async throws -> SessionGrant {
    try await environment.changeAccount(of: request.idToken, call) { caller, now in
      guard let factor = caller.state.factors.first(where: { $0.id == request.factorID }) else {
        return .refuse(.noSuchFactor)
      }
      if let refusal = EnrollmentDecision.refusal(caller, policy: environment.policy, now: now) {
        return .refuse(refusal)
      }
      return withdraw(factor, caller, call, now)
    }
  }

  private typealias Result = (OpenedSession, AccountState)

  private func withdraw(
    _ factor: FactorRecord, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    var edit = AccountEdit(caller.state)
    edit.withdraw(factor)
    if !edit.edited.hasSecondFactor { edit.edited.factors.forEach { edit.withdraw($0) } }
    if let refusal = EnrollmentDecision.lockOut(caller.state, edit.state, policy: environment.policy) {
      return .refuse(refusal)
    }
    let opened = environment.continueSession(caller.session, call: call, now: now)
    let accountID = caller.state.account.id
    let details = ["kind": factor.kind.rawValue, "factor_id": factor.id]
    let writes: [Write] = [.session(.requireOpen(id: caller.session.id, at: now))] + edit.writes + [
      .closing(caller.session, at: now, reason: .continued),
      .session(.insert(opened.record)),
      environment.audit(AuditNote(.factorWithdrawn, accountID: accountID, details: details), call: call, now: now),
    ]
    let notices = environment.notices(
      .factorWithdrawn, to: caller.state, values: ["factor": factor.kind.rawValue], now: now)
    let remembered = call.remember(
      "withdrawn", accountID: accountID, sessionID: opened.record.id, policy: environment.policy, now: now)
    return .commit(Change(writes + notices + remembered), (opened, edit.state))
  }
}
