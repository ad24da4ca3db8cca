import Store

/// Verification of the redirect that ends a flow (step 4).
extension Environment {
  /// Verifies the redirect and redeems its authorization code.
  ///
  /// The flow is used up before its code is redeemed, so of two calls with the same redirect only one reaches the
  /// provider. After a failure there, the user starts a new flow (check 67).
  /// - Parameter account: the account of the session that makes the call; nil: a sign-in.
  func verify(
    _ response: AuthorizationResponse, ending purpose: FlowPurpose, account: String? = nil, _ call: CallFacts
  ) async throws -> VerifiedCredential {
    var query = Query()
    query.pending = try flowDigest(response.flowID)
    let facts = try await first(query)
    let (flow, parameters) = try await decideAndCommit(query, facts, call: call, commitDecision: CommitDecision()) {
      facts, now -> Step<Redirect> in
      try spend(response, ending: purpose, account: account ?? "", facts.pending, call, now)
    }
    // The operator may have removed the provider from the configuration after the flow started.
    let providerID = flow.order.providerID
    guard policy.enabledProviderIDs.contains(providerID) else { throw Failure.notEnabled(providerID) }
    let verified: VerifiedCredential
    do {
      verified = try await providers.finish(flow, with: parameters, at: clock.now())
    } catch var failure as Failure {
      failure.providerID = providerID
      throw failure.retryAfterMillis == nil ? failure : failure.endingFlow
    }
    guard verified.assertion.identity.providerID == providerID else {
      throw Failure.flowMismatch("the adapter returned an identity of another provider")
    }
    try requireFreshLogin(verified, of: flow)
    return verified
  }

  /// A flow and the parameters of its redirect.
  private typealias Redirect = (flow: PendingFlow, parameters: [String: String])

  private func spend(
    _ response: AuthorizationResponse, ending purpose: FlowPurpose, account: String, _ record: PendingRecord?,
    _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> Step<Redirect> {
    let (row, flow) = try openFlow(record, call: call, now: now)
    call.notes?.presents(flow.order.providerID)
    func mismatch(_ debug: String) -> Step<Redirect> {
      .refuse(.flowMismatch(debug), writing: Change([.pending(.countAttempt(row.digest))]))
    }
    guard flow.purpose == purpose, flow.accountID == account else {
      return mismatch("started for another purpose or account")
    }
    guard let parameters = CallbackURI.parameters(of: response.callbackURI, at: flow.order.redirectURI) else {
      return mismatch("not a redirect to the flow's redirect URI")
    }
    guard !flow.stateIsEchoed || isState(parameters["state"], of: flow) else {
      return mismatch("missing or wrong state")
    }
    let spent = Write.pending(.complete(row.digest, version: row.version, at: now, accountID: "", sessionID: ""))
    return .commit(Change([spent]), (flow, parameters))
  }

  private func flowDigest(_ handle: String) throws(Failure) -> Digest {
    do { return try pendingDigest(handle) } catch { throw Failure.flowMismatch("malformed flow id") }
  }

  private func isState(_ presented: String?, of flow: PendingFlow) -> Bool {
    guard let presented else { return false }
    return cryptography.equal(Array(presented.utf8), Array(flow.order.state.utf8))
  }

  /// Checks the provider's `auth_time` if the flow required a fresh login (OpenID Connect Core, 3.1.2.1).
  private func requireFreshLogin(_ verified: VerifiedCredential, of flow: PendingFlow) throws(Failure) {
    guard flow.order.freshLogin, let authenticatedAt = verified.authenticatedAt else { return }
    guard authenticatedAt.adding(millis: Environment.clockSkewMillis) >= flow.startedAt else {
      throw Failure(
        .requiresRecentLogin, field: Failure.flowField, hint: "The login was not fresh; start the flow again.")
    }
  }
}

extension Failure {
  /// The failure without a retry delay: the flow is used up, so the same call cannot succeed later.
  fileprivate var endingFlow: Failure {
    var failure = self
    failure.retryAfterMillis = nil
    failure.hint = "The provider is unavailable; start the flow again later."
    return failure
  }
}
