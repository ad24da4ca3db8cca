import Store

extension Writer {
  /// Appends an audit row at the position after the last. Only this thread assigns positions, one transaction after the
  /// other, so rows become visible in their order.
  func insert(_ record: AuditRecord) throws(SQLiteError) {
    eventsAppended = true
    try connection.statement(
      """
      INSERT INTO audit (position, id, at, account_id, event, caller, details)
      VALUES ((SELECT coalesce(max(position), 0) + 1 FROM audit), ?, ?, ?, ?, ?, ?)
      """
    ).bind(record.id).bind(record.at).bind(record.accountID).bind(record.event).bind(record.caller.text)
      .bind(record.detailsJSON).runInsert()
  }

  /// Removes old audit rows. Considers only the rows with the lowest positions, which are ordered by time unless a
  /// clock was set back. A later sweep removes any row that this one skips.
  func sweepEvents(before: Timestamp, _ rowsMax: Int) throws(SQLiteError) -> Int64 {
    try connection.statement(
      """
      DELETE FROM audit WHERE at < ? AND position < (SELECT max(position) FROM audit)
        AND position IN (SELECT position FROM audit ORDER BY position LIMIT ?)
      """
    ).bind(before).bind(rowsMax).run()
  }
}
