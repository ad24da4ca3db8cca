import Store

extension Script {
  func add(_ write: SessionWrite) {
    switch write {
    case .insert(let session):
      add(.insertSession) {
        $0.bind(session).bind(session.expiresAt.day).bind(session.endsAt).bind(session.endsAt.day)
      }
    case .rotate(let id, let from, let to, let at, let idleExpiresAt):
      add(.rotateSession, refusing: .stale) {
        $0.bind(id).bind(from).bind(to).bind(at).bind(idleExpiresAt).bind(idleExpiresAt.day)
      }
    case .rename(let id, let signInProviderID, let methods, let at):
      add(.renameSession, refusing: .stale) {
        $0.bind(id).bind(signInProviderID).bind(SessionRecord.lines(methods)).bind(at)
      }
    case .close(let id, _, let at, let reason):
      add(.closeSession) { $0.bind(id).bind(at).bind(reason.rawValue).bind(at.day) }
    case .closeAll(let accountID, let except, let at, let reason):
      addLong(.closeSessions) { $0.bind(accountID).bind(at).bind(reason.rawValue).bind(at.day).bind(except) }
    case .closeBegun(let accountID, let providerID, let except, let at, let reason):
      addLong(.closeSessionsOf) {
        $0.bind(accountID).bind(at).bind(reason.rawValue).bind(at.day).bind(except).bind(providerID)
      }
    case .requireOpen(let id, let digest, let at):
      add(.guardSession, refusing: .stale) { $0.bind(id).bind(at).bind(digest) }
    }
  }
}

extension Timestamp {
  /// Whole days since 1970-01-01.
  var day: Int64 { millis / 86_400_000 }
}

extension Statement {
  static let insertSession: Statement = {
    let columns = SessionRecord.columns
    let derived = (1...3).map { "$\(columns.count + $0)" }.joined(separator: ", ")
    return Statement(
      "insert_session",
      """
      INSERT INTO sessions (\(columns.names), expires_day, ends_at, ends_day)
      VALUES (\(columns.placeholders("$")), \(derived))
      """)
  }()
  static let rotateSession = guarding(
    "rotate_session",
    """
    UPDATE sessions SET parent_digest = refresh_digest, refresh_digest = $3, rotated_at = $4, last_used_at = $4,
      idle_expires_at = $5, ends_at = least($5, expires_at), ends_day = least($6, expires_day)
    WHERE id = $1 AND refresh_digest = $2 AND closed_at IS NULL AND ends_at > $4 RETURNING 1
    """)
  static let renameSession = guarding(
    "rename_session",
    """
    UPDATE sessions SET sign_in_provider_id = $2, methods = $3
    WHERE id = $1 AND closed_at IS NULL AND ends_at > $4 RETURNING 1
    """)
  private static let close = "UPDATE sessions SET closed_at = $2, closed_reason = $3, ends_at = $2, ends_day = $4"
  static let closeSession = Statement("close_session", "\(close) WHERE id = $1 AND closed_at IS NULL")
  private static let ofAccount = "WHERE account_id = $1 AND closed_at IS NULL AND ($5::text IS NULL OR id <> $5)"
  static let closeSessions = Statement("close_sessions", "\(close) \(ofAccount)")
  static let closeSessionsOf = Statement(
    "close_sessions_of", "\(close) \(ofAccount) AND began_with = $6")
  /// Locks the row until the end of the transaction.
  static let guardSession = guarding(
    "guard_session",
    """
    SELECT 1 FROM sessions WHERE id = $1 AND refresh_digest = coalesce($3::bytea, refresh_digest)
      AND closed_at IS NULL AND ends_at > $2 FOR UPDATE
    """)

  static let ofSessions = [
    insertSession, rotateSession, renameSession, closeSession, closeSessions, closeSessionsOf, guardSession,
  ]
}
