import Store

/// Handles in a sign-in: completing a held link beside another credential, and standing as the credential itself.
extension SignIn {
  /// `SignIn(credential, pending_token)`.
  func complete(_ request: SignInRequest, _ call: CallFacts) async throws -> SignInAnswer {
    var query = Query()
    query.idempotency = call.idempotency?.key
    query.pending = try environment.pendingDigest(request.pendingToken)
    var throttle: Throttle?
    if case .password(let email, _) = request.credential {
      query.email = email
      throttle = environment.throttle(.passwordFailures, of: email, byDevice: true, call: call)
      throttle?.look(into: &query)
    }
    var facts = try await environment.first(query)
    // A redirect is good once: it is not spent on a row that cannot be completed, or not yet.
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

  /// The credential, as far as it can be verified without records.
  private enum Verified: Sendable {
    case password(email: String, password: String)
    case provider(VerifiedCredential)
    case customToken(CustomToken)
    case code(ProvedCode)
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
      return .code(try await environment.prove(presented, ending: .signIn, call))
    case .emailLink(let email, let code):
      return .code(try await environment.prove(.emailLink(email: email, code: code), ending: .signIn, call))
    case .anonymous, .pendingToken:
      throw Failure(
        .invalidField, field: "credential", hint: "This credential proves no account that could complete a link.")
    }
  }

  private func prove(_ verified: Verified, _ facts: Facts, _ call: CallFacts) async throws -> ProvedWayIn {
    switch verified {
    case .password(let email, let password):
      .password(try await check(email, password, facts.emailOwner?.account, call))
    case .provider(let credential): .identity(credential.assertion)
    case .customToken(let token): .customToken(token)
    case .code(let code): .code(code.assertion)
    }
  }

  /// nil: the credential has to be looked at again. The row says whose identity and address matter; what is fixed
  /// about it is sealed, so that only its state is looked at again in each round.
  private func complete(_ way: ProvedWayIn, _ begun: Attempt, _ facts: Facts) async throws -> SignInAnswer? {
    let (call, now) = (begun.call, environment.clock.now())
    let opened = try environment.openPending(facts.pending, purpose: .link, call: call, now: now)
    var attempt = begun
    attempt.row = facts.pending
    var query = Query()
    query.idempotency = call.idempotency?.key
    query.pending = facts.pending?.digest
    query.code = attempt.code?.digest
    var changes: Throttle?
    switch opened {
    case .completed(_, let sessionID): query.sessionID = sessionID
    case .held(let row, let held):
      query.identity = row.identity
      let isMailedLink = row.identity.providerID == WaysIn.emailLink
      query.email = environment.policy.oneAccountPerEmail || isMailedLink ? row.email : nil
      query.spentToken = (attempt.held.singleUse ?? held.singleUse)?.digest
      attempt.userInfo = UserInfo(held.assertion)
      // Codes have a count of their own, and a mailed link may be the owner's, who takes the account back by it.
      if attempt.code == nil { changes = environment.throttle(.changes, of: row.accountID, call: call) }
      changes?.look(into: &query)
    }
    let settled = try await environment.settle(query, try await environment.load(query), call: call) { facts, now in
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

  private func attempt(_ verified: Verified, _ way: ProvedWayIn, _ call: CallFacts) -> Attempt {
    switch (verified, way) {
    case (.provider(let credential), _): Attempt(credential, environment.firstFactor(of: credential), call)
    case (.code(let code), _): Attempt(code, call)
    case (.customToken(let token), _): Attempt(.customToken(token), email: nil, passwordHash: nil, call)
    case (.password(let email, _), .password(let checked)):
      Attempt(.password, email: email, passwordHash: checked.check.upgradedHash, call)
    case (.password(let email, _), _): Attempt(.password, email: email, passwordHash: nil, call)
    }
  }

  private func complete(
    _ way: ProvedWayIn, _ attempt: Attempt, _ asked: Query, _ facts: Facts, counting changes: Throttle?,
    _ now: Timestamp
  ) throws -> Step<Result> {
    let decision = CompletionDecision(way: way, policy: environment.policy, now: now)
    var attempt = attempt
    attempt.row = facts.pending
    attempt.code = try attempt.code.map { try environment.proveAgain($0, facts.code, attempt.call, now) }
    switch try environment.openPending(facts.pending, purpose: .link, call: attempt.call, now: now) {
    case .completed:
      guard let owner = facts.pendingAccount else { throw PendingTable.mismatch("the account is gone") }
      if let refused = decision.resolve(to: owner) { return step(refused, attempt, now) }
      // What a second factor may have guarded is not told again to who has only the first.
      if owner.hasSecondFactor { return .refuse(.rowWasUsed) }
      // Completed only since it was looked at first: the session that did it was not asked for.
      if asked.sessionID == nil { return .answer(.checkAgain) }
      return try environment.repeatingCompletion(facts.session, facts.sessionAccount, now: now)
        .map { .session(Granted($0.0, $0.1, nil)) }
    case .held(let row, let held):
      let decided = decision.decide(row, held, facts)
      if facts.identityOwner == nil { attempt.alsoSpent = held.singleUse }
      // Only once the credential was right: what is wrong is counted, whether or not the account may be changed.
      if case .open = decided { attempt.change = try changes?.admit(facts, now: now) }
      return step(decided, attempt, now)
    }
  }

  /// A `credential_in_use` handle as the credential: its bearer proved the identity when the row was made, so the
  /// provider is not asked twice. Spent by its first success.
  func present(_ handle: String, _ call: CallFacts) async throws -> SignInAnswer {
    var query = Query()
    query.idempotency = call.idempotency?.key
    query.pending = try environment.pendingDigest(handle)
    let facts = try await environment.first(query)
    let (row, held) = try heldToPresent(facts.pending, call, environment.clock.now())
    let credential = VerifiedCredential(assertion: held.assertion, singleUse: held.singleUse)
    var attempt = Attempt(credential, held.firstFactor, call)
    attempt.row = row
    query = attempt.query(environment.policy)
    let settled = try await environment.settle(query, try await environment.load(query), call: call) { facts, now in
      (attempt.row, _) = try heldToPresent(facts.pending, call, now)
      return step(present(attempt, facts, now), attempt, now)
    }
    return try await answered(settled, attempt)
  }

  func present(_ attempt: Attempt, _ facts: Facts, _ now: Timestamp) -> SignInDecision {
    let providerID = attempt.held.assertion.identity.providerID
    let isNumber = providerID == WaysIn.phone
    guard let owner = isNumber ? facts.phoneOwner : facts.identityOwner, owner.account.id == attempt.row?.accountID
    else { return .refuse(PendingTable.mismatch("the identity has another owner by now")) }
    guard environment.policy.enables(providerID) else { return .refuse(.notEnabled(providerID)) }
    if isNumber { return byCode(attempt, now).decide(facts) }
    return federated(attempt, now).decide(facts)
  }

  private func heldToPresent(
    _ record: PendingRecord?, _ call: CallFacts, _ now: Timestamp
  ) throws -> (PendingRecord, HeldAssertion) {
    switch try environment.openPending(record, purpose: .credentialInUse, call: call, now: now) {
    case .held(let row, let held): return (row, held)
    case .completed: throw Failure.rowWasUsed
    }
  }
}

extension Failure {
  static let rowWasUsed = Failure(.pendingCredentialUsed, hint: "Sign in again.")
}
