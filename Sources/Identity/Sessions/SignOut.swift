import Store

/// The token that names the session to end.
package enum SignOutRequest: Hashable, Sendable {
  case idToken(String)
  case refreshToken(String)
  case sessionCookie(String)
}

/// Ends one session. Succeeds again if the session or its account no longer exists.
package struct SignOut: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: SignOutRequest, _ call: CallFacts) async throws {
    var query = Query()
    query.sessionID = try sessionID(of: request, call)
    let facts = try await environment.first(query)
    try await environment.decideAndCommit(query, facts, call: call) { facts, now -> Step<Void> in
      guard let session = facts.session, session.closed == nil else { return .answer(()) }
      if case .refreshToken = request, session.caller != call.caller {
        return .refuse(Failure(.invalidRefreshToken, debug: "another caller's refresh token"))
      }
      let note = AuditNote(.signedOut, accountID: session.accountID, details: ["session_id": session.id])
      let change = Change([
        .closing(session, at: now, reason: .signedOut), environment.audit(note, call: call, now: now),
      ])
      return .commit(change, ())
    }
  }

  private func sessionID(of request: SignOutRequest, _ call: CallFacts) throws -> String {
    switch request {
    case .idToken(let text):
      return try sessionID(of: try environment.tokens.verifyIDToken(text, at: environment.clock.now()), call)
    case .sessionCookie(let text):
      return try sessionID(of: try environment.tokens.verifySessionCookie(text, at: environment.clock.now()), call)
    case .refreshToken(let text):
      guard let token = RefreshToken(text, environment.cryptography) else { throw Failure(.invalidRefreshToken) }
      return token.sessionID
    }
  }

  private func sessionID(of token: IDToken, _ call: CallFacts) throws -> String {
    _ = try RestrictedAudience.isOf(token, call)
    return token.sessionID
  }
}
