import Store

/// Effect of EndSession on the session that it names (SEMANTICS.md, section 8, rows E1 to E5).
enum EndSessionDecision: Hashable, Sendable {
  case refuse(Failure)
  /// The account has no open session with this id. Nothing is written.
  case unchanged
  /// - Parameter open: the sessions that must still be open when the change is applied.
  case end(SessionRecord, open: Set<String>, details: [String: String])

  /// - Parameter token: the ID token of a user. nil: an administrator asks.
  /// - Parameter facts: with the session of the token, and the named session as `otherSession`.
  static func decide(
    _ sessionID: String, for token: IDToken?, _ facts: Facts, call: CallFacts, now: Timestamp
  ) -> EndSessionDecision {
    var caller: CallerSession?
    do {
      caller = try token.map { token throws(Failure) in try SessionCheck.open(token, in: facts, call: call, now: now) }
    } catch {
      // An earlier call with this token may have ended its session. A repeat must succeed.
      let hasEnded = token?.sessionID == sessionID && [.tokenRevoked, .tokenExpired].contains(error.reason)
      return hasEnded ? .unchanged : .refuse(error)
    }
    guard let session = facts.otherSession, session.isOpen(at: now) else { return .unchanged }
    guard let caller else { return .end(session, open: [session.id], details: AdminDecision.byAdministrator) }
    guard session.accountID == caller.session.accountID else { return .unchanged }
    return .end(session, open: [caller.session.id, session.id], details: [:])
  }
}

/// Ends one session of an account. All others continue.
///
/// Requires no recent login, for the same reason as `RevokeAll`. Checks no version of the account, so that an attacker
/// who keeps changing it cannot delay the end of a stolen session.
package struct EndSession: Sendable {
  package enum Requester: Hashable, Sendable {
    case user(idToken: String)
    /// A caller with the right to `AdminService.RevokeSessions` (E5). Services rejects all others (E6).
    case administrator
  }

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns whether this call ended the session.
  package func callAsFunction(
    _ sessionID: String, for requester: Requester, _ call: CallFacts
  ) async throws -> Bool {
    let token: IDToken? =
      switch requester {
      case .user(let text): try environment.tokens.verifyIDToken(text, at: environment.clock.now())
      case .administrator: nil
      }
    var query = Query()
    query.sessionID = token?.sessionID
    query.otherSessionID = sessionID
    let facts = try await environment.first(query)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      switch EndSessionDecision.decide(sessionID, for: token, facts, call: call, now: now) {
      case .refuse(let failure): .refuse(failure)
      case .unchanged: .answer(false)
      case .end(let session, let open, let details): .commit(end(session, open: open, details, call, now), true)
      }
    }
  }

  private func end(
    _ session: SessionRecord, open: Set<String>, _ details: [String: String], _ call: CallFacts, _ now: Timestamp
  ) -> Change {
    var details = details
    details["session_id"] = session.id
    return Change(
      open.map { .session(.requireOpen(id: $0, at: now)) } + [
        .closing(session, at: now, reason: .revoked),
        environment.audit(
          AuditNote(.signedOut, accountID: session.accountID, details: details), call: call, now: now),
      ])
  }
}
