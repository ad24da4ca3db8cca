import Store

// Lookups for administrators who help a user. They are rare, so their statements are prepared at their first use.

extension Reader {
  func support(_ query: SupportQuery) throws(SQLiteError) -> SupportFacts {
    var facts = SupportFacts()
    if let range = query.events {
      let statement = try connection.statement(.eventsOfAccount)
      facts.events = try all(statement.bind(query.accountID).bind(range.position).bind(range.rowsMax))
    }
    for range in query.failures { facts.failures += try failures(range) }
    if query.messagesMax > 0 {
      let waiting = try connection.statement(.deliveriesOfAccount)
      facts.deliveries = try all(waiting.bind(query.accountID).bind(query.messagesMax))
      let sent = try connection.statement(.sentMessagesOfAccount)
      facts.sentMessages = try all(sent.bind(query.accountID).bind(query.messagesMax))
    }
    if query.pendingsMax > 0 {
      let statement = try connection.statement(.pendingsOfAccount)
      facts.pendings = try all(statement.bind(query.accountID).bind(query.pendingsMax))
    }
    if query.sessionsMax > 0 {
      let statement = try connection.statement(.sessionsOfAccount)
      facts.sessions = try all(statement.bind(query.accountID).bind(query.sessionsMax))
    }
    if let id = query.deliveryID {
      facts.delivery = try one(connection.statement(.delivery).bind(id))
      facts.sentMessages += try all(connection.statement(.sentMessage).bind(id))
    }
    return facts
  }

  private func failures(_ range: FailuresBefore) throws(SQLiteError) -> [FailureRecord] {
    let statement =
      switch range.owner {
      case .account(let id): try connection.statement(.failuresOfAccount).bind(id)
      case .subject(let digest): try connection.statement(.failuresOfSubject).bind(digest)
      }
    return try all(statement.bind(range.lastAt).bind(range.key).bind(range.rowsMax))
  }
}

extension GeneratedSQL {
  fileprivate static let eventsOfAccount = GeneratedSQL(
    AuditRecord.select("WHERE account_id = ? AND position < ? ORDER BY position DESC LIMIT ?"))
  private static let failuresBefore = "AND (last_at, key) < (?, ?) ORDER BY last_at DESC, key DESC LIMIT ?"
  fileprivate static let failuresOfAccount = GeneratedSQL(
    FailureRecord.select("WHERE account_id = ? \(failuresBefore)"))
  fileprivate static let failuresOfSubject = GeneratedSQL(
    FailureRecord.select("WHERE subject = ? \(failuresBefore)"))
  private static let newest = "WHERE account_id = ? ORDER BY created_at DESC, id DESC LIMIT ?"
  fileprivate static let deliveriesOfAccount = GeneratedSQL(DeliveryRecord.select(newest))
  fileprivate static let sentMessagesOfAccount = GeneratedSQL(SentMessageRecord.select(newest))
  fileprivate static let sessionsOfAccount = GeneratedSQL(SessionRecord.select(newest))
  fileprivate static let pendingsOfAccount = GeneratedSQL(
    PendingRecord.select("WHERE account_id = ? ORDER BY created_at DESC, digest LIMIT ?"))
  fileprivate static let sentMessage = GeneratedSQL(SentMessageRecord.select("WHERE id = ?"))
  fileprivate static let delivery = GeneratedSQL(DeliveryRecord.select("WHERE id = ?"))
}
