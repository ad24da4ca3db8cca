import Store

package struct PasswordWasReset: Hashable, Sendable {
  package var email: String
  /// Ways in that went because nobody had proved them.
  package var revokedProviderIDs: [String]
}

/// Redeems the code of a reset. It opens no session: who holds the mailbox signs in with the new password, and shows
/// the second factor where there is one.
package struct ResetPassword: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    code: String, newPassword: String, _ call: CallFacts
  ) async throws -> PasswordWasReset {
    var query = Query()
    query.pending = try environment.codeDigest(code, field: "code")
    let facts = try await environment.first(query)
    _ = try open(facts, call, environment.clock.now())
    let hash = try await environment.hashNew(newPassword, field: "new_password", call: call)
    return try await environment.decideAndCommit(query, try await environment.load(query), call: call) { facts, now in
      let code = try open(facts, call, now)
      let decision = ResetDecision.decide(
        code, facts.pendingAccount, hash: hash, policy: environment.policy, now: now)
      switch decision {
      case .refuse(let failure): return .refuse(failure)
      case .reset(let edit, let revoked, let isReclaim):
        let answer = PasswordWasReset(email: code.row.email ?? "", revokedProviderIDs: revoked)
        return .commit(reset(code, edit, revoked, isReclaim: isReclaim, call, now), answer)
      }
    }
  }

  private func open(_ facts: Facts, _ call: CallFacts, _ now: Timestamp) throws(Failure) -> OpenedCode {
    try environment.openCode(facts.pending, [.resetPassword], isBound: false, field: "code", call: call, now: now)
  }

  /// A reset of a proved account leaves the ways back from changes of its address alone: a thief who holds the new
  /// address must not end them.
  private func reset(
    _ code: OpenedCode, _ edit: AccountEdit, _ revoked: [String], isReclaim: Bool, _ call: CallFacts, _ now: Timestamp
  ) -> Change {
    let id = edit.before.id
    let details = ["revoked_provider_ids": revoked.joined(separator: ",")]
    var writes: [Write] = [code.spend(for: id, now: now)] + edit.writes
    writes.append(.closeSessions(accountID: id, except: nil, at: now, reason: "password_reset"))
    writes.append(
      isReclaim ? .deletePendings(accountID: id) : .endPendings(.changeEmail, .addressOf(id)))
    if isReclaim {
      writes.append(environment.audit(AuditNote(.reclaimed, accountID: id, details: details), call: call, now: now))
    }
    writes.append(environment.audit(AuditNote(.passwordReset, accountID: id, details: details), call: call, now: now))
    return Change(writes + environment.notices(.passwordChanged, to: edit.state, now: now))
  }
}

/// Sections 3.3 and 3.5.
enum ResetDecision: Hashable, Sendable {
  case refuse(Failure)
  case reset(AccountEdit, revoked: [String], isReclaim: Bool)

  static func decide(
    _ code: OpenedCode, _ state: AccountState?, hash: String, policy: Policy, now: Timestamp
  ) -> ResetDecision {
    guard let state, let email = code.row.email, state.account.email == email else {
      return .refuse(.wrongCode("the account has another address by now", field: "code"))
    }
    let account = state.account
    if account.disabled { return .refuse(.userIsDisabled) }
    var edit = AccountEdit(state)
    if account.emailProved {
      let revoked = account.emailProvedAt.map { edit.dropWaysIn(addedBefore: $0) } ?? []
      edit.reset(hash: hash, email: email, now: now)
      return .reset(edit, revoked: revoked, isReclaim: false)
    }
    if state.hasSecondFactor {
      return .refuse(
        Failure(
          .requiresSecondFactor, field: "code", hint: "Sign in by a mailed link and the account's second factor."))
    }
    if state.isUnentered(policy) {
      edit.reset(hash: hash, email: email, now: now)
      return .reset(edit, revoked: [], isReclaim: false)
    }
    guard state.holdsOnlyAddress, policy.reclaim != .refuse else {
      return .refuse(
        Failure(
          .unverifiedEmail, field: "code",
          hint: "The account never proved this address; sign in by a mailed link and claim it."))
    }
    let revoked = edit.dropUnproved(now: now)
    edit.reset(hash: hash, email: email, now: now)
    return .reset(edit, revoked: revoked, isReclaim: true)
  }
}

extension AccountEdit {
  /// Custom tokens from before are cut off with the sessions.
  mutating func reset(hash: String, email: String, now: Timestamp) {
    setPassword(hash: hash, email: email, now: now)
    prove(by: .reset, now: now)
    edited.account.tokensValidAfter = now
  }
}
