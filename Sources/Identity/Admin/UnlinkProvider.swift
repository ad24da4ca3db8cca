package import Store

/// Takes a way of signing in from an account, also the last one: for a person whom the provider knows by another
/// subject now, or where it is in wrong hands.
package struct UnlinkProvider: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// The account as it is then.
  package func callAsFunction(
    accountID: String, providerID: String, _ call: CallFacts
  ) async throws -> AccountState {
    var query = Query()
    query.accountID = accountID
    let (state, _) = try await environment.administer(query, call) { state, _, now in
      AdminDecision.unlink(
        providerID, state, policy: environment.policy,
        notices: { environment.notices(ofUnlinked: providerID, by: $0, now: now) }, now: now)
    }
    return state
  }
}
