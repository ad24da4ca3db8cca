import Store

// What a `Write` may change for those who ask how an address signs in. Named for each write, so that a new one is not
// forgotten.

extension Writer {
  func markWaysIn(_ write: Write) throws(Failure) {
    switch write {
    case .insertAccount(let account): markWaysIn(account.email)
    case .updateAccount(let account):
      try markAddresses(of: account.id)
      markWaysIn(account.email)
    case .insertIdentity(let identity), .updateIdentity(let identity):
      try markAddresses(of: identity.accountID)
      markWaysIn(identity.email)
    case .insertFactor(let factor): try markAddresses(of: factor.accountID)
    case .guardAccount(let id, _), .deleteIdentity(_, let id), .deleteFactor(_, let id): try markAddresses(of: id)
    case .closeAccount(let closed, _): try markAddresses(of: closed.id)
    case .touchAccount, .rememberUnlink, .forgetUnlink, .insertSession, .rotateSession, .closeSession,
      .closeSessions, .closeSessionsOf, .guardSession, .insertPending, .completePending, .countPendingAttempt,
      .updateFactor, .spendPendingAttempt, .resealPending,
      .deletePendings, .insertIdempotency, .spendToken, .appendAudit, .insertSigningKey, .retireSigningKey,
      .enqueueDelivery, .countThrottle, .resetThrottle,
      .claimDelivery, .removeDelivery, .buryDelivery, .deleteSigningKeys,
      .guardNoSigningKey, .guardIdle, .noteIdle, .keepImportKey, .endPendings, .confirmAccount, .guardFreeEmail,
      .cutOff, .guardNoFactors:
      break
    }
  }

  private func markWaysIn(_ email: String?) {
    if let email { cache.mark(email) }
  }

  /// Its own, and those that its identities have.
  private func markAddresses(of accountID: String) throws(Failure) {
    let statement = try connection.statement(
      """
      SELECT a.email, i.email FROM accounts AS a LEFT JOIN identities AS i ON i.account_number = a.number WHERE a.id = ?
      """
    ).bind(accountID)
    defer { statement.reset() }
    while try statement.step() {
      markWaysIn(statement.optionalText())
      markWaysIn(statement.optionalText())
    }
  }
}
