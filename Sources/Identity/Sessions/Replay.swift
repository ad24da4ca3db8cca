package import Store

extension CallFacts {
  /// Returns the record that an earlier call left under this call's key. Ignores an expired record, even before it is
  /// deleted.
  ///
  /// Throws `Failure(.idempotencyKeyReused)` if the request differs. The throw is untyped, because the optimiser of
  /// Swift 6.3 crashes when it inlines a typed throw into the asynchronous callers.
  package func recorded(in facts: Facts, at now: Timestamp) throws -> IdempotencyRecord? {
    guard let idempotency, let record = facts.idempotency, now < record.expiresAt else { return nil }
    guard record.request == idempotency.request(under: record.key) else {
      throw Failure(
        .idempotencyKeyReused, field: "idempotency_key", hint: "The key belongs to another request. Use a new key.")
    }
    return record
  }

  /// Returns the write that records what this call does, if it has a key.
  package func remember(
    _ outcome: String, accountID: String, sessionID: String?, policy: Policy, now: Timestamp
  ) -> [Write] {
    let end = now.adding(millis: policy.idempotencyLifetimeMillis)
    return remember(accountID: accountID, sessionID: sessionID, until: end, now: now) { _ in outcome }
  }

  /// Returns one write for each master key, all or none of which are applied.
  ///
  /// Equal calls on two servers thus meet at a unique key, whichever master key comes first there, and each server
  /// finds the record under any key that it knows.
  /// - Parameter outcome: returns the outcome for a record with these names, to which a sealed outcome is bound.
  func remember(
    accountID: String, sessionID: String?, until end: Timestamp, now: Timestamp,
    _ outcome: (IdempotencyClaim.Names) -> String
  ) -> [Write] {
    guard let idempotency else { return [] }
    func write(_ names: IdempotencyClaim.Names) -> Write {
      .record(.insertIdempotency(
        IdempotencyRecord(
          key: names.key, request: names.request, outcome: outcome(names), accountID: accountID,
          sessionID: sessionID, createdAt: now, expiresAt: end)))
    }
    guard !idempotency.others.isEmpty else { return [write(idempotency.first)] }
    return idempotency.all.map(write)
  }
}

extension IdempotencyRecord {
  /// Outcome of L1.
  static let alreadyLinked = "already_linked"
}

extension Environment {
  /// Returns the record under the call's key. Call this before verifying the credential: a repeat may bring a token
  /// that is expired or spent by now.
  package func recorded(_ call: CallFacts) async throws -> IdempotencyRecord? {
    guard let idempotency = call.idempotency else { return nil }
    var query = Query()
    query.look(for: idempotency)
    return try call.recorded(in: try await first(query), at: clock.now())
  }

  /// Returns the record for a call whose credential an attacker could guess.
  ///
  /// If there is a record, blocked calls get no answer, and another request under its key is a failed attempt.
  /// Otherwise each guess could be compared with the request of the record.
  /// - Parameter email: the address whose failures the throttle counts.
  package func recorded(
    _ call: CallFacts, _ throttle: Throttle, of email: String? = nil
  ) async throws -> IdempotencyRecord? {
    guard let idempotency = call.idempotency else { return nil }
    var query = Query()
    query.look(for: idempotency)
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

  /// Answers a repeated call with fresh tokens of the session that the first call opened, while it and its account are
  /// live.
  ///
  /// The server keeps no token, so the session moves to one that is derived from the digest of its present one. Later
  /// repeats return that same token, so every answer is usable.
  package func repeatSession(_ sessionID: String, call: CallFacts) async throws -> SessionGrant {
    var query = Query()
    query.sessionID = sessionID
    let (opened, state) = try await decideAndCommit(query, try await load(query), call: call) { facts, now in
      repeating(try SessionCheck.live(facts.session, facts.sessionAccount, now: now), now: now)
    }
    return try await grant(opened, state, now: clock.now())
  }

  /// Repeats the answer of a completed row, while the session that completed it is live.
  ///
  /// After that, throws `Failure.rowWasUsed`. The session of this call stays as it was.
  func repeatingCompletion(
    _ session: SessionRecord?, _ state: AccountState?, now: Timestamp
  ) throws(Failure) -> Step<(OpenedSession, AccountState)> {
    do {
      return repeating(try SessionCheck.live(session, state, now: now), now: now)
    } catch where [.tokenRevoked, .tokenExpired].contains(error.reason) {
      throw .rowWasUsed
    }
  }

  /// Continues the session of a repeated call.
  /// - Parameter writes: committed too, even if nothing else needs a commit.
  func repeating(
    _ caller: CallerSession, writing writes: [Write] = [], now: Timestamp
  ) -> Step<(OpenedSession, AccountState)> {
    let confirming = Write.account(.confirm(id: caller.state.account.id, version: caller.state.account.version))
    let kept = keepSession(caller.session, now: now)
    guard kept.isRotated || !writes.isEmpty else { return .answer((kept.opened, caller.state)) }
    return .commit(Change([confirming] + kept.writes + writes), (kept.opened, caller.state))
  }
}

extension Environment {
  /// Makes a call again that failed because an equal one under the same key has used up the code or the session. The
  /// second try finds the record of that call, and answers like it.
  @inline(never)
  func repeatingTwin<Answer>(_ call: CallFacts, _ body: () async throws -> Answer) async throws -> Answer {
    do {
      return try await body()
    } catch let failure as Failure {
      guard Failure.Reason.ofTwins.contains(failure.reason), (try? await recorded(call)) != nil else { throw failure }
      return try await body()
    }
  }
}

extension Failure.Reason {
  /// What a call fails with that finds its credential used.
  fileprivate static let ofTwins: Set<Failure.Reason> = [
    .expiredCode, .invalidCode, .tokenRevoked, .pendingCredentialUsed, .flowMismatch, .invalidPasskey,
    .invalidCredential,
  ]
}
