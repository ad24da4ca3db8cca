package import Store

/// Disables or enables an account.
package struct SetDisabled: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    accountID: String, disabled: Bool, _ call: CallFacts
  ) async throws -> AccountState {
    var query = Query()
    query.accountID = accountID
    let (state, _) = try await environment.administer(query, call) { state, _, now in
      AdminDecision.setDisabled(disabled, state, now: now)
    }
    return state
  }
}
