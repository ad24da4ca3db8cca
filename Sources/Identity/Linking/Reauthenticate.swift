import Store

/// Authenticates the same user again, for operations that require a recent login.
///
/// Never creates an account and never changes another one.
package struct Reauthenticate: Sendable {
  let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    _ request: ReauthenticateRequest, _ call: CallFacts
  ) async throws -> ReauthenticateAnswer {
    try call.requireBinding(environment.policy)
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let throttle = throttle(request.credential, call)
    throttle?.look(into: &query)
    let facts = try await environment.first(query)
    let before = try SessionCheck.open(token, in: facts, call: call, now: environment.clock.now())
    let admitted = try throttle?.admit(facts, now: environment.clock.now())
    var verified = try await verify(request.credential, for: before, admitted, call)
    query.spentToken = verified.held.singleUse?.digest
    query.code = verified.code?.digest
    let later = try await environment.load(query)
    verified.admitted = try throttle?.admit(later, now: environment.clock.now())
    let userInfo = verified.userInfo
    let result = try await environment.decideAndCommit(query, later, call: call, userInfo: userInfo) {
      [verified] facts, now -> Step<Result> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      var verified = verified
      verified.code = try verified.code.map { try environment.proveAgain($0, facts.code, call, now) }
      let decision = ReauthenticateDecision.decide(
        verified.proof, caller, tokenSpent: facts.tokenSpent,
        factorPassed: verified.held.firstFactor.verifiesUser, now: now)
      switch decision {
      case .refuse(let failure):
        return .refuse(failure)
      case .secondFactorRequired:
        return hold(verified, caller, call, now)
      case .session(let edit):
        let accountID = caller.state.account.id
        let settled = (verified.code?.spend(for: accountID, now: now) ?? []) + (verified.admitted?.reset(at: now) ?? [])
        return open(verified.held, edit, caller, settled: settled, call, now).map { .session($0.0, $0.1) }
      }
    }
    switch result {
    case .secondFactor(let required): return .secondFactorRequired(required)
    case .session(let opened, let state):
      var grant = try await environment.grant(opened, state, now: environment.clock.now())
      grant.userInfo = verified.userInfo
      grant.tokens = verified.tokens
      return .session(grant)
    }
  }

  private enum Result: OpensSession {
    case session(OpenedSession, AccountState)
    case secondFactor(SecondFactorRequired)

    var opening: (session: OpenedSession, state: AccountState)? {
      if case .session(let session, let state) = self { (session, state) } else { nil }
    }

    func with(_ session: OpenedSession, _ state: AccountState) -> Result {
      if case .session = self { .session(session, state) } else { self }
    }
  }

  private func hold(
    _ verified: Verified, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    var held = verified.held
    held.sessionID = caller.session.id
    if let failure = caller.state.refusal(ofFirstFactor: held.firstFactor.signInProviderID) { return .refuse(failure) }
    let (write, required) = environment.holdForSecondFactor(
      held, caller.state, userInfo: verified.userInfo, tokens: verified.tokens, call: call, now: now)
    let settled = (verified.code?.spend(now: now) ?? []) + (verified.admitted?.reset(at: now) ?? [])
    return .commit(
      Change([.session(.requireOpen(id: caller.session.id, at: now))] + settled + [write]), .secondFactor(required))
  }

  /// Opens a new session, with its own id and with `auth_time` now (check 99).
  ///
  /// The session of the call stays open. Other windows of the user still hold its tokens, and UNAUTHENTICATED would
  /// sign them out.
  func open(
    _ held: PendingAssertion, _ edit: AccountEdit, _ caller: CallerSession, passed: PassedFactor? = nil,
    settled: [Write] = [], _ call: CallFacts, _ now: Timestamp
  ) -> Step<(OpenedSession, AccountState)> {
    let accountID = caller.state.account.id
    let opened = environment.openSession(
      accountID: accountID, by: held.firstFactor, secondFactor: passed?.factor ?? held.ownFactor(of: caller.state),
      call: call, now: now)
    var writes: [Write] = [.session(.requireOpen(id: caller.session.id, at: now))] + edit.signInWrites
    writes += edit.endOfGuestSessions(at: now) + settled
    if let passed { writes = passed.writes(after: writes, sessionID: opened.record.id, now: now) }
    if let singleUse = held.singleUse { writes.append(singleUse.spending) }
    writes.append(.session(.insert(opened.record)))
    writes += call.remember(
      "reauthenticated", accountID: accountID, sessionID: opened.record.id, policy: environment.policy, now: now)
    writes.append(environment.audit(.reauthenticated, opened: opened.record, call: call, now: now))
    return .commit(Change(writes), (opened, edit.state))
  }
}

// MARK: the credential

extension Reauthenticate {
  private struct Verified: Sendable {
    var proof: ReauthenticationProof
    /// Assertion to store if a second factor must follow.
    var held: PendingAssertion
    /// The user's profile at the provider, for the answer.
    var userInfo: UserInfo?
    var tokens: ProviderTokens?
    /// Admitted attempt of a password.
    var admitted: AdmittedAttempt?
    var code: VerifiedCode?
  }

  /// Returns the throttle of a sign-in, so that a session allows no additional guesses.
  private func throttle(_ credential: Credential, _ call: CallFacts) -> Throttle? {
    guard case .password(let email, _) = credential else { return nil }
    return environment.throttle(.passwordFailures, of: email, byDevice: true, isVerified: true, call: call)
  }

  private func verify(
    _ credential: Credential, for caller: CallerSession, _ admitted: AdmittedAttempt?, _ call: CallFacts
  ) async throws -> Verified {
    let (state, account) = (caller.state, caller.state.account)
    switch credential {
    case .password(let email, let password):
      let proof = try await verify(email: email, password: password, for: account, admitted, call)
      var verified = verified(proof, by: .password, email: email, subject: account.id)
      if case .password(_, let upgradedHash) = proof { verified.held.passwordHash = upgradedHash }
      return verified
    case .providerToken(let token):
      return verified(try await verify(token, for: state))
    case .authorizationResponse(let response):
      return verified(try await verify(response, for: state, call))
    case .customToken(let text):
      let token = try environment.verify(customToken: text)
      return verified(.customToken(token), by: .customToken(token), email: nil, subject: token.accountID)
    case .phoneCode(let verificationID, let digits):
      return try await verified(.phone(verificationID: verificationID, digits: digits), of: caller, call)
    case .emailLink(let email, let code):
      return try await verified(.emailLink(email: email, code: code), of: caller, call)
    case .emailCode(let digits): return try await verified(.emailCode(digits), of: caller, call)
    case .passkey(let response):
      return verified(
        try await environment.verifyAssertion(response, ending: .reauthenticate, account: account.id, call))
    case .anonymous:
      throw Failure(.invalidField, field: "credential", hint: "Use a credential of this account, not an anonymous one.")
    case .pendingToken:
      throw PendingTable.mismatch("a pending credential cannot reauthenticate")
    }
  }

  /// Verifies a provider token and its login time (checks 87 and 88).
  ///
  /// A provider can issue a new token for an old login, but the session's `auth_time` would be now. Such a token is
  /// rejected before it is spent, and before anything is stored for a second factor. The age of another account's token
  /// does not matter, because the decision rejects it.
  private func verify(_ token: ProviderToken, for state: AccountState) async throws -> VerifiedCredential {
    let verified = try await environment.verify(token)
    guard state.proves(verified.assertion.identity), let authenticatedAt = verified.authenticatedAt,
      !environment.isRecent(authenticatedAt)
    else { return verified }
    throw Failure(
      .requiresRecentLogin, field: "credential.provider_token",
      hint: "The token's `auth_time` is too old. "
        + "Ask the provider to re-authenticate the user (`prompt=login` or `max_age`).",
      metadata: newLogin(of: state))
  }

  private func verify(
    _ response: AuthorizationResponse, for state: AccountState, _ call: CallFacts
  ) async throws -> VerifiedCredential {
    do {
      return try await environment.verify(response, ending: .reauthenticate, account: state.account.id, call)
    } catch var failure as Failure where failure.reason == .requiresRecentLogin {
      failure.metadata = newLogin(of: state)
      throw failure
    }
  }

  /// Returns the account's other methods for a newer login, if the provider did not authenticate the user again.
  private func newLogin(of state: AccountState) -> [String: String] {
    let policy = environment.policy
    return SessionCheck.recentLogin(
      of: state, maxAgeMillis: policy.recentLoginMillis, confirmed: true, policy: policy)
  }

  /// Verifies the password of the account's own email address.
  ///
  /// Any other address belongs to another user, whose password must not be tried here.
  private func verify(
    email: String, password: String, for account: AccountRecord, _ admitted: AdmittedAttempt?, _ call: CallFacts
  ) async throws -> ReauthenticationProof {
    guard environment.policy.passwordEnabled else { throw Failure.passwordNotEnabled }
    guard account.email == email else { throw ReauthenticateDecision.mismatch }
    let check = try await environment.passwords.verify(
      password, hash: account.passwordHash, commitDecision: call.commitDecision)
    guard check.matches else {
      if let admitted { try await environment.count(admitted) }
      throw Failure.wrongPassword.concerning(account.id)
    }
    return .password(setAt: account.passwordSetAt, upgradedHash: check.upgradedHash)
  }

  private func verified(
    _ code: PresentedCode, of caller: CallerSession, _ call: CallFacts
  ) async throws -> Verified {
    let verified = try await environment.prove(code, for: .reauthenticate(caller), call)
    var held = PendingAssertion(verified.assertion, firstFactor: verified.firstFactor)
    held.intent = .reauthenticate
    return Verified(proof: .assertion(verified.assertion), held: held, code: verified)
  }

  private func verified(_ credential: VerifiedCredential) -> Verified {
    let assertion = credential.assertion
    let first = environment.firstFactor(of: credential)
    var held = PendingAssertion(assertion, firstFactor: first, singleUse: credential.singleUse)
    held.intent = .reauthenticate
    let userInfo = assertion.passkey == nil ? UserInfo(assertion) : nil
    return Verified(proof: .assertion(assertion), held: held, userInfo: userInfo, tokens: credential.tokens)
  }

  private func verified(
    _ proof: ReauthenticationProof, by first: FirstFactor, email: String?, subject: String
  ) -> Verified {
    let identity = IdentityKey(providerID: first.signInProviderID, subject: subject)
    var held = PendingAssertion(Assertion(identity: identity, email: email), firstFactor: first)
    held.intent = .reauthenticate
    return Verified(proof: proof, held: held)
  }
}
