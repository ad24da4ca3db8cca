import Store

/// Who may enrol what, and who may withdraw. What cannot be done at all is said before a new login is asked for.
enum EnrollmentDecision {
  /// nil: allowed.
  static func refusal(
    _ kind: FactorKind, phoneNumber: String?, _ caller: CallerSession, policy: Policy, now: Timestamp
  ) -> Failure? {
    let account = caller.state.account
    if account.anonymous || caller.session.signInProviderID == WaysIn.phone {
      return Failure(
        .unsupportedFirstFactor, hint: "Sign in with something else than a telephone, as a person with a name.")
    }
    guard account.emailProved else {
      return Failure(.unverifiedEmail, hint: "Prove the account's address first.")
    }
    return refusal(kind, phoneNumber: phoneNumber, caller.state, policy: policy)
      ?? refusal(caller, policy: policy, now: now)
  }

  private static func refusal(
    _ kind: FactorKind, phoneNumber: String?, _ state: AccountState, policy: Policy
  ) -> Failure? {
    guard kind != .recoveryCode else {
      return state.hasSecondFactor ? nil : Failure(.secondFactorNotFound, field: "kind", hint: "Enrol a factor first.")
    }
    if kind == .phone {
      guard policy.textMessagesEnabled else { return .noTextMessages }
      if state.factors.contains(where: { $0.phoneNumber == phoneNumber }) {
        return Failure(.secondFactorExists, field: "phone_number", hint: "This number is enrolled.")
      }
    }
    guard state.factors.count(where: { $0.kind != .recoveryCode }) < policy.factorsMax else {
      return Failure(.secondFactorLimit, hint: "At most \(policy.factorsMax) factors; withdraw one first.")
    }
    return nil
  }

  /// A recent login that passed a factor, where there is one.
  static func refusal(_ caller: CallerSession, policy: Policy, now: Timestamp) -> Failure? {
    do {
      try SessionCheck.requireRecentLogin(caller, for: .changeFactors, policy: policy, now: now)
      try SessionCheck.requireSecondFactor(caller)
      return nil
    } catch {
      return error
    }
  }
}
