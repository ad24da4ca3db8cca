import Store

/// Removes a sign-in method from the account of an ID token, but never the last usable one.
package struct Unlink: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: UnlinkRequest, _ call: CallFacts) async throws -> SessionGrant {
    try await environment.changeAccount(of: request.idToken, call) { caller, now in
      switch UnlinkDecision.decide(
        request.providerID, subject: request.subject, caller, policy: environment.policy, now: now)
      {
      case .refuse(let failure): return .refuse(failure)
      case .unlink(let edit): return unlink(request.providerID, edit, caller, call, now)
      }
    }
  }

  /// Writes an unlink. The caller continues in a new session. Every other session that began with the removed method
  /// ends (check 82).
  /// - Parameter more: details of the event, in addition to the provider.
  func unlink(
    _ providerID: String, _ edit: AccountEdit, _ caller: CallerSession, details more: [String: String] = [:],
    _ call: CallFacts, _ now: Timestamp
  ) -> Step<(OpenedSession, AccountState)> {
    let accountID = caller.state.account.id
    let opened = environment.continueSession(caller.session, call: call, now: now)
    let note = AuditNote(.unlinked, accountID: accountID, details: more.merging(["provider_id": providerID]) { $1 })
    let writes: [Write] = [.session(.requireOpen(id: caller.session.id, at: now))] + edit.writes + [
      .closing(caller.session, at: now, reason: .continued),
      .session(.closeBegun(
        accountID: accountID, beganWith: providerID, except: nil, at: now, reason: .unlinked)),
      .session(.insert(opened.record)),
      environment.audit(note, call: call, now: now),
    ]
    let remembered = call.remember(
      "unlinked", accountID: accountID, sessionID: opened.record.id, policy: environment.policy, now: now)
    let notices = environment.notices(ofUnlinked: providerID, by: edit, now: now)
    return .commit(Change(writes + notices + remembered), (opened, edit.state))
  }
}
