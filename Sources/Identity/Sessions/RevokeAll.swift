import Store

/// Ends every session of the account, including the caller's.
///
/// Requires no recent login. A user who fears that a session was stolen must be able to end it. An attacker can only
/// sign the user out this way.
package struct RevokeAll: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns how many sessions were open.
  package func callAsFunction(idToken: String, _ call: CallFacts) async throws -> Int {
    let now = environment.clock.now()
    let token = try environment.tokens.verifyIDToken(idToken, at: now)
    var query = Query()
    query.sessionID = token.sessionID
    query.openSessions = OpenSessionsQuery(accountID: token.accountID, at: now, most: 0)
    let facts = try await environment.first(query)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: now)
      return decide(caller, open: facts.openSessionCount, call, now)
    }
  }

  /// Writes the end of the sessions. Earlier custom tokens become invalid, too.
  ///
  /// A session that is opened between the count and the commit also ends, uncounted.
  private func decide(_ caller: CallerSession, open count: Int, _ call: CallFacts, _ now: Timestamp) -> Step<Int> {
    let accountID = caller.state.account.id
    let note = AuditNote(.sessionsRevoked, accountID: accountID, details: ["closed": String(count)])
    let (_, writes) = caller.state.cutOff(at: now, reason: .revoked)
    let change = Change(
      [.session(.requireOpen(id: caller.session.id, at: now))] + writes + [
        environment.audit(note, call: call, now: now)
      ])
    return .commit(change, count)
  }
}
