import Store

extension Environment {
  /// Holds what a session wanted done until the second factor has passed; nothing else is written.
  func holdForSecondFactor(
    _ held: HeldAssertion, _ caller: CallerSession, call: CallFacts, now: Timestamp
  ) -> (Change, SecondFactorRequired) {
    var held = held
    held.sessionID = caller.session.id
    let pending = hold(held, purpose: .secondFactor, accountID: caller.state.account.id, call: call, now: now)
    let change = Change([
      .guardSession(id: caller.session.id, at: now),
      .insertPending(pending.record, limits: policy.pendingLimits),
    ])
    let required = SecondFactorRequired(
      handle: pending.handle, factors: caller.state.factors, expiresAt: pending.record.expiresAt)
    return (change, required)
  }
}
