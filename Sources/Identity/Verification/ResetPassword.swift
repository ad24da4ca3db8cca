import Store

package struct PasswordWasReset: Hashable, Sendable {
  package var email: String
  /// Ways in that went because nobody had proved them.
  package var revokedProviderIDs: [String] = []
  /// The address was claimed.
  package var isNewAccount = false
}

/// Redeems the code of a reset. It opens no session: who holds the mailbox signs in with the new password, and shows
/// the second factor where there is one.
package struct ResetPassword: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    code: String, newPassword: String, claimAddress: Bool = false, _ call: CallFacts
  ) async throws -> PasswordWasReset {
    if let record = try await environment.recorded(call) { return try again(record) }
    var query = Query()
    query.pending = try environment.codeDigest(code, field: "code")
    query.idempotency = call.idempotency?.key
    let facts = try await environment.first(query)
    // A record of an equal call that was faster wins over its spent code.
    if try call.recorded(in: facts, at: environment.clock.now()) == nil {
      _ = try open(facts, call, environment.clock.now())
    }
    let hash = try await environment.hashNew(newPassword, field: "new_password", call: call)
    let loaded = try await environment.load(query)
    let settled = try await environment.settle(query, loaded, call: call) { facts, now -> Step<PasswordWasReset> in
      let code = try open(facts, call, now)
      let decision = ResetDecision(
        hash: hash, claimAddress: claimAddress, policy: environment.policy, now: now,
        newAccountID: environment.ids.account)
      switch decision.decide(code, facts.pendingAccount) {
      case .refuse(let failure): return .refuse(failure)
      case .reset(let edit, let revoked, let isReclaim):
        let answer = PasswordWasReset(email: code.row.email ?? "", revokedProviderIDs: revoked)
        let change = reset(code, edit, revoked, isReclaim: isReclaim, call, now)
        return .commit(remembering(answer, of: edit.before.id, change, call, now), answer)
      case .claim(let opening):
        let answer = PasswordWasReset(email: code.row.email ?? "", isNewAccount: true)
        let change = claim(code, opening, call, now)
        return .commit(remembering(answer, of: opening.state.account.id, change, call, now), answer)
      }
    }
    switch settled {
    case .repeated(let record): return try again(record)
    case .decided(let answer): return answer
    }
  }

  private func remembering(
    _ answer: PasswordWasReset, of accountID: String, _ change: Change, _ call: CallFacts, _ now: Timestamp
  ) -> Change {
    let texts = [answer.email, answer.isNewAccount ? "new" : ""] + answer.revokedProviderIDs
    return Change(change.writes + environment.remember(texts, accountID: accountID, sessionID: nil, call, now))
  }

  private func again(_ record: IdempotencyRecord) throws -> PasswordWasReset {
    let texts = try environment.heldTexts(of: record)
    guard texts.count >= 2 else { throw PendingTable.mismatch("the record is not of a reset") }
    return PasswordWasReset(
      email: texts[0], revokedProviderIDs: Array(texts[2...]), isNewAccount: texts[1] == "new")
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
    if let email = code.row.email { writes += environment.liftPasswordBlocks(of: email, call: call, now: now) }
    writes.append(.closeSessions(accountID: id, except: nil, at: now, reason: "password_reset"))
    writes.append(
      isReclaim ? .deletePendings(accountID: id) : .endPendings(.changeEmail, .addressOf(id)))
    if isReclaim {
      let reclaim = details.merging(["provider_id": WaysIn.password]) { $1 }.merging(edit.keptByReclaim) { $1 }
      writes.append(environment.audit(AuditNote(.reclaimed, accountID: id, details: reclaim), call: call, now: now))
    }
    writes.append(environment.audit(AuditNote(.passwordReset, accountID: id, details: details), call: call, now: now))
    return Change(writes + environment.notices(.passwordChanged, to: edit.state, now: now))
  }

  /// As a sign-in that claims, but for the session.
  private func claim(_ code: OpenedCode, _ opening: Opening, _ call: CallFacts, _ now: Timestamp) -> Change {
    // First, since what comes after it removes the row.
    var writes = [code.spend(for: opening.state.account.id, now: now)] + opening.writes
    if let detached = opening.detached, let email = code.row.email {
      writes += environment.notices(ofDetached: email, from: detached, now: now)
    }
    if let email = code.row.email { writes += environment.liftPasswordBlocks(of: email, call: call, now: now) }
    writes += opening.notes.map { environment.audit($0, call: call, now: now) }
    return Change(writes)
  }
}

/// Sections 3.3 and 3.5. An account that never proved the address fares as with a mailed link (`CodeDecision`), but a
/// reset opens no session and so asks for no second factor.
struct ResetDecision: Sendable {
  enum Outcome: Hashable, Sendable {
    case refuse(Failure)
    case reset(AccountEdit, revoked: [String], isReclaim: Bool)
    /// The account loses the address alone, and a new one has it.
    case claim(Opening)
  }

  var hash: String
  var claimAddress = false
  var policy: Policy
  var now: Timestamp
  /// Asked for a fresh id where an account is created.
  var newAccountID: @Sendable () -> String

  func decide(_ code: OpenedCode, _ state: AccountState?) -> Outcome {
    guard let state, let email = code.row.email, state.account.email == email else {
      return .refuse(.wrongSentCode("the account has another address by now", field: "code"))
    }
    if state.account.disabled { return .refuse(.userIsDisabled) }
    guard state.account.emailProved else { return meetUnproved(state, email) }
    var edit = AccountEdit(state)
    let revoked = state.account.emailProvedAt.map { edit.dropWaysIn(addedBefore: $0) } ?? []
    edit.reset(hash: hash, email: email, now: now)
    return .reset(edit, revoked: revoked, isReclaim: false)
  }

  /// S12, for nobody could sign in before; else reclaim, claim or neither. A claim moves nothing that a second factor
  /// guards, and asks for none (`Takeover.claim`).
  private func meetUnproved(_ owner: AccountState, _ email: String) -> Outcome {
    let isUnentered = owner.isUnentered(policy)
    if owner.hasSecondFactor, isUnentered || !claimAddress {
      return .refuse(requiresSecondFactor(mayClaim: !isUnentered))
    }
    var edit = AccountEdit(owner)
    if isUnentered {
      edit.reset(hash: hash, email: email, now: now)
      return .reset(edit, revoked: [], isReclaim: false)
    }
    if owner.holdsOnlyAddress, policy.reclaim != .refuse {
      let revoked = edit.dropUnproved(now: now)
      edit.reset(hash: hash, email: email, now: now)
      return .reset(edit, revoked: revoked, isReclaim: true)
    }
    return claimAddress ? .claim(claim(email, from: owner)) : .refuse(unproved)
  }

  private func claim(_ email: String, from owner: AccountState) -> Opening {
    var edit = AccountEdit(AccountState(account: AccountRecord(id: newAccountID(), createdAt: now)))
    edit.reset(hash: hash, email: email, now: now)
    let account = edit.edited.account
    let note = AuditNote(.accountCreated, accountID: account.id, details: ["provider_id": WaysIn.password])
    let opening = Opening(
      state: AccountState(account: account), writes: [.insertAccount(account)], notes: [note], isNewAccount: true)
    return Takeover(assertion: .mailbox(email), policy: policy, now: now).claim(from: owner, opening: opening)
  }

  // MARK: refusals, which leave the code good

  private var unproved: Failure {
    let orLink = policy.emailLinkEnabled ? ", or sign in by a mailed link" : ""
    return Failure(
      .unverifiedEmail, field: "code",
      hint: "The account never proved this address; repeat with claim_address to take it to a new account\(orLink).")
  }

  private func requiresSecondFactor(mayClaim: Bool) -> Failure {
    var ways = mayClaim ? ["Repeat with claim_address to take the address to a new account."] : []
    if policy.emailLinkEnabled { ways.append("Sign in by a mailed link and the account's second factor.") }
    if ways.isEmpty { ways.append("Ask an administrator.") }
    return Failure(.requiresSecondFactor, field: "code", hint: ways.joined(separator: " Or: "))
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
