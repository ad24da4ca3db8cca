package import Store

package struct EditAccountRequest: Hashable, Sendable {
  package var accountID: String
  package var revision: AccountRevision
  /// In NFKC; nil: no new password.
  package var newPassword: String?

  package init(accountID: String, revision: AccountRevision = AccountRevision(), newPassword: String? = nil) {
    self.accountID = accountID
    self.revision = revision
    self.newPassword = newPassword
  }
}

/// Changes fields of an account, at an administrator's request.
package struct EditAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the account after the change.
  package func callAsFunction(_ request: EditAccountRequest, _ call: CallFacts) async throws -> AccountState {
    var revision = request.revision
    var query = Query()
    query.accountID = request.accountID
    query.email = revision.email.flatMap { $0.isEmpty ? nil : $0 }
    query.phoneNumber = revision.phoneNumber.flatMap { $0.isEmpty ? nil : $0 }
    var facts = try await environment.load(query)
    if let password = request.newPassword {
      // Hash only for an account that exists.
      guard facts.account != nil else { throw facts.noAccount() }
      revision.password = .set(hash: try await environment.hashNew(password, field: "password", call: call))
      facts = try await environment.load(query)
    }
    return try await environment.decideAndCommit(query, facts, call: call) { [revision] facts, now in
      guard let state = facts.account else { return .refuse(facts.noAccount()) }
      let decision = RevisionDecision.decide(
        revision, state, emailOwner: facts.emailOwner, phoneOwner: facts.phoneOwner, policy: environment.policy,
        now: now)
      switch decision {
      case .refuse(let failure): return .refuse(failure)
      case .unchanged: return .answer(state)
      case .revise(let revised):
        let writes = revised.edit.writes + revised.endings(at: now)
          + revised.notes.map { environment.audit($0, call: call, now: now) } + notices(revised, state, now)
        return .commit(Change(writes), revised.edit.state)
      }
    }
  }

  /// Returns the notices to the user, as for changes of their own.
  private func notices(_ revised: RevisedAccount, _ before: AccountState, _ now: Timestamp) -> [Write] {
    let (edit, after) = (revised.edit, revised.edit.edited.account)
    var notices = revised.unlinked.flatMap { environment.notices(ofUnlinked: $0, by: edit, now: now) }
    if revised.isNewPhoneNumber, after.phoneNumber != nil {
      notices += environment.notices(.linked, of: edit, values: ["provider_id": SignInMethods.phone], now: now)
    }
    if revised.isNewEmail {
      let values = after.email.map { ["new_email": $0] } ?? [:]
      notices += environment.notices(
        .emailChanged, to: before, others: after.email.map { [$0] } ?? [], values: values, now: now)
    }
    if revised.isNewPassword { notices += environment.notices(.passwordChanged, to: before, now: now) }
    return notices
  }
}
