import Store

/// Removes an account with everything that hangs on it, for who cannot sign in to do it.
package struct EraseAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(accountID: String, _ call: CallFacts) async throws {
    var query = Query()
    query.accountID = accountID
    _ = try await environment.administer(query, call) { state, _, now in
      AdminDecision.erase(state, now: now)
    }
  }
}
