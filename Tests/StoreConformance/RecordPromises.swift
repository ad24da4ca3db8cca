import Store

extension Promise {
  static let records = [
    Promise("an idempotency record reads back as it was written, and its key is used once") { bench in
      let record = bench.idempotency(1)
      var other = record
      other.request = bench.digest(9)
      try await bench.prepare(.record(.insertIdempotency(record)))
      try bench.equal(try await bench.commit(.record(.insertIdempotency(other))), .conflict(.idempotency))
      try bench.equal(try await bench.load { $0.idempotency = record.key }.idempotency, record)
    },
    Promise("a key is free again as soon as its record expires, swept or not") { bench in
      try await bench.prepare(.record(.insertIdempotency(bench.idempotency(1, lifeMillis: 500))))
      var next = bench.idempotency(1)
      next.request = bench.digest(9)
      next.createdAt = Bench.noon.adding(millis: 499)
      try bench.equal(try await bench.commit(.record(.insertIdempotency(next))), .conflict(.idempotency))
      next.createdAt = Bench.noon.adding(millis: 500)
      try await bench.prepare(.record(.insertIdempotency(next)))
      try bench.equal(try await bench.load { $0.idempotency = next.key }.idempotency, next)
    },
    Promise("a single-use token is spent once") { bench in
      let spend = Write.record(.spendToken(bench.digest(1), expiresAt: Bench.noon))
      try await bench.prepare(spend)
      try bench.equal(try await bench.commit(spend), .conflict(.spentToken))
      try bench.equal(try await bench.load { $0.spentToken = bench.digest(1) }.tokenSpent, true)
      try bench.equal(try await bench.load { $0.spentToken = bench.digest(2) }.tokenSpent, false)
    },
    Promise("signing keys are listed with the first active first, and a key id is used once") { bench in
      let late = bench.signingKey("a", activeFrom: Bench.noon.adding(millis: 1))
      var early = bench.signingKey("b")
      try await bench.prepare(.signingKey(.insert(late)), .signingKey(.insert(early)))
      try bench.equal(try await bench.commit(.signingKey(.insert(early))), .conflict(.signingKey))
      try await bench.prepare(.signingKey(.retire(keyID: "b", at: Bench.noon)))
      early.retiredAt = Bench.noon
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [early, late])
    },
    Promise("a signing key is retired once, and a change that retires it again writes nothing") { bench in
      var key = bench.signingKey("a")
      try await bench.prepare(.signingKey(.insert(key)), .signingKey(.retire(keyID: "a", at: Bench.noon)))
      for keyID in ["a", "unknown"] {
        try bench.equal(
          try await bench.commit(
            .signingKey(.insert(bench.signingKey("next"))),
            .signingKey(.retire(keyID: keyID, at: Bench.noon.adding(millis: 1)))), .stale)
      }
      key.retiredAt = Bench.noon
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [key])
    },
    Promise("a guard that there is no signing key ignores retired ones, and is stale if another is left") { bench in
      let (first, second) = (bench.signingKey("a"), bench.signingKey("b"))
      try await bench.prepare(.signingKey(.requireNone), .signingKey(.insert(first)))
      try bench.equal(try await bench.commit(.signingKey(.requireNone), .signingKey(.insert(second))), .stale)
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [first])
      try await bench.prepare(.signingKey(.retire(keyID: "a", at: Bench.noon)))
      try await bench.prepare(.signingKey(.requireNone), .signingKey(.insert(second)))
    },
    Promise("signing keys that were retired by a time are removed, and others stay") { bench in
      let keys = ["a", "b", "c"].map { bench.signingKey($0) }
      try await bench.prepare(
        .signingKey(.insert(keys[0])), .signingKey(.insert(keys[1])), .signingKey(.insert(keys[2])),
        .signingKey(.retire(keyID: "a", at: Bench.noon)),
        .signingKey(.retire(keyID: "b", at: Bench.noon.adding(millis: 1))))
      try await bench.prepare(.signingKey(.delete(retiredBy: Bench.noon.adding(millis: -1))))
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys.map(\.keyID), ["a", "b", "c"])
      try await bench.prepare(.signingKey(.delete(retiredBy: Bench.noon)))
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys.map(\.keyID), ["b", "c"])
    },
    Promise("a signing key is confirmed with its times only, and a change that confirms other times writes nothing") {
      bench in
      var (key, unknown) = (bench.signingKey("a"), bench.signingKey("c"))
      try await bench.prepare(.signingKey(.insert(key)))
      try await bench.prepare(.signingKey(.confirm(key)))
      func isStale(_ confirmed: SigningKeyRecord) async throws {
        try bench.equal(
          try await bench.commit(.signingKey(.insert(bench.signingKey("b"))), .signingKey(.confirm(confirmed))), .stale)
      }
      try await isStale(unknown)
      for millis in [-1, 1] as [Int64] {
        var other = key
        other.activeFrom = key.activeFrom.adding(millis: millis)
        try await isStale(other)
        other = key
        other.retiredAt = Bench.noon.adding(millis: millis)
        try await isStale(other)
      }
      let unretired = key
      try await bench.prepare(.signingKey(.retire(keyID: "a", at: Bench.noon)))
      key.retiredAt = Bench.noon
      try await isStale(unretired)
      unknown.retiredAt = Bench.noon
      try await isStale(unknown)
      try await bench.prepare(.signingKey(.confirm(key)))
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [key])
    },
    Promise("the times of a known signing key can be replaced") { bench in
      var key = bench.signingKey("a")
      try await bench.prepare(.signingKey(.insert(key)), .signingKey(.retire(keyID: "a", at: Bench.noon)))
      (key.activeFrom, key.retiredAt) = (Bench.noon.adding(millis: 5), Bench.noon.adding(millis: 9))
      for retiredAt in [key.retiredAt, nil] {
        key.retiredAt = retiredAt
        let write = SigningKeyWrite.reschedule(keyID: "a", activeFrom: key.activeFrom, retiredAt: retiredAt)
        try await bench.prepare(.signingKey(write))
        try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [key])
      }
      let unknown = SigningKeyWrite.reschedule(keyID: "b", activeFrom: Bench.noon, retiredAt: nil)
      try bench.equal(try await bench.commit(.signingKey(unknown)), .stale)
    },
    Promise("a signing key is revoked once, whether it is retired or not, and its successor comes with the change") {
      bench in
      let (first, second) = (bench.signingKey("a"), bench.signingKey("b"))
      try await bench.prepare(.signingKey(.insert(first)))
      try await bench.prepare(.signingKey(.revoke(keyID: "a")), .signingKey(.insert(second)))
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [second])
      try bench.equal(
        try await bench.commit(.signingKey(.insert(bench.signingKey("c"))), .signingKey(.revoke(keyID: "a"))), .stale)
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [second])
      try await bench.prepare(.signingKey(.retire(keyID: "b", at: Bench.noon)))
      try await bench.prepare(.signingKey(.revoke(keyID: "b")))
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys, [])
    },
    Promise("a sweep removes exactly the rows that have ended, and their counts") { bench in
      let one = PendingLimits(perAccountMax: 1, perCallerMax: 1, totalMax: 1)
      let (over, alive) = (Int64(500), Int64(501))
      try await bench.prepare(
        .pending(.insert(bench.pending(1, of: "ann", lifeMillis: over), limits: one)),
        .record(.insertIdempotency(bench.idempotency(1, lifeMillis: over))),
        .record(.insertIdempotency(bench.idempotency(2, lifeMillis: alive))),
        .record(.spendToken(bench.digest(1), expiresAt: Bench.noon.adding(millis: over))),
        .record(.spendToken(bench.digest(2), expiresAt: Bench.noon.adding(millis: alive))),
        .session(.insert(bench.session("closed", of: "ann"))), .session(.insert(bench.session("open", of: "ann"))),
        .session(.close(id: "closed", accountID: "ann", at: Bench.noon.adding(millis: over), reason: .signedOut)))
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 499), rowsMax: 10), 0)
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: over), rowsMax: 10), 3)
      for (number, isThere) in [(1, false), (2, true)] {
        let facts = try await bench.load {
          $0.pending = bench.digest(number)
          $0.idempotency = bench.digest(number)
          $0.spentToken = bench.digest(number)
        }
        try bench.equal(facts.idempotency != nil, isThere)
        try bench.equal(facts.tokenSpent, isThere)
        try bench.equal(facts.pending, nil)
      }
      try await bench.prepare(.pending(.insert(bench.pending(2, of: "ann"), limits: one)))
    },
    Promise("a sweep removes completed rows past their end") { bench in
      try await bench.prepare(
        .pending(.insert(bench.pending(1, of: "ann"), limits: .wide)),
        .pending(.complete(bench.digest(1), version: 1, at: Bench.noon, accountID: "ann", sessionID: "s")))
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 999), rowsMax: 10), 0)
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 1000), rowsMax: 10), 1)
    },
    Promise("a sweep removes the sessions that ended before today, for any reason") { bench in
      let (day, soon) = (Int64(86_400_000), Int64(1_000))
      let tomorrow = Timestamp(millis: (Bench.noon.millis / day + 1) * day)
      let refreshed = bench.session("refreshed", of: "ann", idleMillis: soon, absoluteMillis: 3 * day)
      let moved = bench.session("moved", of: "ann", idleMillis: soon, absoluteMillis: 3 * day)
      try await bench.prepare(
        .session(.insert(bench.session("idle", of: "ann", idleMillis: soon, absoluteMillis: 3 * day))),
        .session(.insert(bench.session("over", of: "ann", idleMillis: 9 * day, absoluteMillis: 2 * soon))),
        .session(.insert(bench.session("closed", of: "ann", idleMillis: 9 * day, absoluteMillis: 9 * day))),
        .session(.insert(bench.session("open", of: "ann", idleMillis: 9 * day, absoluteMillis: 9 * day))),
        .session(.insert(refreshed)), .session(.insert(moved)),
        .session(.close(id: "closed", accountID: "ann", at: Bench.noon.adding(millis: 1), reason: .signedOut)),
        .session(.rotate(
          id: "refreshed", from: refreshed.refreshDigest, to: bench.digest(200), at: Bench.noon.adding(millis: 1),
          idleExpiresAt: tomorrow.adding(millis: -1))),
        .session(.rotate(
          id: "moved", from: moved.refreshDigest, to: bench.digest(201), at: Bench.noon.adding(millis: 1),
          idleExpiresAt: tomorrow)))
      try bench.equal(try await bench.store.sweep(at: tomorrow.adding(millis: -1), rowsMax: 10), 0)
      try bench.equal(try await bench.store.sweep(at: tomorrow, rowsMax: 3), 3)
      try bench.equal(try await bench.store.sweep(at: tomorrow, rowsMax: 3), 1)
      for id in ["idle", "over", "closed", "refreshed"] { try bench.equal(try await bench.loadSession(id), nil) }
      for id in ["open", "moved"] { try bench.equal(try await bench.loadSession(id) != nil, true) }
      try bench.equal(try await bench.store.sweep(at: tomorrow.adding(millis: day), rowsMax: 3), 1)
    },
    Promise("a sweep removes at most the requested rows of a kind, and the next one continues") { bench in
      for number in 1...5 { try await bench.prepare(.record(.insertIdempotency(bench.idempotency(number)))) }
      let later = Bench.noon.adding(millis: 1000)
      for removed in [2, 2, 1, 0] { try bench.equal(try await bench.store.sweep(at: later, rowsMax: 2), removed) }
    },
  ]
}
