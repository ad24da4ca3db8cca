import Store
import StoreConformance
import Testing

@testable import StorePostgres

@Test(
  "The store in PostgreSQL with search keeps its promise:", .enabled(if: Place.isThere), .timeLimit(.minutes(2)),
  arguments: Promise.searches, [true, false])
private func keepsSearches(promise: Promise, trigrams: Bool) async throws {
  let place = try Place()
  try await promise.keep {
    try place.open { options in
      options.search = true
      options.mayUseTrigrams = trigrams
    }
  }
}

@Test(.enabled(if: Place.isThere))
func `an interrupted index is built again, by one of several stores`() async throws {
  let place = try Place()
  let stores = try (0..<3).map { _ in try place.open { $0.search = true } }
  #expect(try await stores[0].search(SearchQuery(text: "user", accountsMax: 5)) == .building(SearchProgress()))
  try place.run("CREATE INDEX accounts_search ON accounts (id)")
  try place.run(
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('accounts_search')")
  try await withThrowingTaskGroup { group in
    for store in stores { group.addTask { _ = try await store.buildSearchIndex(accountsMax: 1) } }
    try await group.waitForAll()
  }
  for store in stores {
    _ = try await store.buildSearchIndex(accountsMax: 1)
    guard case .page(let page) = try await store.search(SearchQuery(text: "user", accountsMax: 5)) else {
      return #expect(Bool(false))
    }
    #expect(page.accounts.isEmpty)
    await store.close()
  }
}

@Test(.enabled(if: Place.isThere))
func `a store without search answers so, and builds nothing`() async throws {
  let place = try Place()
  let store = try place.open()
  #expect(try await store.buildSearchIndex(accountsMax: 1) == 0)
  #expect(try await store.search(SearchQuery(text: "user", accountsMax: 5)) == .disabled)
  #expect(try place.text("SELECT count(*) FROM pg_class WHERE oid = to_regclass('accounts_search')") == "0")
  await store.close()
}
