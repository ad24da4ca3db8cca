package import Store

package struct SessionCookie: Hashable, Sendable {
  package var text: String
  package var expiresAt: Timestamp
  package var sessionID: String
}

/// Whether a session may get a cookie, and until when (SEMANTICS.md, section 8, rows C1 to C3).
enum SessionCookieDecision {
  /// Returns when the cookie ends.
  ///
  /// Its session has no refresh token, so it ends when a session without use would end. It never outlives the login of
  /// the session of the call.
  /// - Parameter own: the session of the cookie. Its caller may have other rules than that of the session of the call.
  static func end(
    of own: SessionRecord, beside caller: CallerSession, validForMillis: Int64, policy: Policy, now: Timestamp
  ) throws(Failure) -> Timestamp {
    try SessionCheck.requireRecentLogin(caller, for: .createSessionCookie, policy: policy, now: now)
    try SessionCheck.requireSecondFactor(caller)
    let limits = policy.sessionLimits(secondFactor: caller.session.secondFactor)
    let end = min(now.adding(millis: min(validForMillis, limits.idleMillis)), caller.session.expiresAt)
    // No refresh would restrict the cookie later (F13).
    switch policy.secondFactorDuty(of: own, caller.state, now: now) {
    case .none: return end.wholeSeconds
    case .due(let due): return min(end, due).wholeSeconds
    case .overdue: throw .sessionIsRestricted
    }
  }

  static func requireEnabled(_ policy: Policy) throws(Failure) {
    guard policy.sessionCookiesEnabled else {
      throw Failure(.operationNotAllowed, hint: "Ask the operator to set tokens.session_cookies.")
    }
  }
}

/// Creates a session cookie: a long token for the browser of a web server's user, with a session of its own.
package struct CreateSessionCookie: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    idToken: String, validForMillis: Int64, _ call: CallFacts
  ) async throws -> SessionCookie {
    try SessionCookieDecision.requireEnabled(environment.policy)
    if let record = try await environment.recorded(call) { return try await repeated(record) }
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.look(for: call.idempotency)
    query.sessionID = token.sessionID
    let throttle = environment.throttle(.changes, of: token.accountID, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    try environment.tokens.requireSigningKey(at: environment.clock.now())
    let settled = try await environment.settle(query, facts, call: call) {
      facts, now -> Step<(SessionRecord, AccountState)> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      let admitted = try throttle.admit(facts, now: now)
      // For the same login. The server returns its refresh token to no caller.
      var own = environment.continueSession(caller.session, call: call, now: now).record
      let end = try SessionCookieDecision.end(
        of: own, beside: caller, validForMillis: validForMillis, policy: environment.policy, now: now)
      (own.idleExpiresAt, own.expiresAt) = (end, end)
      return .commit(change(own, caller, counting: admitted.count(at: now), call, now), (own, caller.state))
    }
    switch settled {
    case .repeated(let record): return try await repeated(record)
    case .decided(let (session, state)): return try cookie(session, state)
    }
  }

  /// Answers a repeat with a fresh cookie of the same session, which ends with that session.
  private func repeated(_ record: IdempotencyRecord) async throws -> SessionCookie {
    var query = Query()
    query.sessionID = record.sessionID
    let facts = try await environment.load(query)
    let live = try SessionCheck.live(facts.session, facts.sessionAccount, now: environment.clock.now())
    return try cookie(live.session, live.state)
  }

  private func cookie(_ session: SessionRecord, _ state: AccountState) throws -> SessionCookie {
    var claims = environment.claims(for: session, state, now: environment.clock.now())
    claims.expiresAt = session.expiresAt
    return SessionCookie(
      text: try environment.tokens.mintSessionCookie(claims), expiresAt: session.expiresAt, sessionID: session.id)
  }

  private func change(
    _ session: SessionRecord, _ caller: CallerSession, counting counts: [Write], _ call: CallFacts, _ now: Timestamp
  ) -> Change {
    let note = AuditNote(
      .sessionCookieCreated, accountID: session.accountID,
      details: ["session_id": session.id, "expires_at_millis": String(session.expiresAt.millis)])
    return Change(
      [.session(.requireOpen(id: caller.session.id, at: now))] + counts + [
        .session(.insert(session)), environment.audit(note, call: call, now: now),
      ]
        + call.remember(
          "session_cookie", accountID: session.accountID, sessionID: session.id, policy: environment.policy, now: now))
  }
}
