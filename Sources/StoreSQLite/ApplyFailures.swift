import Store

extension Writer {
  func apply(_ write: FailureWrite) throws(SQLiteError) {
    switch write {
    case .add(let count): try add(count)
    }
  }

  /// The second statement has no effect if the first has found or made the row.
  private func add(_ count: FailureCount) throws(SQLiteError) {
    let record = count.record
    try connection.statement(.addFailure).bind(record).bind(record.key).bind(record.accountID).bind(record.hour)
      .bind(count.rowsMax).bind(count.rowsMax).run()
    try connection.statement(.addRemainder).bind(count.remainder).bind(record.key).run()
  }

  func sweepFailures(_ now: Timestamp, _ rowsMax: Int) throws(SQLiteError) -> Int64 {
    let sent = try connection.statement(
      """
      DELETE FROM sent_messages WHERE id IN
        (SELECT id FROM sent_messages WHERE kept_until <= ? ORDER BY kept_until LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
    let expired = try connection.statement(
      """
      DELETE FROM failures WHERE key IN
        (SELECT key FROM failures WHERE kept_until <= ? ORDER BY kept_until LIMIT ?)
      """
    ).bind(now).bind(rowsMax).run()
    let surplus = try connection.statement(
      """
      DELETE FROM failures WHERE key IN
        (SELECT key FROM failures ORDER BY kept_until LIMIT max(0, min(?, (SELECT count(*) FROM failures) - ?)))
      """
    ).bind(rowsMax).bind(failuresMax).run()
    return sent + expired + surplus
  }
}

extension GeneratedSQL {
  private static let failures = FailureRecord.columns
  private static let adding = """
    ON CONFLICT (key) DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at),
      device = coalesce(excluded.device, device), kept_until = max(kept_until, excluded.kept_until)
    """
  fileprivate static let addFailure = GeneratedSQL(
    """
    INSERT INTO failures (\(failures.names)) SELECT \(failures.placeholders("?"))
    WHERE EXISTS (SELECT 1 FROM failures WHERE key = ?) OR (
      SELECT count(*) FROM (SELECT 1 FROM failures WHERE account_id = ? AND last_at >= ? LIMIT ?)) < ?
    \(adding)
    """)
  fileprivate static let addRemainder = GeneratedSQL(
    """
    INSERT INTO failures (\(failures.names)) SELECT \(failures.placeholders("?"))
    WHERE NOT EXISTS (SELECT 1 FROM failures WHERE key = ?)
    \(adding)
    """)
}
