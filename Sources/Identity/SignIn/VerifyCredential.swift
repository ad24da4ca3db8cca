import Store

/// Step 4 of every call with a credential: complete, and with nothing written.
extension Environment {
  func verify(_ token: ProviderToken) async throws -> VerifiedCredential {
    guard policy.enabledProviderIDs.contains(token.providerID) else { throw Failure.notEnabled(token.providerID) }
    return try await providers.verify(token, at: clock.now())
  }

  func verify(customToken text: String) throws -> CustomToken {
    guard policy.customTokenEnabled else { throw Failure.notEnabled("custom token") }
    let token = try tokens.verifyCustomToken(text, at: clock.now())
    guard Ids.isAccountID(token.accountID),
      token.expiresAt.millis - token.issuedAt.millis <= policy.customTokenLifetimeMaxMillis
    else { throw Failure(.invalidCustomToken, field: "credential") }
    if !token.claimsJSON.isEmpty { try tokens.validateCustomClaims(token.claimsJSON, field: "credential") }
    return token
  }
}
