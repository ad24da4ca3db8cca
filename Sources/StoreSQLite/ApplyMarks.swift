import Store

// What a `Write` may change in the readers' caches: accounts, and the sign-in methods of an address.
//
// The switches have no default, so that a new write is not forgotten.

extension Writer {
  func markKept(_ write: Write) throws(SQLiteError) {
    switch write {
    case .account(let write): try markKept(write)
    case .identity(.insert(let identity)), .identity(.update(let identity)):
      markAccount(identity.accountID)
      try markAddresses(of: identity.accountID)
      markMethods(identity.email)
    case .identity(.delete(_, let id)), .factor(.delete(_, let id)):
      markAccount(id)
      try markAddresses(of: id)
    case .unlink(.remember(let unlink)): markAccount(unlink.accountID)
    case .unlink(.forget(let id, _)): markAccount(id)
    case .factor(.insert(let factor)):
      markAccount(factor.accountID)
      try markAddresses(of: factor.accountID)
    case .factor(.update(let factor)): markAccount(factor.accountID)
    case .factor(.requireNone): break
    case .record(let write): markKept(write)
    case .session, .pending, .delivery, .throttle, .signingKey, .failure: break
    }
  }

  private func markKept(_ write: RecordWrite) {
    switch write {
    case .seal(.factor(_, let accountID), _, _): markAccount(accountID)
    case .seal(.signingKey, _, _), .seal(.importKey, _, _), .seal(.pending, _, _), .seal(.delivery, _, _): break
    case .insertIdempotency, .spendToken, .appendAudit, .keepImportKey, .noteMasterKey: break
    }
  }

  private func markKept(_ write: AccountWrite) throws(SQLiteError) {
    switch write {
    case .insert(let account):
      // If the change is undone, a version that the writer has cached is invalid.
      markAccount(account.id)
      markMethods(account.email)
    case .update(let account):
      markAccount(account.id)
      try markAddresses(of: account.id)
      markMethods(account.email)
    case .raise(let id, _):
      markAccount(id)
      try markAddresses(of: id)
    case .close(let closed, _):
      markAccount(closed.id)
      try markAddresses(of: closed.id)
    case .cutOff(let id, _, _): markAccount(id)
    // Cached accounts are not used for the last sign-in.
    case .touch: break
    // Removed accounts are not cached.
    case .confirm, .requireFreeEmail, .requireIdle, .noteIdle, .forget: break
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
