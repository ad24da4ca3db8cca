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
    case .bury(let id, let at, let reason, let keptUntil): try buryDelivery(id, at, reason, keptUntil)
    }
    return nil
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
    if limits.isReached(try throttle(limits.count.key)) { return .overLimit }
    guard try enqueue(notice, queueMax: limits.queueMax) else { return .queueFull }
    if limits.count.rule.countMax > 0 { _ = try count(limits.count) }
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

  private func buryDelivery(
    _ id: String, _ at: Timestamp, _ reason: String, _ keptUntil: Timestamp
  ) throws(SQLiteError) {
    guard
      try connection.statement(
        """
        UPDATE deliveries SET buried_at = ?, buried_reason = ?, kept_until = ?, sealed = x''
        WHERE id = ? AND buried_at IS NULL
        """
      ).bind(at).bind(reason).bind(keptUntil).bind(id).runHitsRow()
    else { return }
    try letGo(.waiting, "", 1)
    _ = try hold(.buried, "", atMost: .max)
  }

  /// Removes the given-up messages whose retention has ended. Only given-up messages have a `kept_until`.
  func sweepDeliveries(_ now: Timestamp, _ rowsMax: Int) throws(SQLiteError) -> Int {
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
  fileprivate static let insertDelivery = GeneratedSQL(DeliveryRecord.insert("?"))
}
