import Store

// Accounts and their dependents.
//
// The account's row counts its dependents. A dependent of a removed account finds no account number and is rejected.

extension Writer {
  /// False: an account with this id was closed, and the id is not free.
  func insert(_ account: AccountRecord) throws(SQLiteError) -> Bool {
    guard try connection.statement(.insertAccount).bind(account).runHitsRow() else { return false }
    // Only an account that takes a freed id begins with a cut-off of tokens.
    if account.tokensValidAfter != nil {
      try connection.statement("DELETE FROM closed_accounts WHERE id = ?").bind(account.id).run()
    }
    return true
  }

  func forget(_ id: String, _ at: Timestamp) throws(SQLiteError) -> Bool {
    guard
      try connection.statement("UPDATE closed_accounts SET forgotten_at = ? WHERE id = ? AND forgotten_at IS NULL")
        .bind(at).bind(id).runHitsRow()
    else { return false }
    // The next holder of the id is another user (SEMANTICS.md section 14, ForgetAccount).
    try removeDeliveries(of: id)
    try connection.statement("DELETE FROM sent_messages WHERE account_id = ?").bind(id).run()
    try connection.statement("DELETE FROM failures WHERE account_id = ?").bind(id).run()
    return true
  }

  func update(_ account: AccountRecord) throws(SQLiteError) -> Bool {
    try connection.statement(.updateAccount).bind(account).runHitsRow()
  }

  func raiseVersion(of id: String, from version: Int64) throws(SQLiteError) -> Bool {
    try connection.statement("UPDATE accounts SET version = version + 1 WHERE id = ? AND version = ?")
      .bind(id).bind(version).runHitsRow()
  }

  func touch(_ id: String, _ version: Int64, _ at: Timestamp) throws(SQLiteError) -> Bool {
    try connection.statement(
      "UPDATE accounts SET last_sign_in_at = coalesce(max(last_sign_in_at, ?1), ?1) WHERE id = ?2 AND version = ?3"
    ).bind(at).bind(id).bind(version).runHitsRow()
  }

  /// Returns whether the account has this version. Includes earlier changes of the same transaction, which have
  /// advanced the account's mark.
  func has(_ id: String, _ version: Int64) throws(SQLiteError) -> Bool {
    if let known = versions.find(id) { return known == version }
    let statement = try connection.statement("SELECT version FROM accounts WHERE id = ?").bind(id)
    defer { statement.reset() }
    guard try statement.step() else { return false }
    let found = statement.int64()
    versions.keep(found, of: id, account: AccountCache.hash(ofAccount: id), asOf: marks.commit)
    return found == version
  }

  func cutOff(_ id: String, _ at: Timestamp, disabling: Bool) throws(SQLiteError) -> Bool {
    try connection.statement(
      """
      UPDATE accounts SET tokens_valid_after = coalesce(max(tokens_valid_after, ?1), ?1), disabled = disabled OR ?2,
        version = version + 1
      WHERE id = ?3 AND NOT (disabled AND ?2)
      """
    ).bind(at).bind(disabling).bind(id).runHitsRow()
  }

  func isTaken(_ email: String) throws(SQLiteError) -> Bool {
    let statement = try connection.statement("SELECT 1 FROM accounts WHERE email = ?")
    defer { statement.reset() }
    return try statement.bind(email).step()
  }

  func close(_ closed: ClosedAccountRecord, _ version: Int64?) throws(SQLiteError) -> Bool {
    let id = closed.id
    let statement: Statement
    if let version {
      statement = try connection.statement("DELETE FROM accounts WHERE id = ? AND version = ? RETURNING number")
        .bind(id).bind(version)
    } else {
      statement = try connection.statement("DELETE FROM accounts WHERE id = ? RETURNING number").bind(id)
    }
    defer { statement.reset() }
    guard try statement.step() else { return false }
    let number = statement.int64()
    if keepsSearch { try removeFromSearch(number: number) }
    try connection.statement("DELETE FROM identities WHERE account_number = ?").bind(number).run()
    try connection.statement("DELETE FROM factors WHERE account_number = ?").bind(number).run()
    try connection.statement("DELETE FROM unlinks WHERE account_number = ?").bind(number).run()
    try connection.statement("DELETE FROM sessions WHERE account_id = ?").bind(id).run()
    try deletePendings(of: id, except: nil, sparing: [])
    try connection.statement(.insertClosedAccount).bind(closed).runInsert()
    return true
  }

  func isUsed(_ accountID: String, since: Timestamp) throws(SQLiteError) -> Bool {
    let statement = try connection.statement(
      "SELECT 1 FROM sessions WHERE account_id = ? AND last_used_at >= ? LIMIT 1")
    defer { statement.reset() }
    return try statement.bind(accountID).bind(since).step()
  }

  func noteIdle(_ accountID: String, _ since: Timestamp) throws(SQLiteError) {
    try connection.statement("UPDATE accounts SET idle_since = ? WHERE id = ?").bind(since).bind(accountID).run()
  }

  // MARK: Identities

  /// False: stale.
  func apply(_ write: IdentityWrite) throws(SQLiteError) -> Bool {
    switch write {
    case .insert(let identity): try insert(identity)
    case .update(let identity): try update(identity)
    case .delete(let key, let accountID): try delete(key, of: accountID)
    }
  }

  private func insert(_ identity: IdentityRecord) throws(SQLiteError) -> Bool {
    let isLinked = try connection.statement(.insertIdentity).bind(identity).runHitsRow()
    return isLinked ? try countIdentities(of: identity.accountID, by: 1) : false
  }

  private func update(_ identity: IdentityRecord) throws(SQLiteError) -> Bool {
    try connection.statement(.updateIdentity).bind(identity, except: "linked_at").runHitsRow()
  }

  private func delete(_ key: IdentityKey, of accountID: String) throws(SQLiteError) -> Bool {
    let isGone = try connection.statement(
      """
      DELETE FROM identities
      WHERE account_number = (SELECT number FROM accounts WHERE id = ?) AND provider_id = ? AND subject = ?
      """
    ).bind(accountID).bind(key.providerID).bind(key.subject).runHitsRow()
    return isGone ? try countIdentities(of: accountID, by: -1) : false
  }

  private func countIdentities(of accountID: String, by delta: Int) throws(SQLiteError) -> Bool {
    try connection.statement("UPDATE accounts SET identity_count = identity_count + ? WHERE id = ?")
      .bind(delta).bind(accountID).runHitsRow()
  }

  // MARK: Unlinks and factors

  /// False: stale.
  func apply(_ write: UnlinkWrite) throws(SQLiteError) -> Bool {
    switch write {
    case .remember(let unlink): return try remember(unlink)
    case .forget(let accountID, let key):
      try forget(key, of: accountID)
      return true
    }
  }

  /// False: stale.
  func apply(_ write: FactorWrite) throws(SQLiteError) -> Bool {
    switch write {
    case .insert(let factor): try insert(factor)
    case .update(let factor): try update(factor)
    case .delete(let id, let accountID): try deleteFactor(id, of: accountID)
    case .requireNone(let accountID): try !hasFactors(accountID)
    }
  }

  /// Records an unlink. A second unlink of the same identity only updates the time.
  private func remember(_ unlink: UnlinkRecord) throws(SQLiteError) -> Bool {
    if try connection.statement(
      """
      UPDATE unlinks SET unlinked_at = ?
      WHERE account_number = (SELECT number FROM accounts WHERE id = ?) AND provider_id = ? AND subject = ?
      """
    ).bind(unlink.at).bind(unlink.accountID).bind(unlink.key.providerID).bind(unlink.key.subject).runHitsRow() {
      return true
    }
    let isNew = try connection.statement(.insertUnlink).bind(unlink).runHitsRow()
    return isNew ? try countUnlinks(of: unlink.accountID, by: 1) : false
  }

  private func forget(_ key: IdentityKey, of accountID: String) throws(SQLiteError) {
    let isForgotten = try connection.statement(
      """
      DELETE FROM unlinks
      WHERE account_number = (SELECT number FROM accounts WHERE id = ?) AND provider_id = ? AND subject = ?
      """
    ).bind(accountID).bind(key.providerID).bind(key.subject).runHitsRow()
    if isForgotten { _ = try countUnlinks(of: accountID, by: -1) }
  }

  private func countUnlinks(of accountID: String, by delta: Int) throws(SQLiteError) -> Bool {
    try connection.statement("UPDATE accounts SET unlink_count = unlink_count + ? WHERE id = ?")
      .bind(delta).bind(accountID).runHitsRow()
  }

  private func insert(_ factor: FactorRecord) throws(SQLiteError) -> Bool {
    let isEnrolled = try connection.statement(.insertFactor).bind(factor).runHitsRow()
    return isEnrolled ? try countFactors(of: factor.accountID, by: 1) : false
  }

  private func update(_ factor: FactorRecord) throws(SQLiteError) -> Bool {
    try connection.statement(
      """
      UPDATE factors SET display_name = ?, sealed_secret = ?
      WHERE account_number = (SELECT number FROM accounts WHERE id = ?) AND id = ?
      """
    ).bind(factor.displayName).bind(factor.sealedSecret).bind(factor.accountID).bind(factor.id).runHitsRow()
  }

  private func deleteFactor(_ id: String, of accountID: String) throws(SQLiteError) -> Bool {
    let isGone = try connection.statement(
      "DELETE FROM factors WHERE account_number = (SELECT number FROM accounts WHERE id = ?) AND id = ?"
    ).bind(accountID).bind(id).runHitsRow()
    return isGone ? try countFactors(of: accountID, by: -1) : false
  }

  private func hasFactors(_ accountID: String) throws(SQLiteError) -> Bool {
    let statement = try connection.statement(
      "SELECT 1 FROM factors WHERE account_number = (SELECT number FROM accounts WHERE id = ?) LIMIT 1")
    defer { statement.reset() }
    return try statement.bind(accountID).step()
  }

  private func countFactors(of accountID: String, by delta: Int) throws(SQLiteError) -> Bool {
    try connection.statement("UPDATE accounts SET factor_count = factor_count + ? WHERE id = ?")
      .bind(delta).bind(accountID).runHitsRow()
  }
}

extension GeneratedSQL {
  fileprivate static let insertAccount: GeneratedSQL = {
    let columns = AccountRecord.columns
    return GeneratedSQL(
      """
      INSERT INTO accounts (\(columns.names), idle_since)
      SELECT \(columns.placeholders("?")), \(columns.placeholder("?", "created_at"))
      WHERE NOT EXISTS (
        SELECT 1 FROM closed_accounts WHERE id = \(columns.placeholder("?", "id"))
          AND coalesce(forgotten_at > coalesce(\(columns.placeholder("?", "tokens_valid_after")), -1), 1))
      """)
  }()
  fileprivate static let updateAccount: GeneratedSQL = {
    let columns = AccountRecord.columns
    let last = columns.placeholder("?", "last_sign_in_at")
    return GeneratedSQL(
      """
      UPDATE accounts SET \(columns.assignments("?", except: "id", "version", "last_sign_in_at")),
        last_sign_in_at = coalesce(max(last_sign_in_at, \(last)), last_sign_in_at, \(last)), version = version + 1
      WHERE id = \(columns.placeholder("?", "id")) AND version = \(columns.placeholder("?", "version"))
      """)
  }()
  fileprivate static let insertClosedAccount = GeneratedSQL(ClosedAccountRecord.insert("?"))
  fileprivate static let insertIdentity = dependent(IdentityRecord.self)
  fileprivate static let insertUnlink = dependent(UnlinkRecord.self)
  fileprivate static let insertFactor = dependent(FactorRecord.self)
  fileprivate static let updateIdentity: GeneratedSQL = {
    let columns = IdentityRecord.columns.without("linked_at")
    func equals(_ name: String) -> String { "\(name) = \(columns.placeholder("?", name))" }
    return GeneratedSQL(
      """
      UPDATE identities SET \(columns.assignments("?", except: "account_id", "provider_id", "subject"))
      WHERE account_number = (SELECT number FROM accounts WHERE id = \(columns.placeholder("?", "account_id")))
        AND \(equals("provider_id")) AND \(equals("subject"))
      """)
  }()

  /// Inserts a dependent under the number of its account, if the account exists.
  private static func dependent<Record: StoredRecord>(_: Record.Type) -> GeneratedSQL {
    let columns = Record.columns
    let owned = columns.without("account_id")
    return GeneratedSQL(
      """
      INSERT INTO \(Record.table.name) (account_number, \(owned.names))
      SELECT number, \(owned.map { columns.placeholder("?", $0.name) }.joined(separator: ", "))
      FROM accounts WHERE id = \(columns.placeholder("?", "account_id"))
      """)
  }
}
