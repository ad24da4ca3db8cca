import Store

extension Promise {
  static let administration = [
    Promise("pages follow each other in the order of ids, with everything that belongs to each account") { bench in
      let full = bench.fullAccount("bob")
      try await bench.prepare(
        .account(.insert(bench.account("cat"))), .account(.insert(bench.account("ann"))), .account(.insert(full)),
        .identity(.insert(bench.identity("g-1", of: "bob"))))
      let first = try await bench.page(after: nil, 2)
      try bench.equal(first.map(\.account.id), ["ann", "bob"])
      try bench.equal(first.last, try await bench.load { $0.accountID = "bob" }.account)
      try bench.equal(try await bench.page(after: "bob", 2).map(\.account.id), ["cat"])
      try bench.equal(try await bench.page(after: "cat", 2), [])
    },
    Promise("new and deleted accounts do not move others to another page") { bench in
      for id in ["b", "d", "f"] { try await bench.prepare(.account(.insert(bench.account(id)))) }
      try bench.equal(try await bench.page(after: nil, 2).map(\.account.id), ["b", "d"])
      try await bench.prepare(
        .removal(of: "b"), .removal(of: "d"), .account(.insert(bench.account("a"))),
        .account(.insert(bench.account("e"))))
      try bench.equal(try await bench.page(after: "d", 2).map(\.account.id), ["e", "f"])
    },
    Promise("ids are ordered by their bytes") { bench in
      for id in ["a", "B", "~", "1"] { try await bench.prepare(.account(.insert(bench.account(id)))) }
      try bench.equal(try await bench.page(after: nil, 9).map(\.account.id), ["1", "B", "a", "~"])
    },
    Promise("the open sessions of an account are those that were not closed and have not expired") { bench in
      try await bench.prepare(
        .session(.insert(bench.session("one", of: "ann"))), .session(.insert(bench.session("two", of: "ann"))),
        .session(.insert(bench.session("other", of: "bob"))),
        .session(.close(id: "two", accountID: "ann", at: Bench.noon, reason: .signedOut)))
      for (millis, ids) in [(Int64(999), ["one"]), (1_000, [])] {
        let facts = try await bench.load {
          $0.openSessions = OpenSessionsQuery(accountID: "ann", at: Bench.noon.adding(millis: millis), most: 9)
        }
        try bench.equal(facts.openSessions.map(\.id), ids)
        try bench.equal(facts.openSessionCount, ids.count)
      }
    },
    Promise("rows of an account that come or go between two pages move no other to another page") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))), .account(.insert(bench.account("bob"))))
      for number in 1...5 {
        let owner = number == 3 ? "bob" : "ann"
        var (count, mail, event) = (bench.failures(number), bench.mail("m\(number)"), bench.event(number))
        (count.record.accountID, mail.accountID, event.accountID) = (owner, owner, owner)
        try await bench.prepare(
          .session(.insert(bench.session("s\(number)", of: owner, refresh: number))),
          .pending(.insert(bench.pending(number, of: owner), limits: .wide)), .failure(.add(count)),
          .delivery(.enqueue(mail, queueMax: 99)), .record(.appendAudit(event)))
      }
      try bench.equal(try await bench.places(.sessions, 2), [.id("s1"), .id("s2")])
      let digests = (0...5).map { AccountRowsQuery.Place.digest(bench.digest($0)) }
      try bench.equal(try await bench.places(.pendings, 2), [digests[1], digests[2]])
      try bench.equal(try await bench.places(.failures, 2), [digests[1], digests[2]])
      try bench.equal(try await bench.places(.deliveries, 2), [.id("m1"), .id("m2")])
      try bench.equal(try await bench.places(.events, 2), [.position(5), .position(4)])
      try await bench.prepare(
        .session(.insert(bench.session("s0", of: "ann", refresh: 9))),
        .pending(.deleteAll(accountID: "ann", except: bench.digest(4))),
        .delivery(.removeSent(id: "m1", at: Bench.noon, keptUntil: bench.later(99))),
        .delivery(.removeSent(id: "m5", at: Bench.noon, keptUntil: bench.later(99))),
        .record(.appendAudit(bench.event(6))))
      try bench.equal(try await bench.places(.sessions, after: .id("s2"), 2), [.id("s4"), .id("s5")])
      try bench.equal(try await bench.places(.sessions, after: .id("s5"), 2), [])
      try bench.equal(try await bench.places(.pendings, after: digests[2], 2), [digests[4]])
      try bench.equal(try await bench.places(.failures, after: digests[2], 2), [digests[4], digests[5]])
      try bench.equal(try await bench.places(.deliveries, after: .id("m2"), 2), [.id("m4")])
      try bench.equal(try await bench.places(.sentMessages, 2), [.id("m1"), .id("m5")])
      try bench.equal(try await bench.places(.sentMessages, after: .id("m1"), 2), [.id("m5")])
      try bench.equal(try await bench.places(.events, after: .position(4), 2), [.position(2), .position(1)])
    },
    Promise("a key of imported hashes is stored once, and its first value stays") { bench in
      let key = ImportKeyRecord(id: "k", sealedKey: [1, 2, 3], createdAt: Bench.noon)
      var other = key
      other.sealedKey = [9]
      try await bench.prepare(.record(.keepImportKey(key)))
      try await bench.prepare(.record(.keepImportKey(other)))
      try bench.equal(try await bench.load { $0.importKeyID = "k" }.importKey, key)
      try bench.equal(try await bench.load { $0.importKeyID = "l" }.importKey, nil)
    },
  ]
}

extension Bench {
  /// Reads a page of the rows of Ann's account.
  fileprivate func places(
    _ kind: AccountRowsQuery.Kind, after: AccountRowsQuery.Place? = nil, _ rowsMax: Int
  ) async throws -> [AccountRowsQuery.Place] {
    let found = try await load {
      $0.rows = AccountRowsQuery(kind, of: "ann", after: after, rowsMax: rowsMax)
      // Gives every audit row its position.
      if kind == .events { $0.events = EventRange(after: .max, rowsMax: 0) }
    }.rows
    let rows = try require(found)
    return switch rows {
    case .sessions(let rows): rows.map { .id($0.id) }
    case .pendings(let rows): rows.map { .digest($0.digest) }
    case .failures(let rows): rows.map { .digest($0.key) }
    case .deliveries(let rows): rows.map { .id($0.id) }
    case .sentMessages(let rows): rows.map { .id($0.id) }
    case .events(let rows): rows.map { .position($0.position) }
    }
  }

  fileprivate func page(after id: String?, _ accountsMax: Int) async throws -> [AccountState] {
    try await load { $0.page = PageOrder(afterID: id, accountsMax: accountsMax) }.page
  }
}
