import Store

extension Environment {
  /// Stores a call as pending until the second factor of `state` passes. Writes only the row.
  func holdForSecondFactor(
    _ held: PendingAssertion, _ state: AccountState, userInfo: UserInfo?, tokens: ProviderTokens?, call: CallFacts,
    now: Timestamp
  ) -> (Write, SecondFactorRequired) {
    var pending = hold(held, purpose: .secondFactor, accountID: state.account.id, call: call, now: now)
    pending.record.attemptsLeft = min(policy.pendingAttemptsMax, policy.factorCodeAttemptsMax)
    let required = SecondFactorRequired(
      handle: pending.handle, factors: state.factorsToOffer(behind: held.firstFactor),
      expiresAt: pending.record.expiresAt, userInfo: userInfo, tokens: tokens)
    return (.pending(.insert(pending.record, limits: policy.pendingLimits)), required)
  }
}
