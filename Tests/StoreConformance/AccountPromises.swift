import Store

extension Promise {
  static let accounts = [
    Promise("an account reads back as it was written, by id, email address and phone number") { bench in
      let account = bench.fullAccount("ann")
      try await bench.prepare(.account(.insert(account)))
      let facts = try await bench.load {
        $0.accountID = "ann"
        $0.email = account.email
        $0.phoneNumber = account.phoneNumber
      }
      try bench.equal(facts.account, AccountState(account: account))
      try bench.equal(facts.emailOwner, AccountState(account: account))
      try bench.equal(facts.phoneOwner, AccountState(account: account))
    },
    Promise("a look-up of unknown keys returns nothing") { bench in
      let facts = try await bench.load {
        $0.accountID = "nobody"
        $0.email = "nobody@example.com"
        $0.phoneNumber = "+49"
        $0.sessionID = "none"
        $0.identity = IdentityKey(providerID: "google.com", subject: "none")
        $0.pending = bench.digest(1)
        $0.idempotency = bench.digest(2)
        $0.spentToken = bench.digest(3)
        $0.signingKeys = true
        $0.page = PageOrder(afterID: nil, accountsMax: 10)
        $0.openSessions = OpenSessionsQuery(accountID: "nobody", at: Bench.noon, most: 9)
        $0.importKeyID = "none"
      }
      try bench.equal(facts, Facts())
      try bench.equal(try await bench.loadMethods(linked: "nobody@example.com"), nil)
    },
    Promise("a look-up returns only what was requested") { bench in
      try await bench.prepare(.account(.insert(bench.fullAccount("ann"))), .signingKey(.insert(bench.signingKey("k"))))
      try bench.equal(try await bench.load { _ in }, Facts())
    },
    Promise("an account id is used once") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try bench.equal(try await bench.commit(.account(.insert(bench.account("ann")))), .conflict(.accountID))
    },
    Promise("an address belongs to one account, by insert and by update") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann", email: "a@example.com"))), .account(.insert(bench.account("bob"))))
      try bench.equal(
        try await bench.commit(.account(.insert(bench.account("cat", email: "a@example.com")))), .conflict(.email))
      try bench.equal(
        try await bench.commit(.account(.update(bench.account("bob", email: "a@example.com")))), .conflict(.email))
      try bench.equal(try await bench.loadAccount("bob")?.account.version, 1)
    },
    Promise("a phone number belongs to one account, by insert and by update") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann", phoneNumber: "+491"))), .account(.insert(bench.account("bob"))))
      try bench.equal(
        try await bench.commit(.account(.insert(bench.account("cat", phoneNumber: "+491")))), .conflict(.phoneNumber))
      try bench.equal(
        try await bench.commit(.account(.update(bench.account("bob", phoneNumber: "+491")))), .conflict(.phoneNumber))
    },
    Promise("any number of accounts have neither address nor number") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))))
    },
    Promise("a freed address can be taken within the same change") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann", email: "a@example.com"))))
      try await bench.prepare(
        .account(.update(bench.account("ann"))), .account(.insert(bench.account("bob", email: "a@example.com"))))
      try bench.equal(try await bench.load { $0.email = "a@example.com" }.emailOwner?.account.id, "bob")
    },
    Promise("an update stores every field and raises the version by one") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      var account = bench.fullAccount("ann")
      account.disabled = true
      try await bench.prepare(.account(.update(account)))
      account.version = 2
      try bench.equal(try await bench.loadAccount("ann")?.account, account)
    },
    Promise("an update of an older version, or of an unknown account, is stale") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await bench.prepare(.account(.update(bench.account("ann"))))
      try bench.equal(try await bench.commit(.account(.update(bench.account("ann")))), .stale)
      try bench.equal(try await bench.commit(.account(.update(bench.account("bob")))), .stale)
    },
    Promise("a guard raises the version, and is stale at any other version") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await bench.prepare(.account(.raise(id: "ann", version: 1)))
      try bench.equal(try await bench.loadAccount("ann")?.account.version, 2)
      try bench.equal(try await bench.commit(.account(.raise(id: "ann", version: 1))), .stale)
      try bench.equal(try await bench.commit(.account(.raise(id: "ann", version: 3))), .stale)
      try bench.equal(try await bench.commit(.account(.raise(id: "bob", version: 1))), .stale)
    },
    Promise("a touch records the sign-in without raising the version") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await bench.prepare(.account(.touch(id: "ann", version: 1, lastSignInAt: Bench.noon)))
      let account = try bench.require(try await bench.loadAccount("ann")).account
      try bench.equal(account.lastSignInAt, Bench.noon)
      try bench.equal(account.version, 1)
    },
    Promise("a touch or an update never moves the last sign-in back, and an update without one keeps it") {
      bench in
      func lastSignIn() async throws -> Timestamp? {
        let state = try await bench.loadAccount("ann")
        return state?.account.lastSignInAt
      }
      let (noon, later) = (Bench.noon, Bench.noon.adding(millis: 1))
      var account = bench.account("ann")
      try await bench.prepare(.account(.insert(account)))
      try await bench.prepare(.account(.update(account)))
      try bench.equal(try await lastSignIn(), nil)
      try await bench.prepare(.account(.touch(id: "ann", version: 2, lastSignInAt: later)))
      try await bench.prepare(.account(.touch(id: "ann", version: 2, lastSignInAt: noon)))
      try bench.equal(try await lastSignIn(), later)
      account.version = 2
      try await bench.prepare(.account(.update(account)))
      try bench.equal(try await lastSignIn(), later)
      (account.version, account.lastSignInAt) = (3, noon)
      try await bench.prepare(.account(.update(account)))
      try bench.equal(try await lastSignIn(), later)
      (account.version, account.lastSignInAt) = (4, later.adding(millis: 1))
      try await bench.prepare(.account(.update(account)))
      try bench.equal(try await lastSignIn(), later.adding(millis: 1))
    },
    Promise("a touch of an account that has changed or was deleted is stale") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await bench.prepare(.account(.raise(id: "ann", version: 1)))
      try bench.equal(try await bench.commit(.account(.touch(id: "ann", version: 1, lastSignInAt: Bench.noon))), .stale)
      try bench.equal(try await bench.commit(.account(.touch(id: "bob", version: 1, lastSignInAt: Bench.noon))), .stale)
      try bench.equal(try await bench.loadAccount("ann")?.account.lastSignInAt, nil)
    },
    Promise("a confirmation raises no version, and is stale if the account has changed or was deleted") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try await bench.prepare(.account(.confirm(id: "ann", version: 1)))
      try bench.equal(try await bench.loadAccount("ann")?.account, bench.account("ann"))
      try bench.equal(try await bench.commit(.account(.confirm(id: "ann", version: 2))), .stale)
      try bench.equal(try await bench.commit(.account(.confirm(id: "bob", version: 1))), .stale)
    },
    Promise("a confirmation sees earlier writes of its own change, and nothing that was rolled back") { bench in
      let (first, second) = (
        Write.account(.confirm(id: "ann", version: 1)), Write.account(.confirm(id: "ann", version: 2))
      )
      let raise = Write.account(.raise(id: "ann", version: 1))
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try bench.equal(try await bench.commit(first, raise, first), .stale)
      try await bench.prepare(first)
      try bench.equal(try await bench.commit(second), .stale)
      try await bench.prepare(first, raise, second)
      try bench.equal(try await bench.commit(first), .stale)
      try await bench.prepare(second)
      let bob = Write.account(.confirm(id: "bob", version: 1))
      try bench.equal(try await bench.commit(.account(.insert(bench.account("bob"))), bob, first), .stale)
      try bench.equal(try await bench.commit(bob), .stale)
    },
    Promise("an account can be cut off at any version, and its cut-off never moves back") { bench in
      let (noon, later) = (Bench.noon, Bench.noon.adding(millis: 1))
      var account = bench.account("ann", email: "ann@example.com")
      try await bench.prepare(.account(.insert(account)), .account(.raise(id: "ann", version: 1)))
      try await bench.prepare(.account(.cutOff(accountID: "ann", at: later, disabling: false)))
      (account.version, account.tokensValidAfter) = (3, later)
      try bench.equal(try await bench.loadAccount("ann")?.account, account)
      try bench.equal(try await bench.commit(.account(.touch(id: "ann", version: 2, lastSignInAt: noon))), .stale)
      try await bench.prepare(.account(.cutOff(accountID: "ann", at: noon, disabling: true)))
      try await bench.prepare(.account(.cutOff(accountID: "ann", at: noon, disabling: false)))
      (account.version, account.disabled) = (5, true)
      try bench.equal(try await bench.loadAccount("ann")?.account, account)
      try bench.equal(try await bench.commit(.account(.cutOff(accountID: "bob", at: noon, disabling: true))), .stale)
    },
    Promise("an account is disabled once: a second time is stale and writes nothing") { bench in
      let (noon, later) = (Bench.noon, Bench.noon.adding(millis: 1))
      try await bench.prepare(.account(.insert(bench.account("ann"))), .session(.insert(bench.session("s", of: "ann"))))
      try await bench.prepare(.account(.cutOff(accountID: "ann", at: noon, disabling: true)))
      let disabled = try bench.require(try await bench.loadAccount("ann")).account
      let again = Write.account(.cutOff(accountID: "ann", at: later, disabling: true))
      let closing = Write.session(.close(id: "s", accountID: "ann", at: later, reason: .disabled))
      try bench.equal(try await bench.commit(again), .stale)
      try bench.equal(try await bench.commit(closing, again), .stale)
      try bench.equal(try await bench.loadAccount("ann")?.account, disabled)
      try bench.equal(try await bench.loadSession("s")?.closed, nil)
      try await bench.prepare(.account(.cutOff(accountID: "ann", at: later, disabling: false)))
      var opened = try bench.require(try await bench.loadAccount("ann")).account
      try bench.equal(opened.disabled, true)
      opened.disabled = false
      try await bench.prepare(.account(.update(opened)))
      try await bench.prepare(again)
      try bench.equal(try await bench.loadAccount("ann")?.account.disabled, true)
    },
    Promise("a guard of a free address takes nothing, and conflicts if an account has the address") { bench in
      let ann = bench.account("ann", email: "ann@example.com")
      try await bench.prepare(.account(.insert(ann)))
      try await bench.prepare(
        .account(.requireFreeEmail("x@example.com")), .account(.requireFreeEmail("y@example.com")))
      try bench.equal(
        try await bench.commit(
          .record(.spendToken(bench.digest(1), expiresAt: Bench.noon)), .account(.requireFreeEmail("ann@example.com"))),
        .conflict(.email))
      try bench.equal(try await bench.load { $0.spentToken = bench.digest(1) }.tokenSpent, false)
      let page = PageOrder(afterID: nil, accountsMax: 9)
      try bench.equal(try await bench.load { $0.page = page }.page, [AccountState(account: ann)])
      try await bench.prepare(.account(.insert(bench.account("bob", email: "x@example.com"))))
    },
    Promise("a deletion removes everything that belongs to the account, and nothing of others") { bench in
      try await fill(bench, "ann", 1)
      try await fill(bench, "bob", 2)
      try await bench.prepare(.removal(of: "ann"))
      let gone = try await bench.load { ask(&$0, bench, "ann", 1) }
      var nothing = Facts()
      nothing.closedAccount = ClosedAccountRecord(id: "ann", closedAt: Bench.noon)
      try bench.equal(gone, nothing)
      try bench.equal(try await bench.loadMethods(linked: "linked-ann@example.com"), nil)
      let kept = try await bench.load { ask(&$0, bench, "bob", 2) }
      try bench.equal(try await bench.loadMethods(linked: "linked-bob@example.com")?.providerIDs, ["google.com"])
      for state in [kept.account, kept.identityOwner, kept.sessionAccount, kept.pendingAccount] {
        try bench.equal(state?.identities.count, 1)
        try bench.equal(state?.factors.count, 1)
        try bench.equal(state?.unlinks.count, 1)
      }
      try bench.equal(try await bench.commit(.account(.insert(bench.account("ann")))), .conflict(.accountID))
      try bench.equal(
        try await bench.commit(
          .pending(
            .insert(
              bench.pending(3, of: "ann"), limits: PendingLimits(perAccountMax: 1, perCallerMax: 2, totalMax: 2)))),
        .committed)
    },
    Promise("a deletion of an older version is stale") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      try bench.equal(try await bench.commit(.removal(of: "ann", version: 2)), .stale)
      try bench.equal(try await bench.loadAccount("ann")?.account.version, 1)
    },
  ]

  private static func fill(_ bench: Bench, _ id: String, _ number: Int) async throws {
    try await bench.prepare(
      .account(.insert(bench.account(id, email: "\(id)@example.com"))),
      .identity(.insert(bench.identity(id, of: id, email: "linked-\(id)@example.com"))),
      .factor(.insert(FactorRecord(id: "f-\(id)", accountID: id, kind: .totp, enrolledAt: Bench.noon))),
      .unlink(
        .remember(
          UnlinkRecord(
            accountID: id, key: IdentityKey(providerID: "oidc.corp", subject: id), at: Bench.noon))),
      .session(.insert(bench.session("s-\(id)", of: id))),
      .pending(.insert(bench.pending(number, of: id), limits: .wide)))
  }

  private static func ask(_ query: inout Query, _ bench: Bench, _ id: String, _ number: Int) {
    query.accountID = id
    query.identity = IdentityKey(providerID: "google.com", subject: id)
    query.sessionID = "s-\(id)"
    query.pending = bench.digest(number)
  }
}
