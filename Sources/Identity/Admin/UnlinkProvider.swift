package import Store

/// Removes a sign-in method of an account, even the last one.
///
/// For a user whom the provider knows by another subject now, or for a method in the wrong hands.
package struct UnlinkProvider: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the account after the change.
  package func callAsFunction(
    accountID: String, providerID: String, subject: String = "", _ call: CallFacts
  ) async throws -> AccountState {
    var query = Query()
    query.accountID = accountID
    let (state, _) = try await environment.administer(query, call) { state, _, now in
      AdminDecision.unlink(
        providerID, subject: subject, state, policy: environment.policy,
        notices: { environment.notices(ofUnlinked: providerID, by: $0, now: now) }, now: now)
    }
    return state
  }
}
