import Store

/// Promises that hold for concurrent calls.
extension Promise {
  static let races = [
    Promise("exactly one of many inserts of one identity commits") { bench in
      try await race(bench, others: .conflict(.identity)) { bench, runner in
        [
          .account(.insert(bench.account("a\(runner)"))), .identity(.insert(bench.identity("1", of: "a\(runner)"))),
        ]
      }
      let owner = try bench.require(
        try await bench.load { $0.identity = IdentityKey(providerID: "google.com", subject: "1") }.identityOwner)
      var accounts = 0
      for runner in 0..<runners where try await bench.loadAccount("a\(runner)") != nil { accounts += 1 }
      try bench.equal(accounts, 1)
      try bench.equal(owner.identities.map(\.accountID), [owner.account.id])
    },
    Promise("exactly one of many identities of one provider is added to an account that each change counted") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await race(bench, others: .stale) { bench, runner in
        [.account(.raise(id: "ann", version: 1)), .identity(.insert(bench.identity("\(runner)", of: "ann")))]
      }
      try bench.equal(try await bench.loadAccount("ann")?.identities.count, 1)
    },
    Promise("exactly one of many changes that take one address commits") { bench in
      try await race(bench, others: .conflict(.email)) { bench, runner in
        [.account(.insert(bench.account("a\(runner)", email: "x@example.com")))]
      }
    },
    Promise("one of two changes commits if each requires that the address taken by the other is free") { bench in
      let outcomes = try await start(bench) { bench, runner in
        let (mine, other) = ("\(runner)@example.com", "\(runner ^ 1)@example.com")
        return [.account(.requireFreeEmail(other)), .account(.insert(bench.account("a\(runner)", email: mine)))]
      }
      try bench.equal(outcomes, [.committed: runners / 2, .conflict(.email): runners / 2])
    },
    Promise("no session that is opened from another one while all are ended stays open") { bench in
      for pair in 0..<runners / 2 {
        let id = "a\(pair)"
        try await bench.prepare(
          .account(.insert(bench.account(id))), .session(.insert(bench.session("own\(pair)", of: id))),
          .session(.insert(bench.session("old\(pair)", of: id))))
      }
      _ = try await start(bench) { bench, runner in
        let pair = runner / 2
        if runner % 2 == 0 {
          return [
            .session(.requireOpen(id: "own\(pair)", at: Bench.noon)),
            .session(.closeAll(accountID: "a\(pair)", except: nil, at: Bench.noon, reason: .revoked)),
          ]
        }
        return [
          .session(.requireOpen(id: "old\(pair)", at: Bench.noon)), .account(.raise(id: "a\(pair)", version: 1)),
          .session(.insert(bench.session("new\(pair)", of: "a\(pair)"))),
        ]
      }
      for pair in 0..<runners / 2 {
        let open = OpenSessionsQuery(accountID: "a\(pair)", at: Bench.noon, most: 9)
        try bench.equal(try await bench.load { $0.openSessions = open }.openSessions.map(\.id), [])
      }
    },
    Promise("exactly one of many changes that create different first signing keys commits") { bench in
      try await race(bench, others: .stale) { bench, runner in
        [.signingKey(.requireNone), .signingKey(.insert(bench.signingKey("k\(runner)")))]
      }
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys.count, 1)
    },
    Promise("exactly one of many revocations of one signing key commits, each with another successor") { bench in
      let key = bench.signingKey("k")
      try await bench.prepare(.signingKey(.insert(key)))
      try await race(bench, others: .stale) { bench, runner in
        [
          .signingKey(.confirm(key)), .signingKey(.revoke(keyID: "k")),
          .signingKey(.insert(bench.signingKey("k\(runner)"))),
        ]
      }
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys.count, 1)
    },
    Promise("one of two signing keys stays if each is revoked by changes that rely on the other one") { bench in
      let keys = [bench.signingKey("a"), bench.signingKey("b")]
      try await bench.prepare(.signingKey(.insert(keys[0])), .signingKey(.insert(keys[1])))
      try await race(bench, others: .stale) { _, runner in
        keys.map { .signingKey(.confirm($0)) } + [.signingKey(.revoke(keyID: keys[runner % 2].keyID))]
      }
      try bench.equal(try await bench.load { $0.signingKeys = true }.signingKeys.count, 1)
    },
    Promise("a rotation and a revocation of one signing key do not both commit") { bench in
      let key = bench.signingKey("k")
      try await bench.prepare(.signingKey(.insert(key)))
      try await race(bench, others: .stale) { bench, runner in
        let successor = Write.signingKey(.insert(bench.signingKey("k\(runner)")))
        return runner % 2 == 0
          ? [.signingKey(.confirm(key)), .signingKey(.revoke(keyID: "k")), successor]
          : [.signingKey(.retire(keyID: "k", at: Bench.noon)), successor]
      }
      let left = try await bench.load { $0.signingKeys = true }.signingKeys
      try bench.equal(left.count { $0.retiredAt == nil }, 1)
    },
    Promise("exactly one of many changes of one version commits") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await race(bench, others: .stale) { bench, runner in
        [.account(.update(bench.account("ann", email: "\(runner)@example.com")))]
      }
      try bench.equal(try await bench.loadAccount("ann")?.account.version, 2)
    },
    Promise("exactly one of many completions of one pending row commits") { bench in
      try await bench.prepare(.pending(.insert(bench.pending(1, of: "ann"), limits: .wide)))
      try await race(bench, others: .stale) { bench, runner in
        [.pending(.complete(bench.digest(1), version: 1, at: Bench.noon, accountID: "ann", sessionID: "s\(runner)"))]
      }
    },
    Promise("exactly one of many rotations of one session commits") { bench in
      try await bench.prepare(.session(.insert(bench.session("s", of: "ann", refresh: 1))))
      try await race(bench, others: .stale) { bench, runner in
        [
          .session(.rotate(
            id: "s", from: bench.digest(1), to: bench.digest(100 + runner), at: Bench.noon,
            idleExpiresAt: Bench.noon.adding(millis: 2000)))
        ]
      }
    },
    Promise("exactly one of many changes with one idempotency key commits") { bench in
      try await race(bench, others: .conflict(.idempotency)) { bench, runner in
        [.account(.insert(bench.account("a\(runner)"))), .record(.insertIdempotency(bench.idempotency(1)))]
      }
    },
    Promise("one of many changes that take the last place of the pending table commits, besides those in progress") {
      bench in
      let outcomes = try await start(bench) { bench, runner in
        [
          .pending(.insert(
            bench.pending(runner, of: "a\(runner)", caller: "c\(runner)"),
            limits: PendingLimits(perAccountMax: 1, perCallerMax: 1, totalMax: 1)))
        ]
      }
      let committed = outcomes[.committed] ?? 0
      try bench.equal((1...(1 + bench.excessMax)).contains(committed), true)
      try bench.equal(outcomes[.limited(.total)], runners - committed)
    },
    Promise("each of many concurrent counts under one key is counted") { bench in
      for (key, kind) in [(1, ThrottleKind.sendsPerRecipient), (2, .sendsPerCaller)] {
        let outcomes = try await start(bench) { bench, _ in
          var count = bench.count(key)
          (count.kind, count.rule) = (kind, ThrottleRule(2 * runners, inMillis: count.rule.windowMillis))
          return [.throttle(.count(count))]
        }
        try bench.equal(outcomes[.committed], runners)
        try bench.equal(try await bench.throttle(key)?.count, runners)
      }
    },
    Promise("exactly as many concurrent counts as the rule allows commit before the key is blocked") { bench in
      let outcomes = try await start(bench) { bench, _ in [.throttle(.count(bench.count(1, refusesBlocked: true)))] }
      try bench.equal(
        outcomes, [.committed: 5, .throttled(.sendsPerRecipient, until: bench.later(1000)): runners - 5])
    },
    Promise("concurrent appends of audit rows get unique positions without a gap") { bench in
      let outcomes = try await start(bench) { bench, runner in [.record(.appendAudit(bench.event(runner)))] }
      try bench.equal(outcomes[.committed], runners)
      let rows = try await bench.events(after: 0)
      try bench.equal(rows.map(\.position), Array(1...Int64(runners)))
      try bench.equal(Set(rows.map(\.id)).count, runners)
    },
    Promise("many concurrent touches of one account all commit") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      let outcomes = try await start(bench) { bench, runner in
        [.account(.touch(id: "ann", version: 1, lastSignInAt: Bench.noon.adding(millis: Int64(runner))))]
      }
      try bench.equal(outcomes[.committed], runners)
    },
    Promise("many concurrent cut-offs of one account all commit") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      let outcomes = try await start(bench) { bench, runner in
        [.account(.cutOff(accountID: "ann", at: Bench.noon.adding(millis: Int64(runner)), disabling: false))]
      }
      try bench.equal(outcomes, [.committed: runners])
      let account = try bench.require(try await bench.loadAccount("ann")).account
      try bench.equal(account.version, Int64(1 + runners))
      try bench.equal(account.tokensValidAfter, Bench.noon.adding(millis: Int64(runners - 1)))
    },
    Promise("exactly one of many changes that disable one account commits") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await race(bench, others: .stale) { bench, runner in
        [.account(.cutOff(accountID: "ann", at: Bench.noon.adding(millis: Int64(runner)), disabling: true))]
      }
      try bench.equal(try await bench.loadAccount("ann")?.account.version, 2)
    },
    Promise("a cancellation that races with its commit succeeds if and only if nothing was written") { bench in
      for round in 0..<runners {
        let commitDecision = CommitDecision()
        async let outcome = bench.commit(.account(.insert(bench.account("a\(round)"))), commitDecision: commitDecision)
        async let hasWon = commitDecision.cancel()
        let wanted: Outcome = await hasWon ? .cancelled : .committed
        try bench.equal(try await outcome, wanted)
        try bench.equal(try await bench.loadAccount("a\(round)") == nil, wanted == .cancelled)
      }
    },
    Promise("many equal notices at the same time leave one") { bench in
      try await withThrowingTaskGroup(of: Outcome.self) { group in
        for id in 1...12 {
          group.addTask {
            try await bench.commit(.delivery(.enqueueNotice(bench.notice("\(id)"), within: bench.noticeLimits())))
          }
        }
        for try await outcome in group { try bench.equal(outcome, .committed) }
      }
      try bench.equal(try await bench.queue(afterMillis: 0).waitingCount, 1)
    },
    Promise("one of two concurrent callers gets the only attempt") { bench in
      try await bench.prepare(.delivery(.enqueue(bench.delivery("1"), queueMax: 9)))
      let next = Bench.noon.adding(millis: 20)
      async let left = bench.commit(.delivery(.claim(id: "1", attempts: 0, nextAttemptAt: next)))
      async let right = bench.commit(.delivery(.claim(id: "1", attempts: 0, nextAttemptAt: next)))
      let outcomes = try await [left, right]
      try bench.equal(outcomes.filter { $0 == .committed }.count, 1)
      try bench.equal(outcomes.filter { $0 == .stale }.count, 1)
    },
    Promise("parallel calls of other networks each find room where one network filled the places") { bench in
      let twenty = PendingLimits(perAccountMax: 99, perCallerMax: 20, totalMax: 99)
      for number in 1...20 {
        var pending = bench.pending(number, of: "")
        (pending.purpose, pending.network) = (.flow, bench.digest(200))
        try await bench.prepare(.pending(.insert(pending, limits: twenty)))
      }
      let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
        for number in 21...30 {
          var pending = bench.pending(number, of: "")
          (pending.purpose, pending.network) = (.flow, bench.digest(200 + number))
          let write = Write.pending(.insert(pending, limits: twenty))
          group.addTask { try await bench.commit(write) }
        }
        return try await group.reduce(into: [Outcome]()) { $0.append($1) }
      }
      try bench.equal(outcomes, Array(repeating: .committed, count: 10))
    },
  ]

  private static let runners = 50

  private static func race(
    _ bench: Bench, others: Outcome, _ writes: @escaping @Sendable (Bench, Int) -> [Write]
  ) async throws {
    let outcomes = try await start(bench, writes)
    try bench.equal(outcomes, [.committed: 1, others: runners - 1])
  }

  /// Commits from many concurrent tasks and counts the outcomes.
  private static func start(
    _ bench: Bench, _ writes: @escaping @Sendable (Bench, Int) -> [Write]
  ) async throws -> [Outcome: Int] {
    try await withThrowingTaskGroup(of: Outcome.self) { group in
      for runner in 0..<runners {
        group.addTask { try await bench.store.commit(Change(writes(bench, runner)), commitDecision: CommitDecision()) }
      }
      var outcomes: [Outcome: Int] = [:]
      for try await outcome in group { outcomes[outcome, default: 0] += 1 }
      return outcomes
    }
  }
}
