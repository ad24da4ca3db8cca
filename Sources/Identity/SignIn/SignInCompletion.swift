import Store

/// Pending tokens in a sign-in: completing a pending link with another credential, or being the credential itself.
extension SignIn {
  /// Completes a pending link: `SignIn(credential, pending_token)`.
  func complete(_ request: SignInRequest, _ call: CallFacts) async throws -> SignInAnswer {
    var query = Query()
    query.look(for: call.idempotency)
    query.pending = try environment.pendingDigest(request.pendingToken)
    var throttle: Throttle?
    if case .password(let email, _) = request.credential {
      query.email = email
      throttle = environment.throttle(.passwordFailures, of: email, byDevice: true, call: call)
      throttle?.look(into: &query)
    }
    var facts = try await environment.first(query)
    // A redirect is valid once: do not spend it on a row that cannot be completed now.
    _ = try environment.openPending(facts.pending, purpose: .link, call: call, now: environment.clock.now())
    if case .authorizationResponse = request.credential, let row = facts.pending {
      try await requireChangeable(row.accountID, call)
    }
    let verified = try await verify(request.credential, call)
    for _ in 0..<environment.policy.decisionsMax {
      _ = try throttle?.admit(facts, now: environment.clock.now())
      let way = try await prove(verified, facts, call)
      var attempt = attempt(verified, way, call)
      if let throttle {
        facts = try await environment.load(query)
        attempt.admitted = try throttle.admit(facts, now: environment.clock.now())
      }
      if let answer = try await complete(way, attempt, facts) { return answer }
      facts = try await environment.load(query)
    }
    throw Failure(.overloaded, retryAfterMillis: 100, debug: "the password keeps changing")
  }

  /// A credential after the part of its verification that needs no records.
  private enum Verified: Sendable {
    case password(email: String, password: String)
    case provider(VerifiedCredential)
    case customToken(CustomToken)
    case code(VerifiedCode)
  }

  private func verify(_ credential: Credential, _ call: CallFacts) async throws -> Verified {
    switch credential {
    case .password(let email, let password):
      guard environment.policy.passwordEnabled else { throw Failure.passwordNotEnabled }
      return .password(email: email, password: password)
    case .providerToken(let token): return .provider(try await environment.verify(token))
    case .authorizationResponse(let response):
      return .provider(try await environment.verify(response, ending: .signIn, call))
    case .customToken(let text): return .customToken(try environment.verify(customToken: text))
    case .phoneCode(let verificationID, let digits):
      let presented = PresentedCode.phone(verificationID: verificationID, digits: digits)
      return .code(try await environment.prove(presented, for: .signIn, call))
    case .emailLink(let email, let code):
      return .code(try await environment.prove(.emailLink(email: email, code: code), for: .signIn, call))
    case .emailCode(let digits): return .code(try await environment.prove(.emailCode(digits), for: .signIn, call))
    case .passkey(let response):
      return .provider(try await environment.verifyAssertion(response, ending: .signIn, call))
    case .anonymous, .pendingToken:
      throw Failure(
        .invalidField, field: "credential", hint: "Complete the link with a credential of an existing account.")
    }
  }

  private func prove(_ verified: Verified, _ facts: Facts, _ call: CallFacts) async throws -> VerifiedMethod {
    switch verified {
    case .password(let email, let password):
      .password(try await check(email, password, facts.emailOwner?.account, call))
    case .provider(let credential): .identity(credential.assertion)
    case .customToken(let token): .customToken(token)
    case .code(let code): .code(code.assertion)
    }
  }

  /// Completes the row with a verified credential. nil: check the credential again.
  ///
  /// The row states the identity and email address to look up. Its fixed fields are sealed, so each round checks only
  /// its state again.
  private func complete(_ way: VerifiedMethod, _ begun: Attempt, _ facts: Facts) async throws -> SignInAnswer? {
    let (call, now) = (begun.call, environment.clock.now())
    let opened = try environment.openPending(facts.pending, purpose: .link, call: call, now: now)
    var attempt = begun
    attempt.row = facts.pending
    var query = Query()
    query.look(for: call.idempotency)
    query.pending = facts.pending?.digest
    query.code = attempt.code?.digest
    var changes: Throttle?
    switch opened {
    case .completed(_, let sessionID): query.sessionID = sessionID
    case .held(let row, let held):
      query.identity = row.identity
      let isEmailLink = row.identity.providerID == SignInMethods.emailLink
      query.email = environment.policy.oneAccountPerEmail || isEmailLink ? row.email : nil
      query.spentToken = (attempt.held.singleUse ?? held.singleUse)?.digest
      attempt.userInfo = UserInfo(held.assertion)
      // Codes have their own limit, and an owner must be able to recover the account with a sign-in link.
      if attempt.code == nil { changes = environment.throttle(.changes, of: row.accountID, call: call) }
      changes?.look(into: &query)
    }
    let (loaded, userInfo) = (try await environment.load(query), attempt.userInfo)
    let settled = try await environment.settle(query, loaded, call: call, userInfo: userInfo) { facts, now in
      try complete(way, attempt, query, facts, counting: changes, now)
    }
    return try await answer(settled, attempt)
  }

  private func requireChangeable(_ accountID: String, _ call: CallFacts) async throws {
    let changes = environment.throttle(.changes, of: accountID, call: call)
    var query = Query()
    changes.look(into: &query)
    _ = try changes.admit(try await environment.load(query), now: environment.clock.now())
  }

  private func attempt(_ verified: Verified, _ way: VerifiedMethod, _ call: CallFacts) -> Attempt {
    switch (verified, way) {
    case (.provider(let credential), _): Attempt(credential, environment.firstFactor(of: credential), call)
    case (.code(let code), _): Attempt(code, call)
    case (.customToken(let token), _): Attempt(.customToken(token), email: nil, passwordHash: nil, call)
    case (.password, .password(let checked)): Attempt(checked, call)
    case (.password(let email, _), _): Attempt(.password, email: email, passwordHash: nil, call)
    }
  }

  private func complete(
    _ way: VerifiedMethod, _ attempt: Attempt, _ asked: Query, _ facts: Facts, counting changes: Throttle?,
    _ now: Timestamp
  ) throws -> Step<Result> {
    let passedFor = attempt.held.firstFactor.verifiesUser ? facts.pendingAccount?.account.id : nil
    let decision = CompletionDecision(way: way, passedFor: passedFor, policy: environment.policy, now: now)
    var attempt = attempt
    attempt.row = facts.pending
    attempt.code = try attempt.code.map { try environment.proveAgain($0, facts.code, attempt.call, now) }
    try attempt.code?.requireCurrent(for: facts.pendingAccount, environment.policy)
    switch try environment.openPending(facts.pending, purpose: .link, call: attempt.call, now: now) {
    case .completed:
      guard let owner = facts.pendingAccount else { throw PendingTable.mismatch("the account was deleted") }
      if let refused = decision.resolve(to: owner) { return step(refused, attempt, now) }
      // The first factor alone must not repeat an answer that the second factor may have protected.
      if owner.wantsSecondFactor(passedFor: passedFor) { return .refuse(.rowWasUsed) }
      // Another call completed the row after the first look-up, so this query did not load that call's session.
      if asked.sessionID == nil { return .answer(.checkAgain) }
      return try environment.repeatingCompletion(facts.session, facts.sessionAccount, now: now)
        .map { .session(Granted($0.0, $0.1, nil)) }
    case .held(let row, let held):
      let decided = decision.decide(row, held, facts)
      if facts.identityOwner == nil { attempt.alsoSpent = held.singleUse }
      // Only for a valid credential: a wrong one counts even if the account has reached its limit of changes.
      if case .open = decided { attempt.change = try changes?.admit(facts, now: now) }
      return step(decided, attempt, now)
    }
  }

  /// Signs in with the pending token of `credential_in_use` as the credential.
  ///
  /// The provider verified the identity when the row was created, so it is not asked again. The first success uses up
  /// the token.
  func present(_ handle: String, _ call: CallFacts) async throws -> SignInAnswer {
    var query = Query()
    query.look(for: call.idempotency)
    query.pending = try environment.pendingDigest(handle)
    let facts = try await environment.first(query)
    let (row, held) = try heldToPresent(facts.pending, call, environment.clock.now())
    let credential = VerifiedCredential(assertion: held.assertion, singleUse: held.singleUse)
    var attempt = Attempt(credential, held.firstFactor, call)
    attempt.row = row
    query = attempt.query(environment.policy)
    let (loaded, userInfo) = (try await environment.load(query), attempt.userInfo)
    let settled = try await environment.settle(query, loaded, call: call, userInfo: userInfo) { facts, now in
      (attempt.row, _) = try heldToPresent(facts.pending, call, now)
      return step(present(attempt, facts, now), attempt, now)
    }
    return try await answered(settled, attempt)
  }

  func present(_ attempt: Attempt, _ facts: Facts, _ now: Timestamp) -> SignInDecision {
    let providerID = attempt.held.assertion.identity.providerID
    let isNumber = providerID == SignInMethods.phone
    guard let owner = isNumber ? facts.phoneOwner : facts.identityOwner ?? facts.transferOwner,
      owner.account.id == attempt.row?.accountID
    else { return .refuse(PendingTable.mismatch("the identity now belongs to another account")) }
    guard environment.policy.enables(providerID) else { return .refuse(.notEnabled(providerID)) }
    if isNumber { return decision(attempt, now).byCode(facts) }
    return decision(attempt, now).federated(facts)
  }

  private func heldToPresent(
    _ record: PendingRecord?, _ call: CallFacts, _ now: Timestamp
  ) throws -> (PendingRecord, PendingAssertion) {
    switch try environment.openPending(record, purpose: .credentialInUse, call: call, now: now) {
    case .held(let row, let held): return (row, held)
    case .completed: throw Failure.rowWasUsed
    }
  }
}

extension Failure {
  static let rowWasUsed = Failure(.pendingCredentialUsed, hint: "Sign in again.")
}
