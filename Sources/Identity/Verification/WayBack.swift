import Store

extension Environment {
  /// Mails to the address that a change took from the account what takes the change back, where somebody had proved
  /// that address: a stranger whose address was merely typed must get nothing that opens the account.
  /// - Parameter values: what the mail says beside the link.
  func wayBack(
    to before: AccountRecord, _ order: MailOrder, values: [String: String] = [:], _ call: CallFacts, _ now: Timestamp
  ) -> [Write] {
    guard before.emailProved, let old = before.email else { return [] }
    let pending = newCode(
      HeldCode(accountID: before.id), purpose: .revertEmail, identity: .addressOf(before.id), email: old,
      accountID: before.id, lifetimeMillis: policy.emailRevertLifetimeMillis, call: call, now: now)
    // No former one is ended: a thief who changes the address twice must not take the first owner's way back.
    return [
      .insertPending(pending.record, limits: policy.codeLimits),
      mail(.emailChanged, pending, to: old, order, values: values, now),
    ]
  }
}
