import Store

// What a `Write` may change in the readers' caches: accounts, and the sign-in methods of an address.
//
// Each write is listed, so that a new one is not forgotten.

extension Writer {
  func markKept(_ write: Write) throws(SQLiteError) {
    switch write {
    case .insertAccount(let account):
      // If the change is undone, a version that the writer has cached is invalid.
      markAccount(account.id)
      markMethods(account.email)
    case .updateAccount(let account):
      markAccount(account.id)
      try markAddresses(of: account.id)
      markMethods(account.email)
    case .insertIdentity(let identity), .updateIdentity(let identity):
      markAccount(identity.accountID)
      try markAddresses(of: identity.accountID)
      markMethods(identity.email)
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
    // Cached accounts are not used for the last sign-in.
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

  private func markMethods(_ email: String?) {
    if let email { methods.mark(email) }
  }

  /// Marks the account's own address and those of its identities.
  private func markAddresses(of accountID: String) throws(SQLiteError) {
    let statement = try connection.statement(
      """
      SELECT a.email, i.email FROM accounts AS a LEFT JOIN identities AS i ON i.account_number = a.number WHERE a.id = ?
      """
    ).bind(accountID)
    defer { statement.reset() }
    while try statement.step() {
      markMethods(statement.optionalText())
      markMethods(statement.optionalText())
    }
  }
}
