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
  fileprivate func page(after id: String?, _ accountsMax: Int) async throws -> [AccountState] {
    try await load { $0.page = PageOrder(afterID: id, accountsMax: accountsMax) }.page
  }
}
