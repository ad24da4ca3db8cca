package import Store

/// The current account of an ID token.
package struct GetAccount: Reading {
  private let environment: Environment
  private let call: CallFacts
  private let token: IDToken

  package init(_ environment: Environment, idToken: String, _ call: CallFacts) throws {
    self.environment = environment
    self.call = call
    token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
  }

  package var query: Query {
    var query = Query()
    query.sessionID = token.sessionID
    return query
  }

  package func answer(_ facts: Facts) throws -> AccountState {
    try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: environment.clock.now()).state
  }
}
