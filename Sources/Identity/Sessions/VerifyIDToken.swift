package import Store

package enum IDTokenStatus: Hashable, Sendable {
  case active(accountID: String, claimsJSON: String)
  /// The failure reason, such as `TOKEN_REVOKED`.
  case inactive(Failure.Reason)
}

/// A token of a session, which VerifyIdToken or VerifySessionCookie reports on.
package enum SessionToken: Hashable, Sendable {
  case idToken(String)
  case sessionCookie(String)

  fileprivate var text: String {
    switch self {
    case .idToken(let text), .sessionCookie(let text): text
    }
  }
}

/// Verifies an ID token or session cookie of this service: signature, expiry, and that its session is open.
package struct VerifyIDToken: Reading {
  private let environment: Environment
  private let call: CallFacts
  private let text: String
  private let token: Result<IDToken, Failure>

  /// Throws only if no token can be verified. An invalid token is an answer.
  package init(_ environment: Environment, _ presented: SessionToken, _ call: CallFacts) throws {
    self.environment = environment
    self.call = call
    text = presented.text
    do {
      let now = environment.clock.now()
      switch presented {
      case .idToken(let text): token = .success(try environment.tokens.verifyIDToken(text, at: now))
      case .sessionCookie(let text):
        try SessionCookieDecision.requireEnabled(environment.policy)
        token = .success(try environment.tokens.verifySessionCookie(text, at: now))
      }
    } catch let failure as Failure
      where [.invalidIDToken, .tokenExpired, .operationNotAllowed].contains(failure.reason)
    {
      token = .failure(failure)
    }
  }

  package var query: Query {
    var query = Query()
    query.sessionID = try? token.get().sessionID
    return query
  }

  package func answer(_ facts: Facts) throws -> IDTokenStatus {
    do {
      let token = try token.get()
      let caller = try SessionCheck.open(token, in: facts, call: call, now: environment.clock.now())
      return .active(
        accountID: caller.state.account.id, claimsJSON: try environment.tokens.claimsJSON(text))
    } catch let failure as Failure {
      return .inactive(failure.reason)
    }
  }
}
