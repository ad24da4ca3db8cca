import Store

extension Writer {
  /// False: stale.
  func apply(_ write: SessionWrite, of change: Change) throws(SQLiteError) -> Bool {
    switch write {
    case .insert(let session): try insert(session, signedInAt: change.signIn(to: session.accountID))
    case .rotate(let id, let from, let to, let at, let idleExpiresAt):
      return try rotate(id, from: from, to: to, at: at, idleExpiresAt: idleExpiresAt)
    case .rename(let id, let signInProviderID, let methods, let at):
      return try rename(id, signInProviderID, methods, at)
    case .close(let id, _, let at, let reason): try closeSession(id, at, reason)
    case .closeAll(let accountID, let except, let at, let reason):
      try closeSessions(of: accountID, except: except, at, reason)
    case .closeBegun(let accountID, let providerID, let except, let at, let reason):
      try closeSessions(of: accountID, beganWith: providerID, except: except, at, reason)
    case .requireOpen(let id, let digest, let at): return try isOpen(id, digest, at)
    }
    return true
  }

  /// - Parameter signedInAt: nil if the session continues another one, or if its change writes the time into the
  ///   account.
  private func insert(_ session: SessionRecord, signedInAt: Timestamp?) throws(SQLiteError) {
    try connection.statement(.insertSession).bind(session).bind(session.endsAt).bind(signedInAt).runInsert()
  }

  private func rotate(
    _ id: String, from: Digest, to: Digest, at: Timestamp, idleExpiresAt: Timestamp
  ) throws(SQLiteError) -> Bool {
    // SQLite removes and reinserts the index entry of every column that is set, even if the value stays the same.
    let isRotatedWithinDay = try connection.statement(
      """
      UPDATE sessions SET parent_digest = refresh_digest, refresh_digest = ?1, rotated_at = ?2, last_used_at = ?2,
        idle_expires_at = ?3, ends_at = min(?3, expires_at)
      WHERE id = ?4 AND refresh_digest = ?5 AND closed_at IS NULL AND ends_at > ?2
        AND ends_day = min(?3, expires_at) / 86400000
      """
    ).bind(to).bind(at).bind(idleExpiresAt).bind(id).bind(from).runHitsRow()
    if isRotatedWithinDay { return true }
    return try connection.statement(
      """
      UPDATE sessions SET parent_digest = refresh_digest, refresh_digest = ?1, rotated_at = ?2, last_used_at = ?2,
        idle_expires_at = ?3, ends_at = min(?3, expires_at), ends_day = min(?3, expires_at) / 86400000
      WHERE id = ?4 AND refresh_digest = ?5 AND closed_at IS NULL AND ends_at > ?2
      """
    ).bind(to).bind(at).bind(idleExpiresAt).bind(id).bind(from).runHitsRow()
  }

  private func rename(
    _ id: String, _ signInProviderID: String, _ methods: [String], _ at: Timestamp
  ) throws(SQLiteError) -> Bool {
    try connection.statement(
      """
      UPDATE sessions SET sign_in_provider_id = ?1, methods = ?2 WHERE id = ?3 AND closed_at IS NULL AND ends_at > ?4
      """
    ).bind(signInProviderID).bind(SessionRecord.lines(methods)).bind(id).bind(at).runHitsRow()
  }

  private func closeSession(_ id: String, _ at: Timestamp, _ reason: SessionClosedReason) throws(SQLiteError) {
    _ = try connection.statement(
      """
      UPDATE sessions SET closed_at = ?1, closed_reason = ?2, ends_at = ?1, ends_day = ?1 / 86400000
      WHERE id = ?3 AND closed_at IS NULL
      """
    ).bind(at).bind(reason.rawValue).bind(id).runHitsRow()
  }

  private func closeSessions(
    of accountID: String, except: String?, _ at: Timestamp, _ reason: SessionClosedReason
  ) throws(SQLiteError) {
    try connection.statement(
      """
      UPDATE sessions SET closed_at = ?1, closed_reason = ?2, ends_at = ?1, ends_day = ?1 / 86400000
      WHERE account_id = ?3 AND closed_at IS NULL AND (?4 IS NULL OR id <> ?4)
      """
    ).bind(at).bind(reason.rawValue).bind(accountID).bind(except).run()
  }

  private func closeSessions(
    of accountID: String, beganWith providerID: String, except: String?, _ at: Timestamp, _ reason: SessionClosedReason
  ) throws(SQLiteError) {
    try connection.statement(
      """
      UPDATE sessions SET closed_at = ?1, closed_reason = ?2, ends_at = ?1, ends_day = ?1 / 86400000
      WHERE account_id = ?3 AND began_with = ?5 AND closed_at IS NULL
        AND (?4 IS NULL OR id <> ?4)
      """
    ).bind(at).bind(reason.rawValue).bind(accountID).bind(except).bind(providerID).run()
  }

  /// Removes the sessions that ended before this day. First copies their last sign-in to the account, unless a later
  /// session states a later one.
  func sweepSessions(_ now: Timestamp, _ rowsMax: Int) throws(SQLiteError) -> Int64 {
    try connection.statement(
      """
      UPDATE accounts SET last_sign_in_at = ended.at
      FROM (
        SELECT account_id, max(signed_in_at) AS at FROM sessions WHERE rowid IN
          (SELECT rowid FROM sessions WHERE ends_day < ? / 86400000 ORDER BY ends_day, rowid LIMIT ?)
        GROUP BY account_id) AS ended
      WHERE id = ended.account_id AND ended.at > coalesce(last_sign_in_at, -1)
        AND ended.at = (SELECT max(signed_in_at) FROM sessions WHERE account_id = ended.account_id)
      """
    ).bind(now).bind(rowsMax).run()
    return try connection.statement(
      """
      DELETE FROM sessions WHERE rowid IN
        (SELECT rowid FROM sessions WHERE ends_day < ? / 86400000 ORDER BY ends_day, rowid LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
  }

  private func isOpen(_ id: String, _ digest: Digest?, _ at: Timestamp) throws(SQLiteError) -> Bool {
    let statement = try connection.statement(
      """
      SELECT 1 FROM sessions WHERE id = ? AND refresh_digest = coalesce(?, refresh_digest) AND closed_at IS NULL
        AND ends_at > ?
      """)
    defer { statement.reset() }
    return try statement.bind(id).bind(digest).bind(at).step()
  }
}

extension GeneratedSQL {
  fileprivate static let insertSession: GeneratedSQL = {
    let columns = SessionRecord.columns
    let (endsAt, signedInAt) = (columns.count + 1, columns.count + 2)
    return GeneratedSQL(
      """
      INSERT INTO sessions (\(columns.names), ends_at, ends_day, signed_in_at)
      VALUES (\(columns.placeholders("?")), ?\(endsAt), ?\(endsAt) / 86400000, ?\(signedInAt))
      """)
  }()
}
