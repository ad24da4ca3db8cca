import Store

// Pending rows, their counts, and the sweep of all expired rows.

extension Writer {
  /// nil: written.
  func apply(_ write: PendingWrite) throws(SQLiteError) -> Outcome? {
    switch write {
    case .insert(let pending, let limits): return try insert(pending, within: limits).map { .limited($0) }
    case .complete(let digest, let version, let at, let accountID, let sessionID):
      return try complete(digest, version, at, accountID, sessionID) ? nil : .stale
    case .countAttempt(let digest): try countAttempt(digest)
    case .spendAttempt(let digest, let version): return try spendAttempt(digest, version) ? nil : .stale
    case .reseal(let digest, let version, let sealed): return try reseal(digest, version, sealed) ? nil : .stale
    case .deleteAll(let accountID, let except, let sparing):
      try deletePendings(of: accountID, except: except, sparing: sparing)
    case .end(let purpose, let key, let createdAfter): try endPendings(purpose, key, createdAfter: createdAfter)
    }
    return nil
  }

  /// Inserts and counts the row. Returns the scope that has reached its limit, or nil once the row is written.
  private func insert(_ pending: PendingRecord, within limits: PendingLimits) throws(SQLiteError) -> LimitedScope? {
    if !pending.accountID.isEmpty, try !hold(pending.accountScope, pending.accountID, atMost: limits.perAccountMax) {
      return .account
    }
    if try !hold(.caller, pending.quota, atMost: limits.perCallerMax) {
      guard try makeRoom(for: pending), try hold(.caller, pending.quota, atMost: limits.perCallerMax) else {
        return .caller
      }
    }
    let purpose = pending.purpose.rawValue
    if try !hold(.purpose, purpose, atMost: limits.totalMax) {
      guard try makeRoom(for: pending), try hold(.purpose, purpose, atMost: limits.totalMax) else { return .total }
    }
    _ = try hold(.total, "", atMost: .max)
    try count(pending)
    try connection.statement(.insertPending).bind(pending).runInsert()
    return nil
  }

  /// Returns the count of a scope without names.
  func held(_ scope: CountScope) throws(SQLiteError) -> Int {
    let count = try connection.statement("SELECT held FROM pending_counts WHERE scope = ? AND name = ''")
      .bind(scope.rawValue)
    defer { count.reset() }
    return try count.step() ? count.int() : 0
  }

  /// Adds one to the count of the scope. False: the scope is full.
  func hold(_ scope: CountScope, _ name: String, atMost heldMax: Int) throws(SQLiteError) -> Bool {
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

  /// Subtracts from the count of the scope. A count that reaches 0 is removed, so that the table does not grow with
  /// every account that ever had a row.
  func letGo(_ scope: CountScope, _ name: String, _ count: Int) throws(SQLiteError) {
    deliveriesChanged = deliveriesChanged || scope == .waiting
    guard
      try connection.statement("UPDATE pending_counts SET held = held - ? WHERE scope = ? AND name = ?")
        .bind(count).bind(scope.rawValue).bind(name).runHitsRow()
    else { throw .corrupt("the count of \(scope.rawValue) \(name) is missing") }
    _ = try connection.statement("DELETE FROM pending_counts WHERE scope = ? AND name = ? AND held = 0")
      .bind(scope.rawValue).bind(name).runHitsRow()
  }

  private struct Counted: Hashable {
    var scope: CountScope
    var name: String
  }

  private struct NetworkQuota: Hashable {
    var quota: String
    var network: [UInt8]
  }

  /// Returns the scope in which the row counts towards its account, by its purpose and tier.
  private func accountScope(_ row: Statement) -> CountScope { accountScope(row.text(), row) }

  private func accountScope(_ purpose: String, _ row: Statement) -> CountScope {
    .ofAccount(PendingPurpose(rawValue: purpose), TrustTier(rawValue: row.int()))
  }

  /// Runs a `DELETE … RETURNING` and subtracts its rows from the counts. Returns the number of rows. SQLite 3.40
  /// reports "not null" for every column of such a row, even if it is NULL, so the value decides here.
  private func removePendings(_ delete: Statement) throws(SQLiteError) -> Int {
    var held: [Counted: Int] = [:]
    var networks: [NetworkQuota: Int] = [:]
    var total = 0
    defer { delete.reset() }
    while try delete.step() {
      let purpose = delete.text()
      let scope = accountScope(purpose, delete)
      let accountID = delete.text()
      let quota = "\(purpose) \(delete.text())"
      networks[NetworkQuota(quota: quota, network: delete.bytes()), default: 0] += 1
      held[Counted(scope: .caller, name: quota), default: 0] += 1
      held[Counted(scope: .purpose, name: purpose), default: 0] += 1
      let isCompleted = delete.optionalTimestamp() != nil
      if !accountID.isEmpty, !isCompleted { held[Counted(scope: scope, name: accountID), default: 0] += 1 }
      total += 1
    }
    if total > 0 {
      held[Counted(scope: .total, name: "")] = total
      pendingsChanged = true
    }
    for (counted, count) in held { try letGo(counted.scope, counted.name, count) }
    for (counted, count) in networks { try letGo(counted, count) }
    return total
  }

  // MARK: Networks

  /// Adds the row to the count of its network.
  private func count(_ pending: PendingRecord) throws(SQLiteError) {
    try connection.statement(
      """
      INSERT INTO pending_networks (quota, network, held) VALUES (?, ?, 1)
      ON CONFLICT (quota, network) DO UPDATE SET held = held + 1
      """
    ).bind(pending.quota).bind(pending.network?.bytes ?? []).run()
  }

  private func letGo(_ counted: NetworkQuota, _ count: Int) throws(SQLiteError) {
    _ = try connection.statement("UPDATE pending_networks SET held = held - ? WHERE quota = ? AND network = ?")
      .bind(count).bind(counted.quota).bind(counted.network).run()
    _ = try connection.statement("DELETE FROM pending_networks WHERE quota = ? AND network = ? AND held <= 0")
      .bind(counted.quota).bind(counted.network).run()
  }

  /// Removes the newest row of the network that uses most of the quota. False: that is the network of this row, or it
  /// has no more rows than the network of this row would have.
  private func makeRoom(for pending: PendingRecord) throws(SQLiteError) -> Bool {
    let own = pending.network?.bytes ?? []
    let removed = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE digest = (
          SELECT p.digest FROM pendings AS p WHERE p.purpose = ?1 AND p.caller = ?2 AND coalesce(p.network, x'') = (
            SELECT most.network FROM (
              SELECT network, held FROM pending_networks WHERE quota = ?3 ORDER BY held DESC LIMIT 1) AS most
            WHERE most.network <> ?4 AND most.held > 1 + coalesce(
              (SELECT held FROM pending_networks WHERE quota = ?3 AND network = ?4), 0))
          ORDER BY p.created_at DESC LIMIT 1)
        RETURNING purpose, tier, account_id, caller, coalesce(network, x''), completed_at
        """
      ).bind(pending.purpose.rawValue).bind(pending.caller.text).bind(pending.quota).bind(own))
    guard removed > 0 else { return false }
    removedPendings.append(pending.purpose)
    return true
  }

  /// Completes the row. It stays, to answer a repeated completion, but no longer counts towards its account. A user who
  /// often signs in with a second factor completes one row each time.
  private func complete(
    _ digest: Digest, _ version: Int64, _ at: Timestamp, _ accountID: String, _ sessionID: String
  ) throws(SQLiteError) -> Bool {
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

  /// Subtracts one attempt and raises the version. A completion decided while an attempt was left must then decide
  /// again.
  private func countAttempt(_ digest: Digest) throws(SQLiteError) {
    _ = try connection.statement(
      """
      UPDATE pendings SET version = version + 1, attempts_left = attempts_left - 1
      WHERE digest = ? AND attempts_left > 0
      """
    ).bind(digest).runHitsRow()
  }

  private func spendAttempt(_ digest: Digest, _ version: Int64) throws(SQLiteError) -> Bool {
    try connection.statement(
      """
      UPDATE pendings SET version = version + 1, attempts_left = attempts_left - 1
      WHERE digest = ? AND version = ? AND attempts_left > 0
      """
    ).bind(digest).bind(version).runHitsRow()
  }

  private func reseal(_ digest: Digest, _ version: Int64, _ sealed: [UInt8]) throws(SQLiteError) -> Bool {
    try connection.statement(
      """
      UPDATE pendings SET version = version + 1, sealed = ?
      WHERE digest = ? AND version = ? AND completed_at IS NULL
      """
    ).bind(sealed).bind(digest).bind(version).runHitsRow()
  }

  func deletePendings(of accountID: String, except: Digest?, sparing: [PendingPurpose]) throws(SQLiteError) {
    let spared = sparing.map { " \($0.rawValue) " }.joined()
    _ = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE account_id = ?1 AND (?2 IS NULL OR digest <> ?2)
          AND instr(?3, ' ' || purpose || ' ') = 0
        RETURNING purpose, tier, account_id, caller, coalesce(network, x''), completed_at
        """
      ).bind(accountID).bind(except).bind(spared))
  }

  private func endPendings(
    _ purpose: PendingPurpose, _ key: IdentityKey, createdAfter: Timestamp?
  ) throws(SQLiteError) {
    _ = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE purpose = ?1 AND provider_id = ?2 AND subject = ?3
          AND (?4 IS NULL OR created_at > ?4)
        RETURNING purpose, tier, account_id, caller, coalesce(network, x''), completed_at
        """
      ).bind(purpose.rawValue).bind(key.providerID).bind(key.subject).bind(createdAfter))
  }

  // MARK: Sweep

  /// Removes rows that expired at or before `now`, oldest first.
  func sweep(_ now: Timestamp, _ rowsMax: Int, auditedBefore: Timestamp) throws(SQLiteError) -> Int {
    let pendings = try removePendings(
      connection.statement(
        """
        DELETE FROM pendings WHERE digest IN
          (SELECT digest FROM pendings WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
        RETURNING purpose, tier, account_id, caller, coalesce(network, x''), completed_at
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
    let failures = try sweepFailures(now, rowsMax)
    return pendings + deliveries + Int(idempotency + spentTokens + sessions + throttles + events + failures)
  }
}

extension GeneratedSQL {
  fileprivate static let insertPending = GeneratedSQL(PendingRecord.insert("?"))
}
