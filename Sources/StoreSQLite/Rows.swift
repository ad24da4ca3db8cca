import Store

// What lookups read that is not a stored record alone.

/// An account's own row, with the number of its dependents.
struct AccountRow {
  static let columns = """
    a.number, a.identity_count, a.factor_count, a.unlink_count, \
    (SELECT max(signed_in_at) FROM sessions WHERE account_id = a.id), \(AccountRecord.columns.names(of: "a"))
    """
  let number: Int64
  let identityCount: Int
  let factorCount: Int
  let unlinkCount: Int
  let account: AccountRecord

  init(_ row: Statement) throws(SQLiteError) {
    number = row.int64()
    identityCount = row.int()
    factorCount = row.int()
    unlinkCount = row.int()
    // Sessions may state a later sign-in than the account does.
    let toldBySessions = row.optionalTimestamp()
    var account: AccountRecord = try row.record()
    if let toldBySessions { account.lastSignInAt = max(account.lastSignInAt ?? toldBySessions, toldBySessions) }
    self.account = account
  }
}

/// One identity of an account with the account's own sign-in methods, or only those if it has no identity.
struct SignInMethodsRow {
  static let columns = """
    a.password_hash IS NOT NULL, a.email_link, a.email_verification IS NOT NULL, a.phone_number IS NOT NULL, \
    CASE WHEN a.phone_number IS NULL OR a.factor_count = 0 THEN 0 ELSE coalesce(( \
      SELECT min(kind = 'phone') FROM factors WHERE account_number = a.number AND kind <> 'recovery_code'), 0) END, \
    i.provider_id, i.linked_at
    """
  let record: SignInMethodsRecord
  let providerID: String?
  let linkedAt: Int64

  init(_ row: Statement) throws(SQLiteError) {
    record = SignInMethodsRecord(
      hasPassword: row.bool(), emailLink: row.bool(), emailVerified: row.bool(), hasPhoneNumber: row.bool(),
      hasOnlyPhoneFactors: row.bool())
    providerID = row.optionalText()
    linkedAt = row.int64()
  }
}

extension IdleAccount {
  static let select = """
    SELECT a.id, a.version, (SELECT max(last_used_at) FROM sessions WHERE account_id = a.id)
    FROM accounts AS a WHERE a.anonymous = 1 AND a.idle_since < ? ORDER BY a.idle_since LIMIT ?
    """

  init(_ row: Statement) { self.init(id: row.text(), version: row.int64(), lastUsedAt: row.optionalTimestamp()) }
}
