import Store

extension Writer {
  /// nil: written.
  func apply(_ write: ThrottleWrite) throws(SQLiteError) -> Outcome? {
    switch write {
    case .count(let counted): try count(counted)
    case .reset(let key, let kind, let at, let liftsBlock): try reset(key, kind, at, liftsBlock: liftsBlock)
    }
  }

  /// Counts one event. nil: counted. No other thread writes between the read and the write of the row. A backend with
  /// many writers reads the row for update.
  func count(_ count: ThrottleCount) throws(SQLiteError) -> Outcome? {
    let old = try throttle(count.key)
    if count.refusesBlocked, let until = old?.block(at: count.at) { return .throttled(count.kind, until: until) }
    let record = ThrottleRecord.counting(count, after: old)
    if record.isAlarm(after: count) { halfUsedLimits.append(count.kind) }
    try connection.statement(.putThrottle).bind(record).runInsert()
    return nil
  }

  /// Deletes the count of the key. nil: deleted.
  private func reset(
    _ key: Digest, _ kind: ThrottleKind, _ at: Timestamp, liftsBlock: Bool
  ) throws(SQLiteError) -> Outcome? {
    if !liftsBlock, let until = try throttle(key)?.block(at: at) { return .throttled(kind, until: until) }
    _ = try connection.statement("DELETE FROM throttles WHERE key = ?").bind(key).runHitsRow()
    return nil
  }

  func throttle(_ key: Digest) throws(SQLiteError) -> ThrottleRecord? {
    let statement = try connection.statement(.throttle)
    defer { statement.reset() }
    return try statement.bind(key).step() ? try statement.record() : nil
  }

  func sweepThrottles(_ now: Timestamp, _ rowsMax: Int) throws(SQLiteError) -> Int64 {
    try connection.statement(
      """
      DELETE FROM throttles WHERE key IN
        (SELECT key FROM throttles WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
  }
}

extension GeneratedSQL {
  fileprivate static let putThrottle = GeneratedSQL(
    """
    \(ThrottleRecord.insert("?"))
    ON CONFLICT (key) DO UPDATE SET \(ThrottleRecord.columns.takingOver(except: "key"))
    """)
  fileprivate static let throttle = GeneratedSQL(ThrottleRecord.select("WHERE key = ?"))
}
