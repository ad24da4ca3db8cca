import Store

/// Adds a way of signing in to the account of an ID token.
package struct Link: Sendable {
  let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: LinkRequest, _ call: CallFacts) async throws -> LinkAnswer {
    try call.requireBinding(environment.policy)
    if let record = try await environment.recorded(call) { return try await repeated(record, call) }
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.idempotency = call.idempotency?.key
    let throttle = throttle(request.credential, call)
    throttle?.look(into: &query)
    let facts = try await environment.first(query)
    let caller = try SessionCheck.open(token, in: facts, call: call, now: environment.clock.now())
    let admitted = try throttle?.admit(facts, now: environment.clock.now())

    var verified: VerifiedLink
    switch try await verify(request.credential, for: caller, call) {
    case .completed(let sessionID): return try await completed(sessionID, for: caller, call)
    case .verified(let proof): verified = proof
    }
    verified.admitted = admitted
    query.identity = verified.assertion?.identity
    if let identity = query.identity, identity.providerID == WaysIn.phone { query.phoneNumber = identity.subject }
    query.email = verified.email
    query.code = verified.code?.digest
    query.spentToken = verified.singleUse?.digest
    query.pending = verified.heldIn
    let settled = try await environment.settle(query, try await environment.load(query), call: call) {
      [verified] facts, now in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      var verified = verified
      verified.code = try verified.code.map { try environment.proveAgain($0, facts.code, call, now) }
      return try decide(verified, caller, facts, call, now)
    }
    switch settled {
    case .repeated(let record): return try await repeated(record, call)
    case .decided(.completed(let sessionID)): return try await completed(sessionID, for: caller, call)
    case .decided(.answer(let answer)): return answer
    case .decided(.alreadyLinked(let sessionID)):
      // The caller's own session, whole, because a client keeps whatever session it is given: an empty refresh token
      // would take the place of a good one. The one that the client has stays good beside it.
      var grant = try await environment.repeatSession(sessionID, call: call)
      grant.userInfo = verified.userInfo
      grant.tokens = verified.tokens
      return .session(grant, alreadyLinked: true)
    case .decided(.passedAlreadyLinked): throw PendingTable.mismatch("only who shows a factor gets this")
    case .decided(.session(let opened, let state)):
      var grant = try environment.grant(opened, state, now: environment.clock.now())
      grant.userInfo = verified.userInfo
      grant.tokens = verified.tokens
      return .session(grant, alreadyLinked: false)
    }
  }

  /// Anybody can name any address for a new password, as for a new account.
  private func throttle(_ credential: Credential, _ call: CallFacts) -> Throttle? {
    guard case .password = credential else { return nil }
    return environment.throttle(.signUps, call: call)
  }

  private func repeated(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> LinkAnswer {
    .session(try await environment.repeatSession(of: record, call: call), alreadyLinked: false)
  }

  /// The handle was completed before: the same answer, but never a session that is worth more than the caller's own,
  /// by a factor or by a younger login.
  private func completed(
    _ sessionID: String, for caller: CallerSession, _ call: CallFacts
  ) async throws -> LinkAnswer {
    var query = Query()
    query.sessionID = sessionID
    let opened = try await environment.load(query).session
    guard opened?.authTime == caller.session.authTime, opened?.secondFactor == caller.session.secondFactor else {
      throw Failure.rowWasUsed
    }
    return .session(try await environment.repeatCompletion(sessionID, call: call), alreadyLinked: false)
  }
}
