import Store

extension Writer {
  /// nil: counted. Reading and writing the row are one, since nobody else writes; where there are many writers, the row
  /// is read for update.
  func count(_ count: ThrottleCount) throws(Failure) -> Outcome? {
    let old = try throttle(count.key)
    if count.refusesBlocked, let until = old?.block(at: count.at) { return .throttled(count.kind, until: until) }
    let record = ThrottleRecord.counting(count, after: old)
    if record.isAlarm(after: count) { halfUsedLimits.append(count.kind) }
    try connection.statement(
      """
      INSERT INTO throttles (key, count, since, blocks, blocked_until, expires_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET count = excluded.count, since = excluded.since, blocks = excluded.blocks,
        blocked_until = excluded.blocked_until, expires_at = excluded.expires_at
      """
    ).bind(record.key).bind(record.count).bind(record.since).bind(record.blocks).bind(record.blockedUntil)
      .bind(record.expiresAt).runInsert()
    return nil
  }

  /// nil: what was counted is forgotten.
  func reset(
    _ key: Digest, _ kind: ThrottleKind, _ at: Timestamp, liftsBlock: Bool
  ) throws(Failure) -> Outcome? {
    if !liftsBlock, let until = try throttle(key)?.block(at: at) { return .throttled(kind, until: until) }
    _ = try connection.statement("DELETE FROM throttles WHERE key = ?").bind(key).runHitsRow()
    return nil
  }

  func throttle(_ key: Digest) throws(Failure) -> ThrottleRecord? {
    let statement = try connection.statement(
      "SELECT key, count, since, blocks, blocked_until, expires_at FROM throttles WHERE key = ?")
    defer { statement.reset() }
    return try statement.bind(key).step() ? try ThrottleRecord(statement) : nil
  }

  func sweepThrottles(_ now: Timestamp, _ rowsMax: Int) throws(Failure) -> Int64 {
    try connection.statement(
      """
      DELETE FROM throttles WHERE key IN
        (SELECT key FROM throttles WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
  }
}
