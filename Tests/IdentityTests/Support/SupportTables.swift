import Identity
import Store

// What administrators need to help a user.

extension Tables {
  func support(_ query: SupportQuery) -> SupportFacts {
    let id = query.accountID
    var facts = SupportFacts()
    if let range = query.events {
      let before = audit.filter { $0.accountID == id && $0.position < range.position }
      facts.events = Array(before.reversed().prefix(range.rowsMax))
    }
    facts.failures = query.failures.flatMap(failures)
    let own = deliveries.filter { $0.accountID == id }.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
    facts.deliveries = Array(own.prefix(query.messagesMax))
    let sent = sentMessages.filter { $0.accountID == id }.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
    facts.sentMessages = sent.prefix(query.messagesMax) + sentMessages.filter { $0.id == query.deliveryID }
    let rows = pendings.values.filter { $0.accountID == id }.sorted { $0.createdAt > $1.createdAt }
    facts.pendings = Array(rows.prefix(query.pendingsMax))
    let opened = sessions.values.filter { $0.accountID == id }.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
    facts.sessions = Array(opened.prefix(query.sessionsMax))
    facts.delivery = deliveries.first { $0.id == query.deliveryID }
    return facts
  }

  private func failures(_ range: FailuresBefore) -> [FailureRecord] {
    func isBefore(_ row: FailureRecord, _ lastAt: Timestamp, _ key: Digest) -> Bool {
      row.lastAt == lastAt ? row.key.bytes.lexicographicallyPrecedes(key.bytes) : row.lastAt < lastAt
    }
    let owned = failures.values.filter { row in
      switch range.owner {
      case .account(let id): row.accountID == id
      case .subject(let digest): row.subject == digest
      }
    }
    let before = owned.filter { isBefore($0, range.lastAt, range.key) }
    return Array(before.sorted { isBefore($1, $0.lastAt, $0.key) }.prefix(range.rowsMax))
  }

  mutating func carryOut(_ write: FailureWrite) -> Outcome? {
    switch write {
    case .add(let count):
      let record = count.record
      let held = failures.values.count { $0.accountID == record.accountID && $0.lastAt >= record.hour }
      let row = failures[record.key] != nil || held < count.rowsMax ? record : count.remainder
      guard let old = failures[row.key] else {
        failures[row.key] = row
        return nil
      }
      failures[row.key]?.count = old.count + row.count
      failures[row.key]?.lastAt = max(old.lastAt, row.lastAt)
      failures[row.key]?.keptUntil = max(old.keptUntil, row.keptUntil)
      failures[row.key]?.device = row.device ?? old.device
    }
    return nil
  }
}
