import Store

extension Promise {
  static let masterKeys = [
    Promise("a confirmation of a master key moves no time back, and the first one stays") { bench in
      let id = MasterKeyID(text: "1a2b3c4d")
      for (millis, seals) in [(Int64(5), false), (7, true), (3, true), (9, false)] {
        try await bench.prepare(.record(.noteMasterKey(id, seals: seals, at: Bench.noon.adding(millis: millis))))
      }
      var record = MasterKeyRecord(
        id: id.text, knownAt: Bench.noon.adding(millis: 5), seenAt: Bench.noon.adding(millis: 9))
      record.sealedAt = Bench.noon.adding(millis: 7)
      try bench.equal(try await bench.load { $0.masterKeys = .keys }.masterKeys, .keys([record]))
    },
    Promise("master keys are listed in the order in which they became known") { bench in
      for (id, millis) in [("cc", Int64(1)), ("aa", 2), ("bb", 0)] {
        let at = Bench.noon.adding(millis: millis)
        try await bench.prepare(.record(.noteMasterKey(MasterKeyID(text: id), seals: false, at: at)))
      }
      guard case .keys(let keys)? = try await bench.load({ $0.masterKeys = .keys }).masterKeys else {
        throw BrokenPromise(description: "no keys")
      }
      try bench.equal(keys.map(\.id), ["bb", "cc", "aa"])
    },
    Promise("pages of sealed rows contain each row once, in an order that removals do not change") { bench in
      try await fillSealed(bench)
      for table in SealedTable.allCases {
        let all = try await sealedRows(bench, table, rowsMax: 100)
        try bench.equal(all.count, 5)
        try bench.equal(Set(all.map(\.name)).count, 5)
        for rowsMax in 1...6 { try bench.equal(try await sealedRows(bench, table, rowsMax: rowsMax), all) }
      }
      let factors = try await sealedRows(bench, .factors, rowsMax: 100)
      guard case .rows(let page, let next)? = try await bench.load({
        $0.masterKeys = .rows(.factors, after: nil, rowsMax: 2)
      }).masterKeys, case .factor(let last)? = page.last else { throw BrokenPromise(description: "no page") }
      try await bench.prepare(.factor(.delete(id: last.id, accountID: last.accountID)))
      guard case .rows(let rest, nil)? = try await bench.load({
        $0.masterKeys = .rows(.factors, after: next, rowsMax: 9)
      }).masterKeys else { throw BrokenPromise(description: "no page") }
      try bench.equal(rest, Array(factors.dropFirst(2)))
    },
    Promise("a page of an empty table is empty") { bench in
      for table in SealedTable.allCases { try bench.equal(try await sealedRows(bench, table, rowsMax: 2), []) }
    },
    Promise("a row is sealed again only if it still has the bytes that were read") { bench in
      try await fillSealed(bench)
      for table in SealedTable.allCases {
        let row = try bench.require(try await sealedRows(bench, table, rowsMax: 1).first)
        let seal = Write.record(.seal(row.name, from: row.sealed, to: [7]))
        try await bench.prepare(seal)
        let sealed = try await sealedRows(bench, table, rowsMax: 9).filter { $0.sealed == [7] }
        try bench.equal(sealed.map(\.name), [row.name])
        try await bench.prepare(.record(.seal(row.name, from: row.sealed, to: [8])))
        try bench.equal(try await sealedRows(bench, table, rowsMax: 9).filter { $0.sealed == [8] }, [])
      }
      for name in [
        SealedRowName.signingKey("x"), .importKey("x"), .factor("x", accountID: "ann"), .factor("f0", accountID: "x"),
        .pending(bench.digest(99)), .delivery("x"),
      ] {
        try await bench.prepare(.record(.seal(name, from: [1], to: [9])))
      }
    },
    Promise("a factor that was sealed again is seen by every lookup of its account") { bench in
      try await fillSealed(bench)
      try await bench.prepare(.session(.insert(bench.session("s", of: "ann"))))
      func secret() async throws -> [UInt8]? {
        let facts = try await bench.load { ($0.sessionID, $0.lastSignInMayLag) = ("s", true) }
        return facts.sessionAccount?.factors.first { $0.id == "f0" }?.sealedSecret
      }
      try bench.equal(try await secret(), [1])
      try await bench.prepare(.record(.seal(.factor("f0", accountID: "ann"), from: [1], to: [2])))
      try bench.equal(try await secret(), [2])
    },
    Promise("old refresh tokens are those of open sessions that were neither opened nor refreshed since") { bench in
      let later = Bench.noon.adding(millis: 10)
      var new = bench.session("d", of: "ann", idleMillis: 900, absoluteMillis: 5_000)
      new.createdAt = later
      try await bench.prepare(
        .account(.insert(bench.account("ann"))),
        .session(.insert(bench.session("a", of: "ann", idleMillis: 500, absoluteMillis: 5_000))),
        .session(.insert(bench.session("b", of: "ann", idleMillis: 9_000, absoluteMillis: 700))),
        .session(.insert(bench.session("c", of: "ann", refresh: 3, idleMillis: 800, absoluteMillis: 5_000))),
        .session(.insert(new)),
        .session(.insert(bench.session("e", of: "ann", idleMillis: 990, absoluteMillis: 5_000))),
        .session(.insert(bench.session("f", of: "ann", idleMillis: 5, absoluteMillis: 5_000))))
      try await bench.prepare(
        .session(.rotate(
          id: "c", from: bench.digest(3), to: bench.digest(4), at: later, idleExpiresAt: later.adding(millis: 900))),
        .session(.close(id: "e", accountID: "ann", at: later, reason: .signedOut)))
      for rowsMax in [1, 2, 3, 6, 9] {
        var sum = RefreshTokenAges()
        var after: String? = ""
        while let id = after {
          let wanted = MasterKeyQuery.refreshTokens(
            afterID: id, rowsMax: rowsMax, issuedBy: later.adding(millis: -1), at: later)
          guard case .refreshTokens(let ages)? = try await bench.load({ $0.masterKeys = wanted }).masterKeys else {
            throw BrokenPromise(description: "no ages")
          }
          sum.count += ages.count
          sum.lastEnd = [sum.lastEnd, ages.lastEnd].compactMap(\.self).max()
          after = ages.nextID
        }
        try bench.equal(sum, RefreshTokenAges(count: 2, lastEnd: Bench.noon.adding(millis: 700)))
      }
    },
    Promise("an idempotency record is found under each digest of its key, and the one that expires last counts") {
      bench in
      let (short, long) = (bench.idempotency(1, lifeMillis: 500), bench.idempotency(2, lifeMillis: 900))
      try await bench.prepare(.record(.insertIdempotency(short)), .record(.insertIdempotency(long)))
      func found(_ first: Int, _ others: Int...) async throws -> IdempotencyRecord? {
        let facts = try await bench.load {
          $0.idempotency = bench.digest(first)
          $0.otherIdempotency = others.map { bench.digest($0) }
        }
        return facts.idempotency
      }
      try bench.equal(try await found(1, 2), long)
      try bench.equal(try await found(2, 1), long)
      try bench.equal(try await found(3, 1), short)
      try bench.equal(try await found(1, 3), short)
      try bench.equal(try await found(3, 4), nil)
    },
    Promise("of two changes that record a call under several digests, one succeeds if they share a digest") { bench in
      for round in 0..<20 {
        let names = (0..<3).map { round * 10 + $0 }
        let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
          for pair in [[names[0], names[1]], [names[1], names[2]]] {
            group.addTask {
              let writes = pair.map { Write.record(.insertIdempotency(bench.idempotency($0))) }
              return try await bench.store.commit(Change(writes), commitDecision: CommitDecision())
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        try bench.equal(outcomes.filter { $0 == .committed }.count, 1)
        try bench.equal(outcomes.filter { $0 == .conflict(.idempotency) }.count, 1)
      }
    },
    Promise("a notice counts under each key, and is dropped once one of them has reached the limit") { bench in
      func limits(_ numbers: Int...) -> NoticeLimits {
        let counts = numbers.map { number in
          ThrottleCount(
            key: bench.digest(number), kind: .noticesPerAccount, rule: ThrottleRule(2, inMillis: 1_000),
            at: Bench.noon, refusesBlocked: false)
        }
        return NoticeLimits(count: counts[0], otherCounts: Array(counts.dropFirst()), queueMax: 9)
      }
      try await bench.prepare(.delivery(.enqueueNotice(bench.notice("1"), within: limits(1))))
      try await bench.prepare(.delivery(.enqueueNotice(bench.notice("2", mergeByte: 2), within: limits(2, 1))))
      try await bench.prepare(.delivery(.enqueueNotice(bench.notice("3", mergeByte: 3), within: limits(2, 1))))
      try await bench.prepare(.delivery(.enqueueNotice(bench.notice("4", mergeByte: 4), within: limits(1, 2))))
      let facts = try await bench.load {
        $0.throttles = [bench.digest(1), bench.digest(2)]
        $0.deliveries = DueDeliveries(
          at: bench.later(99), rowsMax: [DeliveryClass(.textMessage, .notice): 9, DeliveryClass(.mail, .notice): 9])
      }
      try bench.equal(facts.deliveries?.due.map(\.id).sorted(), ["1", "2"])
      try bench.equal(facts.throttles.map { $0.blockedUntil != nil }, [true, false])
      try bench.equal(facts.throttles.last?.count, 1)
    },
  ]

  private static func sealedRows(_ bench: Bench, _ table: SealedTable, rowsMax: Int) async throws -> [SealedRow] {
    var rows: [SealedRow] = []
    var cursor: SealedCursor?
    repeat {
      let wanted = MasterKeyQuery.rows(table, after: cursor, rowsMax: rowsMax)
      guard case .rows(let page, let next)? = try await bench.load({ $0.masterKeys = wanted }).masterKeys else {
        throw BrokenPromise(description: "no page")
      }
      guard page.count <= rowsMax else { throw BrokenPromise(description: "\(page.count) rows of \(rowsMax)") }
      rows += page
      cursor = next
    } while cursor != nil
    return rows
  }

  /// Five rows in each table, with the same sealed bytes.
  private static func fillSealed(_ bench: Bench) async throws {
    for id in ["zoe", "ann"] { try await bench.prepare(.account(.insert(bench.account(id)))) }
    for number in 0..<5 {
      let owner = number < 3 ? "ann" : "zoe"
      let factor = FactorRecord(
        id: "f\(number % 3)", accountID: owner, kind: .totp, sealedSecret: [1], enrolledAt: Bench.noon)
      try await bench.prepare(
        .factor(.insert(factor)), .signingKey(.insert(bench.signingKey("k\(number)"))),
        .record(.keepImportKey(ImportKeyRecord(id: "i\(number)", sealedKey: [1], createdAt: Bench.noon))),
        .pending(.insert(bench.pending(number + 1, of: "ann"), limits: .wide)),
        .delivery(.enqueue(bench.delivery("d\(number)"), queueMax: 9)))
    }
  }
}
