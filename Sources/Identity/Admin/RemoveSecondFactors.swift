package import Store

/// Takes every second factor away from an account whose person has lost them.
package struct RemoveSecondFactors: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// The account as it is then, and how many factors were removed, recovery codes among them.
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

  /// One for each factor, as where its person withdraws it; recovery codes go with them unmentioned.
  private func notices(_ state: AccountState, _ now: Timestamp) -> [Write] {
    state.factors.filter { $0.kind != .recoveryCode }.flatMap { factor in
      environment.notices(.factorWithdrawn, to: state, values: ["factor": factor.kind.rawValue], now: now)
    }
  }
}
