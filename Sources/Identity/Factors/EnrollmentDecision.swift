import Store

/// Rules for enrolling and withdrawing second factors.
///
/// The check for a recent login comes last: a user must not sign in again for a change that is rejected anyway.
enum EnrollmentDecision {
  /// Checks an enrolment. nil: allowed.
  static func refusal(
    _ kind: FactorKind, phoneNumber: String?, _ caller: CallerSession, policy: Policy, now: Timestamp
  ) -> Failure? {
    let account = caller.state.account
    if account.anonymous || caller.session.beginning == .phone {
      return Failure(
        .unsupportedFirstFactor, hint: "Use an account that is not anonymous, and a sign-in method other than phone.")
    }
    guard account.emailVerified else {
      return Failure(.unverifiedEmail, field: "id_token", hint: "Verify the account's email address first.")
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
    if kind == .passkey, !policy.passkeyEnabled { return .notEnabled(SignInMethods.passkey, field: "kind") }
    if kind == .phone {
      guard policy.textMessagesEnabled else { return .noTextMessages }
      if let phoneNumber, let failure = policy.refusal(ofNumber: phoneNumber, field: "phone_number") { return failure }
      if state.factors.contains(where: { $0.phoneNumber == phoneNumber }) {
        return Failure(.secondFactorExists, field: "phone_number", hint: "The number is enrolled; use another.")
      }
    }
    var after = state
    after.factors.append(
      FactorRecord(id: "", accountID: state.account.id, kind: kind, enrolledAt: Timestamp(millis: 0)))
    if let refusal = lockOut(state, after, policy: policy) { return refusal }
    guard state.factors.count(where: { $0.kind != .recoveryCode }) < policy.factorsMax else {
      return Failure(.secondFactorLimit, hint: "The limit is \(policy.factorsMax) factors; withdraw one first.")
    }
    return nil
  }

  /// Rejects a change of factors that removes the last sign-in method (section 5).
  ///
  /// A phone cannot be the first factor while phones are the only second factors, nor a passkey without a verified user
  /// while passkeys are.
  static func lockOut(_ before: AccountState, _ after: AccountState, policy: Policy) -> Failure? {
    guard SignInMethods(after, policy).isEmpty, !SignInMethods(before, policy).isEmpty else { return nil }
    return Failure(.lastSignInMethod, hint: "The last sign-in method would be lost; link another first.")
  }

  /// Requires a recent login, and a passed factor if the account has one.
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
