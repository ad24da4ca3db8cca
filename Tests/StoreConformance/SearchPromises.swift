import Store

extension Promise {
  /// For a store that was opened with search.
  package static let searches = [
    Promise("accounts are found by a part of each field, and each change shows in the next search") { bench in
      var ann = bench.account("ann", email: "ann.smith@example.com", phoneNumber: "+491511234567")
      ann.displayName = "Ann-Zoë 100% Smith_Ltd \"x\" zqx\u{301}y"
      try await bench.prepare(
        .account(.insert(ann)), .identity(.insert(bench.identity("Subject-77", of: "ann"))),
        .account(.insert(bench.account("bob", email: "bob@example.com"))))
      let isPart = try await bench.match() == .part
      let parts = ["smith@ex", "zoë 100% smith_l", "1511234", "bject-77", "\"x\""]
      let beginnings = ["ann.smith", "ann-zoë", "+49151", "subject-7"]
      for text in beginnings + (isPart ? parts : []) { try bench.equal(try await bench.find(text), ["ann"]) }
      // A combining mark and the sign before it are one `Character`.
      for text in ["smithx", "100_ smith", "smith%", "cat", "zq_\u{301}y", "ann\"\u{301}"] {
        try bench.equal(try await bench.find(text), [])
      }
      ann.displayName = ""
      ann.emailAddress = EmailAddress("moved@example.com")
      try await bench.prepare(
        .account(.update(ann)),
        .identity(.delete(IdentityKey(providerID: "google.com", subject: "Subject-77"), accountID: "ann")))
      for text in ["ann.smith", "ann-zoë", "subject-7"] { try bench.equal(try await bench.find(text), []) }
      try bench.equal(try await bench.find("moved@"), ["ann"])
      try await bench.prepare(.removal(of: "ann", version: 2))
      try bench.equal(try await bench.find("moved@"), [])
    },
    Promise("a change that is undone leaves the index as it was") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann", email: "ann@example.com"))))
      let outcome = try await bench.commit(
        .account(.insert(bench.account("bob", email: "bob@example.com"))), .account(.raise(id: "ann", version: 9)))
      try bench.equal(outcome, .stale)
      _ = try await bench.match()
      try bench.equal(try await bench.find("bob@"), [])
      try bench.equal(try await bench.find("ann@"), ["ann"])
    },
    Promise("pages are disjoint and complete, with filters and without a text") { bench in
      for number in 0..<23 {
        var account = bench.account("a\(number)", email: "user\(number)@example.com")
        account.disabled = number % 5 == 0
        account.createdAt = bench.later(Int64(number))
        try await bench.prepare(.account(.insert(account)))
      }
      _ = try await bench.match()
      let all = Set((0..<23).map { "a\($0)" })
      for (size, examined) in [(1, 2_000), (7, 2_000), (23, 2_000), (100, 2_000), (7, 3)] {
        try bench.equal(Set(try await bench.find("user", size, examined)), all)
        try bench.equal(Set(try await bench.find("", size, examined)), all)
        try bench.equal(Set(try await bench.find("user", size, examined) { $0.disabled = true }).count, 5)
      }
      try bench.equal(
        Set(try await bench.find("", 4) { ($0.createdFrom, $0.createdBefore) = (bench.later(3), bench.later(6)) }),
        ["a3", "a4", "a5"])
    },
    Promise("filters ask for methods, verification and the last sign-in") { bench in
      var ann = bench.account("ann", email: "ann@example.com", phoneNumber: "+491")
      ann.emailAddress?.verification = .confirmation
      ann.emailLink = true
      ann.lastSignInAt = bench.later(10)
      var bob = bench.account("bob", email: "bob@example.com")
      bob.passwordHash = "hash"
      try await bench.prepare(
        .account(.insert(ann)), .account(.insert(bob)), .identity(.insert(bench.identity("1", of: "bob"))))
      _ = try await bench.match()
      let rows: [((inout SearchFilter) -> Void, [String])] = [
        ({ $0.unverified = true }, ["bob"]), ({ $0.providerID = "password" }, ["bob"]),
        ({ $0.providerID = "phone" }, ["ann"]), ({ $0.providerID = "emailLink" }, ["ann"]),
        ({ $0.providerID = "google.com" }, ["bob"]), ({ $0.providerID = "oidc.none" }, []),
        ({ $0.lastSignInFrom = bench.later(10) }, ["ann"]), ({ $0.lastSignInFrom = bench.later(11) }, []),
        ({ $0.lastSignInBefore = bench.later(10) }, ["bob"]),
        ({ $0.lastSignInBefore = bench.later(11) }, ["ann", "bob"]),
      ]
      for (filter, wanted) in rows { try bench.equal(try await bench.find("", filter: filter).sorted(), wanted) }
    },
  ]
}

extension Bench {
  /// What the index compares. Builds it first.
  fileprivate func match() async throws -> MatchKind {
    while try await store.buildSearchIndex(accountsMax: 2) == 2 {}
    guard case .page(let page) = try await store.search(SearchQuery(text: "", accountsMax: 1)) else {
      throw BrokenPromise(description: "the index is not complete")
    }
    return page.match
  }

  /// The ids of all pages, in order.
  fileprivate func find(
    _ text: String, _ accountsMax: Int = 20, _ examinedMax: Int = 2_000,
    filter fill: (inout SearchFilter) -> Void = { _ in }
  ) async throws -> [String] {
    var query = SearchQuery(text: text, accountsMax: accountsMax, examinedMax: examinedMax)
    fill(&query.filter)
    var ids: [String] = []
    while true {
      guard case .page(let page) = try await store.search(query) else {
        throw BrokenPromise(description: "the index is not complete")
      }
      guard page.accounts.count <= accountsMax else { throw BrokenPromise(description: "the page is too large") }
      ids += page.accounts.map(\.account.id)
      guard let next = page.next else { break }
      query.after = next
    }
    try equal(Set(ids).count, ids.count)
    return ids
  }
}
