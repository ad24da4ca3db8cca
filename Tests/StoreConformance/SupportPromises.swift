import Store

extension Promise {
  static let support = [
    Promise("an account's audit rows are read newest first, in ranges, and those of others are not") { bench in
      for number in 1...5 {
        var row = bench.event(number)
        if number == 3 { row.accountID = "bob" }
        try await bench.prepare(.record(.appendAudit(row)))
      }
      func positions(before position: Int64 = .max, rowsMax: Int = 9) async throws -> [Int64] {
        try await bench.support {
          ($0.accountID, $0.events) = ("ann", EventsBefore(position: position, rowsMax: rowsMax))
        }.events.map(\.position)
      }
      try bench.equal(try await positions(), [5, 4, 2, 1])
      try bench.equal(try await positions(rowsMax: 2), [5, 4])
      try bench.equal(try await positions(before: 4, rowsMax: 1), [2])
      try bench.equal(try await positions(before: 1), [])
    },
    Promise("equal failures share a row, which counts them and keeps their first and last time") { bench in
      try await bench.prepare(.failure(.add(bench.failures(1, count: 2, afterMillis: 5))))
      try await bench.prepare(.failure(.add(bench.failures(1, count: 3, afterMillis: 9))))
      try await bench.prepare(.failure(.add(bench.failures(1, afterMillis: 7))))
      var row = bench.failures(1, count: 6, afterMillis: 5).record
      (row.lastAt, row.keptUntil) = (bench.later(9), bench.later(1_009))
      try bench.equal(try await bench.failures(of: .account("ann")), [row])
    },
    Promise("an hour without room adds further failures to the remainder, and existing rows still count") { bench in
      for number in 1...4 { try await bench.prepare(.failure(.add(bench.failures(number, rowsMax: 2)))) }
      try await bench.prepare(.failure(.add(bench.failures(1, rowsMax: 2))))
      let rows = try await bench.failures(of: .account("ann")).map { [$0.call, "\($0.count)"] }
      try bench.equal(rows.sorted { $0[0] < $1[0] }, [["", "2"], ["SignIn 1", "2"], ["SignIn 2", "1"]])
      // Another account, and the next hour, have rows of their own.
      var other = bench.failures(5, rowsMax: 2)
      other.record.accountID = "bob"
      try await bench.prepare(.failure(.add(other)))
      try await bench.prepare(.failure(.add(bench.failures(6, afterMillis: 3_600_000, rowsMax: 2))))
      try bench.equal(try await bench.failures(of: .account("bob")).map(\.call), ["SignIn 5"])
      try bench.equal(try await bench.failures(of: .account("ann")).map(\.call).first, "SignIn 6")
    },
    Promise("failures are read newest first, by account or subject, and a range begins after a time and key") { bench in
      for (number, millis) in [(1, Int64(5)), (2, 9), (3, 9), (4, 7)] {
        var count = bench.failures(number, afterMillis: millis)
        if number == 4 { (count.record.accountID, count.record.subject) = ("", bench.digest(44)) }
        try await bench.prepare(.failure(.add(count)))
      }
      let rows = try await bench.failures(of: .account("ann"))
      try bench.equal(rows.map(\.call), ["SignIn 3", "SignIn 2", "SignIn 1"])
      let first = try bench.require(rows.first)
      let rest = try await bench.support {
        $0.failures = [FailuresBefore(of: .account("ann"), before: first.lastAt, key: first.key, rowsMax: 1)]
      }.failures
      try bench.equal(rest.map(\.call), ["SignIn 2"])
      try bench.equal(try await bench.failures(of: .subject(bench.digest(44))).map(\.call), ["SignIn 4"])
      try bench.equal(try await bench.failures(of: .subject(bench.digest(45))), [])
    },
    Promise("a sweep removes failures and records of sent messages past their retention") { bench in
      try await bench.prepare(.failure(.add(bench.failures(1))), .delivery(.enqueue(bench.mail("1"), queueMax: 9)))
      let sent = Write.delivery(.removeSent(id: "1", at: Bench.noon, keptUntil: bench.later(1_000)))
      try await bench.prepare(sent)
      try bench.equal(try await bench.store.sweep(at: bench.later(999), rowsMax: 9), 0)
      try bench.equal(try await bench.store.sweep(at: bench.later(1_000), rowsMax: 9), 2)
      let left = try await bench.support { ($0.accountID, $0.messagesMax) = ("ann", 9) }
      try bench.equal(left, SupportFacts())
      try bench.equal(try await bench.failures(of: .account("ann")), [])
    },
    Promise("an account's messages are read newest first: waiting, given up and sent") { bench in
      for (id, millis) in [("1", Int64(0)), ("2", 1), ("3", 2), ("4", 3)] {
        try await bench.prepare(.delivery(.enqueue(bench.mail(id, afterMillis: millis), queueMax: 9)))
      }
      try await bench.prepare(.delivery(.enqueue(bench.delivery("5"), queueMax: 9)))
      try await bench.prepare(
        .delivery(.removeSent(id: "1", at: bench.later(5), keptUntil: bench.later(99))),
        .delivery(.removeSent(id: "5", at: bench.later(5), keptUntil: bench.later(99))),
        .delivery(.bury(id: "2", at: bench.later(6), reason: "refused", keptUntil: bench.later(99))),
        .delivery(.noteError(id: "3", error: "no route")))
      let facts = try await bench.support { ($0.accountID, $0.messagesMax) = ("ann", 2) }
      var waiting = bench.mail("3", afterMillis: 2)
      waiting.lastError = "no route"
      try bench.equal(facts.deliveries, [bench.mail("4", afterMillis: 3), waiting])
      let sent = SentMessageRecord(
        id: "1", accountID: "ann", channel: .mail, kind: "reset_password", maskedRecipient: "a***@example.com",
        createdAt: Bench.noon, attempts: 0, sentAt: bench.later(5), keptUntil: bench.later(99))
      try bench.equal(facts.sentMessages, [sent])
      let found = try await bench.support { $0.deliveryID = "2" }
      try bench.equal(found.delivery?.buriedReason, "refused")
      try bench.equal(try await bench.support { $0.deliveryID = "1" }.sentMessages, [sent])
    },
    Promise("a given-up message keeps its content until it expires, and waits again with all attempts") { bench in
      try await bench.prepare(.delivery(.enqueue(bench.mail("1"), queueMax: 1)))
      try await bench.prepare(.delivery(.claim(id: "1", attempts: 0, nextAttemptAt: bench.later(50))))
      let bury = Write.delivery(
        .bury(id: "1", at: bench.later(1), reason: "refused", keptUntil: bench.later(9_000)))
      func requeue(_ millis: Int64, queueMax: Int = 1) -> Write {
        .delivery(.requeue(id: "1", at: bench.later(millis), queueMax: queueMax))
      }
      try await bench.prepare(requeue(3))
      try bench.equal(try await bench.support { $0.deliveryID = "1" }.delivery?.nextAttemptAt, bench.later(3))
      try await bench.prepare(bury)
      try await bench.prepare(.delivery(.enqueue(bench.delivery("2"), queueMax: 1)))
      try bench.equal(try await bench.commit(requeue(4)), .limited(.deliveries))
      try await bench.prepare(.delivery(.remove(id: "2")))
      try await bench.prepare(requeue(4))
      var again = bench.mail("1")
      again.nextAttemptAt = bench.later(4)
      try bench.equal(try await bench.support { $0.deliveryID = "1" }.delivery, again)
      try bench.equal(try await bench.queue(afterMillis: 4).buriedCount, 0)
      try await bench.prepare(bury)
      try bench.equal(try await bench.commit(requeue(1_000)), .stale)
      try bench.equal(try await bench.store.sweep(at: bench.later(999), rowsMax: 9), 0)
      try bench.equal(try await bench.support { $0.deliveryID = "1" }.delivery?.sealed, [0, 1, 255])
      try bench.equal(try await bench.store.sweep(at: bench.later(1_000), rowsMax: 9), 0)
      try bench.equal(try await bench.support { $0.deliveryID = "1" }.delivery?.sealed, [])
      try bench.equal(try await bench.commit(requeue(5)), .stale)
      try bench.equal(try await bench.commit(.delivery(.requeue(id: "9", at: Bench.noon, queueMax: 1))), .stale)
    },
    Promise("an account's pending rows and sessions are read newest first, ended ones included") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))))
      for (number, id) in [(1, "ann"), (2, "bob"), (3, "ann")] {
        var (pending, session) = (bench.pending(number, of: id), bench.session("s\(number)", of: id))
        (pending.createdAt, session.createdAt) = (bench.later(Int64(number)), bench.later(Int64(number)))
        try await bench.prepare(.pending(.insert(pending, limits: .wide)), .session(.insert(session)))
      }
      try await bench.prepare(
        .session(.close(id: "s3", accountID: "ann", at: bench.later(4), reason: .revoked)))
      let facts = try await bench.support { ($0.accountID, $0.pendingsMax, $0.sessionsMax) = ("ann", 9, 9) }
      try bench.equal(facts.pendings.map(\.digest), [bench.digest(3), bench.digest(1)])
      try bench.equal(facts.sessions.map(\.id), ["s3", "s1"])
      try bench.equal(facts.sessions.first?.closed, SessionEnd(at: bench.later(4), reason: .revoked))
      let one = try await bench.support { ($0.accountID, $0.pendingsMax, $0.sessionsMax) = ("ann", 1, 1) }
      try bench.equal([one.pendings.count, one.sessions.count], [1, 1])
    },
  ]
}

extension Bench {
  func support(_ fill: (inout SupportQuery) -> Void) async throws -> SupportFacts {
    var query = SupportQuery()
    fill(&query)
    return try require(try await load { $0.support = query }.support)
  }

  func failures(of owner: FailuresBefore.Owner) async throws -> [FailureRecord] {
    try await support { $0.failures = [FailuresBefore(of: owner, rowsMax: 9)] }.failures
  }

  func failures(_ number: Int, count: Int = 1, afterMillis: Int64 = 0, rowsMax: Int = 9) -> FailureCount {
    let at = later(afterMillis)
    var record = FailureRecord(
      key: digest(number), accountID: "ann", reason: "INVALID_LOGIN_CREDENTIALS", call: "SignIn \(number)",
      method: "password", limit: "", caller: CallerName("shop"), network: "192.0.2.0/24", device: digest(7),
      count: count, firstAt: at, lastAt: at, keptUntil: at.adding(millis: 1_000))
    let own = record
    (record.key, record.call, record.method) = (digest(900 + Int(record.hour.millis / 3_600_000) % 2), "", "")
    return FailureCount(own, remainder: record, rowsMax: rowsMax)
  }

  func mail(_ id: String, afterMillis: Int64 = 0) -> DeliveryRecord {
    var mail = delivery(id, afterMillis: afterMillis)
    (mail.channel, mail.kind) = (.mail, "reset_password")
    (mail.accountID, mail.maskedRecipient) = ("ann", "a***@example.com")
    return mail
  }
}
