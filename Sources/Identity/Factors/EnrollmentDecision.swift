import Store

/// Who may enrol what, and who may withdraw. What cannot be done at all is said before a new login is asked for.
enum EnrollmentDecision {
  /// nil: allowed.
  static func refusal(
    _ kind: FactorKind, phoneNumber: String?, _ caller: CallerSession, policy: Policy, now: Timestamp
  ) -> Failure? {
    let account = caller.state.account
    if account.anonymous || caller.session.beginning == .phone {
      return Failure(
        .unsupportedFirstFactor, hint: "Sign in with something else than a telephone, as a person with a name.")
    }
    guard account.emailProved else {
      return Failure(.unverifiedEmail, field: "id_token", hint: "Prove the account's address first.")
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
      var after = state
      after.factors.append(
        FactorRecord(id: "", accountID: state.account.id, kind: .phone, enrolledAt: Timestamp(millis: 0)))
      if let refusal = lockOut(state, after, policy: policy) { return refusal }
    }
    guard state.factors.count(where: { $0.kind != .recoveryCode }) < policy.factorsMax else {
      return Failure(.secondFactorLimit, hint: "At most \(policy.factorsMax) factors; withdraw one first.")
    }
    return nil
  }

  /// Where telephones are the only second factors none is a first one, so that a change of factors may take the last
  /// way in (section 5).
  static func lockOut(_ before: AccountState, _ after: AccountState, policy: Policy) -> Failure? {
    guard WaysIn(after, policy).isEmpty, !WaysIn(before, policy).isEmpty else { return nil }
    return Failure(.lastSignInMethod, hint: "Nobody could sign in; add another way of signing in first.")
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
