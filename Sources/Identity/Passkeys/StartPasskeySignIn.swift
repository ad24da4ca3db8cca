import Store

package struct StartPasskeySignInRequest: Hashable, Sendable {
  /// nil: the user chooses a passkey that the authenticator stores.
  package var email: String?
  package var relyingPartyID: String
  package var purpose: FlowPurpose
  /// For a reauthentication only.
  package var idToken: String

  package init(
    email: String? = nil, relyingPartyID: String = "", purpose: FlowPurpose = .signIn, idToken: String = ""
  ) {
    self.email = email
    self.relyingPartyID = relyingPartyID
    self.purpose = purpose
    self.idToken = idToken
  }
}

/// Starts a sign-in with a passkey (P8, P9), or a reauthentication (P14).
package struct StartPasskeySignIn: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: StartPasskeySignInRequest, _ call: CallFacts) async throws -> StartedCeremony {
    try call.requireBinding(environment.policy)
    let relyingPartyID = try environment.relyingPartyID(request.relyingPartyID, of: call)
    let token =
      request.purpose == .signIn
      ? nil : try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token?.sessionID
    query.email = request.email
    let throttle = environment.throttle(token == nil ? .flowStarts : .sessionFlowStarts, call: call)
    throttle.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.first(query), call: call) { facts, now in
      let counts = try throttle.admit(facts, now: now).count(at: now)
      var challenge = environment.newChallenge(request.purpose, at: relyingPartyID)
      var allowed: [NamedPasskey] = []
      if let token {
        let state = try SessionCheck.open(token, in: facts, call: call, now: now).state
        challenge.accountID = state.account.id
        allowed = state.named(at: relyingPartyID)
      } else if let email = request.email {
        challenge.email = email
        // Made in every case, so that both need the same work.
        let madeUp = environment.madeUpPasskeys(for: email, at: relyingPartyID, now: now)
        let own = facts.emailOwner?.named(at: relyingPartyID).map(\.withCommonTransports) ?? []
        allowed = own.isEmpty ? madeUp : own
      }
      challenge.identified = !allowed.isEmpty
      return try start(challenge, allowed, counting: counts, call, now)
    }
  }

  private func start(
    _ challenge: PasskeyChallenge, _ allowed: [NamedPasskey], counting counts: [Write], _ call: CallFacts,
    _ now: Timestamp
  ) throws -> Step<StartedCeremony> {
    let pending = environment.hold(challenge, purpose: .passkeySignIn, call: call, now: now)
    let options = try environment.passkeys.requestOptions(
      PasskeyRequest(
        challenge: challenge, allowed: allowed,
        lifetimeMillis: environment.policy.passkeyChallengeLifetimeMillis))
    return .commit(
      Change(counts + [.pending(.insert(pending.record, limits: environment.policy.pendingLimits))]),
      StartedCeremony(id: pending.handle, optionsJSON: options, expiresAt: pending.record.expiresAt))
  }
}

extension AccountState {
  /// The account's passkeys of one relying party.
  fileprivate func named(at relyingPartyID: String) -> [NamedPasskey] {
    passkeys.compactMap { Passkey(of: $0) }.filter { $0.relyingPartyID == relyingPartyID }.map { NamedPasskey($0) }
  }
}
