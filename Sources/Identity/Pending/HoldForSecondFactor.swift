import Store

extension Environment {
  /// Puts aside what a call wanted until the second factor of `state` has passed. The row is all that is written.
  func holdForSecondFactor(
    _ held: HeldAssertion, _ state: AccountState, userInfo: UserInfo?, tokens: ProviderTokens?, call: CallFacts,
    now: Timestamp
  ) -> (Write, SecondFactorRequired) {
    var pending = hold(held, purpose: .secondFactor, accountID: state.account.id, call: call, now: now)
    pending.record.attemptsLeft = min(policy.pendingAttemptsMax, policy.factorCodeAttemptsMax)
    let required = SecondFactorRequired(
      handle: pending.handle, factors: state.factorsToOffer(behind: held.firstFactor),
      expiresAt: pending.record.expiresAt, userInfo: userInfo, tokens: tokens)
    return (.insertPending(pending.record, limits: policy.pendingLimits), required)
  }
}
