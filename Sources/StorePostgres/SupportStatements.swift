import Store

extension Script {
  func add(_ write: FailureWrite) {
    switch write {
    case .add(let count):
      let record = count.record
      // The second statement has no effect if the first has found or made the row.
      add(.addFailure) { $0.bind(record).bind(record.hour).bind(count.rowsMax) }
      add(.addRemainder) { $0.bind(count.remainder).bind(record.key) }
    }
  }
}

// Lookups for administrators who help a user.
extension LookUp {
  func askSupport(_ query: SupportQuery) {
    facts.support = SupportFacts()
    let id = query.accountID
    if let range = query.events {
      askLastEvent()
      askAll(BoundStatement(.eventsOfAccount).bind(id).bind(range.position).bind(range.rowsMax), AuditRecord.self) {
        [unowned self] in facts.support?.events.append($0)
      }
    }
    for range in query.failures {
      let statement =
        switch range.owner {
        case .account(let id): BoundStatement(.failuresOfAccount).bind(id)
        case .subject(let digest): BoundStatement(.failuresOfSubject).bind(digest)
        }
      askAll(statement.bind(range.lastAt).bind(range.key).bind(range.rowsMax), FailureRecord.self) {
        [unowned self] in facts.support?.failures.append($0)
      }
    }
    askOwned(query)
    if let id = query.deliveryID {
      askOne(BoundStatement(.delivery).bind(id), DeliveryRecord.self) { [unowned self] in
        facts.support?.delivery = $0
      }
      askAll(BoundStatement(.sentMessage).bind(id), SentMessageRecord.self) { [unowned self] in
        facts.support?.sentMessages.append($0)
      }
    }
  }

  private func askOwned(_ query: SupportQuery) {
    let id = query.accountID
    if query.messagesMax > 0 {
      askAll(BoundStatement(.deliveriesOfAccount).bind(id).bind(query.messagesMax), DeliveryRecord.self) {
        [unowned self] in facts.support?.deliveries.append($0)
      }
      askAll(BoundStatement(.sentMessagesOfAccount).bind(id).bind(query.messagesMax), SentMessageRecord.self) {
        [unowned self] in facts.support?.sentMessages.append($0)
      }
    }
    if query.pendingsMax > 0 {
      askAll(BoundStatement(.pendingsOfAccount).bind(id).bind(query.pendingsMax), PendingRecord.self) {
        [unowned self] in facts.support?.pendings.append($0)
      }
    }
    if query.sessionsMax > 0 {
      askAll(BoundStatement(.sessionsOfAccount).bind(id).bind(query.sessionsMax), SessionRecord.self) {
        [unowned self] in facts.support?.sessions.append($0)
      }
    }
  }
}

extension Statement {
  private static let typed = FailureRecord.typedPlaceholders.map(\.placeholder).joined(separator: ", ")
  private static let columns = FailureRecord.columns
  private static let adding = """
    ON CONFLICT (key) DO UPDATE SET count = f.count + excluded.count, last_at = greatest(f.last_at, excluded.last_at),
      device = coalesce(excluded.device, f.device), kept_until = greatest(f.kept_until, excluded.kept_until)
    """
  private static func next(_ offset: Int) -> String { "$\(columns.count + offset)" }

  static let addFailure = Statement(
    "add_failure",
    """
    INSERT INTO failures AS f (\(columns.names)) SELECT \(typed)
    WHERE EXISTS (SELECT 1 FROM failures WHERE key = $1::bytea) OR (
      SELECT count(*) FROM (
        SELECT 1 FROM failures WHERE account_id = $2::text AND last_at >= \(next(1))::bigint
        LIMIT \(next(2))::bigint) AS held) < \(next(2))::bigint
    \(adding)
    """)
  static let addRemainder = Statement(
    "add_remainder",
    """
    INSERT INTO failures AS f (\(columns.names)) SELECT \(typed)
    WHERE NOT EXISTS (SELECT 1 FROM failures WHERE key = \(next(1))::bytea)
    \(adding)
    """)

  /// Compares and orders rows by both columns, so that only the index on both can serve the query. With a condition on
  /// the account alone, the planner may read all events by position until it has found enough of the account's.
  static let eventsOfAccount = Statement(
    "events_of_account",
    AuditRecord.select(
      """
      WHERE (account_id, position) < ($1, $2) AND (account_id, position) >= ($1, 0)
      ORDER BY account_id DESC, position DESC LIMIT $3
      """))
  private static let failuresBefore = "AND (last_at, key) < ($2, $3) ORDER BY last_at DESC, key DESC LIMIT $4"
  static let failuresOfAccount = Statement(
    "failures_of_account", FailureRecord.select("WHERE account_id = $1 \(failuresBefore)"))
  static let failuresOfSubject = Statement(
    "failures_of_subject", FailureRecord.select("WHERE subject = $1 \(failuresBefore)"))
  private static let newest = "WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2"
  static let deliveriesOfAccount = Statement("deliveries_of_account", DeliveryRecord.select(newest))
  static let sentMessagesOfAccount = Statement("sent_messages_of_account", SentMessageRecord.select(newest))
  static let sessionsOfAccount = Statement("sessions_of_account", SessionRecord.select(newest))
  static let pendingsOfAccount = Statement(
    "pendings_of_account",
    PendingRecord.select("WHERE account_id = $1 ORDER BY created_at DESC, digest LIMIT $2"))
  static let sentMessage = Statement("sent_message", SentMessageRecord.select("WHERE id = $1"))
  static let delivery = Statement("delivery", DeliveryRecord.select("WHERE id = $1"))

  static let deleteSentMessages = Statement(
    "delete_sent_messages", "DELETE FROM sent_messages WHERE account_id = $1")
  static let deleteFailures = Statement("delete_failures", "DELETE FROM failures WHERE account_id = $1")

  /// Removes the oldest failures of more than `$1`.
  static let sweepSurplusFailures = Statement(
    "sweep_surplus_failures",
    """
    WITH gone AS (
      DELETE FROM failures WHERE key IN (
        SELECT key FROM failures ORDER BY kept_until
        LIMIT greatest(0, least($2, (SELECT count(*) FROM failures) - $1)) FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) FROM gone
    """)

  static let ofSupport = [
    addFailure, addRemainder, eventsOfAccount, failuresOfAccount, failuresOfSubject, deliveriesOfAccount,
    sentMessagesOfAccount, sessionsOfAccount, pendingsOfAccount, sentMessage, delivery,
    deleteSentMessages, deleteFailures, sweepSurplusFailures,
  ]
}
