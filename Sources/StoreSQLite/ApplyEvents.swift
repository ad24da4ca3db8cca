import Store

extension Writer {
  /// Appends an audit row at the position after the last. Only this thread assigns positions, one transaction after the
  /// other, so rows become visible in their order.
  func insert(_ record: AuditRecord) throws(SQLiteError) {
    eventsAppended = true
    try connection.statement(.appendAudit).bind(record, except: "position").runInsert()
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

extension GeneratedSQL {
  private static let written = AuditRecord.columns.without("position")
  fileprivate static let appendAudit = GeneratedSQL(
    """
    INSERT INTO audit (\(written.names), position)
    VALUES (\(written.placeholders("?")), (SELECT coalesce(max(position), 0) + 1 FROM audit))
    """)
}
