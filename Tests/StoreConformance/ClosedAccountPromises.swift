import Store

extension Promise {
  static let closedAccounts = [
    Promise("a closed account does not exist, and its id names the survivor and is never used again") { bench in
      let closed = ClosedAccountRecord(
        id: "ann", survivorID: "bob", movedProviderIDs: ["google.com", "password"], closedAt: Bench.noon)
      try await bench.prepare(
        .account(.insert(bench.account("ann", email: "a@example.com", phoneNumber: "+491"))),
        .identity(.insert(bench.identity("1", of: "ann"))), .session(.insert(bench.session("s", of: "ann"))),
        .pending(.insert(bench.pending(1, of: "ann"), limits: .wide)), .account(.insert(bench.account("bob"))))
      try await bench.prepare(.account(.close(closed, version: 1)))
      let facts = try await bench.load {
        $0.accountID = "ann"
        $0.sessionID = "s"
        $0.email = "a@example.com"
        $0.phoneNumber = "+491"
        $0.identity = IdentityKey(providerID: "google.com", subject: "1")
        $0.pending = bench.digest(1)
      }
      var wanted = Facts()
      wanted.closedAccount = closed
      try bench.equal(facts, wanted)
      try bench.equal(try await bench.commit(.account(.insert(bench.account("ann")))), .conflict(.accountID))
      try await bench.prepare(.account(.insert(bench.account("cat", email: "a@example.com"))))
    },
    Promise("a closing of another version is stale and leaves nothing behind") { bench in
      let closed = ClosedAccountRecord(id: "ann", survivorID: "bob", movedProviderIDs: [], closedAt: Bench.noon)
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try bench.equal(try await bench.commit(.account(.close(closed, version: 2))), .stale)
      let facts = try await bench.load { $0.accountID = "ann" }
      try bench.equal(facts.account, AccountState(account: bench.account("ann")))
      try bench.equal(facts.closedAccount, nil)
      try await bench.prepare(.account(.close(closed, version: 1)))
      try bench.equal(try await bench.load { $0.accountID = "ann" }.closedAccount, closed)
    },
    Promise("a freed id is for an account with a cut-off that is not earlier, once") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try bench.equal(try await bench.commit(.account(.forget(id: "ann", at: Bench.noon))), .stale)
      try await bench.prepare(.removal(of: "ann"))
      try bench.equal(try await bench.commit(.account(.insert(bench.account("ann")))), .conflict(.accountID))
      try await bench.prepare(.account(.forget(id: "ann", at: bench.later(5))))
      try bench.equal(try await bench.commit(.account(.forget(id: "ann", at: bench.later(6)))), .stale)
      var later = bench.account("ann")
      try bench.equal(try await bench.commit(.account(.insert(later))), .conflict(.accountID))
      later.tokensValidAfter = bench.later(4)
      try bench.equal(try await bench.commit(.account(.insert(later))), .conflict(.accountID))
      try bench.equal(try await bench.load { $0.accountID = "ann" }.closedAccount?.forgottenAt, bench.later(5))
      later.tokensValidAfter = bench.later(5)
      try await bench.prepare(.account(.insert(later)))
      let facts = try await bench.load { $0.accountID = "ann" }
      try bench.equal(facts.account?.account, later)
      try bench.equal(facts.closedAccount, nil)
      // The id is not free again when this account is removed.
      try await bench.prepare(.removal(of: "ann"))
      try bench.equal(try await bench.commit(.account(.insert(later))), .conflict(.accountID))
    },
    Promise("a freed id keeps no failures and no messages of its account, and those of others stay") { bench in
      var (failure, other) = (bench.failures(2), bench.mail("other"))
      (failure.record.accountID, other.accountID) = ("bob", "bob")
      let kept = failure.record
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await bench.prepare(.failure(.add(bench.failures(1))), .failure(.add(failure)))
      for id in ["waiting", "buried", "sent"] {
        try await bench.prepare(.delivery(.enqueue(bench.mail(id), queueMax: 9)))
      }
      try await bench.prepare(
        .delivery(.enqueue(other, queueMax: 9)), .delivery(.enqueue(bench.delivery("unnamed"), queueMax: 9)),
        .delivery(.bury(id: "buried", at: bench.later(1), reason: "refused", keptUntil: bench.later(99))),
        .delivery(.removeSent(id: "sent", at: bench.later(1), keptUntil: bench.later(99))))
      try await bench.prepare(.removal(of: "ann"))
      try bench.equal(try await bench.support { ($0.accountID, $0.messagesMax) = ("ann", 9) }.deliveries.count, 2)
      try await bench.prepare(.account(.forget(id: "ann", at: bench.later(5))))
      let left = try await bench.support { ($0.accountID, $0.messagesMax) = ("ann", 9) }
      try bench.equal(left, SupportFacts())
      try bench.equal(try await bench.failures(of: .account("ann")), [])
      try bench.equal(try await bench.failures(of: .account("bob")), [kept])
      try bench.equal(
        try await bench.support { ($0.accountID, $0.messagesMax) = ("bob", 9) }.deliveries, [other])
      let queue = try await bench.queue(afterMillis: 9)
      try bench.equal([queue.waitingCount, queue.buriedCount], [2, 0])
    },
    Promise("a closing without a version closes any version, once") { bench in
      let closed = ClosedAccountRecord(id: "ann", closedAt: Bench.noon)
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.raise(id: "ann", version: 1)),
        .session(.insert(bench.session("s", of: "ann"))))
      try await bench.prepare(.account(.close(closed, version: nil)))
      let facts = try await bench.load {
        $0.accountID = "ann"
        $0.sessionID = "s"
      }
      try bench.equal(facts.account, nil)
      try bench.equal(facts.session, nil)
      try bench.equal(facts.closedAccount, closed)
      try bench.equal(try await bench.commit(.account(.close(closed, version: nil))), .stale)
    },
    Promise("one change can close an account and write its data for the survivor") { bench in
      let linked = bench.identity("1", of: "ann", email: "x@example.com", tier: .authoritative)
      let factor = FactorRecord(id: "f", accountID: "ann", kind: .totp, enrolledAt: Bench.noon)
      try await bench.prepare(
        .account(.insert(bench.account("ann", email: "a@example.com", phoneNumber: "+491"))),
        .identity(.insert(linked)),
        .factor(.insert(factor)), .account(.insert(bench.account("bob"))),
        .identity(.insert(bench.identity("2", of: "bob", provider: "oidc.corp"))))
      for email in ["a@example.com", "x@example.com"] {
        _ = try await bench.loadMethods(linked: email)
      }
      var moved = linked
      moved.accountID = "bob"
      var movedFactor = factor
      movedFactor.accountID = "bob"
      try await bench.prepare(
        .account(
          .close(
            ClosedAccountRecord(id: "ann", survivorID: "bob", movedProviderIDs: [], closedAt: Bench.noon), version: 1)),
        .account(.update(bench.account("bob", email: "a@example.com", phoneNumber: "+491"))), .identity(.insert(moved)),
        .factor(.insert(movedFactor)))
      let state = try bench.require(try await bench.loadAccount("bob"))
      try bench.equal(Set(state.identities.map(\.key.subject)), ["1", "2"])
      try bench.equal(state.factors, [movedFactor])
      try bench.equal(try await bench.load { $0.identity = linked.key }.identityOwner, state)
      for email in ["a@example.com", "x@example.com"] {
        let found = try await bench.loadMethods(linked: email)
        try bench.equal(Set(found?.providerIDs ?? []), ["google.com", "oidc.corp"])
      }
      // The counts are right if each item can be deleted again.
      try await bench.prepare(
        .identity(.delete(linked.key, accountID: "bob")), .factor(.delete(id: "f", accountID: "bob")))
      let rest = try bench.require(try await bench.loadAccount("bob"))
      try bench.equal(rest.identities.map(\.key.subject), ["2"])
      try bench.equal(rest.factors, [])
    },
    Promise("only the account of a factor can delete it, once") { bench in
      let factor = FactorRecord(id: "f", accountID: "ann", kind: .totp, enrolledAt: Bench.noon)
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))), .factor(.insert(factor)))
      try bench.equal(try await bench.commit(.factor(.delete(id: "f", accountID: "bob"))), .stale)
      try await bench.prepare(.factor(.delete(id: "f", accountID: "ann")))
      try bench.equal(try await bench.commit(.factor(.delete(id: "f", accountID: "ann"))), .stale)
      try await bench.prepare(.factor(.insert(factor)))
      try bench.equal(try await bench.loadAccount("ann")?.factors, [factor])
    },
    Promise("a second session is read together with the first, each with its account") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))),
        .session(.insert(bench.session("s1", of: "ann"))), .session(.insert(bench.session("s2", of: "bob", refresh: 2)))
      )
      let facts = try await bench.load {
        $0.sessionID = "s1"
        $0.otherSessionID = "s2"
      }
      try bench.equal([facts.session?.id, facts.otherSession?.id], ["s1", "s2"])
      try bench.equal([facts.sessionAccount?.account.id, facts.otherSessionAccount?.account.id], ["ann", "bob"])
    },
  ]

  static let idleAccounts = [
    Promise("anonymous accounts from before a time are found, the oldest first, with their last use") {
      bench in
      for (index, id) in ["old", "older", "young"].enumerated() {
        var account = bench.account(id)
        account.anonymous = true
        account.createdAt = Bench.noon.adding(millis: [-1, -2, 0][index])
        try await bench.prepare(.account(.insert(account)))
      }
      var permanent = bench.account("permanent")
      permanent.createdAt = Bench.noon.adding(millis: -9)
      try await bench.prepare(.account(.insert(permanent)), .session(.insert(bench.session("s", of: "old"))))
      let found = try await idle(bench)
      try bench.equal(
        found,
        [
          IdleAccount(id: "older", version: 1, lastUsedAt: nil),
          IdleAccount(id: "old", version: 1, lastUsedAt: Bench.noon),
        ])
      try bench.equal(try await idle(bench, accountsMax: 1), [found[0]])
    },
    Promise("an account that was used is found again a full period after that use") { bench in
      var account = bench.account("ann")
      account.anonymous = true
      account.createdAt = Bench.noon.adding(millis: -5)
      try await bench.prepare(.account(.insert(account)), .account(.noteIdle(accountID: "ann", since: Bench.noon)))
      try bench.equal(try await idle(bench), [])
      try bench.equal(
        try await idle(bench, before: Bench.noon.adding(millis: 1)),
        [IdleAccount(id: "ann", version: 1, lastUsedAt: nil)])
    },
    Promise("an account that becomes permanent is no longer found") { bench in
      var account = bench.account("ann")
      account.anonymous = true
      account.createdAt = Bench.noon.adding(millis: -5)
      try await bench.prepare(.account(.insert(account)))
      account.anonymous = false
      try await bench.prepare(.account(.update(account)))
      try bench.equal(try await idle(bench), [])
    },
    Promise("the guard of an idle account is stale once a session of it was used at that time or later") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))), .session(.insert(bench.session("s", of: "ann"))))
      try await bench.prepare(.account(.requireIdle(accountID: "ann", since: Bench.noon.adding(millis: 1))))
      try await bench.prepare(.account(.requireIdle(accountID: "bob", since: Bench.noon)))
      try bench.equal(try await bench.commit(.account(.requireIdle(accountID: "ann", since: Bench.noon))), .stale)
    },
  ]

  private static func idle(
    _ bench: Bench, before: Timestamp = Bench.noon, accountsMax: Int = 10
  ) async throws -> [IdleAccount] {
    try await bench.load { $0.idleAnonymous = IdleQuery(before: before, accountsMax: accountsMax) }.idleAnonymous
  }
}
