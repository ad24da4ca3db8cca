import Store

extension Promise {
  static let changes = [
    Promise("a change whose last write fails has written nothing") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann", email: "a@example.com"))))
      let outcome = try await bench.commit(
        .account(.insert(bench.account("bob"))), .identity(.insert(bench.identity("1", of: "bob"))),
        .session(.insert(bench.session("s", of: "bob"))), .record(.spendToken(bench.digest(1), expiresAt: Bench.noon)),
        .account(.insert(bench.account("cat", email: "a@example.com"))))
      try bench.equal(outcome, .conflict(.email))
      let facts = try await bench.load {
        $0.accountID = "bob"
        $0.identity = IdentityKey(providerID: "google.com", subject: "1")
        $0.sessionID = "s"
        $0.spentToken = bench.digest(1)
      }
      try bench.equal(facts, Facts())
    },
    Promise("the first write that fails decides the outcome") { bench in
      try await bench.prepare(.record(.spendToken(bench.digest(1), expiresAt: Bench.noon)))
      try bench.equal(
        try await bench.commit(
          .account(.raise(id: "nobody", version: 1)), .record(.spendToken(bench.digest(1), expiresAt: Bench.noon))),
        .stale)
      try bench.equal(
        try await bench.commit(
          .record(.spendToken(bench.digest(1), expiresAt: Bench.noon)), .account(.raise(id: "nobody", version: 1))),
        .conflict(.spentToken))
    },
    Promise("an empty change commits") { bench in
      try bench.equal(try await bench.commit(), .committed)
    },
    Promise("a load after a commit always sees it") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      for version in 1...100 {
        try await bench.prepare(.account(.raise(id: "ann", version: Int64(version))))
        try bench.equal(try await bench.loadAccount("ann")?.account.version, Int64(version + 1))
      }
    },
    Promise("a change that was cancelled before its commit writes nothing") { bench in
      let commitDecision = CommitDecision()
      try bench.equal(commitDecision.cancel(), true)
      try bench.equal(
        try await bench.commit(.account(.insert(bench.account("ann"))), commitDecision: commitDecision), .cancelled)
      try bench.equal(try await bench.loadAccount("ann"), nil)
      try bench.equal(commitDecision.isCancelled, true)
    },
    Promise("a change that is committed can no longer be cancelled") { bench in
      let commitDecision = CommitDecision()
      try bench.equal(
        try await bench.commit(.account(.insert(bench.account("ann"))), commitDecision: commitDecision), .committed)
      try bench.equal(commitDecision.cancel(), false)
    },
    Promise("a call whose change wrote nothing can be cancelled again") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      for write in [Write.account(.insert(bench.account("ann"))), .account(.raise(id: "ann", version: 9))] {
        let commitDecision = CommitDecision()
        _ = try await bench.commit(write, commitDecision: commitDecision)
        try bench.equal(commitDecision.cancel(), true)
      }
    },
    Promise("a cancellation during a commit takes effect if the commit wrote nothing") { bench in
      let commitDecision = CommitDecision()
      try bench.equal(commitDecision.take(), true)
      try bench.equal(
        [commitDecision.cancel(), commitDecision.cancel(), commitDecision.isCancelled], [false, false, false])
      commitDecision.release()
      try bench.equal([commitDecision.isCancelled, commitDecision.cancel()], [true, false])
      try bench.equal(
        try await bench.commit(.account(.insert(bench.account("ann"))), commitDecision: commitDecision), .cancelled)
      try bench.equal(try await bench.loadAccount("ann"), nil)
    },
    Promise("a call whose change was rejected can commit its next one") { bench in
      let commitDecision = CommitDecision()
      try bench.equal(
        try await bench.commit(.account(.raise(id: "ann", version: 1)), commitDecision: commitDecision), .stale)
      try bench.equal(
        try await bench.commit(.account(.insert(bench.account("ann"))), commitDecision: commitDecision), .committed)
    },
    Promise("a store that is closed and opened again keeps everything") { bench in
      try await bench.prepare(
        .account(.insert(bench.fullAccount("ann"))), .identity(.insert(bench.identity("1", of: "ann"))),
        .session(.insert(bench.session("s", of: "ann"))), .pending(.insert(bench.pending(1, of: "ann"), limits: .wide)),
        .signingKey(.insert(bench.signingKey("k"))))
      func everything(_ store: any Store) async throws -> Facts {
        var query = Query()
        query.accountID = "ann"
        query.sessionID = "s"
        query.pending = bench.digest(1)
        query.signingKeys = true
        return try await store.load(query)
      }
      let before = try await everything(bench.store)
      try bench.equal(before.account?.identities.count, 1)
      await bench.store.close()
      let reopened = try await bench.open()
      let after = try await everything(reopened)
      await reopened.close()
      try bench.equal(after, before)
    },
    Promise("a closed store returns an error to every caller") { bench in
      await bench.store.close()
      await bench.store.close()
      let calls: [@Sendable () async throws -> Void] = [
        { _ = try await bench.loadAccount("ann") },
        { _ = try await bench.commit(.account(.insert(bench.account("ann")))) },
        { _ = try await bench.store.sweep(at: Bench.noon, rowsMax: 1) },
        { try bench.store.attachThread() },
      ]
      for call in calls {
        do {
          try await call()
          throw BrokenPromise(description: "a closed store answered")
        } catch let error as StoreError {
          try bench.equal(error, .closed)
        }
      }
    },
  ]
}
