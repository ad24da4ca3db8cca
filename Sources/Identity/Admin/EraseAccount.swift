import Store

/// Deletes an account and all of its data, for a user who cannot sign in to do it.
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
