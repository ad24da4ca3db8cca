import Store

/// Step 4 for the redirect that ends a flow.
extension Environment {
  /// The flow is spent before its code is redeemed: of two callers with one redirect, one alone reaches the provider,
  /// and what fails there is begun anew by the person (check 67).
  /// - Parameter account: whose session the call is made in; nil: a sign-in.
  func verify(
    _ response: AuthorizationResponse, ending purpose: FlowPurpose, account: String? = nil, _ call: CallFacts
  ) async throws -> VerifiedCredential {
    var query = Query()
    query.pending = try flowDigest(response.flowID)
    let facts = try await first(query)
    let (flow, parameters) = try await decideAndCommit(query, facts, call: call, fate: Fate()) {
      facts, now -> Step<Redirect> in
      try spend(response, ending: purpose, account: account ?? "", facts.pending, call, now)
    }
    // The provider may have been taken out of the configuration meanwhile.
    guard policy.enabledProviderIDs.contains(flow.order.providerID) else {
      throw Failure.notEnabled(flow.order.providerID)
    }
    let verified: VerifiedCredential
    do {
      verified = try await providers.finish(flow, with: parameters, at: clock.now())
    } catch let failure as Failure {
      throw failure.retryAfterMillis == nil ? failure : failure.endingFlow
    }
    guard verified.assertion.identity.providerID == flow.order.providerID else {
      throw Failure.flowMismatch("the adapter answered for another provider")
    }
    try requireFreshLogin(verified, of: flow)
    return verified
  }

  /// A flow and what came back for it.
  private typealias Redirect = (flow: HeldFlow, parameters: [String: String])

  private func spend(
    _ response: AuthorizationResponse, ending purpose: FlowPurpose, account: String, _ record: PendingRecord?,
    _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> Step<Redirect> {
    let (row, flow) = try openFlow(record, call: call, now: now)
    func mismatch(_ debug: String) -> Step<Redirect> {
      .refuse(.flowMismatch(debug), writing: Change([.countPendingAttempt(row.digest)]))
    }
    guard flow.purpose == purpose, flow.accountID == account else {
      return mismatch("started for another purpose or account")
    }
    guard let parameters = CallbackURI.parameters(of: response.callbackURI, at: flow.order.redirectURI) else {
      return mismatch("not a redirect to the flow's address")
    }
    guard !flow.stateIsEchoed || isState(parameters["state"], of: flow) else {
      return mismatch("missing or foreign state")
    }
    let spent = Write.completePending(row.digest, version: row.version, at: now, accountID: "", sessionID: "")
    return .commit(Change([spent]), (flow, parameters))
  }

  private func flowDigest(_ handle: String) throws(Failure) -> Digest {
    do { return try pendingDigest(handle) } catch { throw Failure.flowMismatch("not a handle") }
  }

  private func isState(_ presented: String?, of flow: HeldFlow) -> Bool {
    guard let presented else { return false }
    return cryptography.equal(Array(presented.utf8), Array(flow.order.state.utf8))
  }

  /// OpenID Connect Core 3.1.2.1: a provider that was asked for a fresh login says in `auth_time` whether there was.
  private func requireFreshLogin(_ verified: VerifiedCredential, of flow: HeldFlow) throws(Failure) {
    guard flow.order.freshLogin, let authenticatedAt = verified.authenticatedAt else { return }
    guard authenticatedAt.adding(millis: Environment.clockSkewMillis) >= flow.startedAt else {
      throw Failure(
        .requiresRecentLogin, field: Failure.flowField, hint: "The provider did not ask the person to sign in again.")
    }
  }
}

extension Failure {
  /// Of a flow that is spent: the same call cannot succeed later, so that the caller is not told when to repeat it.
  fileprivate var endingFlow: Failure {
    var failure = self
    failure.retryAfterMillis = nil
    failure.hint = "The provider cannot be reached now; start the flow again."
    return failure
  }
}
