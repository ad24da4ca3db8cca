import Store

/// Sign-in and sign-up by passkey.
extension SignIn {
  /// Signs in to the account of a passkey (P10). Never creates one, even if the passkey was just removed.
  @inline(never)
  func signIn(_ response: PasskeyResponse, _ call: CallFacts) async throws -> SignInAnswer {
    let verified = try await environment.verifyAssertion(response, ending: .signIn, call)
    var attempt = Attempt(verified, environment.firstFactor(of: verified), call)
    attempt.held.existingOnly = true
    let query = attempt.query(environment.policy)
    let facts = try await environment.load(query)
    let settled = try await environment.settle(query, facts, call: call, userInfo: nil) { [attempt] facts, now in
      step(decision(attempt, now).federated(facts), attempt, now)
    }
    return try await answered(settled, attempt)
  }

  /// Creates an account whose only method is a new passkey (P7).
  @inline(never)
  func signUp(_ response: PasskeyResponse, _ request: SignInRequest, _ call: CallFacts) async throws -> SignInAnswer {
    // Before the challenge is spent.
    if request.existingOnly { throw Failure.noAccountYet }
    if let failure = environment.policy.refusalToCreate(email: nil) { throw failure }
    var query = Query()
    let throttle = environment.throttle(.signUps, call: call)
    throttle.look(into: &query)
    _ = try throttle.admit(try await environment.first(query), now: environment.clock.now())
    let verified = try await environment.verifyRegistration(response, call)
    var attempt = Attempt(verified, environment.firstFactor(of: verified), call, asking: request)
    query = attempt.query(environment.policy)
    throttle.look(into: &query)
    let facts = try await environment.load(query)
    attempt.admitted = try throttle.admit(facts, now: environment.clock.now())
    let settled = try await environment.settle(query, facts, call: call, userInfo: nil) { [attempt] facts, now in
      step(decision(attempt, now).byRegistration(facts), attempt, now)
    }
    return try await answered(settled, attempt)
  }
}

extension AssertionDecision {
  /// Decides P6 and P7.
  func byRegistration(_ facts: Facts) -> SignInDecision {
    guard !facts.tokenSpent, facts.identityOwner == nil else { return .refuse(.passkeyExists) }
    if existingOnly { return .refuse(.noAccountYet) }
    if let refusalToCreate { return .refuse(refusalToCreate) }
    var account = AccountRecord(id: newAccountID(), createdAt: now)
    account.lastSignInAt = now
    let passkey = IdentityRecord(assertion: assertion, accountID: account.id, linkedAt: now)
    let details = ["provider_id": providerID, "passkey_id": passkey.key.subject]
    return .open(
      Opening(
        state: AccountState(account: account, identities: [passkey]),
        writes: [.account(.insert(account)), .identity(.insert(passkey))],
        notes: [AuditNote(.accountCreated, accountID: account.id, details: details)], isNewAccount: true))
  }
}

extension AccountState {
  /// Returns whether the account had this very method before the given time (S8, P15).
  func held(_ way: VerifiedMethod, before moment: Timestamp) -> Bool {
    guard case .identity(let assertion) = way else { return held(way.providerID, before: moment) }
    return identities.first { $0.key == assertion.identity }.map { $0.linkedAt < moment } ?? false
  }
}
