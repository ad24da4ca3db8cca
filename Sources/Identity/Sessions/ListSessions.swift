package import Store

/// An open session in the list of its account.
package struct ListedSession: Hashable, Sendable {
  package var session: SessionRecord
  /// Whether it is the session of the call.
  package var isCurrent: Bool
}

/// The open sessions of the account, latest first, so that users can find sessions that they did not open.
package struct ListSessions: Reading {
  private let environment: Environment
  private let call: CallFacts
  private let token: IDToken
  package let query: Query

  package init(_ environment: Environment, idToken: String, _ call: CallFacts) throws {
    self.environment = environment
    self.call = call
    let now = environment.clock.now()
    token = try environment.tokens.verifyIDToken(idToken, at: now)
    var query = Query()
    query.sessionID = token.sessionID
    query.openSessions = OpenSessionsQuery(
      accountID: token.accountID, at: now, most: environment.policy.sessionsListedMax)
    self.query = query
  }

  package func answer(_ facts: Facts) throws -> [ListedSession] {
    let caller = try SessionCheck.open(token, in: facts, call: call, now: environment.clock.now())
    return facts.openSessions.map { ListedSession(session: $0, isCurrent: $0.id == caller.session.id) }
  }
}
