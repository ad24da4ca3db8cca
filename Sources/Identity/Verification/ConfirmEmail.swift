import Store

package struct EmailConfirmed: Hashable, Sendable {
  package var email: String
  /// Fresh tokens, where the call was made in a session.
  package var session: SessionGrant?
}

/// Redeems the code of a verification, of a change of address, or of the way back from one.
package struct ConfirmEmail: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(code: String, idToken: String, _ call: CallFacts) async throws -> EmailConfirmed {
    var query = Query()
    query.pending = try environment.codeDigest(code, field: "code")
    let facts = try await environment.first(query)
    let opened = try open(facts, call, environment.clock.now())
    query.email = opened.row.email
    if opened.row.purpose == .revertEmail { return try await revert(query, call) }
    // Section 3.5: without a session of the account, a stranger who registered the address would be waiting behind its
    // owner's own click.
    guard !idToken.isEmpty else {
      throw Failure(
        .requiresRecentLogin, field: "id_token", hint: "Sign in to the account, and follow the link again.")
    }
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    query.sessionID = token.sessionID
    let loaded = try await environment.load(query)
    let (session, state) = try await environment.decideAndCommit(query, loaded, call: call) { facts, now in
      let opened = try open(facts, call, now)
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      return opened.row.purpose == .changeEmail
        ? change(opened, caller, facts, call, now) : verify(opened, caller, call, now)
    }
    let grant = try await environment.grant(session, state, now: environment.clock.now())
    return EmailConfirmed(email: state.account.email ?? "", session: grant)
  }

  private typealias Result = (OpenedSession, AccountState)

  private func open(_ facts: Facts, _ call: CallFacts, _ now: Timestamp) throws(Failure) -> OpenedCode {
    try environment.openCode(
      facts.pending, [.verifyEmail, .changeEmail, .revertEmail], isBound: false, field: "code", call: call, now: now)
  }

  /// The session of the call stays open beside the new one, as after Link.
  private func verify(
    _ code: OpenedCode, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    switch EmailDecision.verify(code, caller, now: now) {
    case .refuse(let failure): return .refuse(failure)
    case .edit(let edit, _):
      let opened = environment.continueSession(caller.session, call: call, now: now)
      let accountID = caller.state.account.id
      let writes =
        [.guardSession(id: caller.session.id, at: now)]
        + [code.spend(for: accountID, sessionID: opened.record.id, now: now)] + edit.writes
        + [
          .insertSession(opened.record),
          environment.audit(AuditNote(.emailVerified, accountID: accountID), call: call, now: now),
        ]
      return .commit(Change(writes), (opened, edit.state))
    }
  }

  /// Every other session is over, and the old address gets the way back.
  private func change(
    _ code: OpenedCode, _ caller: CallerSession, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    switch EmailDecision.change(code, caller, owner: facts.emailOwner, now: now) {
    case .refuse(let failure): return .refuse(failure)
    case .edit(let edit, _):
      let opened = environment.continueSession(caller.session, call: call, now: now)
      let before = caller.state.account
      var writes =
        [.guardSession(id: caller.session.id, at: now)]
        + [code.spend(for: before.id, sessionID: opened.record.id, now: now)] + edit.writes
      writes += [
        .closeSessions(accountID: before.id, except: nil, at: now, reason: "email_changed"),
        .insertSession(opened.record),
        environment.audit(AuditNote(.emailChanged, accountID: before.id), call: call, now: now),
      ]
      let order = MailOrder(continueURI: code.held.continueURI, locale: code.held.locale)
      writes += environment.wayBack(to: before, order, call, now)
      writes += environment.notices(.emailChanged, to: edit.state, now: now)
      return .commit(Change(writes), (opened, edit.state))
    }
  }

  /// Needs no session: who holds the proved address of before cannot sign in by it any more.
  private func revert(_ query: Query, _ call: CallFacts) async throws -> EmailConfirmed {
    let facts = try await environment.load(query)
    let email = try await environment.decideAndCommit(query, facts, call: call) { facts, now -> Step<String> in
      let code = try open(facts, call, now)
      switch EmailDecision.revert(code, facts.pendingAccount, owner: facts.emailOwner, now: now) {
      case .refuse(let failure): return .refuse(failure)
      case .edit(let edit, let details):
        return .commit(revert(code, edit, details, squatter: facts.emailOwner, call, now), code.row.email ?? "")
      }
    }
    return EmailConfirmed(email: email)
  }

  private func revert(
    _ code: OpenedCode, _ edit: AccountEdit, _ details: [String: String], squatter: AccountState?, _ call: CallFacts,
    _ now: Timestamp
  ) -> Change {
    let account = edit.before
    // First, since the address is unique.
    var detached: [Write] = []
    if let squatter, squatter.account.id != account.id, let email = code.row.email {
      let taken = DetachedAddress(from: squatter, provedBy: WaysIn.emailLink, now: now)
      detached = taken.writes + [environment.audit(taken.note, call: call, now: now)]
      detached += environment.notices(ofDetached: email, from: taken.state, now: now)
    }
    let others = account.emailProved ? [account.email].compactMap(\.self) : []
    // The ways back that were mailed for later changes are the thief's; an earlier one may be the first owner's.
    let writes: [Write] =
      [code.spend(for: account.id, now: now)] + edit.writes + [
        .closeSessions(accountID: account.id, except: nil, at: now, reason: "email_reverted"),
        .endPendings(.revertEmail, .addressOf(account.id), createdAfter: code.row.createdAt),
        .endPendings(.changeEmail, .addressOf(account.id)),
        environment.audit(AuditNote(.emailReverted, accountID: account.id, details: details), call: call, now: now),
      ]
    return Change(detached + writes + environment.notices(.emailChanged, to: edit.state, others: others, now: now))
  }
}
