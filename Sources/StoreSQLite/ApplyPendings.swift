import Store

// Pending rows, their counts, and the sweep of everything that has expired.

extension Writer {
  /// The scope whose maximum is reached, or nil once the row is written and counted.
  func insert(_ pending: PendingRecord, within limits: PendingLimits) throws(Failure) -> LimitedScope? {
    if !pending.accountID.isEmpty, try !hold(pending.accountScope, pending.accountID, atMost: limits.perAccountMax) {
      return .account
    }
    if try !hold(.caller, pending.caller.text, atMost: limits.perCallerMax) { return .caller }
    if try !hold(.total, "", atMost: limits.totalMax) { return .total }
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

  /// Rows held in all in a scope that has no names.
  func held(_ scope: CountScope) throws(Failure) -> Int {
    let count = try connection.statement("SELECT held FROM pending_counts WHERE scope = ? AND name = ''")
      .bind(scope.rawValue)
    defer { count.reset() }
    return try count.step() ? count.int() : 0
  }

  /// Counts one row more in the scope, or says that it is full.
  func hold(_ scope: CountScope, _ name: String, atMost heldMax: Int) throws(Failure) -> Bool {
    guard heldMax > 0 else { return false }
    pendingsChanged = pendingsChanged || scope == .total
    deliveriesChanged = deliveriesChanged || scope == .waiting
    return try connection.statement(
      """
      INSERT INTO pending_counts (scope, name, held) VALUES (?, ?, 1)
      ON CONFLICT (scope, name) DO UPDATE SET held = held + 1 WHERE held < ?
      """
    ).bind(scope.rawValue).bind(name).bind(heldMax).runHitsRow()
  }

  /// A count that reaches none goes, so that the table does not grow with every account that ever held a row.
  func letGo(_ scope: CountScope, _ name: String, _ count: Int) throws(Failure) {
    deliveriesChanged = deliveriesChanged || scope == .waiting
    guard
      try connection.statement("UPDATE pending_counts SET held = held - ? WHERE scope = ? AND name = ?")
        .bind(count).bind(scope.rawValue).bind(name).runHitsRow()
    else { throw .corrupt("rows of \(scope.rawValue) \(name) were never counted") }
    _ = try connection.statement("DELETE FROM pending_counts WHERE scope = ? AND name = ? AND held = 0")
      .bind(scope.rawValue).bind(name).runHitsRow()
  }

  private struct Counted: Hashable {
    var scope: CountScope
    var name: String
  }

  /// Where a row is counted among its account's, by its purpose and tier.
  private func accountScope(_ row: Statement) -> CountScope {
    let purpose = PendingPurpose(rawValue: row.text())
    return .ofAccount(purpose, TrustTier(rawValue: row.int()))
  }

  /// Runs a `DELETE … RETURNING` of purpose, tier, account, caller and moment of completion, and takes its rows off the
  /// counts; returns how many there were. SQLite 3.40 calls every column of such a row "not null", whatever it holds,
  /// so that is asked here.
  private func removePendings(_ delete: Statement) throws(Failure) -> Int {
    var held: [Counted: Int] = [:]
    var total = 0
    defer { delete.reset() }
    while try delete.step() {
      let scope = accountScope(delete)
      let accountID = delete.text()
      held[Counted(scope: .caller, name: delete.text()), default: 0] += 1
      let isCompleted = delete.optionalTimestamp() != nil
      if !accountID.isEmpty, !isCompleted { held[Counted(scope: scope, name: accountID), default: 0] += 1 }
      total += 1
    }
    if total > 0 {
      held[Counted(scope: .total, name: "")] = total
      pendingsChanged = true
    }
    for (counted, count) in held { try letGo(counted.scope, counted.name, count) }
    return total
  }

  /// The row stays, to answer a repeated completion, but holds no place of its account any more: who signs in often
  /// with a second factor completes one each time.
  func complete(
    _ digest: Digest, _ version: Int64, _ at: Timestamp, _ accountID: String, _ sessionID: String
  ) throws(Failure) -> Bool {
    let update = try connection.statement(
      """
      UPDATE pendings SET version = version + 1, completed_at = ?1, completed_account_id = ?2,
        completed_session_id = ?3
      WHERE digest = ?4 AND version = ?5 AND completed_at IS NULL AND expires_at > ?1
      RETURNING purpose, tier, account_id
      """
    ).bind(at).bind(accountID).bind(sessionID).bind(digest).bind(version)
    defer { update.reset() }
    guard try update.step() else { return false }
    let scope = accountScope(update)
    let holder = update.text()
    if !holder.isEmpty { try letGo(scope, holder, 1) }
    return true
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

  func spendAttempt(_ digest: Digest, _ version: Int64) throws(Failure) -> Bool {
    try connection.statement(
      """
      UPDATE pendings SET version = version + 1, attempts_left = attempts_left - 1
      WHERE digest = ? AND version = ? AND attempts_left > 0
      """
    ).bind(digest).bind(version).runHitsRow()
  }

  func reseal(_ digest: Digest, _ version: Int64, _ sealed: [UInt8]) throws(Failure) -> Bool {
    try connection.statement(
      """
      UPDATE pendings SET version = version + 1, sealed = ?
      WHERE digest = ? AND version = ? AND completed_at IS NULL
      """
    ).bind(sealed).bind(digest).bind(version).runHitsRow()
  }

  func deletePendings(of accountID: String, except: Digest?, sparing: PendingPurpose?) throws(Failure) {
    _ = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE account_id = ?1 AND (?2 IS NULL OR digest <> ?2) AND (?3 IS NULL OR purpose <> ?3)
        RETURNING purpose, tier, account_id, caller, completed_at
        """
      ).bind(accountID).bind(except).bind(sparing?.rawValue))
  }

  func endPendings(
    _ purpose: PendingPurpose, _ key: IdentityKey, createdAfter: Timestamp?
  ) throws(Failure) {
    _ = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE purpose = ?1 AND provider_id = ?2 AND subject = ?3
          AND (?4 IS NULL OR created_at > ?4)
        RETURNING purpose, tier, account_id, caller, completed_at
        """
      ).bind(purpose.rawValue).bind(key.providerID).bind(key.subject).bind(createdAfter))
  }

  // MARK: Sweep

  /// Removes what ended at or before `now`, the oldest first.
  func sweep(_ now: Timestamp, _ rowsMax: Int, auditedBefore: Timestamp) throws(Failure) -> Int {
    let pendings = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE digest IN
          (SELECT digest FROM pendings WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
        RETURNING purpose, tier, account_id, caller, completed_at
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
    let sessions = try sweepSessions(now, rowsMax)
    let throttles = try sweepThrottles(now, rowsMax)
    let deliveries = try sweepDeliveries(now, rowsMax)
    let events = try sweepEvents(before: auditedBefore, rowsMax)
    return pendings + deliveries + Int(idempotency + spentTokens + sessions + throttles + events)
  }
}
