import Store

/// Fills a record: every field gets a value of its own, also in columns that a later version adds.
private final class Filler: ColumnVisitor {
  private var count: Int64
  private let isFirst: Bool
  private let suffix: String

  /// - Parameter isFirst: a second filler gives each field another value than the first.
  init(isFirst: Bool) {
    self.isFirst = isFirst
    (count, suffix) = isFirst ? (0, "") : (100, " again")
  }

  private var next: Int64 {
    count += 1
    return count
  }

  private var bytes: [UInt8] {
    let first = next
    return (0..<32).map { UInt8(truncatingIfNeeded: first + $0) }
  }

  // A text that is not empty is that of a closed set.
  func column(_ name: StaticString, _ value: inout String) { if value.isEmpty { value = "\(name)\(suffix)\n" } }
  func column(_ name: StaticString, _ value: inout String?) { value = value ?? "\(name)\(suffix)" }
  func column(_ name: StaticString, _ value: inout Int64) { value = 1_000 + next }
  func column(_ name: StaticString, _ value: inout Int64?) { value = 1_000 + next }
  func column(_ name: StaticString, _ value: inout Bool) { value = isFirst }
  func column(_ name: StaticString, _ value: inout [UInt8]) { value = bytes }
  func column(_ name: StaticString, _ value: inout [UInt8]?) { value = bytes }
  func owner(_ name: StaticString, _ accountID: inout String) { accountID = "id\(suffix)\n" }
  // A field of a closed set keeps its value.
  func reject(_ name: StaticString, _ why: String) {}
}

private func filled<Record: StoredRecord>(_: Record.Type, isFirst: Bool = true) -> Record {
  var record = Record.blank
  record.visit(Filler(isFirst: isFirst))
  return record
}

/// Returns the fields that both fillers leave alike, because `visit` does not name them or because they are of a closed
/// set. A field that `visit` does not name would never be stored.
private func unfilled<Record: StoredRecord>(_: Record.Type) -> [String] {
  let (first, second) = (values(of: filled(Record.self)), values(of: filled(Record.self, isFirst: false)))
  return first.filter { second[$0.key] == $0.value }.keys.map { "\(Record.self)\($0)" }.sorted()
}

/// The values of a record by the paths of their properties.
private func values(of value: Any, at path: String = "") -> [String: String] {
  let mirror = Mirror(reflecting: value)
  switch mirror.displayStyle {
  case .struct:
    return mirror.children.reduce(into: [:]) { found, child in
      found.merge(values(of: child.value, at: "\(path).\(child.label ?? "")")) { $1 }
    }
  case .optional: return mirror.children.first.map { values(of: $0.value, at: path) } ?? [path: "nil"]
  default: return [path: "\(value)"]
  }
}

private func account() -> AccountRecord {
  var account = filled(AccountRecord.self)
  account.emailAddress?.verification = .assertion(providerID: "email_verification_provider_id")
  return account
}

private func session() -> SessionRecord {
  var session = filled(SessionRecord.self)
  session.closed = SessionEnd(at: Timestamp(millis: 999), reason: .merged)
  return session
}

extension Promise {
  static let columns = [
    Promise("every field of a record is a column") { bench in
      let names = [
        unfilled(AccountRecord.self), unfilled(ClosedAccountRecord.self), unfilled(IdentityRecord.self),
        unfilled(FactorRecord.self), unfilled(UnlinkRecord.self), unfilled(SessionRecord.self),
        unfilled(PendingRecord.self), unfilled(DeliveryRecord.self), unfilled(IdempotencyRecord.self),
        unfilled(ThrottleRecord.self), unfilled(SigningKeyRecord.self), unfilled(ImportKeyRecord.self),
        unfilled(MasterKeyRecord.self), unfilled(AuditRecord.self), unfilled(SentMessageRecord.self),
        unfilled(FailureRecord.self),
      ]
      let closedSets = [
        "AccountRecord.emailAddress.verification", "IdentityRecord.tier", "FactorRecord.kind", "SessionRecord.closed",
        "PendingRecord.purpose", "PendingRecord.tier", "DeliveryRecord.channel", "DeliveryRecord.priority",
        "SentMessageRecord.channel",
      ]
      try bench.equal(names.flatMap(\.self), closedSets)
    },
    Promise("every column of an account and of its dependents is read back as it was written") { bench in
      let (account, identity, factor) = (account(), filled(IdentityRecord.self), filled(FactorRecord.self))
      let unlink = filled(UnlinkRecord.self)
      try await bench.prepare(
        .account(.insert(account)), .identity(.insert(identity)), .factor(.insert(factor)),
        .unlink(.remember(unlink)))
      let stored = AccountState(account: account, identities: [identity], factors: [factor], unlinks: [unlink])
      try bench.equal(try await bench.loadAccount(account.id), stored)
    },
    Promise("every column of many new accounts in one change is read back as it was written") { bench in
      var (states, writes): ([AccountState], [Write]) = ([], [])
      for number in 1...6 {
        let id = "new \(number)"
        // Every second account has only what it must have.
        var state = AccountState(account: bench.account(id))
        if number.isMultiple(of: 2) {
          var factor = filled(FactorRecord.self)
          state.account = bench.fullAccount(id)
          (state.account.phoneNumber, factor.id, factor.accountID) = ("+4915100\(number)", "f \(number)", id)
          state.identities = [bench.identity("s \(number)", of: id, email: "e@example.com")]
          state.factors = [factor]
        }
        writes.append(.account(.insert(state.account)))
        writes += state.identities.map { .identity(.insert($0)) } + state.factors.map { .factor(.insert($0)) }
        writes.append(.record(.appendAudit(bench.event(number))))
        states.append(state)
      }
      try bench.equal(try await bench.store.commit(Change(writes), commitDecision: CommitDecision()), .committed)
      for state in states { try bench.equal(try await bench.loadAccount(state.account.id), state) }
      try bench.equal(try await bench.events(after: 0).map(\.id), (1...6).map { "event \($0)" })
    },
    Promise("many new accounts in one change are written all or none") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann", email: "ann@example.com"))))
      try await bench.prepare(.account(.insert(bench.account("gone"))))
      try await bench.prepare(.removal(of: "gone"))
      let taken: [(AccountRecord, Outcome)] = [
        (bench.account("ann"), .conflict(.accountID)), (bench.account("gone"), .conflict(.accountID)),
        (bench.account("new", email: "ann@example.com"), .conflict(.email)),
      ]
      for (account, outcome) in taken {
        let accounts = (1...5).map { bench.account("new \($0)") } + [account]
        let change = Change(accounts.map { .account(.insert($0)) })
        try bench.equal(try await bench.store.commit(change, commitDecision: CommitDecision()), outcome)
        try bench.equal(try await bench.loadAccount("new 1"), nil)
      }
    },
    Promise("every column of an account, and of an identity except its time, is updated") { bench in
      var (account, identity) = (account(), filled(IdentityRecord.self))
      var (old, oldIdentity) = (bench.account(account.id), bench.identity(identity.key.subject, of: account.id))
      (old.version, oldIdentity.key, oldIdentity.linkedAt) = (account.version, identity.key, Bench.noon)
      try await bench.prepare(.account(.insert(old)), .identity(.insert(oldIdentity)))
      try await bench.prepare(.account(.update(account)), .identity(.update(identity)))
      (account.version, identity.linkedAt) = (account.version + 1, Bench.noon)
      try bench.equal(
        try await bench.loadAccount(account.id), AccountState(account: account, identities: [identity]))
    },
    Promise("every column of a session is read back as it was written") { bench in
      let session = session()
      try await bench.prepare(.account(.insert(bench.account(session.accountID))), .session(.insert(session)))
      try bench.equal(try await bench.loadSession(session.id), session)
    },
    Promise("every column of a pending row is read back as it was written") { bench in
      let pending = filled(PendingRecord.self)
      try await bench.prepare(.pending(.insert(pending, limits: .wide)))
      try bench.equal(try await bench.loadPending(pending.digest), pending)
    },
    Promise("every column of a message is read back as it was written") { bench in
      var delivery = filled(DeliveryRecord.self)
      (delivery.buriedAt, delivery.buriedReason, delivery.keptUntil) = (nil, nil, nil)
      try await bench.prepare(.delivery(.enqueue(delivery, queueMax: 1)))
      let due = DueDeliveries(at: delivery.nextAttemptAt, rowsMax: [delivery.deliveryClass: 1])
      try bench.equal(try await bench.load { $0.deliveries = due }.deliveries?.due, [delivery])
    },
    Promise("every column of failures is read back as it was written") { bench in
      let failure = filled(FailureRecord.self)
      let count = FailureCount(failure, remainder: filled(FailureRecord.self, isFirst: false), rowsMax: 1)
      try await bench.prepare(.failure(.add(count)))
      try bench.equal(try await bench.failures(of: .account(failure.accountID)), [failure])
    },
    Promise("every column of an independent record is read back as it was written") { bench in
      let (idempotency, signingKey) = (filled(IdempotencyRecord.self), filled(SigningKeyRecord.self))
      let (importKey, closed) = (filled(ImportKeyRecord.self), filled(ClosedAccountRecord.self))
      var audit = filled(AuditRecord.self)
      try await bench.prepare(
        .record(.insertIdempotency(idempotency)), .signingKey(.insert(signingKey)),
        .record(.keepImportKey(importKey)), .record(.appendAudit(audit)),
        .account(.insert(bench.account(closed.id))))
      try await bench.prepare(.account(.close(closed, version: 1)))
      let facts = try await bench.load {
        ($0.idempotency, $0.signingKeys, $0.importKeyID) = (idempotency.key, true, importKey.id)
        ($0.accountID, $0.events) = (closed.id, EventRange(after: 0, rowsMax: 1))
      }
      audit.position = 1
      try bench.equal(facts.idempotency, idempotency)
      try bench.equal(facts.signingKeys, [signingKey])
      try bench.equal(facts.importKey, importKey)
      try bench.equal(facts.closedAccount, closed)
      try bench.equal(facts.events, [audit])
    },
  ]
}
