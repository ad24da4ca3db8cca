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
      return .committed
    } catch {
      guard let key = error.uniqueKey else { throw error }
      return .conflict(key)
    }
  }

  /// nil: written.
  private func apply(_ write: Write, of change: Change) throws(SQLiteError) -> Outcome? {
    switch write {
    case .insertAccount(let account): return try insert(account) ? nil : .conflict(.accountID)
    case .updateAccount(let account): return try update(account) ? nil : .stale
    case .guardAccount(let id, let version): return try raiseVersion(of: id, from: version) ? nil : .stale
    case .touchAccount(let id, let version, let at):
      return try change.opensSession(of: id) ? has(id, version) ? nil : .stale : touch(id, version, at) ? nil : .stale
    case .confirmAccount(let id, let version): return try has(id, version) ? nil : .stale
    case .cutOff(let id, let at, let disabling): return try cutOff(id, at, disabling: disabling) ? nil : .stale
    case .guardFreeEmail(let email): return try isTaken(email) ? .conflict(.email) : nil
    case .insertIdentity(let identity): return try insert(identity) ? nil : .stale
    case .updateIdentity(let identity): return try update(identity) ? nil : .stale
    case .deleteIdentity(let key, let accountID): return try delete(key, of: accountID) ? nil : .stale
    case .rememberUnlink(let unlink): return try remember(unlink) ? nil : .stale
    case .forgetUnlink(let accountID, let key): try forget(key, of: accountID)
    case .insertFactor(let factor): return try insert(factor) ? nil : .stale
    case .updateFactor(let factor): return try update(factor) ? nil : .stale
    case .deleteFactor(let id, let accountID): return try deleteFactor(id, of: accountID) ? nil : .stale
    case .guardNoFactors(let accountID): return try hasFactors(accountID) ? .stale : nil
    case .insertSession(let session): try insert(session, signedInAt: change.signIn(to: session.accountID))
    case .renameSession(let id, let signInProviderID, let methods, let at):
      return try rename(id, signInProviderID, methods, at) ? nil : .stale
    case .rotateSession(let id, let from, let to, let at, let idleExpiresAt):
      return try rotate(id, from: from, to: to, at: at, idleExpiresAt: idleExpiresAt) ? nil : .stale
    case .closeSession(let id, let at, let reason): try closeSession(id, at, reason)
    case .closeSessions(let accountID, let except, let at, let reason):
      try closeSessions(of: accountID, except: except, at, reason)
    case .closeSessionsOf(let accountID, let providerID, let except, let at, let reason):
      try closeSessions(of: accountID, beganWith: providerID, except: except, at, reason)
    case .guardSession(let id, let at): return try isOpen(id, at) ? nil : .stale
    case .insertPending(let pending, let limits): return try insert(pending, within: limits).map { .limited($0) }
    case .completePending(let digest, let version, let at, let accountID, let sessionID):
      return try complete(digest, version, at, accountID, sessionID) ? nil : .stale
    case .countPendingAttempt(let digest): try countAttempt(digest)
    case .spendPendingAttempt(let digest, let version): return try spendAttempt(digest, version) ? nil : .stale
    case .resealPending(let digest, let version, let sealed):
      return try reseal(digest, version, sealed) ? nil : .stale
    case .deletePendings(let accountID, let except, let sparing):
      try deletePendings(of: accountID, except: except, sparing: sparing)
    case .endPendings(let purpose, let key, let createdAfter):
      try endPendings(purpose, key, createdAfter: createdAfter)
    case .enqueueDelivery(let delivery, let queueMax):
      return try enqueue(delivery, queueMax: queueMax) ? nil : .limited(.deliveries)
    case .enqueueNotice(let notice, let limits):
      if let why = try enqueue(notice, within: limits) { unqueuedNotices.append(why) }
    case .claimDelivery(let id, let attempts, let nextAttemptAt):
      return try claimDelivery(id, attempts, nextAttemptAt) ? nil : .stale
    case .removeDelivery(let id): try removeDelivery(id)
    case .buryDelivery(let id, let at, let reason, let keptUntil): try buryDelivery(id, at, reason, keptUntil)
    case .insertIdempotency(let record): try insert(record)
    case .spendToken(let digest, let expiresAt): try spend(digest, until: expiresAt)
    case .appendAudit(let record): try insert(record)
    case .insertSigningKey(let key): try insert(key)
    case .countThrottle(let counted): return try count(counted)
    case .resetThrottle(let key, let kind, let at, let liftsBlock):
      return try reset(key, kind, at, liftsBlock: liftsBlock)
    case .guardNoSigningKey: return try hasSigningKey() ? .stale : nil
    case .retireSigningKey(let keyID, let at): return try retire(keyID, at) ? nil : .stale
    case .deleteSigningKeys(let retiredBy): try deleteSigningKeys(retiredBy: retiredBy)
    case .closeAccount(let closed, let version): return try close(closed, version) ? nil : .stale
    case .guardIdle(let accountID, let since): return try isUsed(accountID, since: since) ? .stale : nil
    case .noteIdle(let accountID, let since): try noteIdle(accountID, since)
    case .keepImportKey(let key): try keep(key)
    }
    return nil
  }
}

/// A sign-in is recorded in the session that it opens, in an index that is written anyway.
///
/// To write only the time into the account's own row would cost a page of the WAL, and later of the file.
extension Change {
  fileprivate func opensSession(of accountID: String) -> Bool {
    writes.contains { if case .insertSession(let session) = $0 { session.accountID == accountID } else { false } }
  }

  fileprivate func signIn(to accountID: String) -> Timestamp? {
    var last: Timestamp?
    for case .touchAccount(accountID, _, let at) in writes { last = max(last ?? at, at) }
    return last
  }
}

// MARK: Independent records

extension Writer {
  private func insert(_ record: IdempotencyRecord) throws(SQLiteError) {
    try connection.statement("DELETE FROM idempotency WHERE key = ? AND expires_at <= ?")
      .bind(record.key).bind(record.createdAt).run()
    try connection.statement(
      """
      INSERT INTO idempotency (key, request, outcome, account_id, session_id, created_at, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(record.key).bind(record.request).bind(record.outcome).bind(record.accountID).bind(record.sessionID)
      .bind(record.createdAt).bind(record.expiresAt).runInsert()
  }

  private func spend(_ digest: Digest, until expiresAt: Timestamp) throws(SQLiteError) {
    try connection.statement("INSERT INTO spent_tokens (digest, expires_at) VALUES (?, ?)")
      .bind(digest).bind(expiresAt).runInsert()
  }

  private func insert(_ key: SigningKeyRecord) throws(SQLiteError) {
    try connection.statement(
      """
      INSERT INTO signing_keys (key_id, algorithm, sealed_private_key, published_at, active_from, retired_at)
      VALUES (?, ?, ?, ?, ?, ?)
      """
    ).bind(key.keyID).bind(key.algorithm).bind(key.sealedPrivateKey).bind(key.publishedAt).bind(key.activeFrom)
      .bind(key.retiredAt).runInsert()
  }

  private func keep(_ key: ImportKeyRecord) throws(SQLiteError) {
    try connection.statement(
      "INSERT INTO import_keys (id, sealed_key, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
    ).bind(key.id).bind(key.sealedKey).bind(key.createdAt).run()
  }

  private func hasSigningKey() throws(SQLiteError) -> Bool {
    let statement = try connection.statement("SELECT 1 FROM signing_keys WHERE retired_at IS NULL LIMIT 1")
    defer { statement.reset() }
    return try statement.step()
  }

  private func retire(_ keyID: String, _ at: Timestamp) throws(SQLiteError) -> Bool {
    try connection.statement("UPDATE signing_keys SET retired_at = ? WHERE key_id = ? AND retired_at IS NULL")
      .bind(at).bind(keyID).runHitsRow()
  }

  private func deleteSigningKeys(retiredBy: Timestamp) throws(SQLiteError) {
    try connection.statement("DELETE FROM signing_keys WHERE retired_at <= ?").bind(retiredBy).run()
  }
}
