import Store

extension Environment {
  /// Changes the account of an ID token's session. A repeated call returns the session of the first call.
  func changeAccount(
    of idToken: String, _ call: CallFacts,
    decide: (CallerSession, Timestamp) throws -> Step<(OpenedSession, AccountState)>
  ) async throws -> SessionGrant {
    if let record = try await recorded(call) { return try await repeatSession(of: record, call: call) }
    let token = try tokens.verifyIDToken(idToken, at: clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.look(for: call.idempotency)
    let facts = try await first(query)
    let settled = try await settle(query, facts, call: call) { facts, now in
      try decide(try SessionCheck.open(token, in: facts, call: call, now: now), now)
    }
    return try await grant(settled, call)
  }

  /// Returns the session of a settled change.
  func grant(_ settled: Settled<(OpenedSession, AccountState)>, _ call: CallFacts) async throws -> SessionGrant {
    switch settled {
    case .repeated(let record): try await repeatSession(of: record, call: call)
    case .decided(let (opened, state)): try await grant(opened, state, now: clock.now())
    }
  }
}
