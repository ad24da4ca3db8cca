import Store

extension Promise {
  static let pendings = [
    Promise("a pending row reads back as it was written, with its account") { bench in
      var pending = bench.pending(1, of: "ann")
      pending.network = bench.digest(8)
      var bare = bench.pending(5, of: "ann")
      bare.email = nil
      bare.binding = nil
      bare.purpose = .credentialInUse
      bare.sealed = []
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .pending(.insert(pending, limits: .wide)),
        .pending(.insert(bare, limits: .wide)))
      let facts = try await bench.load { $0.pending = pending.digest }
      try bench.equal(facts.pending, pending)
      try bench.equal(facts.pendingAccount, AccountState(account: bench.account("ann")))
      try bench.equal(try await bench.loadPending(bare.digest), bare)
    },
    Promise("an attempt is spent at the version that was read, down to none") { bench in
      let pending = bench.pending(1, of: "ann")
      try await bench.prepare(.pending(.insert(pending, limits: .wide)))
      try await bench.prepare(.pending(.spendAttempt(pending.digest, version: 1)))
      try bench.equal(try await bench.commit(.pending(.spendAttempt(pending.digest, version: 1))), .stale)
      try bench.equal(try await bench.loadPending(pending.digest)?.attemptsLeft, 1)
      try await bench.prepare(.pending(.spendAttempt(pending.digest, version: 2)))
      try bench.equal(try await bench.commit(.pending(.spendAttempt(pending.digest, version: 3))), .stale)
      try bench.equal(try await bench.loadPending(pending.digest)?.attemptsLeft, 0)
      try bench.equal(try await bench.commit(.pending(.spendAttempt(bench.digest(9), version: 1))), .stale)
    },
    Promise("a row is resealed at the version that was read, and not once it is completed") { bench in
      let pending = bench.pending(1, of: "ann")
      try await bench.prepare(.pending(.insert(pending, limits: .wide)))
      try await bench.prepare(.pending(.reseal(pending.digest, version: 1, sealed: [7])))
      try bench.equal(try await bench.commit(.pending(.reseal(pending.digest, version: 1, sealed: [8]))), .stale)
      var expected = pending
      expected.sealed = [7]
      expected.version = 2
      try bench.equal(try await bench.loadPending(pending.digest), expected)
      try await bench.prepare(
        .pending(.complete(pending.digest, version: 2, at: Bench.noon, accountID: "ann", sessionID: "s")))
      try bench.equal(try await bench.commit(.pending(.reseal(pending.digest, version: 3, sealed: [9]))), .stale)
    },
    Promise("two rows of different accounts are read together") { bench in
      let (one, two) = (bench.pending(1, of: "ann"), bench.pending(5, of: "bob"))
      try await bench.prepare(.pending(.insert(one, limits: .wide)), .pending(.insert(two, limits: .wide)))
      let facts = try await bench.load {
        $0.pending = one.digest
        $0.alsoPending = two.digest
      }
      try bench.equal(facts.pending, one)
      try bench.equal(facts.alsoPending, two)
    },
    Promise("an account, a caller and the table have at most their maximum of pending rows") { bench in
      let limits = PendingLimits(perAccountMax: 1, perCallerMax: 2, totalMax: 3)
      func hold(_ number: Int, _ account: String, _ caller: String) async throws -> Outcome {
        try await bench.commit(.pending(.insert(bench.pending(number, of: account, caller: caller), limits: limits)))
      }
      try bench.equal(try await hold(1, "ann", "shop"), .committed)
      try bench.equal(try await hold(2, "ann", "mail"), .limited(.account))
      try bench.equal(try await hold(3, "bob", "shop"), .committed)
      try bench.equal(try await hold(4, "cat", "shop"), .limited(.caller))
      try bench.equal(try await hold(5, "cat", "mail"), .committed)
      try bench.equal(try await hold(6, "dan", "mail"), .limited(.total))
      try bench.equal(try await bench.loadPending(bench.digest(6)), nil)
    },
    Promise("unverified pending rows leave places for users who verified the account's address or a method") { bench in
      let one = PendingLimits(perAccountMax: 1, perCallerMax: 9, totalMax: 9)
      func hold(_ number: Int, _ tier: TrustTier, _ purpose: PendingPurpose = .link) async throws -> Outcome {
        var pending = bench.pending(number, of: "ann")
        pending.tier = tier
        pending.purpose = purpose
        return try await bench.commit(.pending(.insert(pending, limits: one)))
      }
      try bench.equal(try await hold(1, .unverified), .committed)
      try bench.equal(try await hold(2, .unverified), .limited(.account))
      try bench.equal(try await hold(3, .verified), .committed)
      for purpose in PendingPurpose.allCases {
        try bench.equal(try await hold(4, .authoritative, purpose), .limited(.account))
      }
      try bench.equal(try await hold(5, .unverified, .credentialInUse), .limited(.account))
      try await bench.prepare(.pending(.deleteAll(accountID: "ann", except: bench.digest(1))))
      try bench.equal(try await hold(2, .unverified), .limited(.account))
      try bench.equal(try await hold(6, .unverified, .secondFactor), .committed)
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 1000), rowsMax: 10), 2)
      try bench.equal(try await hold(7, .unverified), .committed)
      try bench.equal(try await hold(8, .verified), .committed)
      try await bench.prepare(
        .pending(.complete(bench.digest(7), version: 1, at: Bench.noon, accountID: "ann", sessionID: "s")))
      try bench.equal(try await hold(9, .verified), .limited(.account))
      try bench.equal(try await hold(9, .unverified), .committed)
    },
    Promise("a completed row frees its account's place once, and keeps its caller's") { bench in
      let limits = PendingLimits(perAccountMax: 1, perCallerMax: 3, totalMax: 9)
      func hold(_ number: Int) async throws -> Outcome {
        try await bench.commit(.pending(.insert(bench.pending(number, of: "ann"), limits: limits)))
      }
      func complete(_ number: Int) async throws -> Outcome {
        try await bench.commit(
          .pending(.complete(bench.digest(number), version: 1, at: Bench.noon, accountID: "ann", sessionID: "s")))
      }
      for number in 1...3 {
        try bench.equal(try await hold(number), .committed)
        try bench.equal(try await complete(number), .committed)
        try bench.equal(try await complete(number), .stale)
      }
      try bench.equal(try await hold(4), .limited(.caller))
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 1000), rowsMax: 10), 3)
      try bench.equal(try await hold(4), .committed)
      try bench.equal(try await hold(5), .limited(.account))
    },
    Promise("a row without an account counts for its caller and in total, and takes no account's place") { bench in
      let limits = PendingLimits(perAccountMax: 1, perCallerMax: 2, totalMax: 3)
      func hold(_ number: Int, _ account: String, _ caller: String = "shop") async throws -> Outcome {
        var pending = bench.pending(number, of: account, caller: caller)
        if account.isEmpty { pending.purpose = .flow }
        return try await bench.commit(.pending(.insert(pending, limits: limits)))
      }
      try bench.equal(try await hold(1, ""), .committed)
      try bench.equal(try await hold(2, ""), .committed)
      try bench.equal(try await hold(3, "ann"), .committed)
      try bench.equal(try await hold(4, ""), .limited(.caller))
      try bench.equal(try await hold(5, "", "mail"), .committed)
      try bench.equal(try await hold(6, "", "mail"), .limited(.total))
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 1000), rowsMax: 10), 4)
      try bench.equal(try await hold(7, ""), .committed)
    },
    Promise("full places of one purpose, for a caller and in total, leave those of every other purpose") { bench in
      let one = PendingLimits(perAccountMax: 99, perCallerMax: 1, totalMax: 2)
      func hold(_ number: Int, _ purpose: PendingPurpose, _ caller: String = "shop") async throws -> Outcome {
        var pending = bench.pending(number, of: "ann", caller: caller)
        pending.purpose = purpose
        return try await bench.commit(.pending(.insert(pending, limits: one)))
      }
      try bench.equal(try await hold(1, .flow), .committed)
      try bench.equal(try await hold(2, .flow), .limited(.caller))
      try bench.equal(try await hold(3, .flow, "mail"), .committed)
      try bench.equal(try await hold(4, .flow, "web"), .limited(.total))
      for (index, purpose) in PendingPurpose.allCases.enumerated() where purpose != .flow {
        try bench.equal(try await hold(10 + index, purpose), .committed)
      }
    },
    Promise("when its caller's places are full, the network with most of them gives up its newest rows") { bench in
      let four = PendingLimits(perAccountMax: 9, perCallerMax: 4, totalMax: 9)
      func hold(_ number: Int, _ network: Int?, caller: String = "shop") async throws -> Outcome {
        var pending = bench.pending(number, of: "", caller: caller)
        pending.purpose = .flow
        pending.network = network.map { bench.digest(100 + $0) }
        pending.createdAt = Bench.noon.adding(millis: Int64(number))
        return try await bench.commit(.pending(.insert(pending, limits: four)))
      }
      func held() async throws -> [Int] {
        var held: [Int] = []
        for number in 1...12 where try await bench.loadPending(bench.digest(number)) != nil { held.append(number) }
        return held
      }
      try bench.equal(try await hold(12, 1, caller: "mail"), .committed)
      for number in 1...4 { try bench.equal(try await hold(number, 1), .committed) }
      try bench.equal(try await hold(5, 1), .limited(.caller))
      try bench.equal(try await hold(6, 2), .committed)
      try bench.equal(try await held(), [1, 2, 3, 6, 12])
      try bench.equal(try await hold(7, nil), .committed)
      try bench.equal(try await held(), [1, 2, 6, 7, 12])
      // Each network now has as many rows as the largest one would have left.
      try bench.equal(try await hold(8, 2), .limited(.caller))
      try bench.equal(try await hold(9, nil), .limited(.caller))
      try bench.equal(try await hold(10, 3), .committed)
      try bench.equal(try await hold(11, 4), .limited(.caller))
      try bench.equal(try await held(), [1, 6, 7, 10, 12])
    },
    Promise("when all places for a purpose are full, the caller's own largest network makes room") { bench in
      let two = PendingLimits(perAccountMax: 9, perCallerMax: 9, totalMax: 3)
      func hold(_ number: Int, _ network: Int, _ caller: String) async throws -> Outcome {
        var pending = bench.pending(number, of: "ann", caller: caller)
        pending.network = bench.digest(100 + network)
        return try await bench.commit(.pending(.insert(pending, limits: two)))
      }
      for number in 1...3 { try bench.equal(try await hold(number, 1, "shop"), .committed) }
      try bench.equal(try await hold(4, 2, "mail"), .limited(.total))
      try bench.equal(try await hold(5, 2, "shop"), .committed)
      try bench.equal(try await hold(6, 2, "mail"), .limited(.total))
      // Rows that made room no longer hold a place of their account.
      let three = PendingLimits(perAccountMax: 4, perCallerMax: 9, totalMax: 9)
      try bench.equal(
        try await bench.commit(.pending(.insert(bench.pending(7, of: "ann"), limits: three))), .committed)
      try bench.equal(
        try await bench.commit(.pending(.insert(bench.pending(8, of: "ann"), limits: three))), .limited(.account))
    },
    Promise("a maximum of zero allows no row") { bench in
      let none = PendingLimits(perAccountMax: 0, perCallerMax: 1, totalMax: 1)
      try bench.equal(
        try await bench.commit(.pending(.insert(bench.pending(1, of: "ann"), limits: none))), .limited(.account))
    },
    Promise("a refused pending row takes no place in the scopes that had one") { bench in
      let full = PendingLimits(perAccountMax: 1, perCallerMax: 1, totalMax: 0)
      let roomy = PendingLimits(perAccountMax: 1, perCallerMax: 1, totalMax: 1)
      try bench.equal(
        try await bench.commit(.pending(.insert(bench.pending(1, of: "ann"), limits: full))), .limited(.total))
      try bench.equal(
        try await bench.commit(.pending(.insert(bench.pending(1, of: "ann"), limits: roomy))), .committed)
    },
    Promise("rows leave the counts with their account's deletion, and a completed row stays with its caller") { bench in
      let two = PendingLimits(perAccountMax: 2, perCallerMax: 2, totalMax: 2)
      try await bench.prepare(
        .pending(.insert(bench.pending(1, of: "ann"), limits: two)),
        .pending(.insert(bench.pending(2, of: "ann"), limits: two)))
      try await bench.prepare(
        .pending(.complete(bench.digest(1), version: 1, at: Bench.noon, accountID: "ann", sessionID: "s")))
      try bench.equal(
        try await bench.commit(.pending(.insert(bench.pending(3, of: "ann"), limits: two))), .limited(.caller))
      try await bench.prepare(.pending(.deleteAll(accountID: "ann", except: bench.digest(1))))
      try bench.equal(try await bench.loadPending(bench.digest(2)), nil)
      try bench.equal(try await bench.loadPending(bench.digest(1))?.completedAccountID, "ann")
      try await bench.prepare(.pending(.insert(bench.pending(3, of: "ann"), limits: two)))
      try bench.equal(
        try await bench.commit(.pending(.insert(bench.pending(4, of: "bob"), limits: two))), .limited(.caller))
      try await bench.prepare(.pending(.deleteAll(accountID: "ann", except: nil)))
      try await bench.prepare(
        .pending(.insert(bench.pending(4, of: "ann"), limits: two)),
        .pending(.insert(bench.pending(5, of: "ann"), limits: two)))
    },
    Promise("deleting the pending rows of an account keeps those of others") { bench in
      try await bench.prepare(.pending(.insert(bench.pending(1, of: "bob"), limits: .wide)))
      try await bench.prepare(.pending(.deleteAll(accountID: "ann", except: nil)))
      try bench.equal(try await bench.loadPending(bench.digest(1)), bench.pending(1, of: "bob"))
    },
    Promise("deleting the pending rows of an account can keep some purposes") { bench in
      var wayBack = bench.pending(2, of: "ann")
      wayBack.purpose = .revertEmail
      var reset = bench.pending(3, of: "ann")
      reset.purpose = .resetPassword
      try await bench.prepare(
        .pending(.insert(bench.pending(1, of: "ann"), limits: .wide)), .pending(.insert(wayBack, limits: .wide)),
        .pending(.insert(reset, limits: .wide)))
      try await bench.prepare(.pending(.deleteAll(accountID: "ann", sparing: [.revertEmail, .resetPassword])))
      try bench.equal(try await bench.loadPending(bench.digest(1)), nil)
      try bench.equal(try await bench.loadPending(bench.digest(2)), wayBack)
      try bench.equal(try await bench.loadPending(bench.digest(3)), reset)
      try await bench.prepare(.pending(.deleteAll(accountID: "ann", sparing: [.revertEmail])))
      try bench.equal(try await bench.loadPending(bench.digest(3)), nil)
      try await bench.prepare(.pending(.deleteAll(accountID: "ann")))
      try bench.equal(try await bench.loadPending(bench.digest(2)), nil)
    },
    Promise("a completion is stored with its result, and raises the version") { bench in
      var pending = bench.pending(1, of: "ann")
      try await bench.prepare(.pending(.insert(pending, limits: .wide)))
      try await bench.prepare(
        .pending(.complete(pending.digest, version: 1, at: Bench.noon, accountID: "ann", sessionID: "s")))
      pending.version = 2
      pending.completedAt = Bench.noon
      pending.completedAccountID = "ann"
      pending.completedSessionID = "s"
      try bench.equal(try await bench.loadPending(pending.digest), pending)
    },
    Promise("a completion of a row that is completed, of another version, expired or unknown is stale") { bench in
      try await bench.prepare(
        .pending(.insert(bench.pending(1, of: "ann"), limits: .wide)),
        .pending(.insert(bench.pending(2, of: "ann"), limits: .wide)))
      func complete(_ number: Int, version: Int64, afterMillis: Int64 = 0) async throws -> Outcome {
        try await bench.commit(
          .pending(.complete(
            bench.digest(number), version: version, at: Bench.noon.adding(millis: afterMillis), accountID: "ann",
            sessionID: "s")))
      }
      try bench.equal(try await complete(1, version: 2), .stale)
      try bench.equal(try await complete(1, version: 1, afterMillis: 1000), .stale)
      try bench.equal(try await complete(1, version: 1, afterMillis: 999), .committed)
      try bench.equal(try await complete(1, version: 2), .stale)
      try bench.equal(try await complete(9, version: 1), .stale)
    },
    Promise("attempts are counted down to none, and each makes an older decision stale") { bench in
      try await bench.prepare(.pending(.insert(bench.pending(1, of: "ann"), limits: .wide)))
      for left in [1, 0, 0] {
        try await bench.prepare(.pending(.countAttempt(bench.digest(1))))
        try bench.equal(try await bench.loadPending(bench.digest(1))?.attemptsLeft, left)
      }
      try bench.equal(
        try await bench.commit(
          .pending(.complete(bench.digest(1), version: 1, at: Bench.noon, accountID: "ann", sessionID: "s"))), .stale)
    },
    Promise("a new code ends only the earlier ones of its purpose and identity, and keeps their counts") {
      bench in
      let three = PendingLimits(perAccountMax: 3, perCallerMax: 3, totalMax: 3)
      func code(_ number: Int, _ purpose: PendingPurpose, _ subject: String) -> PendingRecord {
        var pending = bench.pending(number, of: "ann")
        pending.purpose = purpose
        pending.identity = IdentityKey(providerID: "password", subject: subject)
        return pending
      }
      let (former, other, elsewhere) = (
        code(1, .emailLink, "ann@example.com"), code(2, .verifyEmail, "ann@example.com"),
        code(3, .emailLink, "bob@example.com")
      )
      for pending in [former, other, elsewhere] { try await bench.prepare(.pending(.insert(pending, limits: three))) }
      let latter = code(4, .emailLink, "ann@example.com")
      try bench.equal(try await bench.commit(.pending(.insert(latter, limits: three))), .limited(.account))
      try await bench.prepare(
        .pending(.end(.emailLink, latter.identity)), .pending(.insert(latter, limits: three)))
      try bench.equal(try await bench.loadPending(former.digest), nil)
      for pending in [other, elsewhere, latter] {
        try bench.equal(try await bench.loadPending(pending.digest), pending)
      }
    },
    Promise("rows from a time on can be ended, and older ones stay") { bench in
      func row(_ number: Int, afterMillis: Int64) -> PendingRecord {
        var pending = bench.pending(number, of: "ann")
        pending.purpose = .revertEmail
        pending.identity = IdentityKey(providerID: "password", subject: "ann")
        pending.createdAt = Bench.noon.adding(millis: afterMillis)
        return pending
      }
      let rows = [row(1, afterMillis: 0), row(2, afterMillis: 1), row(3, afterMillis: 2)]
      for pending in rows { try await bench.prepare(.pending(.insert(pending, limits: .wide))) }
      try await bench.prepare(
        .pending(.end(.revertEmail, rows[0].identity, createdAfter: rows[1].createdAt)))
      try bench.equal(try await bench.loadPending(rows[0].digest), rows[0])
      try bench.equal(try await bench.loadPending(rows[1].digest), rows[1])
      try bench.equal(try await bench.loadPending(rows[2].digest), nil)
    },
    Promise("a code is read together with another row, without its account") { bench in
      let (code, held) = (bench.pending(1, of: "ann"), bench.pending(2, of: "bob"))
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .pending(.insert(code, limits: .wide)),
        .pending(.insert(held, limits: .wide)))
      let facts = try await bench.load {
        $0.code = code.digest
        $0.pending = held.digest
      }
      try bench.equal(facts.code, code)
      try bench.equal(facts.pending, held)
      try bench.equal(facts.account, nil)
      try bench.equal(try await bench.load { $0.code = bench.digest(9) }.code, nil)
    },
  ]
}
