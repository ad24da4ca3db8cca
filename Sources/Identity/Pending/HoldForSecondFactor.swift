import Store

extension Environment {
  /// Puts aside what a call wanted until the second factor of `state` has passed. The row is all that is written.
  func holdForSecondFactor(
    _ held: HeldAssertion, _ state: AccountState, userInfo: UserInfo?, call: CallFacts, now: Timestamp
  ) -> (Write, SecondFactorRequired) {
    let pending = hold(held, purpose: .secondFactor, accountID: state.account.id, call: call, now: now)
    let required = SecondFactorRequired(
      handle: pending.handle, factors: state.factors, expiresAt: pending.record.expiresAt, userInfo: userInfo)
    return (.insertPending(pending.record, limits: policy.pendingLimits), required)
  }
}
