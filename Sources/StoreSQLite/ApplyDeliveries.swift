import Store

// The queue of emails and text messages.
//
// Waiting and given-up messages have separate counts, so that the queue's limit and its gauges cost one lookup.

extension Writer {
  /// nil: written.
  func apply(_ write: DeliveryWrite) throws(SQLiteError) -> Outcome? {
    switch write {
    case .enqueue(let delivery, let queueMax):
      return try enqueue(delivery, queueMax: queueMax) ? nil : .limited(.deliveries)
    case .enqueueNotice(let notice, let limits):
      if let why = try enqueue(notice, within: limits) { unqueuedNotices.append(why) }
    case .claim(let id, let attempts, let nextAttemptAt):
      return try claimDelivery(id, attempts, nextAttemptAt) ? nil : .stale
    case .remove(let id): try removeDelivery(id)
    case .removeSent(let id, let at, let keptUntil):
      try connection.statement(.keepSentMessage).bind(at).bind(keptUntil).bind(id).run()
      try removeDelivery(id)
    case .noteError(let id, let error):
      try connection.statement("UPDATE deliveries SET last_error = ? WHERE id = ? AND buried_at IS NULL")
        .bind(error).bind(id).run()
    case .bury(let id, let at, let reason, let keptUntil): try buryDelivery(id, at, reason, keptUntil)
    case .requeue(let id, let at, let queueMax): return try requeueDelivery(id, at, queueMax: queueMax)
    }
    return nil
  }

  private func requeueDelivery(_ id: String, _ at: Timestamp, queueMax: Int) throws(SQLiteError) -> Outcome? {
    let isWaiting = try connection.statement(
      "UPDATE deliveries SET next_attempt_at = ? WHERE id = ? AND buried_at IS NULL AND expires_at > ?"
    ).bind(at).bind(id).bind(at).runHitsRow()
    if isWaiting { return nil }
    guard
      try connection.statement(
        """
        UPDATE deliveries SET next_attempt_at = ?, attempts = 0, merge_key = NULL, buried_at = NULL,
          buried_reason = NULL, kept_until = NULL
        WHERE id = ? AND buried_at IS NOT NULL AND expires_at > ? AND length(sealed) > 0
        """
      ).bind(at).bind(id).bind(at).runHitsRow()
    else { return .stale }
    try letGo(.buried, "", 1)
    return try hold(.waiting, "", atMost: queueMax) ? nil : .limited(.deliveries)
  }

  /// False: the queue is full.
  private func enqueue(_ delivery: DeliveryRecord, queueMax: Int) throws(SQLiteError) -> Bool {
    guard try hold(.waiting, "", atMost: queueMax) else { return false }
    try connection.statement(.insertDelivery).bind(delivery).runInsert()
    return true
  }

  /// nil: queued.
  private func enqueue(_ notice: DeliveryRecord, within limits: NoticeLimits) throws(SQLiteError) -> UnqueuedNotice? {
    let merging = try connection.statement(
      "UPDATE deliveries SET expires_at = max(expires_at, ?) WHERE merge_key = ? AND buried_at IS NULL")
    if try merging.bind(notice.expiresAt).bind(notice.mergeKey).runHitsRow() { return .merged }
    for count in [limits.count] + limits.otherCounts where limits.isReached(try throttle(count.key)) {
      return .overLimit
    }
    guard try enqueue(notice, queueMax: limits.queueMax) else { return .queueFull }
    guard limits.count.rule.countMax > 0 else { return nil }
    for count in [limits.count] + limits.otherCounts { _ = try self.count(count) }
    return nil
  }

  private func claimDelivery(_ id: String, _ attempts: Int, _ nextAttemptAt: Timestamp) throws(SQLiteError) -> Bool {
    try connection.statement(
      """
      UPDATE deliveries SET attempts = attempts + 1, next_attempt_at = ?
      WHERE id = ? AND attempts = ? AND buried_at IS NULL
      """
    ).bind(nextAttemptAt).bind(id).bind(attempts).runHitsRow()
  }

  private func removeDelivery(_ id: String) throws(SQLiteError) {
    if try connection.statement("DELETE FROM deliveries WHERE id = ? AND buried_at IS NULL").bind(id).runHitsRow() {
      try letGo(.waiting, "", 1)
    } else if try connection.statement("DELETE FROM deliveries WHERE id = ?").bind(id).runHitsRow() {
      try letGo(.buried, "", 1)
    }
  }

  func removeDeliveries(of accountID: String) throws(SQLiteError) {
    let waiting = try connection.statement("DELETE FROM deliveries WHERE account_id = ? AND buried_at IS NULL")
      .bind(accountID).run()
    if waiting > 0 { try letGo(.waiting, "", Int(waiting)) }
    let buried = try connection.statement("DELETE FROM deliveries WHERE account_id = ?").bind(accountID).run()
    if buried > 0 { try letGo(.buried, "", Int(buried)) }
  }

  private func buryDelivery(
    _ id: String, _ at: Timestamp, _ reason: String, _ keptUntil: Timestamp
  ) throws(SQLiteError) {
    guard
      try connection.statement(
        """
        UPDATE deliveries SET buried_at = ?, buried_reason = ?, kept_until = ?,
          sealed = CASE WHEN expires_at > ? THEN sealed ELSE x'' END
        WHERE id = ? AND buried_at IS NULL
        """
      ).bind(at).bind(reason).bind(keptUntil).bind(at).bind(id).runHitsRow()
    else { return }
    try letGo(.waiting, "", 1)
    _ = try hold(.buried, "", atMost: .max)
  }

  /// Removes the given-up messages whose retention has ended, and the content of those that have expired. Only given-up
  /// messages have a `kept_until`.
  func sweepDeliveries(_ now: Timestamp, _ rowsMax: Int) throws(SQLiteError) -> Int {
    try connection.statement(
      """
      UPDATE deliveries SET sealed = x'' WHERE id IN (
        SELECT id FROM deliveries WHERE buried_at IS NOT NULL AND length(sealed) > 0 AND expires_at <= ?
        ORDER BY expires_at LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
    let removed = try connection.statement(
      """
      DELETE FROM deliveries WHERE id IN
        (SELECT id FROM deliveries WHERE kept_until <= ? ORDER BY kept_until LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
    if removed > 0 { try letGo(.buried, "", Int(removed)) }
    return Int(removed)
  }
}

extension GeneratedSQL {
  /// Rows of messages to no account, and of earlier versions, name no account.
  fileprivate static let keepSentMessage = GeneratedSQL(
    """
    INSERT INTO sent_messages
      (id, account_id, channel, kind, masked_recipient, created_at, attempts, sent_at, kept_until)
    SELECT id, account_id, channel, kind, coalesce(masked_recipient, ''), created_at, attempts, ?, ? FROM deliveries
    WHERE id = ? AND account_id IS NOT NULL AND buried_at IS NULL
    """)
  fileprivate static let insertDelivery = GeneratedSQL(DeliveryRecord.insert("?"))
}
