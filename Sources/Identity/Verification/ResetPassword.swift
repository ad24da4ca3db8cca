import Store

package struct PasswordWasReset: Hashable, Sendable {
  package var email: String
  /// Providers of the sign-in methods that were removed because they were unverified.
  package var revokedProviderIDs: [String] = []
  /// Whether the email address was claimed for a new account.
  package var isNewAccount = false
}

/// Redeems the code of a password reset.
///
/// It opens no session. The user signs in with the new password, and passes the second factor if the account has one.
package struct ResetPassword: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    _ proof: EmailProof, newPassword: String, claimAddress: Bool = false, _ call: CallFacts
  ) async throws -> PasswordWasReset {
    try await environment.repeatingTwin(call) {
      try await once(proof, newPassword: newPassword, claimAddress: claimAddress, call)
    }
  }

  private func once(
    _ proof: EmailProof, newPassword: String, claimAddress: Bool, _ call: CallFacts
  ) async throws -> PasswordWasReset {
    if let record = try await environment.recorded(call, proof) { return try again(record) }
    var query = Query()
    query.pending = try environment.digest(of: proof)
    query.look(for: call.idempotency)
    let facts = try await environment.first(query)
    var verified: VerifiedCode?
    // If an equal call was faster, its record takes precedence over the used code.
    if try call.recorded(in: facts, at: environment.clock.now()) == nil {
      _ = try open(proof, facts, call, environment.clock.now())
      verified = try await environment.prove(proof, for: CodeUse(email: [.resetPassword]), call)
    }
    let hash = try await environment.hashNew(newPassword, field: "new_password", call: call)
    let loaded = try await environment.load(query)
    let settled = try await environment.settle(query, loaded, call: call) {
      [verified] facts, now -> Step<PasswordWasReset> in
      let code = try open(proof, facts, call, now)
      let resets = verified?.resets(at: now) ?? []
      let decision = ResetDecision(
        hash: hash, claimAddress: claimAddress, policy: environment.policy, now: now,
        newAccountID: environment.ids.account)
      switch decision.decide(code, facts.pendingAccount) {
      case .refuse(let failure): return .refuse(failure)
      case .reset(let edit, let revoked, let isReclaim):
        let answer = PasswordWasReset(email: code.row.email ?? "", revokedProviderIDs: revoked)
        let change = reset(code, edit, revoked, isReclaim: isReclaim, call, now)
        return .commit(remembering(answer, of: edit.before.id, change, resets, call, now), answer)
      case .claim(let opening):
        let answer = PasswordWasReset(email: code.row.email ?? "", isNewAccount: true)
        let change = claim(code, opening, call, now)
        return .commit(remembering(answer, of: opening.state.account.id, change, resets, call, now), answer)
      }
    }
    switch settled {
    case .repeated(let record): return try again(record)
    case .decided(let answer): return answer
    }
  }

  private func remembering(
    _ answer: PasswordWasReset, of accountID: String, _ change: Change, _ resets: [Write], _ call: CallFacts,
    _ now: Timestamp
  ) -> Change {
    let texts = [answer.email, answer.isNewAccount ? "new" : ""] + answer.revokedProviderIDs
    return Change(
      change.writes + resets + environment.remember(texts, accountID: accountID, sessionID: nil, call, now))
  }

  private func again(_ record: IdempotencyRecord) throws -> PasswordWasReset {
    let texts = try environment.heldTexts(of: record)
    guard texts.count >= 2 else { throw PendingTable.mismatch("the idempotency record does not belong to a reset") }
    return PasswordWasReset(
      email: texts[0], revokedProviderIDs: Array(texts[2...]), isNewAccount: texts[1] == "new")
  }

  private func open(
    _ proof: EmailProof, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> OpenedCode {
    try environment.open(proof, facts.pending, [.resetPassword], call, now)
  }

  /// Resets the password.
  ///
  /// The revert links of a verified account stay valid: an attacker who controls the new email address must not end
  /// them.
  private func reset(
    _ code: OpenedCode, _ edit: AccountEdit, _ revoked: [String], isReclaim: Bool, _ call: CallFacts, _ now: Timestamp
  ) -> Change {
    let id = edit.before.id
    let details = ["revoked_provider_ids": revoked.joined(separator: ",")]
    var writes: [Write] = code.spend(for: id, now: now) + edit.writes
    if let email = code.row.email { writes += environment.liftPasswordBlocks(of: email, call: call, now: now) }
    writes.append(.session(.closeAll(accountID: id, except: nil, at: now, reason: .passwordReset)))
    writes.append(
      isReclaim ? .pending(.deleteAll(accountID: id)) : .pending(.end(.changeEmail, .addressOf(id))))
    if isReclaim {
      let reclaim = details.merging(["provider_id": SignInMethods.password]) { $1 }.merging(edit.keptByReclaim) { $1 }
      writes.append(environment.audit(AuditNote(.reclaimed, accountID: id, details: reclaim), call: call, now: now))
    }
    writes.append(environment.audit(AuditNote(.passwordReset, accountID: id, details: details), call: call, now: now))
    return Change(writes + environment.notices(.passwordChanged, to: edit.state, now: now))
  }

  /// Claims the email address like a sign-in, but opens no session.
  private func claim(_ code: OpenedCode, _ opening: Opening, _ call: CallFacts, _ now: Timestamp) -> Change {
    // First, because a later write deletes the row.
    var writes = code.spend(for: opening.state.account.id, now: now) + opening.writes
    if let detached = opening.detached, let email = code.row.email {
      writes += environment.notices(ofDetached: email, from: detached, now: now)
    }
    if let email = code.row.email { writes += environment.liftPasswordBlocks(of: email, call: call, now: now) }
    writes += opening.notes.map { environment.audit($0, call: call, now: now) }
    return Change(writes)
  }
}

/// Decision for a password reset (sections 3.3 and 3.5).
///
/// The rules for an account that never verified the email address are those of a sign-in link
/// (`AssertionDecision.byCode`). But a reset opens no session, so it asks for no second factor.
struct ResetDecision: Sendable {
  enum Outcome: Hashable, Sendable {
    case refuse(Failure)
    case reset(AccountEdit, revoked: [String], isReclaim: Bool)
    /// The account loses only the email address, which a new account gets.
    case claim(Opening)
  }

  var hash: String
  var claimAddress = false
  var policy: Policy
  var now: Timestamp
  /// Generates the id of a new account.
  var newAccountID: @Sendable () -> String

  func decide(_ code: OpenedCode, _ state: AccountState?) -> Outcome {
    guard let state, let email = code.row.email, state.account.email == email else {
      return .refuse(.wrongSentCode("the account has another address by now", code.kind, field: "code"))
    }
    if state.account.disabled { return .refuse(.userIsDisabled) }
    if code.isOutdated(for: state, policy) { return .refuse(.expiredSentCode(code.kind, field: "code")) }
    guard state.account.emailVerified else { return meetUnverified(state, email) }
    var edit = AccountEdit(state)
    let revoked = state.account.emailVerifiedAt.map { edit.dropMethods(addedBefore: $0) } ?? []
    edit.reset(hash: hash, email: email, now: now)
    return .reset(edit, revoked: revoked, isReclaim: false)
  }

  /// Decides for an account that never verified the email address: S12 (no user could sign in before), else reclaim,
  /// claim or neither. A claim moves nothing that a second factor protects, so it needs none (`Takeover.claim`).
  private func meetUnverified(_ owner: AccountState, _ email: String) -> Outcome {
    let isUnentered = owner.isUnentered(policy)
    let refusalToClaim = policy.refusalToCreate(email: email)
    if owner.hasSecondFactor, isUnentered || !claimAddress {
      return .refuse(requiresSecondFactor(mayClaim: !isUnentered && refusalToClaim == nil))
    }
    var edit = AccountEdit(owner)
    if isUnentered {
      edit.reset(hash: hash, email: email, now: now)
      return .reset(edit, revoked: [], isReclaim: false)
    }
    if owner.holdsOnlyAddress, policy.reclaim != .refuse {
      let revoked = edit.dropUnverified(now: now)
      edit.reset(hash: hash, email: email, now: now)
      return .reset(edit, revoked: revoked, isReclaim: true)
    }
    guard claimAddress else { return .refuse(unverified(mayClaim: refusalToClaim == nil)) }
    return refusalToClaim.map { .refuse($0) } ?? .claim(claim(email, from: owner))
  }

  private func claim(_ email: String, from owner: AccountState) -> Opening {
    var edit = AccountEdit(AccountState(account: AccountRecord(id: newAccountID(), createdAt: now)))
    edit.reset(hash: hash, email: email, now: now)
    let account = edit.edited.account
    let note = AuditNote(.accountCreated, accountID: account.id, details: ["provider_id": SignInMethods.password])
    let opening = Opening(
      state: AccountState(account: account), writes: [.account(.insert(account))], notes: [note], isNewAccount: true)
    return Takeover(assertion: .mailbox(email), policy: policy, now: now).claim(from: owner, opening: opening)
  }

  // MARK: failures that leave the code valid

  private func unverified(mayClaim: Bool) -> Failure {
    var ways = mayClaim ? ["Repeat with claim_address to move it to a new account."] : []
    if policy.mailboxEnabled { ways.append("Use a sign-in link or code.") }
    if ways.isEmpty { ways.append("Ask an administrator.") }
    return Failure(
      .unverifiedEmail, field: "code", hint: "The email address is unverified. " + ways.joined(separator: " Or: "))
  }

  private func requiresSecondFactor(mayClaim: Bool) -> Failure {
    var ways = mayClaim ? ["Repeat with claim_address to move the email address to a new account."] : []
    if policy.mailboxEnabled { ways.append("Use a sign-in link or code and the account's second factor.") }
    if ways.isEmpty { ways.append("Ask an administrator.") }
    return Failure(.requiresSecondFactor, field: "code", hint: ways.joined(separator: " Or: "))
  }
}

extension AccountEdit {
  /// Sets the password and verifies the email address. Earlier custom tokens end with the sessions.
  mutating func reset(hash: String, email: String, now: Timestamp) {
    setPassword(hash: hash, email: email, now: now)
    verify(by: .reset, now: now)
    edited.account.tokensValidAfter = now
  }
}
