import Store

// Pending rows, their counts, and the sweep of everything that has expired.

extension Writer {
  /// The scope whose maximum is reached, or nil once the row is written and counted.
  func insert(_ pending: PendingRecord, within limits: PendingLimits) throws(Failure) -> PendingScope? {
    if try !hold(accountScope(pending.isStrangers), pending.accountID, atMost: limits.perAccountMax) { return .account }
    if try !hold("caller", pending.caller.text, atMost: limits.perCallerMax) { return .caller }
    if try !hold("total", "", atMost: limits.totalMax) { return .total }
    try connection.statement(
      """
      INSERT INTO pendings (digest, version, purpose, provider_id, subject, email, tier, account_id, caller, binding,
        attempt_id, sealed, created_at, expires_at, attempts_left, completed_at, completed_account_id,
        completed_session_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(pending.digest).bind(pending.version).bind(pending.purpose.rawValue).bind(pending.identity.providerID)
      .bind(pending.identity.subject).bind(pending.email).bind(pending.tier.rawValue).bind(pending.accountID)
      .bind(pending.caller.text).bind(pending.binding).bind(pending.attemptID).bind(pending.sealed)
      .bind(pending.createdAt).bind(pending.expiresAt).bind(pending.attemptsLeft).bind(pending.completedAt)
      .bind(pending.completedAccountID).bind(pending.completedSessionID).runInsert()
    return nil
  }

  /// Rows held in all.
  func heldPendings() throws(Failure) -> Int {
    let count = try connection.statement("SELECT held FROM pending_counts WHERE scope = 'total' AND name = ''")
    defer { count.reset() }
    return try count.step() ? count.int() : 0
  }

  /// Counts one row more in the scope, or says that it is full.
  private func hold(_ scope: String, _ name: String, atMost heldMax: Int) throws(Failure) -> Bool {
    guard heldMax > 0 else { return false }
    pendingsChanged = true
    return try connection.statement(
      """
      INSERT INTO pending_counts (scope, name, held) VALUES (?, ?, 1)
      ON CONFLICT (scope, name) DO UPDATE SET held = held + 1 WHERE held < ?
      """
    ).bind(scope).bind(name).bind(heldMax).runHitsRow()
  }

  /// A count that reaches none goes, so that the table does not grow with every account that ever held a row.
  private func letGo(_ scope: String, _ name: String, _ count: Int) throws(Failure) {
    guard
      try connection.statement("UPDATE pending_counts SET held = held - ? WHERE scope = ? AND name = ?")
        .bind(count).bind(scope).bind(name).runHitsRow()
    else { throw .corrupt("pending rows of \(scope) \(name) were never counted") }
    _ = try connection.statement("DELETE FROM pending_counts WHERE scope = ? AND name = ? AND held = 0")
      .bind(scope).bind(name).runHitsRow()
  }

  /// Where a row is counted among its account's.
  private func accountScope(_ isStrangers: Bool) -> String { isStrangers ? "stranger" : "account" }

  /// Runs a `DELETE … RETURNING` of `isStrangers` in SQL, account and caller, and takes its rows off the counts;
  /// returns how many there were.
  private func removePendings(_ delete: Statement) throws(Failure) -> Int {
    var held: [[String]: Int] = [:]
    var total = 0
    defer { delete.reset() }
    while try delete.step() {
      held[[accountScope(delete.bool()), delete.text()], default: 0] += 1
      held[["caller", delete.text()], default: 0] += 1
      total += 1
    }
    if total > 0 {
      held[["total", ""]] = total
      pendingsChanged = true
    }
    for (scope, count) in held { try letGo(scope[0], scope[1], count) }
    return total
  }

  func complete(
    _ digest: Digest, _ version: Int64, _ at: Timestamp, _ accountID: String, _ sessionID: String
  ) throws(Failure) -> Bool {
    try connection.statement(
      """
      UPDATE pendings SET version = version + 1, completed_at = ?1, completed_account_id = ?2,
        completed_session_id = ?3
      WHERE digest = ?4 AND version = ?5 AND completed_at IS NULL AND expires_at > ?1
      """
    ).bind(at).bind(accountID).bind(sessionID).bind(digest).bind(version).runHitsRow()
  }

  /// Raises the version: a completion that was decided on while an attempt was left must look again.
  func countAttempt(_ digest: Digest) throws(Failure) {
    _ = try connection.statement(
      """
      UPDATE pendings SET version = version + 1, attempts_left = attempts_left - 1
      WHERE digest = ? AND attempts_left > 0
      """
    ).bind(digest).runHitsRow()
  }

  func deletePendings(of accountID: String, except: Digest?) throws(Failure) {
    _ = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE account_id = ?1 AND (?2 IS NULL OR digest <> ?2)
        RETURNING purpose = 'link' AND tier = 0, account_id, caller
        """
      ).bind(accountID).bind(except))
  }

  // MARK: Sweep

  /// Removes what ended at or before `now`, the oldest first.
  func sweep(_ now: Timestamp, _ rowsMax: Int) throws(Failure) -> Int {
    let pendings = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE digest IN
          (SELECT digest FROM pendings WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
        RETURNING purpose = 'link' AND tier = 0, account_id, caller
        """
      ).bind(now).bind(rowsMax))
    let idempotency = try connection.statement(
      """
      DELETE FROM idempotency WHERE key IN
        (SELECT key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
    let spentTokens = try connection.statement(
      """
      DELETE FROM spent_tokens WHERE digest IN
        (SELECT digest FROM spent_tokens WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
    let sessions = try connection.statement(
      """
      DELETE FROM sessions WHERE rowid IN
        (SELECT rowid FROM sessions WHERE ends_day < ? / 86400000 ORDER BY ends_day LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
    return pendings + Int(idempotency + spentTokens + sessions)
  }
}
