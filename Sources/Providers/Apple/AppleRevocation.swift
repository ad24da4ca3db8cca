import Store

// Apple requires that an app revokes its tokens when a user deletes the account. Each application and website of a team
// has its own client id, and the client secret is signed for that id.
extension AppleProvider {
  var revocableKinds: Set<RevocableToken.Kind> { Set(RevocableToken.Kind.allCases) }

  /// Revokes a token, or redeems an authorization code and revokes what it returned. An app that keeps no token has
  /// only the code of a new sign-in.
  func revoke(_ token: RevocableToken, at now: Timestamp) async throws {
    guard var flow = client.flow else { return try await client.revoke(token, at: now) }
    if !token.clientID.isEmpty {
      guard client.settings.clientIDs.contains(where: { $0.utf8.elementsEqual(token.clientID.utf8) }) else {
        throw ProviderRefusal.invalidParameter(name: "token.client_id", hint: "Send one of the configured client_ids.")
      }
      flow.authorization.clientID = token.clientID
    }
    let endpoints = client.settings.endpoints
    let issued = try await issued(token, by: flow, at: now)
    do {
      try await flow.revoke(issued, at: endpoints.revocation, tokenEndpoint: endpoints.token, now: now)
    } catch where token.kind == .authorizationCode {
      // The code is used up, so the client cannot repeat the call.
      try await flow.revoke(issued, at: endpoints.revocation, tokenEndpoint: endpoints.token, now: now)
    }
  }

  /// Returns the refresh token that Apple issues for a code, with which all of the user's tokens end. Returns another
  /// token unchanged.
  private func issued(
    _ token: RevocableToken, by flow: CodeFlow, at now: Timestamp
  ) async throws -> RevocableToken {
    guard token.kind == .authorizationCode else { return token }
    let state = FlowState(redirectURI: token.redirectURI, state: "", nonce: "", codeVerifier: "")
    let own = try await flow.tokens(
      for: token.text, of: state, at: client.settings.endpoints.token, by: nil, now: now).own
    return own.refreshToken.isEmpty
      ? RevocableToken(own.accessToken, .accessToken) : RevocableToken(own.refreshToken, .refreshToken)
  }
}
