package import Store

package struct StartRegistrationRequest: Hashable, Sendable {
  /// Empty: the passkey is for a new account.
  package var idToken: String
  /// Empty: the caller's first one.
  package var relyingPartyID: String
  package var userName: String
  package var displayName: String

  package init(idToken: String = "", relyingPartyID: String = "", userName: String = "", displayName: String = "") {
    self.idToken = idToken
    self.relyingPartyID = relyingPartyID
    self.userName = userName
    self.displayName = displayName
  }
}

/// Options for an authenticator, and the id of the row with their challenge.
package struct StartedCeremony: Hashable, Sendable {
  package var id: String
  package var optionsJSON: String
  package var expiresAt: Timestamp
}

/// Starts the registration of a passkey, for an account (P4) or a new one (P7).
package struct StartRegistration: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: StartRegistrationRequest, _ call: CallFacts) async throws -> StartedCeremony {
    try call.requireBinding(environment.policy)
    let relyingPartyID = try environment.relyingPartyID(request.relyingPartyID, of: call)
    let token =
      request.idToken.isEmpty
      ? nil : try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token?.sessionID
    let throttle = environment.throttle(token == nil ? .flowStarts : .sessionFlowStarts, call: call)
    throttle.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.first(query), call: call) { facts, now in
      let counts = try throttle.admit(facts, now: now).count(at: now)
      guard let token else { return try start(request, relyingPartyID, nil, counting: counts, call, now) }
      let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: now)
      // A user with an old login must not create a passkey in vain.
      try LinkDecision.requireRecentLogin(caller, policy: environment.policy, now: now)
      if let failure = caller.state.passkeyLimit(environment.policy) { return .refuse(failure) }
      return try start(request, relyingPartyID, caller.state, counting: counts, call, now)
    }
  }

  private func start(
    _ request: StartRegistrationRequest, _ relyingPartyID: String, _ state: AccountState?,
    counting counts: [Write], _ call: CallFacts, _ now: Timestamp
  ) throws -> Step<StartedCeremony> {
    var challenge = environment.newChallenge(
      state == nil ? .signIn : .link, of: state?.account.id ?? "", at: relyingPartyID)
    challenge.userHandle = state?.userHandle ?? environment.newUserHandle()
    let pending = environment.hold(challenge, purpose: .passkeyRegistration, call: call, now: now)
    let options = try environment.creationOptions(
      challenge, for: state, userName: request.userName, displayName: request.displayName)
    return .commit(
      Change(counts + [.pending(.insert(pending.record, limits: environment.policy.pendingLimits))]),
      StartedCeremony(id: pending.handle, optionsJSON: options, expiresAt: pending.record.expiresAt))
  }
}

extension Environment {
  /// Returns the relying party that a request names, or the caller's first one.
  func relyingPartyID(_ named: String, of call: CallFacts) throws(Failure) -> String {
    let own = passkeys.relyingPartyIDs(of: call.caller)
    guard policy.passkeyEnabled, let first = own.first else {
      throw Failure(.operationNotAllowed, hint: "Passkeys are not enabled for this caller.")
    }
    if named.isEmpty { return first }
    guard own.contains(named) else {
      throw Failure(.invalidField, field: "rp_id", hint: "Name one of the caller's relying parties.")
    }
    return named
  }

  /// Returns the options for a new passkey. They exclude the authenticators that have one of the account.
  func creationOptions(
    _ challenge: PasskeyChallenge, for state: AccountState?, userName: String = "", displayName: String = ""
  ) throws -> String {
    let account = state?.account
    let names = [userName, account?.email ?? "", account?.phoneNumber ?? "", account?.displayName ?? "", "user"]
    let own = [displayName, account?.displayName ?? ""] + names
    let excluded = (state?.registeredPasskeys(self) ?? []).filter { $0.relyingPartyID == challenge.relyingPartyID }
    return try passkeys.creationOptions(
      PasskeyCreation(
        challenge: challenge, userName: names.first { !$0.isEmpty } ?? "", displayName: own.first { !$0.isEmpty } ?? "",
        excluded: excluded.map { NamedPasskey($0) }, lifetimeMillis: policy.passkeyChallengeLifetimeMillis))
  }
}

extension AccountState {
  /// The passkeys that sign in, and those that are second factors.
  fileprivate func registeredPasskeys(_ environment: Environment) -> [Passkey] {
    let factors = factors.filter { $0.kind == .passkey }.compactMap { factor -> Passkey? in
      guard case .passkey(let passkey) = environment.secret(of: factor) else { return nil }
      return passkey
    }
    return passkeys.compactMap { Passkey(of: $0) } + factors
  }
}
