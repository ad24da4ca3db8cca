import Store

/// Ends every session of an account and invalidates its earlier custom tokens.
package struct RevokeSessions: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns how many sessions were open.
  package func callAsFunction(accountID: String, _ call: CallFacts) async throws -> Int {
    var query = Query()
    query.accountID = accountID
    query.openSessions = OpenSessionsQuery(accountID: accountID, at: environment.clock.now(), most: 0)
    let (_, facts) = try await environment.administer(query, call) { state, facts, now in
      AdminDecision.revokeSessions(state, open: facts.openSessionCount, now: now)
    }
    return facts.openSessionCount
  }
}
