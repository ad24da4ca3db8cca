import Store

// Accounts and their dependents.
//
// The account's row counts its dependents. A dependent of a removed account finds no account number and is rejected.

extension Writer {
  /// False: an account with this id was closed.
  func insert(_ account: AccountRecord) throws(SQLiteError) -> Bool {
    let statement = try connection.statement(
      """
      INSERT INTO accounts (email, email_verification, email_verification_provider_id, email_source, phone_number,
        display_name, photo_url, custom_claims, password_hash, password_set_at, email_link, custom_token, anonymous,
        disabled, made_by_administrator, tokens_valid_after, created_at, last_sign_in_at, email_verified_at,
        phone_number_set_at,
        id, version, idle_since)
      SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?17
      WHERE NOT EXISTS (SELECT 1 FROM closed_accounts WHERE id = ?21)
      """)
    return try bind(account, to: statement).runHitsRow()
  }

  func update(_ account: AccountRecord) throws(SQLiteError) -> Bool {
    let statement = try connection.statement(
      """
      UPDATE accounts SET email = ?1, email_verification = ?2, email_verification_provider_id = ?3, email_source = ?4,
        phone_number = ?5, display_name = ?6, photo_url = ?7, custom_claims = ?8, password_hash = ?9,
        password_set_at = ?10, email_link = ?11, custom_token = ?12, anonymous = ?13, disabled = ?14,
        made_by_administrator = ?15, tokens_valid_after = ?16, created_at = ?17,
        last_sign_in_at = coalesce(max(last_sign_in_at, ?18), last_sign_in_at, ?18), email_verified_at = ?19,
        phone_number_set_at = ?20, version = version + 1
      WHERE id = ?21 AND version = ?22
      """)
    return try bind(account, to: statement).runHitsRow()
  }

  private func bind(_ account: AccountRecord, to statement: Statement) -> Statement {
    statement.bind(account.email).bind(account.emailProof?.rawValue).bind(account.emailProofProviderID)
      .bind(account.emailSource).bind(account.phoneNumber).bind(account.displayName).bind(account.photoURL)
      .bind(account.customClaimsJSON).bind(account.passwordHash).bind(account.passwordSetAt).bind(account.emailLink)
      .bind(account.customToken).bind(account.anonymous).bind(account.disabled).bind(account.madeByAdministrator)
      .bind(account.tokensValidAfter).bind(account.createdAt).bind(account.lastSignInAt)
      .bind(account.emailVerifiedAt).bind(account.phoneNumberSetAt).bind(account.id).bind(account.version)
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
    try connection.statement("DELETE FROM identities WHERE account_number = ?").bind(number).run()
    try connection.statement("DELETE FROM factors WHERE account_number = ?").bind(number).run()
    try connection.statement("DELETE FROM unlinks WHERE account_number = ?").bind(number).run()
    try connection.statement("DELETE FROM sessions WHERE account_id = ?").bind(id).run()
    try deletePendings(of: id, except: nil, sparing: [])
    try connection.statement(
      "INSERT INTO closed_accounts (id, survivor_id, moved_provider_ids, closed_at) VALUES (?, ?, ?, ?)"
    ).bind(id).bind(closed.survivorID).bind(closed.movedProviderIDs.joined(separator: ","))
      .bind(closed.closedAt).runInsert()
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
    let isLinked = try connection.statement(
      """
      INSERT INTO identities (account_number, provider_id, subject, email, tier, display_name, photo_url, username,
        linked_at)
      SELECT number, ?, ?, ?, ?, ?, ?, ?, ? FROM accounts WHERE id = ?
      """
    ).bind(identity.key.providerID).bind(identity.key.subject).bind(identity.email)
      .bind(identity.tier.rawValue).bind(identity.displayName).bind(identity.photoURL).bind(identity.username)
      .bind(identity.linkedAt).bind(identity.accountID).runHitsRow()
    return isLinked ? try countIdentities(of: identity.accountID, by: 1) : false
  }

  private func update(_ identity: IdentityRecord) throws(SQLiteError) -> Bool {
    try connection.statement(
      """
      UPDATE identities SET email = ?, tier = ?, display_name = ?, photo_url = ?, username = ?
      WHERE account_number = (SELECT number FROM accounts WHERE id = ?) AND provider_id = ? AND subject = ?
      """
    ).bind(identity.email).bind(identity.tier.rawValue).bind(identity.displayName).bind(identity.photoURL)
      .bind(identity.username).bind(identity.accountID).bind(identity.key.providerID).bind(identity.key.subject)
      .runHitsRow()
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
    let isNew = try connection.statement(
      """
      INSERT INTO unlinks (account_number, provider_id, subject, unlinked_at)
      SELECT number, ?, ?, ? FROM accounts WHERE id = ?
      """
    ).bind(unlink.key.providerID).bind(unlink.key.subject).bind(unlink.at).bind(unlink.accountID).runHitsRow()
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
    let isEnrolled = try connection.statement(
      """
      INSERT INTO factors (account_number, id, kind, display_name, phone_number, sealed_secret, enrolled_at)
      SELECT number, ?, ?, ?, ?, ?, ? FROM accounts WHERE id = ?
      """
    ).bind(factor.id).bind(factor.kind.rawValue).bind(factor.displayName).bind(factor.phoneNumber)
      .bind(factor.sealedSecret).bind(factor.enrolledAt).bind(factor.accountID).runHitsRow()
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
