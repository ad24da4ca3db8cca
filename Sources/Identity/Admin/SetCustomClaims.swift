package import Store

/// Replaces the custom claims of an account. Its tokens contain them from the next refresh on.
package struct SetCustomClaims: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// - Parameter claimsJSON: a JSON object, or empty for none.
  package func callAsFunction(
    accountID: String, claimsJSON: String, _ call: CallFacts
  ) async throws -> AccountState {
    if !claimsJSON.isEmpty { try environment.tokens.validateCustomClaims(claimsJSON, field: "claims_json") }
    var query = Query()
    query.accountID = accountID
    return try await environment.administer(query, call) { state, _, _ in
      AdminDecision.setCustomClaims(claimsJSON, state)
    }.state
  }
}
