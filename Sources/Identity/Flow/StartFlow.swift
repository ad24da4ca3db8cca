import Encodings
package import Store

package struct FlowStarted: Hashable, Sendable {
  /// The secret id of the flow. The authorization URL does not contain it, so the URL alone cannot end the flow.
  package var flowID: String
  package var authorizationURL: String
  package var responseMode: StartedFlow.ResponseMode
  package var expiresAt: Timestamp
}

/// Starts a flow and returns the provider's URL for the user's browser.
package struct StartFlow: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: StartFlowRequest, _ call: CallFacts) async throws -> FlowStarted {
    try call.requireBinding(environment.policy)
    try check(request, call)
    let (accountID, admitted) = try await admit(request, call)
    let order = FlowOrder(
      providerID: request.providerID, redirectURI: request.redirectURI, scopes: request.scopes,
      parameters: request.parameters, loginHint: request.loginHint, freshLogin: request.purpose == .reauthenticate,
      state: randomText(), nonce: randomText(), codeVerifier: randomText())
    let started = try await environment.providers.start(order, at: environment.clock.now())
    // The lifetime starts here, so that a slow provider does not shorten the user's time.
    let now = environment.clock.now()
    let flow = PendingFlow(
      order, purpose: request.purpose, accountID: accountID, startedAt: now, stateIsEchoed: started.stateIsEchoed,
      kept: started.kept)
    let pending = environment.hold(flow, call: call, now: now)
    let commit = Change(
      admitted.count(at: now) + [.pending(.insert(pending.record, limits: environment.policy.pendingLimits))])
    return try await environment.decideAndCommit(Query(), Facts(), call: call) { _, _ in
      .commit(
        commit,
        FlowStarted(
          flowID: pending.handle, authorizationURL: started.authorizationURL, responseMode: started.responseMode,
          expiresAt: pending.record.expiresAt))
    }
  }

  private func check(_ request: StartFlowRequest, _ call: CallFacts) throws {
    guard environment.policy.enabledProviderIDs.contains(request.providerID) else {
      throw Failure(.operationNotAllowed, field: "provider_id", hint: "The provider is not enabled.")
    }
    guard environment.providers.flowProviderIDs.contains(request.providerID) else {
      throw Failure(.operationNotAllowed, field: "provider_id", hint: "The provider is not configured for flows.")
    }
    try call.requireRedirect(request.redirectURI, field: "redirect_uri")
  }

  /// Rejects a throttled call before it reaches the provider or writes a row. Returns the session's account, or an
  /// empty id for a sign-in.
  private func admit(
    _ request: StartFlowRequest, _ call: CallFacts
  ) async throws -> (accountID: String, attempt: AdmittedAttempt) {
    var query = Query()
    let token = try sessionToken(of: request)
    query.sessionID = token?.sessionID
    let throttle = environment.throttle(token == nil ? .flowStarts : .sessionFlowStarts, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    let now = environment.clock.now()
    let attempt = try throttle.admit(facts, now: now)
    guard let token else { return ("", attempt) }
    return (try SessionCheck.open(token, in: facts, call: call, now: now).state.account.id, attempt)
  }

  private func sessionToken(of request: StartFlowRequest) throws -> IDToken? {
    guard request.purpose == .signIn else {
      return try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    }
    guard request.idToken.isEmpty else {
      throw Failure(.invalidField, field: "id_token", hint: "Omit id_token for a sign-in flow.")
    }
    return nil
  }

  /// Returns 43 random characters of base64url. A code verifier has 43 to 128 characters (RFC 7636, 4.1).
  private func randomText() -> String { Base64URL.encode(environment.randomness.bytes(32)) }
}
