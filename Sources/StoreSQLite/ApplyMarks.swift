import Store

// What a `Write` may change of what readers keep in memory: accounts, and how an address signs in. Named for each
// write, so that a new one is not forgotten.

extension Writer {
  func markKept(_ write: Write) throws(Failure) {
    switch write {
    case .insertAccount(let account):
      // What the writer has seen of it is nothing where the change is undone.
      markAccount(account.id)
      markWaysIn(account.email)
    case .updateAccount(let account):
      markAccount(account.id)
      try markAddresses(of: account.id)
      markWaysIn(account.email)
    case .insertIdentity(let identity), .updateIdentity(let identity):
      markAccount(identity.accountID)
      try markAddresses(of: identity.accountID)
      markWaysIn(identity.email)
    case .insertFactor(let factor):
      markAccount(factor.accountID)
      try markAddresses(of: factor.accountID)
    case .guardAccount(let id, _), .deleteIdentity(_, let id), .deleteFactor(_, let id):
      markAccount(id)
      try markAddresses(of: id)
    case .closeAccount(let closed, _):
      markAccount(closed.id)
      try markAddresses(of: closed.id)
    case .updateFactor(let factor): markAccount(factor.accountID)
    case .rememberUnlink(let unlink): markAccount(unlink.accountID)
    case .cutOff(let id, _, _), .forgetUnlink(let id, _): markAccount(id)
    // What is kept of an account is not asked for its last sign-in.
    case .touchAccount: break
    case .insertSession, .rotateSession, .renameSession, .closeSession, .closeSessions, .closeSessionsOf, .guardSession,
      .insertPending,
      .completePending, .countPendingAttempt, .spendPendingAttempt, .resealPending, .deletePendings, .endPendings,
      .insertIdempotency, .spendToken, .appendAudit, .insertSigningKey, .guardNoSigningKey, .retireSigningKey,
      .deleteSigningKeys, .enqueueDelivery, .enqueueNotice, .claimDelivery, .removeDelivery, .buryDelivery,
      .countThrottle, .resetThrottle, .guardIdle, .noteIdle, .keepImportKey, .confirmAccount, .guardFreeEmail,
      .guardNoFactors:
      break
    }
  }

  private func markAccount(_ id: String) { marks.touch(AccountCache.hash(ofAccount: id)) }

  private func markWaysIn(_ email: String?) {
    if let email { waysIn.mark(email) }
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
