import Store

package struct EmailConfirmed: Hashable, Sendable {
  package var email: String
  /// Fresh tokens, if the call was made in a session.
  package var session: SessionGrant?
}

/// Redeems the code of an email verification, an email change, or the reversal of one.
package struct ConfirmEmail: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ proof: EmailProof, idToken: String, _ call: CallFacts) async throws -> EmailConfirmed {
    try await environment.repeatingTwin(call) { try await once(proof, idToken: idToken, call) }
  }

  private func once(_ proof: EmailProof, idToken: String, _ call: CallFacts) async throws -> EmailConfirmed {
    if let record = try await environment.recorded(call, proof) { return try await again(record, call) }
    var query = Query()
    query.pending = try environment.digest(of: proof)
    query.look(for: call.idempotency)
    let facts = try await environment.first(query)
    if let row = facts.pending, row.completedAt != nil, row.completedSessionID?.isEmpty == false, !idToken.isEmpty {
      return try await clickedAgain(row, idToken: idToken, call)
    }
    let opened = try open(proof, facts, call, environment.clock.now())
    query.email = opened.row.email
    if opened.row.purpose == .revertEmail { return try await revert(proof, query, call) }
    // Section 3.5: the call needs a session of the account. Otherwise the click of the address's owner would verify an
    // account that an attacker registered with the address.
    guard !idToken.isEmpty else {
      throw Failure(
        .requiresRecentLogin, field: "id_token", hint: "Sign in to the account, and follow the link again.")
    }
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    query.sessionID = token.sessionID
    let verifies = !changesAddress(opened)
    let verified = try await environment.prove(
      proof,
      for: CodeUse(email: [.verifyEmail, .changeEmail], accountID: token.accountID, sessionID: token.sessionID), call)
    let loaded = try await environment.load(query)
    let settled = try await environment.settle(query, loaded, call: call) { facts, now -> Step<Result> in
      // A deleted account takes its codes and sessions with it. The error must not depend on which lookup saw that.
      if facts.pending == nil { _ = try open(proof, facts, call, now) }
      let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: verifies, now: now)
      // A concurrent click was faster.
      if let row = facts.pending, isVerification(row, by: caller.session), row.verifies(caller.state) {
        return environment.repeating(caller, now: now)
      }
      let opened = try open(proof, facts, call, now)
      return (changesAddress(opened) ? change(opened, caller, facts, call, now) : verify(opened, caller, call, now))
        .adding(verified?.resets(at: now) ?? [])
    }
    switch settled {
    case .repeated(let record): return try await again(record, call)
    case .decided(let (session, state)): return try await confirmed(session, state)
    }
  }

  private func confirmed(_ session: OpenedSession, _ state: AccountState) async throws -> EmailConfirmed {
    let grant = try await environment.grant(session, state, now: environment.clock.now())
    return EmailConfirmed(email: state.account.email ?? "", session: grant)
  }

  private func again(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> EmailConfirmed {
    let email = try environment.heldTexts(of: record).first ?? ""
    guard record.sessionID != nil else { return EmailConfirmed(email: email) }
    return EmailConfirmed(email: email, session: try await environment.repeatSession(of: record, call: call))
  }

  /// Answers another click on the link in the session that confirmed the first. The email address is verified already,
  /// so the call succeeds and changes nothing.
  private func clickedAgain(_ row: PendingRecord, idToken: String, _ call: CallFacts) async throws -> EmailConfirmed {
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let (session, state) = try await environment.decideAndCommit(query, try await environment.load(query), call: call) {
      facts, now -> Step<Result> in
      let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: now)
      guard !row.isExpired(at: now), row.caller == call.caller, isVerification(row, by: caller.session),
        row.verifies(caller.state)
      else { return .refuse(.expiredSentCode(CodeKind([row.purpose]), field: "code")) }
      return environment.repeating(caller, now: now)
    }
    return try await confirmed(session, state)
  }

  private func isVerification(_ row: PendingRecord, by session: SessionRecord) -> Bool {
    let confirms =
      row.purpose == .verifyEmail || row.purpose == .changeEmail || EmailCodePurpose.verifyEmail.isOf(row)
      || EmailCodePurpose.changeEmail.isOf(row)
    return confirms && row.completedAt != nil && row.completedSessionID == session.id
  }

  private typealias Result = (OpenedSession, AccountState)

  private func changesAddress(_ code: OpenedCode) -> Bool {
    code.held.emailPurpose == .changeEmail || code.row.purpose == .changeEmail
  }

  private func open(
    _ proof: EmailProof, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> OpenedCode {
    try environment.open(proof, facts.pending, [.verifyEmail, .changeEmail, .revertEmail], call, now)
  }

  /// Verifies the account's email address. The session of the call continues, as after Link.
  private func verify(
    _ code: OpenedCode, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    switch EmailDecision.verify(code, caller, now: now) {
    case .refuse(let failure): return .refuse(failure)
    case .edit(let edit, _):
      let kept = environment.keepSession(caller.session, now: now)
      let accountID = caller.state.account.id
      let writes =
        kept.writes + code.spend(for: accountID, sessionID: caller.session.id, now: now) + edit.writes
        + [environment.audit(AuditNote(.emailVerified, accountID: accountID), call: call, now: now)]
        + remember(edit.state.account, sessionID: caller.session.id, call, now)
      return .commit(Change(writes), (kept.opened, edit.state))
    }
  }

  /// Changes the email address. Ends every other session, and sends the revert link to the old address.
  private func change(
    _ code: OpenedCode, _ caller: CallerSession, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    switch EmailDecision.change(code, caller, owner: facts.emailOwner, now: now) {
    case .refuse(let failure): return .refuse(failure)
    case .edit(let edit, _):
      let opened = environment.continueSession(caller.session, call: call, now: now)
      let before = caller.state.account
      var writes =
        [.session(.requireOpen(id: caller.session.id, at: now))]
        + code.spend(for: before.id, sessionID: opened.record.id, now: now) + edit.writes
      writes += [
        .session(.closeAll(accountID: before.id, except: nil, at: now, reason: .emailChanged)),
        .session(.insert(opened.record)),
        environment.audit(AuditNote(.emailChanged, accountID: before.id), call: call, now: now),
      ]
      let order = MailOrder(continueURI: code.held.continueURI, locale: code.held.locale)
      writes += environment.wayBack(to: before, order, call, now)
      writes += environment.notices(.emailChanged, to: edit.state, now: now)
      writes += remember(edit.state.account, sessionID: opened.record.id, call, now)
      return .commit(Change(writes), (opened, edit.state))
    }
  }

  private func remember(
    _ account: AccountRecord, sessionID: String?, _ call: CallFacts, _ now: Timestamp
  ) -> [Write] {
    environment.remember([account.email ?? ""], accountID: account.id, sessionID: sessionID, call, now)
  }

  /// Reverts an email change. Needs no session: the owner of the old verified address can no longer sign in with it.
  private func revert(_ proof: EmailProof, _ query: Query, _ call: CallFacts) async throws -> EmailConfirmed {
    let facts = try await environment.load(query)
    let settled = try await environment.settle(query, facts, call: call) { facts, now -> Step<String> in
      let code = try open(proof, facts, call, now)
      switch EmailDecision.revert(code, facts.pendingAccount, owner: facts.emailOwner, now: now) {
      case .refuse(let failure): return .refuse(failure)
      case .edit(let edit, let details):
        let email = code.row.email ?? ""
        let change = revert(code, edit, details, squatter: facts.emailOwner, call, now)
        let remembered = environment.remember([email], accountID: edit.before.id, sessionID: nil, call, now)
        return .commit(Change(change.writes + remembered), email)
      }
    }
    switch settled {
    case .repeated(let record): return try await again(record, call)
    case .decided(let email): return EmailConfirmed(email: email)
    }
  }

  private func revert(
    _ code: OpenedCode, _ edit: AccountEdit, _ details: [String: String], squatter: AccountState?, _ call: CallFacts,
    _ now: Timestamp
  ) -> Change {
    let account = edit.before
    // First, because email addresses are unique.
    var detached: [Write] = []
    if let squatter, squatter.account.id != account.id, let email = code.row.email {
      let taken = DetachedAddress(from: squatter, verifiedBy: SignInMethods.emailLink, now: now)
      detached = taken.writes + [environment.audit(taken.note, call: call, now: now)]
      detached += environment.notices(ofDetached: email, from: taken.state, now: now)
    }
    let others = account.emailVerified ? [account.email].compactMap(\.self) : []
    // Revert links of later changes belong to the attacker. An earlier one may belong to the first owner.
    let writes: [Write] =
      code.spend(for: account.id, now: now) + edit.writes + [
        .session(.closeAll(accountID: account.id, except: nil, at: now, reason: .emailReverted)),
        .pending(.end(.revertEmail, .addressOf(account.id), createdAfter: code.row.createdAt)),
        .pending(.end(.changeEmail, .addressOf(account.id))),
        environment.audit(AuditNote(.emailReverted, accountID: account.id, details: details), call: call, now: now),
      ]
    return Change(detached + writes + environment.notices(.emailChanged, to: edit.state, others: others, now: now))
  }
}

extension PendingRecord {
  /// Whether the account has verified the email address that the code was sent to.
  fileprivate func verifies(_ state: AccountState) -> Bool {
    state.account.emailVerified && state.account.email == email
  }
}
