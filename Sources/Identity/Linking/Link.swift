import Store

/// Adds a sign-in method to the account of an ID token.
package struct Link: Sendable {
  let environment: Environment
  /// Whether the call only adds a registered passkey, which a restricted session may do.
  private let isRegistration: Bool

  package init(_ environment: Environment, isRegistration: Bool = false) {
    self.environment = environment
    self.isRegistration = isRegistration
  }

  package func callAsFunction(_ request: LinkRequest, _ call: CallFacts) async throws -> LinkAnswer {
    try call.requireBinding(environment.policy)
    return try await environment.repeatingTwin(call) { try await once(request, call) }
  }

  private func once(_ request: LinkRequest, _ call: CallFacts) async throws -> LinkAnswer {
    if let record = try await recorded(request.credential, call) { return try await repeated(record, call) }
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.look(for: call.idempotency)
    if case .pendingToken(let handle) = request.credential { query.pending = try? environment.pendingDigest(handle) }
    let throttle = throttle(request.credential, call)
    throttle?.look(into: &query)
    let changes = environment.throttle(.changes, of: token.accountID, call: call)
    changes.look(into: &query)
    let facts = try await environment.first(query)
    let endedGuestToo = opensWithoutGuest(request.credential)
    let caller = try SessionCheck.open(
      token, in: facts, call: call, endedGuestToo: endedGuestToo, restrictedToo: isRegistration,
      now: environment.clock.now())
    let admitted = try throttle?.admit(facts, now: environment.clock.now())
    // A redirect is valid once. This check comes first, so that the redirect is still unspent when the account may be
    // changed again.
    _ = try changes.admit(facts, now: environment.clock.now())

    var verified: VerifiedLink
    switch try await verify(request.credential, for: caller, facts, call) {
    case .completed(let digest, let sessionID): return try await completed(digest, by: sessionID, token, call)
    case .verified(let proof): verified = proof
    }
    verified.admitted = admitted
    verified.changes = changes
    query.identity = verified.assertion?.identity
    query.transfer = verified.assertion?.transferKey
    if let identity = query.identity, identity.providerID == SignInMethods.phone {
      query.phoneNumber = identity.subject
    }
    query.email = verified.email
    query.code = verified.code?.digest
    query.spentToken = verified.singleUse?.digest
    let (loaded, userInfo) = (try await environment.load(query), verified.userInfo)
    let settled = try await environment.settle(query, loaded, call: call, userInfo: userInfo) {
      [verified] facts, now in
      let caller = try SessionCheck.open(
        token, in: facts, call: call, endedGuestToo: endedGuestToo, restrictedToo: isRegistration, now: now)
      var verified = verified
      verified.code = try verified.code.map { try environment.proveAgain($0, facts.code, call, now) }
      return try decide(verified, caller, facts, call, now)
    }
    switch settled {
    case .repeated(let record): return try await repeated(record, call)
    case .decided(.completed(let digest, let sessionID)):
      return try await completed(digest, by: sessionID, token, call)
    case .decided(.answer(let answer)): return answer
    case .decided(.passedAlreadyLinked): throw PendingTable.mismatch("only a call that shows a second factor gets this")
    case .decided(.alreadyLinked(let opened, let state)):
      return .session(try await grant(opened, state, verified), alreadyLinked: true)
    case .decided(.session(let opened, let state)):
      return .session(try await grant(opened, state, verified), alreadyLinked: false)
    }
  }

  private func grant(
    _ opened: OpenedSession, _ state: AccountState, _ verified: VerifiedLink
  ) async throws -> SessionGrant {
    var grant = try await environment.grant(opened, state, now: environment.clock.now())
    grant.userInfo = verified.userInfo
    grant.tokens = verified.tokens
    return grant
  }

  /// Returns whether a call may present this credential after its anonymous session ended (L1).
  ///
  /// A pending token opens nothing by itself. A password is not hashed for a session that is over. A registration is no
  /// login.
  private func opensWithoutGuest(_ credential: Credential) -> Bool {
    switch credential {
    case .pendingToken, .password, .passkey: false
    default: true
    }
  }

  /// Returns the throttle of a new password. As for a new account, any caller can name any email address.
  private func throttle(_ credential: Credential, _ call: CallFacts) -> Throttle? {
    guard case .password = credential else { return nil }
    return environment.throttle(.signUps, call: call)
  }

  private func recorded(_ credential: Credential, _ call: CallFacts) async throws -> IdempotencyRecord? {
    switch credential {
    case .phoneCode(let verificationID, _):
      return try await environment.recorded(call, environment.throttle(.codeFailures, of: verificationID, call: call))
    case .emailCode(let digits): return try await environment.recorded(call, digits)
    default: return try await environment.recorded(call)
    }
  }

  private func repeated(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> LinkAnswer {
    switch try environment.heldAnswer(of: record) {
    case .credentialInUse(let inUse): return .credentialInUse(inUse)
    case .secondFactorRequired(let required): return .secondFactorRequired(required)
    case .accountExists: throw PendingTable.mismatch("the record is of a sign-in")
    case nil: break
    }
    return .session(
      try await environment.repeatSession(of: record, call: call),
      alreadyLinked: record.outcome == IdempotencyRecord.alreadyLinked)
  }

  /// Repeats the answer of an earlier completion with the same pending token.
  ///
  /// Never returns a session with a factor or a younger login that the caller's own session lacks.
  private func completed(
    _ digest: Digest, by sessionID: String, _ token: IDToken, _ call: CallFacts
  ) async throws -> LinkAnswer {
    var query = Query()
    query.sessionID = token.sessionID
    query.pending = digest
    query.otherSessionID = sessionID
    let facts = try await environment.load(query)
    let (opened, state) = try await environment.decideAndCommit(query, facts, call: call) {
      facts, now -> Step<(OpenedSession, AccountState)> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      guard case .completed = try open(facts.pending, for: caller, call, now),
        facts.otherSession?.authTime == caller.session.authTime,
        facts.otherSession?.secondFactor == caller.session.secondFactor
      else { return .refuse(.rowWasUsed) }
      return try environment.repeatingCompletion(facts.otherSession, facts.otherSessionAccount, now: now)
    }
    return .session(try await environment.grant(opened, state, now: environment.clock.now()), alreadyLinked: false)
  }
}
