import Store

/// Exchanges a refresh token for new tokens and spends the presented one (RFC 9700 4.14.2).
package struct Refresh: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ refreshToken: String, _ call: CallFacts) async throws -> SessionGrant {
    let cryptography = environment.cryptography
    guard let presented = RefreshToken(refreshToken, cryptography) else {
      throw Failure(.invalidRefreshToken, hint: "Sign in again.")
    }
    var query = Query()
    query.sessionID = presented.sessionID
    query.lastSignInMayLag = true
    query.look(for: call.idempotency)
    let facts = try await environment.first(query)
    let result = try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      // An untyped throw, as in `recorded`.
      let record = try call.recorded(in: facts, at: now)
      return decide(presented, facts, call, now, isRepeat: record != nil)
    }
    switch result {
    case .opened(let session, let state):
      return try await environment.grant(session, state, now: environment.clock.now())
    }
  }

  /// Indirect, because the frames that it passes through would each reserve memory for it.
  private enum Result: Sendable {
    indirect case opened(OpenedSession, AccountState)
  }

  /// Not inlined, because it would then take memory in the call's task, which is allocated for each call.
  @inline(never)
  private func decide(
    _ presented: RefreshToken, _ facts: Facts, _ call: CallFacts, _ now: Timestamp, isRepeat: Bool
  ) -> Step<Result> {
    if let account = facts.sessionAccount?.account { call.notes?.concerns(account.id) }
    let decision = RefreshDecision.decide(
      presented, facts, caller: call.caller, policy: environment.policy, now: now, environment.cryptography,
      isRepeat: isRepeat)
    return switch decision {
    case .refuse(let failure): .refuse(failure)
    case .endFamily(let live): endFamily(live, call, now)
    case .repeatAnswer(let token, let live): repeatAnswer(token, live, isRepeat ? [] : remember(live, call, now), now)
    case .rotate(let token, let live): rotate(to: token, live, isRepeat ? [] : remember(live, call, now), now)
    case .goOn(let live): environment.repeating(live, now: now).map { Result.opened($0.0, $0.1) }
    }
  }

  private func remember(_ live: CallerSession, _ call: CallFacts, _ now: Timestamp) -> [Write] {
    call.remember(
      "refreshed", accountID: live.state.account.id, sessionID: live.session.id, policy: environment.policy, now: now)
  }

  private func repeatAnswer(
    _ token: RefreshToken, _ live: CallerSession, _ remembered: [Write], _ now: Timestamp
  ) -> Step<Result> {
    guard !remembered.isEmpty else { return .answer(opened(token, live)) }
    // No digest: if another refresh spends this token first, a new decision would take the presented token for a copy
    // and end the session.
    return .commit(Change([.session(.requireOpen(id: live.session.id, at: now))] + remembered), opened(token, live))
  }

  private func opened(_ token: RefreshToken, _ live: CallerSession) -> Result {
    .opened(
      OpenedSession(record: live.session, refreshToken: token.text(environment.cryptography)), live.state)
  }

  /// Moves the session to the next token. `auth_time` stays, because a refresh is not a login (check 87).
  private func rotate(
    to token: RefreshToken, _ live: CallerSession, _ remembered: [Write], _ now: Timestamp
  ) -> Step<Result> {
    var next = live
    next.session.idleExpiresAt = now.adding(
      millis: environment.policy.sessionLimits(secondFactor: next.session.secondFactor).idleMillis)
    let change = Change([
      .account(.confirm(id: live.state.account.id, version: live.state.account.version)),
      .session(.rotate(
        id: live.session.id, from: live.session.refreshDigest, to: token.digest(environment.cryptography), at: now,
        idleExpiresAt: next.session.idleExpiresAt)),
    ] + remembered)
    return .commit(change, opened(token, next))
  }

  private func endFamily(_ live: CallerSession, _ call: CallFacts, _ now: Timestamp) -> Step<Result> {
    let note = AuditNote(
      .refreshReplayed, accountID: live.state.account.id, details: ["session_id": live.session.id])
    let change = Change([
      .session(.requireOpen(id: live.session.id, at: now)),
      .closing(live.session, at: now, reason: .refreshReplayed),
      environment.audit(note, call: call, now: now),
    ])
    return .refuse(Failure(.tokenRevoked, hint: "Sign in again."), writing: change)
  }
}
