import Store

extension Promise {
  static let sessions = [
    Promise("a session reads back as it was written, with its account") { bench in
      var closed = bench.session("t", of: "ann")
      closed.methods = []
      closed.secondFactor = nil
      closed.parentDigest = bench.digest(9)
      closed.rotatedAt = Bench.noon
      closed.closed = SessionEnd(at: Bench.noon, reason: .signedOut)
      try await bench.prepare(
        .account(.insert(bench.account("ann"))), .session(.insert(bench.session("s", of: "ann"))),
        .session(.insert(closed)))
      let facts = try await bench.load { $0.sessionID = "s" }
      try bench.equal(facts.session, bench.session("s", of: "ann"))
      try bench.equal(facts.sessionAccount, AccountState(account: bench.account("ann")))
      try bench.equal(try await bench.loadSession("t"), closed)
    },
    Promise("the sign-in that opened a session is its account's last one, also after the session is deleted") { bench in
      func lastSignIn() async throws -> Timestamp? {
        let state = try await bench.loadAccount("ann")
        return state?.account.lastSignInAt
      }
      func signIn(_ session: String, _ at: Timestamp, idleMillis: Int64) -> Change {
        Change([
          .account(.touch(id: "ann", version: 1, lastSignInAt: at)),
          .session(.insert(bench.session(session, of: "ann", idleMillis: idleMillis, absoluteMillis: .max >> 8))),
        ])
      }
      let day: Int64 = 86_400_000
      let (first, second) = (Bench.noon.adding(millis: 1), Bench.noon.adding(millis: 2))
      try await bench.prepare(.account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))))
      try bench.equal(
        try await bench.store.commit(signIn("s", first, idleMillis: day), commitDecision: CommitDecision()), .committed)
      try bench.equal(try await lastSignIn(), first)
      try bench.equal(
        try await bench.store.commit(signIn("t", second, idleMillis: 3 * day), commitDecision: CommitDecision()),
        .committed)
      try await bench.prepare(.session(.insert(bench.session("goes on", of: "ann"))))
      try bench.equal(try await lastSignIn(), second)
      try bench.equal(try await bench.load { $0.sessionID = "s" }.sessionAccount?.account.lastSignInAt, second)
      for days in [2, 9] {
        _ = try await bench.store.sweep(at: Bench.noon.adding(millis: Int64(days) * day), rowsMax: 10)
        try bench.equal(try await lastSignIn(), second)
      }
      try bench.equal(try await bench.loadSession("t"), nil)
      try bench.equal(try await bench.loadAccount("bob")?.account.lastSignInAt, nil)
    },
    Promise("the last sign-in is the latest of the account and its sessions, also after those are deleted") {
      bench in
      let day: Int64 = 86_400_000
      func lastSignIn(_ id: String) async throws -> Timestamp? {
        let state = try await bench.loadAccount(id)
        return state?.account.lastSignInAt
      }
      for (id, inAccount, inSession) in [("ann", Int64(5), Int64(3)), ("bob", 3, 5)] {
        var account = bench.account(id)
        try await bench.prepare(.account(.insert(account)))
        try await bench.prepare(
          .account(.touch(id: id, version: 1, lastSignInAt: Bench.noon.adding(millis: inSession))),
          .session(.insert(bench.session("s" + id, of: id))))
        account.lastSignInAt = Bench.noon.adding(millis: inAccount)
        try await bench.prepare(.account(.update(account)))
        try bench.equal(try await lastSignIn(id), Bench.noon.adding(millis: 5))
      }
      _ = try await bench.store.sweep(at: Bench.noon.adding(millis: 2 * day), rowsMax: 10)
      for id in ["ann", "bob"] {
        try bench.equal(try await bench.loadSession("s" + id), nil)
        try bench.equal(try await lastSignIn(id), Bench.noon.adding(millis: 5))
      }
    },
    Promise("a sweep in portions keeps the last sign-in, in whatever order the sessions end") { bench in
      let day: Int64 = 86_400_000
      try await bench.prepare(.account(.insert(bench.account("ann"))))
      for (id, at, days) in [("later", Int64(2), Int64(1)), ("sooner", 1, 3), ("first", 0, 2)] {
        let session = bench.session(id, of: "ann", idleMillis: days * day, absoluteMillis: 9 * day)
        try await bench.prepare(
          .account(.touch(id: "ann", version: 1, lastSignInAt: Bench.noon.adding(millis: at))),
          .session(.insert(session)))
      }
      for left in [2, 1, 0] {
        try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 9 * day), rowsMax: 1), 1)
        let state = try await bench.loadAccount("ann")
        try bench.equal(state?.account.lastSignInAt, Bench.noon.adding(millis: 2))
        var there = 0
        for id in ["later", "sooner", "first"] { there += try await bench.loadSession(id) == nil ? 0 : 1 }
        try bench.equal(there, left)
      }
    },
    Promise("a sign-in to an account that has changed or was deleted opens no session") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))), .account(.raise(id: "ann", version: 1)))
      for (id, version) in [("ann", Int64(1)), ("bob", 1)] {
        let outcome = try await bench.commit(
          .account(.touch(id: id, version: version, lastSignInAt: Bench.noon)),
          .session(.insert(bench.session("s", of: id))))
        try bench.equal(outcome, .stale)
      }
      try bench.equal(try await bench.loadSession("s"), nil)
      try bench.equal(try await bench.loadAccount("ann")?.account.lastSignInAt, nil)
    },
    Promise("a rotation changes to the next token and keeps the previous one") { bench in
      try await bench.prepare(.session(.insert(bench.session("s", of: "ann", refresh: 1))))
      let (at, idle) = (Bench.noon.adding(millis: 10), Bench.noon.adding(millis: 2000))
      try await bench.prepare(
        .session(.rotate(id: "s", from: bench.digest(1), to: bench.digest(2), at: at, idleExpiresAt: idle)))
      var wanted = bench.session("s", of: "ann", refresh: 2)
      wanted.parentDigest = bench.digest(1)
      wanted.rotatedAt = at
      wanted.lastUsedAt = at
      wanted.idleExpiresAt = idle
      try bench.equal(try await bench.loadSession("s"), wanted)
    },
    Promise("an open session can change the name of its login") { bench in
      try await bench.prepare(.session(.insert(bench.session("s", of: "ann", refresh: 1))))
      func rename(_ id: String, after millis: Int64) -> Write {
        .session(
          .rename(
            id: id, signInProviderID: "oidc.b", methods: ["pwd", "fed"], at: Bench.noon.adding(millis: millis)))
      }
      try await bench.prepare(rename("s", after: 1))
      var wanted = bench.session("s", of: "ann", refresh: 1)
      (wanted.signInProviderID, wanted.methods) = ("oidc.b", ["pwd", "fed"])
      try bench.equal(try await bench.loadSession("s"), wanted)
      try bench.equal(try await bench.commit(rename("t", after: 1)), .stale)
      try bench.equal(try await bench.commit(rename("s", after: 1000)), .stale)
      try await bench.prepare(.session(.close(id: "s", accountID: "ann", at: Bench.noon, reason: .signedOut)))
      try bench.equal(try await bench.commit(rename("s", after: 1)), .stale)
    },
    Promise("a rotation from any other token is stale") { bench in
      try await bench.prepare(.session(.insert(bench.session("s", of: "ann", refresh: 1))))
      for (id, from) in [("s", 2), ("t", 1)] {
        try bench.equal(
          try await bench.commit(
            .session(
              .rotate(
                id: id, from: bench.digest(from), to: bench.digest(3), at: Bench.noon,
                idleExpiresAt: Bench.noon.adding(millis: 2000)))), .stale)
      }
      try bench.equal(try await bench.loadSession("s"), bench.session("s", of: "ann", refresh: 1))
    },
    Promise("a session is open until its idle end, its absolute end or its closing") { bench in
      try await bench.prepare(.session(.insert(bench.session("s", of: "ann", refresh: 1))))
      try await expectOpen(bench, "s", until: 1000)
      try await bench.prepare(
        .session(
          .rotate(
            id: "s", from: bench.digest(1), to: bench.digest(2), at: Bench.noon,
            idleExpiresAt: Bench.noon.adding(millis: 9000))))
      try await expectOpen(bench, "s", until: 5000)
      for (digest, outcome) in [(1, Outcome.stale), (2, .committed)] {
        let guarding = Write.session(.requireOpen(id: "s", refreshDigest: bench.digest(digest), at: Bench.noon))
        try bench.equal(try await bench.commit(guarding), outcome)
      }
      try await bench.prepare(
        .session(.close(id: "s", accountID: "ann", at: Bench.noon.adding(millis: 100), reason: .signedOut)))
      try bench.equal(try await bench.commit(.session(.requireOpen(id: "s", at: Bench.noon))), .stale)
    },
    Promise("a rotation of a session that is closed, idle for too long or expired is stale") { bench in
      try await bench.prepare(
        .session(.insert(bench.session("closed", of: "ann"))), .session(.insert(bench.session("idle", of: "ann"))),
        .session(.close(id: "closed", accountID: "ann", at: Bench.noon, reason: .signedOut)))
      for (id, millis) in [("closed", 0), ("idle", 1000)] {
        try bench.equal(
          try await bench.commit(
            .session(
              .rotate(
                id: id, from: bench.digest(1), to: bench.digest(2), at: Bench.noon.adding(millis: Int64(millis)),
                idleExpiresAt: Bench.noon.adding(millis: 4000)))), .stale)
      }
    },
    Promise("a session is closed once, with the first reason") { bench in
      try await bench.prepare(.session(.insert(bench.session("s", of: "ann"))))
      try await bench.prepare(
        .session(.close(id: "s", accountID: "ann", at: Bench.noon, reason: .signedOut)),
        .session(.close(id: "s", accountID: "ann", at: Bench.noon.adding(millis: 1), reason: .revoked)),
        .session(.close(id: "unknown", accountID: "ann", at: Bench.noon, reason: .signedOut)))
      let session = try bench.require(try await bench.loadSession("s"))
      try bench.equal(session.closed?.at, Bench.noon)
      try bench.equal(session.closed?.reason, .signedOut)
    },
    Promise("closing the sessions of an account can keep one, and keeps those of other accounts") { bench in
      try await openSessions(bench)
      try await bench.prepare(
        .session(.closeAll(accountID: "ann", except: "ann-google", at: Bench.noon, reason: .passwordChanged)))
      try bench.equal(try await openIDs(bench), ["ann-google", "bob-google"])
      try await bench.prepare(
        .session(.closeAll(accountID: "ann", except: nil, at: Bench.noon, reason: .passwordChanged)))
      try bench.equal(try await openIDs(bench), ["bob-google"])
    },
    Promise("closing the sessions of a provider can keep one, and keeps those of other providers") { bench in
      try await openSessions(bench)
      try await bench.prepare(.session(.insert(bench.session("ann-google-2", of: "ann", provider: "google.com"))))
      try await bench.prepare(
        .session(
          .closeBegun(
            accountID: "ann", beganWith: "google.com", except: "ann-google-2", at: Bench.noon, reason: .unlinked)))
      try bench.equal(try await openIDs(bench), ["ann-password", "bob-google"])
      try bench.equal(try await bench.loadSession("ann-google-2")?.closed, nil)
      try await bench.prepare(
        .session(
          .closeBegun(
            accountID: "ann", beganWith: "google.com", except: nil, at: Bench.noon, reason: .unlinked)))
      try bench.equal(try await bench.loadSession("ann-google-2")?.closed?.reason, .unlinked)
    },
    Promise("closing the sessions of a provider selects those that began with it, not by later links") { bench in
      for (id, began, linked) in [("kept", "password", "google.com"), ("ended", "google.com", "password")] {
        var session = bench.session(id, of: "ann", provider: began)
        session.signInProviderID = linked
        try await bench.prepare(.session(.insert(session)))
        try bench.equal(try await bench.loadSession(id), session)
      }
      try await bench.prepare(
        .session(
          .closeBegun(
            accountID: "ann", beganWith: "google.com", except: nil, at: Bench.noon, reason: .unlinked)))
      try bench.equal(try await bench.loadSession("kept")?.closed, nil)
      try bench.equal(try await bench.loadSession("ended")?.closed?.reason, .unlinked)
    },
    Promise("the open sessions of an account are listed with the latest first, and all are counted") { bench in
      for (id, account, millis) in [("s1", "ann", 1), ("s3", "ann", 3), ("s2", "ann", 2), ("other", "bob", 4)] {
        var session = bench.session(id, of: account)
        session.createdAt = Bench.noon.adding(millis: Int64(millis))
        try await bench.prepare(.session(.insert(session)))
      }
      try bench.equal(try await listed(bench, at: 4, most: 9), Listed(ids: ["s3", "s2", "s1"], count: 3))
      try bench.equal(try await listed(bench, at: 4, most: 2), Listed(ids: ["s3", "s2"], count: 3))
      try bench.equal(try await listed(bench, at: 4, most: 0), Listed(ids: [], count: 3))
      try await bench.prepare(
        .session(.close(id: "s2", accountID: "ann", at: Bench.noon.adding(millis: 5), reason: .signedOut)))
      try bench.equal(try await listed(bench, at: 999, most: 9), Listed(ids: ["s3", "s1"], count: 2))
      // The end of their idle time.
      try bench.equal(try await listed(bench, at: 1000, most: 9), Listed(ids: [], count: 0))
    },
  ]

  private static func listed(_ bench: Bench, at millis: Int64, most: Int) async throws -> Listed {
    let facts = try await bench.load {
      $0.openSessions = OpenSessionsQuery(accountID: "ann", at: Bench.noon.adding(millis: millis), most: most)
    }
    for session in facts.openSessions { try bench.equal(try await bench.loadSession(session.id), session) }
    return Listed(ids: facts.openSessions.map(\.id), count: facts.openSessionCount)
  }

  private static func expectOpen(_ bench: Bench, _ id: String, until millis: Int64) async throws {
    let last = Bench.noon.adding(millis: millis - 1)
    try bench.equal(try await bench.commit(.session(.requireOpen(id: id, at: last))), .committed)
    try bench.equal(try await bench.commit(.session(.requireOpen(id: id, at: last.adding(millis: 1)))), .stale)
  }

  private static func openSessions(_ bench: Bench) async throws {
    try await bench.prepare(
      .session(.insert(bench.session("ann-password", of: "ann"))),
      .session(.insert(bench.session("ann-google", of: "ann", provider: "google.com"))),
      .session(.insert(bench.session("bob-google", of: "bob", provider: "google.com"))))
  }

  private static func openIDs(_ bench: Bench) async throws -> [String] {
    var open: [String] = []
    for id in ["ann-google", "ann-password", "bob-google"] where try await bench.loadSession(id)?.closed == nil {
      open.append(id)
    }
    return open
  }
}

private struct Listed: Equatable {
  var ids: [String]
  var count: Int
}
