import Crypto
import HTTPClient
import Store
import Tokens

extension CodeFlow {
  /// Creates the flow of an OpenID Connect provider; nil if flows are not configured. The flow always has the scope
  /// `openid`, which OpenID Connect requires (Core 3.1.2.1), regardless of the configuration.
  static func openID(
    _ settings: ProviderSettings, proof: ClientProof? = nil, fetching: any HTTPSFetching
  ) throws(ProviderSettingsError) -> CodeFlow? {
    guard settings.client.isConfigured else { return nil }
    let proof = if let proof { proof } else { try settings.clientProof() }
    var flow = CodeFlow(settings, proof: proof, fetching: fetching)
    if !settings.scopes.contains("openid") { flow.authorization.basicScopes.insert("openid", at: 0) }
    flow.authorization.sendsNonce = true
    flow.authorization.freshLogin = settings.freshLogin.parameters
    return flow
  }
}

extension OIDCClient {
  /// The provider's endpoints, and the required sender of its responses.
  struct Places {
    var endpoints: Endpoints
    var sender: AuthorizationResponse.Sender
    /// nil: the flow's own.
    var proof: ClientProof?
  }

  func start(_ request: FlowRequest, at now: Timestamp) async throws -> StartedFlow {
    guard let flow else { throw ProviderRefusal.notEnabled }
    return try flow.start(request, at: try await places(at: now).endpoints.authorization)
  }

  /// - Parameter check: the provider's additional rules for the ID token of this flow.
  func finish(
    _ callback: Callback, of state: FlowState, at now: Timestamp,
    check: @Sendable (ProviderClaims) throws(ProviderRefusal) -> Void = { _ in }
  ) async throws -> VerifiedToken {
    guard let flow else { throw ProviderRefusal.notEnabled }
    let places = try await places(at: now)
    let answer = try await flow.redeem(
      callback, of: state, from: places.sender, at: places.endpoints.token, by: places.proof, now: now)
    guard !answer.own.idToken.isEmpty else {
      throw ProviderRefusal.refused(why: "no usable ID token came with the access token")
    }
    let verified = try await claims(
      answer.own.idToken, accessToken: answer.own.accessToken, code: callback["code"], at: now)
    // Another of our clients is a valid audience of a presented token, but not of a token that we requested.
    guard verified.claims.audiences.contains(where: { $0.utf8.elementsEqual(flow.authorization.clientID.utf8) }) else {
      throw ProviderRefusal.invalid(why: TokenRefusal.audience.rawValue)
    }
    if places.sender.issuer == nil, let sender = callback["iss"],
      !sender.utf8.elementsEqual(verified.claims.issuer.utf8)
    {
      throw ProviderRefusal.flowMismatch(why: "the response has another issuer")
    }
    try checkFlowNonce(verified.claims.nonce, of: state)
    try check(verified.claims)
    let profile = try await profile(of: verified, from: places.endpoints.profile, answer.own.accessToken, flow, at: now)
    // The caller receives the token and must not present it as a token of an SDK.
    return VerifiedToken(
      assertion: assertion(verified, profile: profile), toSpend: toSpend(verified.claims, of: answer.own.idToken),
      own: answer.own,
      authenticatedAt: OIDCClient.authenticatedAt(verified.claims, at: now))
  }

  /// Checks the nonce (OpenID Connect Core 3.1.3.7, 11). We sent the raw nonce, so its hash is not accepted.
  private func checkFlowNonce(_ claim: String?, of state: FlowState) throws(ProviderRefusal) {
    guard let claim else {
      guard !settings.flowNonceIsRequired else { throw .missingOrInvalidNonce }
      return
    }
    guard !state.nonce.isEmpty, constantTimeEquals(Array(claim.utf8), Array(state.nonce.utf8)) else {
      throw .missingOrInvalidNonce
    }
  }

  private func claims(_ token: String, accessToken: String, code: String?, at now: Timestamp) async throws -> Verified {
    try await fetchingKeys(at: now) { () throws(ProviderRefusal) in
      try claimsNow(token, accessToken: accessToken, code: code, at: now)
    }
  }

  func places(at now: Timestamp) async throws -> Places {
    let (endpoints, metadata) = try await served(at: now)
    for (name, setting, url) in [
      ("authorization_endpoint", "authorization_url", endpoints.authorization),
      ("token_endpoint", "token_url", endpoints.token),
    ] where url.isEmpty {
      throw ProviderRefusal.misconfigured(
        why: "the discovery document names no https \(name)", fix: "Set `\(setting)`.")
    }
    let mustSay = settings.requireResponseIssuer || metadata?.responsesNameIssuer == true
    // With several tenants, only the ID token shows which one answers.
    let known = issuer.contains(ProviderTokenRules.tenantPlaceholder) ? nil : issuer
    return Places(
      endpoints: endpoints, sender: .init(issuer: known, mustSay: mustSay), proof: try proof(for: metadata))
  }

  /// Returns the proof for the method that the metadata names for the token endpoint. Returns nil if the configuration
  /// sets the method or the endpoint.
  func proof(for metadata: ProviderMetadata?) throws(ProviderRefusal) -> ClientProof? {
    guard settings.endpoints.token.isEmpty, !settings.client.authenticationIsSet,
      let methods = metadata?.tokenAuthentication
    else { return nil }
    return try flow?.proof.fitting(methods)
  }

  /// Returns the configured endpoints, then those that the provider names. With discovery the metadata is always read.
  /// It may announce that responses name their issuer, which must be known before a code is sent anywhere.
  func served(at now: Timestamp) async throws -> (endpoints: Endpoints, metadata: ProviderMetadata?) {
    guard case .discovery = settings.keys else { return (settings.endpoints, nil) }
    let metadata = try await metadata(at: now)
    var endpoints = settings.endpoints
    func fill(_ endpoint: inout String, _ said: String) { if endpoint.isEmpty { endpoint = said } }
    fill(&endpoints.authorization, metadata.endpoints.authorization)
    fill(&endpoints.token, metadata.endpoints.token)
    fill(&endpoints.profile, metadata.endpoints.profile)
    fill(&endpoints.revocation, metadata.endpoints.revocation)
    return (endpoints, metadata)
  }

  private func metadata(at now: Timestamp) async throws -> ProviderMetadata {
    if let metadata = keys.view(at: now).metadata { return metadata }
    await keys.refresh(at: now)
    let view = keys.view(at: now)
    if let metadata = view.metadata { return metadata }
    guard case .failed(let failure) = view.ifMissing else {
      throw ProviderRefusal.unavailable(why: "the metadata expired before it could be used")
    }
    throw failure.refusal
  }
}
