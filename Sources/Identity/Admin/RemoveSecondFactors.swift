package import Store

/// Removes every second factor of an account whose user has lost them.
package struct RemoveSecondFactors: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the account after the change, and how many factors were removed, including recovery codes.
  package func callAsFunction(
    accountID: String, _ call: CallFacts
  ) async throws -> (state: AccountState, removed: Int) {
    var query = Query()
    query.accountID = accountID
    let (state, facts) = try await environment.administer(query, call) { state, _, now in
      AdminDecision.removeSecondFactors(state, notices: notices(state, now), now: now)
    }
    return (state, (facts.account?.factors.count ?? 0) - state.factors.count)
  }

  /// Returns one notice for each factor, as for a withdrawal by the user. The notices do not mention recovery codes.
  private func notices(_ state: AccountState, _ now: Timestamp) -> [Write] {
    state.factors.filter { $0.kind != .recoveryCode }.flatMap { factor in
      environment.notices(.factorWithdrawn, to: state, values: ["factor": factor.kind.rawValue], now: now)
    }
  }
}
