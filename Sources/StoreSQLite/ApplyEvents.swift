import Store

extension Writer {
  /// The position is one more than the last, which only this thread gives: rows become visible in its order, since they
  /// do so one transaction after the other.
  func insert(_ record: AuditRecord) throws(Failure) {
    eventsAppended = true
    try connection.statement(
      """
      INSERT INTO audit (position, id, at, account_id, event, caller, details)
      VALUES ((SELECT coalesce(max(position), 0) + 1 FROM audit), ?, ?, ?, ?, ?, ?)
      """
    ).bind(record.id).bind(record.at).bind(record.accountID).bind(record.event).bind(record.caller.text)
      .bind(record.detailsJSON).runInsert()
  }

  /// Looks at the oldest rows only: they stand in the order of their time, but for what a clock was set back by, and
  /// what is passed over for that goes with a later sweep.
  func sweepEvents(before: Timestamp, _ rowsMax: Int) throws(Failure) -> Int64 {
    try connection.statement(
      """
      DELETE FROM audit WHERE at < ? AND position < (SELECT max(position) FROM audit)
        AND position IN (SELECT position FROM audit ORDER BY position LIMIT ?)
      """
    ).bind(before).bind(rowsMax).run()
  }
}
