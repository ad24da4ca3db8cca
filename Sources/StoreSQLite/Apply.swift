import CSQLite
import Store

// Each `Write` as its SQL. A refusal ends the change; what it wrote until then is undone by its savepoint.

extension Writer {
  func apply(_ change: Change) throws(Failure) -> Outcome {
    do throws(Failure) {
      for write in change.writes {
        try markWaysIn(write)
        if let refusal = try apply(write) { return refusal }
      }
      return .committed
    } catch {
      guard let key = error.uniqueKey else { throw error }
      return .conflict(key)
    }
  }

  /// nil: written.
  private func apply(_ write: Write) throws(Failure) -> Outcome? {
    switch write {
    case .insertAccount(let account): try insert(account)
    case .updateAccount(let account): return try update(account) ? nil : .stale
    case .guardAccount(let id, let version): return try raiseVersion(of: id, from: version) ? nil : .stale
    case .touchAccount(let id, let version, let at): return try touch(id, version, at) ? nil : .stale
    case .deleteAccount(let id, let version): return try deleteAccount(id, version) ? nil : .stale
    case .insertIdentity(let identity): return try insert(identity) ? nil : .stale
    case .updateIdentity(let identity): return try update(identity) ? nil : .stale
    case .deleteIdentity(let key, let accountID): return try delete(key, of: accountID) ? nil : .stale
    case .rememberUnlink(let unlink): return try remember(unlink) ? nil : .stale
    case .forgetUnlink(let accountID, let key): try forget(key, of: accountID)
    case .insertFactor(let factor): return try insert(factor) ? nil : .stale
    case .insertSession(let session): try insert(session)
    case .rotateSession(let id, let from, let to, let at, let idleExpiresAt):
      return try rotate(id, from: from, to: to, at: at, idleExpiresAt: idleExpiresAt) ? nil : .stale
    case .closeSession(let id, let at, let reason): try closeSession(id, at, reason)
    case .closeSessions(let accountID, let except, let at, let reason):
      try closeSessions(of: accountID, except: except, at, reason)
    case .closeSessionsOf(let accountID, let providerID, let except, let at, let reason):
      try closeSessions(of: accountID, begunWith: providerID, except: except, at, reason)
    case .guardSession(let id, let at): return try isOpen(id, at) ? nil : .stale
    case .insertPending(let pending, let limits): return try insert(pending, within: limits).map { .limited($0) }
    case .completePending(let digest, let version, let at, let accountID, let sessionID):
      return try complete(digest, version, at, accountID, sessionID) ? nil : .stale
    case .countPendingAttempt(let digest): try countAttempt(digest)
    case .deletePendings(let accountID, let except): try deletePendings(of: accountID, except: except)
    case .insertIdempotency(let record): try insert(record)
    case .spendToken(let digest, let expiresAt): try spend(digest, until: expiresAt)
    case .appendAudit(let record): try insert(record)
    case .insertSigningKey(let key): try insert(key)
    case .retireSigningKey(let keyID, let at): try retire(keyID, at)
    }
    return nil
  }
}

// MARK: What stands alone

extension Writer {
  private func insert(_ record: IdempotencyRecord) throws(Failure) {
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

  private func spend(_ digest: Digest, until expiresAt: Timestamp) throws(Failure) {
    try connection.statement("INSERT INTO spent_tokens (digest, expires_at) VALUES (?, ?)")
      .bind(digest).bind(expiresAt).runInsert()
  }

  private func insert(_ record: AuditRecord) throws(Failure) {
    try connection.statement(
      "INSERT INTO audit (id, at, account_id, event, caller, details) VALUES (?, ?, ?, ?, ?, ?)"
    ).bind(record.id).bind(record.at).bind(record.accountID).bind(record.event).bind(record.caller.text)
      .bind(record.detailsJSON).runInsert()
  }

  private func insert(_ key: SigningKeyRecord) throws(Failure) {
    try connection.statement(
      """
      INSERT INTO signing_keys (key_id, algorithm, sealed_private_key, published_at, active_from, retired_at)
      VALUES (?, ?, ?, ?, ?, ?)
      """
    ).bind(key.keyID).bind(key.algorithm).bind(key.sealedPrivateKey).bind(key.publishedAt).bind(key.activeFrom)
      .bind(key.retiredAt).runInsert()
  }

  private func retire(_ keyID: String, _ at: Timestamp) throws(Failure) {
    try connection.statement("UPDATE signing_keys SET retired_at = ? WHERE key_id = ? AND retired_at IS NULL")
      .bind(at).bind(keyID).run()
  }
}
