import CSQLite
import Store

// The SQL of each `Write`. A rejection ends the change; its savepoint undoes what it wrote until then.

extension Writer {
  func apply(_ change: Change) throws(SQLiteError) -> Outcome {
    do throws(SQLiteError) {
      for write in change.writes {
        try markKept(write)
        if let refusal = try apply(write, of: change) { return refusal }
      }
      if keepsSearch { try keepSearch(change) }
      return .committed
    } catch {
      guard let key = error.uniqueKey else { throw error }
      return .conflict(key)
    }
  }

  /// nil: written.
  private func apply(_ write: Write, of change: Change) throws(SQLiteError) -> Outcome? {
    switch write {
    case .account(let write): try apply(write, of: change)
    case .identity(let write): try apply(write) ? nil : .stale
    case .unlink(let write): try apply(write) ? nil : .stale
    case .factor(let write): try apply(write) ? nil : .stale
    case .session(let write): try apply(write, of: change) ? nil : .stale
    case .pending(let write): try apply(write)
    case .delivery(let write): try apply(write)
    case .throttle(let write): try apply(write)
    case .signingKey(let write): try apply(write) ? nil : .stale
    case .record(let write): try apply(write)
    case .failure(let write): try applied(write)
    }
  }

  private func applied(_ write: FailureWrite) throws(SQLiteError) -> Outcome? {
    try apply(write)
    return nil
  }

  private func apply(_ write: AccountWrite, of change: Change) throws(SQLiteError) -> Outcome? {
    switch write {
    case .insert(let account): return try insert(account) ? nil : .conflict(.accountID)
    case .update(let account): return try update(account) ? nil : .stale
    case .raise(let id, let version): return try raiseVersion(of: id, from: version) ? nil : .stale
    case .touch(let id, let version, let at):
      return try change.opensSession(of: id) ? has(id, version) ? nil : .stale : touch(id, version, at) ? nil : .stale
    case .confirm(let id, let version): return try has(id, version) ? nil : .stale
    case .cutOff(let id, let at, let disabling): return try cutOff(id, at, disabling: disabling) ? nil : .stale
    case .requireFreeEmail(let email): return try isTaken(email) ? .conflict(.email) : nil
    case .close(let closed, let version): return try close(closed, version) ? nil : .stale
    case .forget(let id, let at): return try forget(id, at) ? nil : .stale
    case .requireIdle(let accountID, let since): return try isUsed(accountID, since: since) ? .stale : nil
    case .noteIdle(let accountID, let since):
      try noteIdle(accountID, since)
      return nil
    }
  }
}

/// A sign-in is recorded in the session that it opens, in an index that is written anyway.
///
/// To write only the time into the account's own row would cost a page of the WAL, and later of the file.
extension Change {
  fileprivate func opensSession(of accountID: String) -> Bool {
    writes.contains { if case .session(.insert(let session)) = $0 { session.accountID == accountID } else { false } }
  }

  func signIn(to accountID: String) -> Timestamp? {
    var last: Timestamp?
    for case .account(.touch(accountID, _, let at)) in writes { last = max(last ?? at, at) }
    return last
  }
}

// MARK: Independent records

extension Writer {
  /// nil: written.
  func apply(_ write: RecordWrite) throws(SQLiteError) -> Outcome? {
    switch write {
    case .insertIdempotency(let record): try insert(record)
    case .spendToken(let digest, let expiresAt): try spend(digest, until: expiresAt)
    case .appendAudit(let record): try insert(record)
    case .keepImportKey(let key): try keep(key)
    case .noteMasterKey(let id, let seals, let at): try noteMasterKey(id, seals: seals, at)
    case .seal(let name, let old, let new): try seal(name, old, new)
    }
    return nil
  }

  /// False: stale.
  func apply(_ write: SigningKeyWrite) throws(SQLiteError) -> Bool {
    switch write {
    case .insert(let key): try insert(key)
    case .requireNone: return try !hasSigningKey()
    case .retire(let keyID, let at): return try retire(keyID, at)
    case .delete(let retiredBy): try deleteSigningKeys(retiredBy: retiredBy)
    case .confirm(let key): return try hasSigningKey(key)
    case .reschedule(let keyID, let activeFrom, let retiredAt):
      return try connection.statement("UPDATE signing_keys SET active_from = ?, retired_at = ? WHERE key_id = ?")
        .bind(activeFrom).bind(retiredAt).bind(keyID).runHitsRow()
    case .revoke(let keyID):
      return try connection.statement("DELETE FROM signing_keys WHERE key_id = ?").bind(keyID).runHitsRow()
    }
    return true
  }

  private func insert(_ record: IdempotencyRecord) throws(SQLiteError) {
    try connection.statement("DELETE FROM idempotency WHERE key = ? AND expires_at <= ?")
      .bind(record.key).bind(record.createdAt).run()
    try connection.statement(.insertIdempotency).bind(record).runInsert()
  }

  private func spend(_ digest: Digest, until expiresAt: Timestamp) throws(SQLiteError) {
    try connection.statement("INSERT INTO spent_tokens (digest, expires_at) VALUES (?, ?)")
      .bind(digest).bind(expiresAt).runInsert()
  }

  private func insert(_ key: SigningKeyRecord) throws(SQLiteError) {
    try connection.statement(.insertSigningKey).bind(key).runInsert()
  }

  private func keep(_ key: ImportKeyRecord) throws(SQLiteError) {
    try connection.statement(.keepImportKey).bind(key).run()
  }

  private func hasSigningKey() throws(SQLiteError) -> Bool {
    let statement = try connection.statement("SELECT 1 FROM signing_keys WHERE retired_at IS NULL LIMIT 1")
    defer { statement.reset() }
    return try statement.step()
  }

  private func hasSigningKey(_ key: SigningKeyRecord) throws(SQLiteError) -> Bool {
    let statement = try connection.statement(
      "SELECT 1 FROM signing_keys WHERE key_id = ? AND active_from = ? AND retired_at IS ?")
    defer { statement.reset() }
    return try statement.bind(key.keyID).bind(key.activeFrom).bind(key.retiredAt).step()
  }

  private func retire(_ keyID: String, _ at: Timestamp) throws(SQLiteError) -> Bool {
    try connection.statement("UPDATE signing_keys SET retired_at = ? WHERE key_id = ? AND retired_at IS NULL")
      .bind(at).bind(keyID).runHitsRow()
  }

  private func deleteSigningKeys(retiredBy: Timestamp) throws(SQLiteError) {
    try connection.statement("DELETE FROM signing_keys WHERE retired_at <= ?").bind(retiredBy).run()
  }
}

extension GeneratedSQL {
  fileprivate static let insertIdempotency = GeneratedSQL(IdempotencyRecord.insert("?"))
  fileprivate static let insertSigningKey = GeneratedSQL(SigningKeyRecord.insert("?"))
  fileprivate static let keepImportKey = GeneratedSQL("\(ImportKeyRecord.insert("?")) ON CONFLICT (id) DO NOTHING")
}
