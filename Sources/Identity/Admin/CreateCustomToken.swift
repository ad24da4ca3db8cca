package import Store

package struct CreateCustomTokenRequest: Hashable, Sendable {
  package var accountID: String
  /// A JSON object, or empty.
  package var claimsJSON: String
  /// nil: the maximum lifetime.
  package var lifetimeMillis: Int64?

  package init(accountID: String, claimsJSON: String = "", lifetimeMillis: Int64? = nil) {
    self.accountID = accountID
    self.claimsJSON = claimsJSON
    self.lifetimeMillis = lifetimeMillis
  }
}

package struct CustomTokenGrant: Hashable, Sendable {
  package var customToken: String
  package var expiresAt: Timestamp
}

/// Signs a token for SignIn, which states that its holder is `accountID`.
///
/// The account need not exist yet: the first sign-in creates it.
package struct CreateCustomToken: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Mints the token.
  ///
  /// Any holder of the token can sign in. The audit row with its account and expiry is therefore written before the
  /// token is returned.
  package func callAsFunction(
    _ request: CreateCustomTokenRequest, _ call: CallFacts
  ) async throws -> CustomTokenGrant {
    let policy = environment.policy
    guard policy.customTokenEnabled else {
      throw Failure(.operationNotAllowed, hint: "Custom tokens are not enabled.")
    }
    guard Ids.isAccountID(request.accountID) else {
      throw Failure(.invalidField, field: "account_id", hint: "Use 1 to 128 printable ASCII characters.")
    }
    let lifetimeMillis = request.lifetimeMillis ?? policy.customTokenLifetimeMaxMillis
    guard 1000...policy.customTokenLifetimeMaxMillis ~= lifetimeMillis else {
      throw Failure(
        .invalidField, field: "lifetime", hint: "Use 1 to \(policy.customTokenLifetimeMaxMillis / 1000) seconds.")
    }
    if !request.claimsJSON.isEmpty {
      try environment.tokens.validateCustomClaims(request.claimsJSON, field: "claims_json")
    }
    var query = Query()
    query.accountID = request.accountID
    return try await environment.decideAndCommit(query, try await environment.first(query), call: call) { facts, now in
      if let closed = facts.closedAccount { return .refuse(.accountIsClosed(closed)) }
      let token = CustomToken(
        accountID: request.accountID, issuedAt: now, expiresAt: now.adding(millis: lifetimeMillis),
        claimsJSON: request.claimsJSON, cutOff: facts.account?.account.tokensValidAfter ?? Timestamp(millis: 0))
      let grant = CustomTokenGrant(
        customToken: try environment.tokens.mintCustomToken(token), expiresAt: token.expiresAt.wholeSeconds)
      let note = AuditNote(
        .customTokenCreated, accountID: request.accountID,
        details: ["expires_at_millis": "\(grant.expiresAt.millis)"])
      return .commit(Change([environment.audit(note, call: call, now: now)]), grant)
    }
  }
}

extension Failure {
  /// The id is never reused, so no token for it could sign in.
  fileprivate static func accountIsClosed(_ closed: ClosedAccountRecord) -> Failure {
    Failure(
      .accountNotFound, field: "account_id", hint: "The account was removed. Mint the token for another id.",
      metadata: closed.survivorID.isEmpty ? [:] : ["merged_into": closed.survivorID])
  }
}
