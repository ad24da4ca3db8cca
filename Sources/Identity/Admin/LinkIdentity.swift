package import Store

/// Links an identity to an account, at an administrator's request.
package struct LinkIdentity: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the account after the change, and whether it had the identity already.
  /// - Parameter identity: its email address describes the identity, and verifies nothing.
  package func callAsFunction(
    _ identity: ImportRow.Identity, accountID: String, _ call: CallFacts
  ) async throws -> (state: AccountState, alreadyLinked: Bool) {
    var query = Query()
    query.accountID = accountID
    query.identity = identity.key
    let (state, facts) = try await environment.administer(query, call) { state, facts, now in
      AdminDecision.link(
        identity, state, owner: facts.identityOwner, policy: environment.policy,
        notices: { edit in
          environment.notices(.linked, of: edit, values: ["provider_id": identity.key.providerID], now: now)
        }, now: now)
    }
    return (state, facts.account?.holds(identity.key) ?? false)
  }
}

extension AdminDecision {
  /// Links an identity that no account has. Conflicts name what to unlink first.
  static func link(
    _ identity: ImportRow.Identity, _ state: AccountState, owner: AccountState?, policy: Policy,
    notices: (AccountEdit) -> [Write], now: Timestamp
  ) -> AdminDecision {
    let (id, key) = (state.account.id, identity.key)
    if state.identities.contains(where: { $0.key == key }) { return .unchanged }
    if let owner {
      return .refuse(
        Failure(
          .providerAlreadyLinked, field: "subject", hint: "Another account has this identity. Unlink it there first.",
          metadata: ["account_id": owner.account.id]))
    }
    if state.isFull(for: key, policy) { return .refuse(.otherSubjectIsLinked(field: "provider_id")) }
    var edit = AccountEdit(state)
    edit.add(
      IdentityRecord(
        assertion: Assertion(
          identity: key, email: identity.email, displayName: identity.displayName, photoURL: identity.photoURL),
        accountID: id, linkedAt: now))
    var details = byAdministrator
    details["provider_id"] = key.providerID
    return .change(
      state: edit.state, writes: edit.writes + edit.endOfGuestSessions(at: now) + notices(edit),
      notes: [AuditNote(.linked, accountID: id, details: details)])
  }
}
