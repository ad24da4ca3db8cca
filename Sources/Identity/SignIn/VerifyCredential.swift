import Store

/// Verification of a credential, step 4 of each call. It is complete and writes nothing.
extension Environment {
  func verify(_ token: ProviderToken) async throws -> VerifiedCredential {
    guard policy.enabledProviderIDs.contains(token.providerID) else {
      throw Failure.notEnabled(token.providerID, field: "credential.provider_token.provider_id")
    }
    return try await providers.verify(token, at: clock.now())
  }

  func verify(customToken text: String) throws -> CustomToken {
    guard policy.customTokenEnabled else { throw Failure.notEnabled("custom token", field: "credential.custom_token") }
    let token = try tokens.verifyCustomToken(text, at: clock.now())
    guard Ids.isAccountID(token.accountID),
      token.expiresAt.millis - token.issuedAt.millis <= policy.customTokenLifetimeMaxMillis
    else { throw Failure(.invalidCustomToken, field: CustomToken.field) }
    if !token.claimsJSON.isEmpty { try tokens.validateCustomClaims(token.claimsJSON, field: CustomToken.field) }
    return token
  }
}
