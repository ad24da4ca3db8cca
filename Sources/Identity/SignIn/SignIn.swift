import Store

/// Verifies a credential and opens a session. A conflict or a required second factor is an answer, not a failure.
///
/// Functions with large frames are `@inline(never)`. Inlined, they would enlarge the memory of every call's task, which
/// is allocated for each call, regardless of its credential.
package struct SignIn: Sendable {
  let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: SignInRequest, _ call: CallFacts) async throws -> SignInAnswer {
    try call.requireBinding(environment.policy)
    guard call.idempotency != nil else { return try await once(request, call) }
    return try await environment.repeatingTwin(call) { try await once(request, call) }
  }

  private func once(_ request: SignInRequest, _ call: CallFacts) async throws -> SignInAnswer {
    if call.idempotency != nil, let record = try await recorded(request, call) {
      return try await repeated(record, call)
    }
    if !request.pendingToken.isEmpty { return try await complete(request, call) }
    switch request.credential {
    case .password(let email, let password): return try await signIn(email, password, call)
    case .providerToken(let token):
      return try await signIn(try await environment.verify(token), request, call)
    case .authorizationResponse(let response):
      return try await signIn(try await environment.verify(response, ending: .signIn, call), request, call)
    case .customToken(let token): return try await signIn(token, existingOnly: request.existingOnly, call)
    case .phoneCode(let verificationID, let digits):
      return try await signIn(.phone(verificationID: verificationID, digits: digits), request, call)
    case .emailLink(let email, let code): return try await signIn(.emailLink(email: email, code: code), request, call)
    case .emailCode(let digits): return try await signIn(.emailCode(digits), request, call)
    case .anonymous: return try await signInAnonymously(existingOnly: request.existingOnly, call)
    case .pendingToken(let handle): return try await present(handle, call)
    case .passkey(let response):
      return switch response.ceremony {
      case .signIn: try await signIn(response, call)
      case .registration: try await signUp(response, request, call)
      }
    }
  }

  private func recorded(_ request: SignInRequest, _ call: CallFacts) async throws -> IdempotencyRecord? {
    switch request.credential {
    case .password(let email, _):
      let throttle = environment.throttle(.passwordFailures, of: email, byDevice: true, call: call)
      return try await environment.recorded(call, throttle, of: email)
    case .phoneCode(let verificationID, _):
      return try await environment.recorded(call, environment.throttle(.codeFailures, of: verificationID, call: call))
    case .emailCode(let digits): return try await environment.recorded(call, digits)
    default: return try await environment.recorded(call)
    }
  }

  /// Repeats the outcome of an earlier call with the same idempotency key: its stored answer, or fresh tokens of its
  /// session.
  private func repeated(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> SignInAnswer {
    switch try environment.heldAnswer(of: record) {
    case .accountExists(let exists): return .accountExists(exists)
    case .secondFactorRequired(let required): return .secondFactorRequired(required)
    case .credentialInUse: throw PendingTable.mismatch("the idempotency record belongs to a Link call")
    case nil: break
    }
    var grant = try await environment.repeatSession(of: record, call: call)
    grant.tell(SignInOutcome(record.outcome))
    return .session(grant)
  }

  /// Converts the outcome to an answer. nil: check the credential again.
  func answer(_ settled: Settled<Result>, _ attempt: Attempt) async throws -> SignInAnswer? {
    switch settled {
    case .repeated(let record): return try await repeated(record, attempt.call)
    case .decided(.answer(let answer)): return answer
    case .decided(.checkAgain): return nil
    case .decided(.session(let granted)):
      let claims = claims(of: granted)
      return answer(granted, claims, idToken: try environment.tokens.mintIDToken(claims), attempt)
    }
  }

  @inline(never) private func claims(of granted: Granted) -> IDToken {
    environment.claims(for: granted.session.record, granted.state, now: environment.clock.now())
  }

  @inline(never)
  private func answer(_ granted: Granted, _ claims: IDToken, idToken: String, _ attempt: Attempt) -> SignInAnswer {
    var grant = environment.grant(granted.session, granted.state, claims, idToken: idToken)
    if let outcome = granted.outcome {
      grant.tell(outcome)
      grant.userInfo = attempt.userInfo
      grant.tokens = attempt.tokens
    }
    return .session(grant)
  }
}

// MARK: credentials

extension SignIn {
  /// Signs in by a provider's assertion (rows S1 to S12).
  @inline(never)
  private func signIn(
    _ verified: VerifiedCredential, _ request: SignInRequest, _ call: CallFacts
  ) async throws -> SignInAnswer {
    let attempt = attempt(verified, request, call)
    let query = query(attempt)
    let facts = try await environment.first(query)
    let settled = try await environment.settle(query, facts, call: call, userInfo: attempt.userInfo) { facts, now in
      decide(attempt, facts, now)
    }
    return try await answered(settled, attempt)
  }

  @inline(never)
  private func attempt(_ verified: VerifiedCredential, _ request: SignInRequest, _ call: CallFacts) -> Attempt {
    Attempt(verified, environment.firstFactor(of: verified), call, asking: request)
  }

  @inline(never) private func query(_ attempt: Attempt) -> Query {
    var query = attempt.query(environment.policy)
    query.lastSignInMayLag = true
    return query
  }

  @inline(never) private func decide(_ attempt: Attempt, _ facts: Facts, _ now: Timestamp) -> Step<Result> {
    step(decision(attempt, now).federated(facts), attempt, now)
  }

  func decision(_ attempt: Attempt, _ now: Timestamp) -> AssertionDecision {
    AssertionDecision(
      assertion: attempt.held.assertion, existingOnly: attempt.held.existingOnly,
      claimAddress: attempt.held.claimAddress, verifiesUser: attempt.held.firstFactor.verifiesUser,
      passedFor: attempt.passed?.account.id, policy: environment.policy, now: now,
      newAccountID: { [environment, call = attempt.call] in environment.newAccountID(for: call) })
  }

  @inline(never)
  private func signIn(_ email: String, _ password: String, _ call: CallFacts) async throws -> SignInAnswer {
    guard environment.policy.passwordEnabled else { throw Failure.passwordNotEnabled }
    try environment.passwords.requireRoom()
    var query = Query()
    query.look(for: call.idempotency)
    query.email = email
    let throttle = environment.throttle(.passwordFailures, of: email, byDevice: true, call: call)
    throttle.look(into: &query)
    var facts = try await environment.first(query)
    for _ in 0..<environment.policy.decisionsMax {
      _ = try throttle.admit(facts, now: environment.clock.now())
      let checked = try await check(email, password, facts.emailOwner?.account, call)
      var attempt = Attempt(checked, call)
      // Check for a block again. If one began during the password check, as in a burst of guesses, the answer must not
      // reveal whether this guess was right.
      facts = try await environment.load(query)
      attempt.admitted = try throttle.admit(facts, now: environment.clock.now())
      let settled = try await environment.settle(query, facts, call: call, userInfo: nil) { [attempt] facts, now in
        step(CredentialDecision.decide(checked, facts, now: now), attempt, now)
      }
      if let answer = try await answer(settled, attempt) { return answer }
      facts = try await environment.load(query)
    }
    throw Failure(.overloaded, retryAfterMillis: 100, debug: "the password keeps changing")
  }

  /// Checks a password. Does the same work for an unknown account, one without a password and a wrong password
  /// (check 35).
  func check(
    _ email: String, _ password: String, _ owner: AccountRecord?, _ call: CallFacts
  ) async throws -> CheckedPassword {
    if let owner { call.notes?.concerns(owner.id) }
    let hash = owner?.passwordHash
    let check = try await environment.passwords.verify(password, hash: hash, commitDecision: call.commitDecision)
    return CheckedPassword(email: email, ownerID: owner?.id, hash: hash, check: check)
  }

  @inline(never)
  private func signIn(_ text: String, existingOnly: Bool, _ call: CallFacts) async throws -> SignInAnswer {
    let token = try environment.verify(customToken: text)
    let attempt = Attempt(.customToken(token), email: nil, passwordHash: nil, call)
    var query = Query()
    query.look(for: call.idempotency)
    query.accountID = token.accountID
    let facts = try await environment.first(query)
    let settled = try await environment.settle(query, facts, call: call, userInfo: nil) { facts, now in
      step(CredentialDecision.decide(token, facts, existingOnly: existingOnly, now: now), attempt, now)
    }
    return try await answered(settled, attempt)
  }

  @inline(never)
  private func signIn(
    _ presented: PresentedCode, _ request: SignInRequest, _ call: CallFacts
  ) async throws -> SignInAnswer {
    let code = try await environment.prove(presented, for: .signIn, call)
    var attempt = Attempt(code, call, asking: request)
    let query = attempt.query(environment.policy)
    let facts = try await environment.load(query)
    let settled = try await environment.settle(query, facts, call: call, userInfo: nil) { facts, now in
      let code = try environment.proveAgain(code, facts.code, call, now)
      try code.requireCurrent(for: facts.emailOwner, environment.policy)
      attempt.code = code
      return step(decision(attempt, now).byCode(facts), attempt, now)
    }
    return try await answered(settled, attempt)
  }

  @inline(never)
  private func signInAnonymously(existingOnly: Bool, _ call: CallFacts) async throws -> SignInAnswer {
    guard environment.policy.anonymousEnabled else { throw Failure.anonymousNotEnabled }
    if !existingOnly, let failure = environment.policy.refusalToCreate(email: nil) { throw failure }
    var attempt = Attempt(.anonymous, email: nil, passwordHash: nil, call)
    var query = Query()
    query.look(for: call.idempotency)
    let throttle = environment.throttle(.signUps, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    attempt.admitted = try throttle.admit(facts, now: environment.clock.now())
    let settled = try await environment.settle(query, facts, call: call, userInfo: nil) { [attempt] facts, now in
      let decision = CredentialDecision.decideAnonymous(
        newAccountID: environment.newAccountID(for: call), existingOnly: existingOnly, now: now)
      return step(decision, attempt, now)
    }
    return try await answered(settled, attempt)
  }

  func answered(_ settled: Settled<Result>, _ attempt: Attempt) async throws -> SignInAnswer {
    guard let answer = try await answer(settled, attempt) else {
      throw Failure(.invalidLoginCredentials, debug: "only a password can require a second check")
    }
    return answer
  }
}
