package import Store

extension CallFacts {
  /// The record that an earlier call left under this call's key. The same key for another request is refused. One that
  /// has expired is none, whether or not it was swept yet.
  ///
  /// Untyped, since the optimiser of Swift 6.3 crashes where it inlines a typed throw into the asynchronous callers.
  package func recorded(in facts: Facts, at now: Timestamp) throws -> IdempotencyRecord? {
    guard let idempotency, let record = facts.idempotency, now < record.expiresAt else { return nil }
    guard record.request == idempotency.request else {
      throw Failure(
        .idempotencyKeyReused, field: "idempotency_key", hint: "The key was used for another request.")
    }
    return record
  }

  /// The write that remembers what this call does, where it has a key.
  package func remember(
    _ outcome: String, accountID: String, sessionID: String?, policy: Policy, now: Timestamp
  ) -> [Write] {
    let end = now.adding(millis: policy.idempotencyLifetimeMillis)
    return remember(outcome, accountID: accountID, sessionID: sessionID, until: end, now: now)
  }

  func remember(
    _ outcome: String, accountID: String, sessionID: String?, until end: Timestamp, now: Timestamp
  ) -> [Write] {
    guard let idempotency else { return [] }
    let record = IdempotencyRecord(
      key: idempotency.key, request: idempotency.request, outcome: outcome, accountID: accountID,
      sessionID: sessionID, createdAt: now, expiresAt: end)
    return [.insertIdempotency(record)]
  }
}

extension IdempotencyRecord {
  /// The outcome of L1.
  static let alreadyLinked = "already_linked"
}

extension Environment {
  /// The record under the call's key, looked up before its credential is: a repeat may bring a token that has expired
  /// or been spent since.
  package func recorded(_ call: CallFacts) async throws -> IdempotencyRecord? {
    guard let idempotency = call.idempotency else { return nil }
    var query = Query()
    query.idempotency = idempotency.key
    return try call.recorded(in: try await first(query), at: clock.now())
  }

  /// The same for a call whose credential could be guessed at. Where there is a record, blocked calls get no answer,
  /// and another request under its key is a failed attempt: or each guess could be compared with the request that the
  /// record was made for.
  /// - Parameter email: whose failures the throttle counts.
  package func recorded(
    _ call: CallFacts, _ throttle: Throttle, of email: String? = nil
  ) async throws -> IdempotencyRecord? {
    guard let idempotency = call.idempotency else { return nil }
    var query = Query()
    query.idempotency = idempotency.key
    query.email = email
    throttle.look(into: &query)
    let facts = try await first(query)
    guard facts.idempotency != nil else { return nil }
    let admitted = try throttle.admit(facts, now: clock.now())
    do {
      return try call.recorded(in: facts, at: clock.now())
    } catch let failure as Failure {
      try await count(admitted)
      throw failure
    }
  }

  package func repeatSession(of record: IdempotencyRecord, call: CallFacts) async throws -> SessionGrant {
    guard let sessionID = record.sessionID else { throw Failure(.tokenRevoked, debug: "the record names no session") }
    return try await repeatSession(sessionID, call: call)
  }

  /// Answers a repeated call again: fresh tokens of the session that the first one opened, while it and its account
  /// still live.
  ///
  /// No token was kept, so the session moves to one that is derived from the digest of its present one; repeats after
  /// that find it in place and hand it out again, so that none of several answers is dead on arrival.
  package func repeatSession(_ sessionID: String, call: CallFacts) async throws -> SessionGrant {
    var query = Query()
    query.sessionID = sessionID
    let (opened, state) = try await decideAndCommit(query, try await load(query), call: call) { facts, now in
      repeating(try SessionCheck.live(facts.session, facts.sessionAccount, now: now), now: now)
    }
    return try await grant(opened, state, now: clock.now())
  }

  /// The answer that the completion of a row got, while the session that did it lives; after that the row is simply
  /// used, and the session of this call none the worse for it.
  func repeatingCompletion(
    _ session: SessionRecord?, _ state: AccountState?, now: Timestamp
  ) throws(Failure) -> Step<(OpenedSession, AccountState)> {
    do {
      return repeating(try SessionCheck.live(session, state, now: now), now: now)
    } catch where [.tokenRevoked, .tokenExpired].contains(error.reason) {
      throw .rowWasUsed
    }
  }

  /// - Parameter writes: what is committed with it, also where nothing else has to be.
  func repeating(
    _ caller: CallerSession, writing writes: [Write] = [], now: Timestamp
  ) -> Step<(OpenedSession, AccountState)> {
    let confirming = Write.confirmAccount(id: caller.state.account.id, version: caller.state.account.version)
    let kept = keepSession(caller.session, now: now)
    guard kept.isRotated || !writes.isEmpty else { return .answer((kept.opened, caller.state)) }
    return .commit(Change([confirming] + kept.writes + writes), (kept.opened, caller.state))
  }
}
