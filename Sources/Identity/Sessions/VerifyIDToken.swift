package import Store

package enum IDTokenStatus: Hashable, Sendable {
  case active(accountID: String, claimsJSON: String)
  /// The failure reason, such as `TOKEN_REVOKED`.
  case inactive(Failure.Reason)
}

/// Verifies an ID token of this service: its signature, its expiry, and that its session is open.
package struct VerifyIDToken: Reading {
  private let environment: Environment
  private let call: CallFacts
  private let text: String
  private let token: Result<IDToken, Failure>

  /// Throws only if no token can be verified. An invalid token is an answer.
  package init(_ environment: Environment, idToken: String, _ call: CallFacts) throws {
    self.environment = environment
    self.call = call
    text = idToken
    do {
      token = .success(try environment.tokens.verifyIDToken(idToken, at: environment.clock.now()))
    } catch let failure as Failure where [.invalidIDToken, .tokenExpired].contains(failure.reason) {
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
