import Store

extension Environment {
  /// Sends the link that reverts an email change to the old email address, if that was verified.
  ///
  /// An unverified address may belong to another user, who must not get access to the account.
  /// - Parameter values: template values in addition to the link.
  func wayBack(
    to before: AccountRecord, _ order: MailOrder, values: [String: String] = [:], _ call: CallFacts, _ now: Timestamp
  ) -> [Write] {
    guard before.emailVerified, let old = before.email else { return [] }
    let pending = newCode(
      PendingCode(accountID: before.id), purpose: .revertEmail, identity: .addressOf(before.id), email: old,
      accountID: before.id, lifetimeMillis: policy.emailRevertLifetimeMillis, call: call, now: now)
    // Earlier revert links stay valid: an attacker who changes the address twice must not end the first owner's link.
    return [
      .pending(.insert(pending.record, limits: policy.codeLimits)),
      mail(.emailChanged, pending, to: old, order, values: values, now),
    ]
  }
}
