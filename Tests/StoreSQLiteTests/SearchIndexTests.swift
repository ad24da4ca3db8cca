import Store
import StoreConformance
import Testing

@testable import StoreSQLite

private func options(search: Bool?) -> Options {
  var options = Options()
  options.search = search
  return options
}

@Test("The embedded store with search keeps its promise:", .timeLimit(.minutes(2)), arguments: Promise.searches)
private func keepsSearches(promise: Promise) async throws {
  let folder = try Folder()
  try await promise.keep { try SQLiteStore(path: folder.file, options: options(search: true)) }
}

private func insert(_ ids: ClosedRange<Int>, into store: SQLiteStore) async throws {
  for id in ids {
    var account = AccountRecord(id: "account-\(id)", createdAt: Timestamp(millis: 0))
    account.emailAddress = EmailAddress("user\(id)@example.com")
    let outcome = try await store.commit(Change([.account(.insert(account))]), commitDecision: CommitDecision())
    #expect(outcome == .committed)
  }
}

private func found(_ text: String, in store: SQLiteStore) async throws -> Set<String>? {
  guard case .page(let page) = try await store.search(SearchQuery(text: text, accountsMax: 100)) else { return nil }
  return Set(page.accounts.map(\.account.id))
}

@Test func `the index of an existing store is built in portions, while accounts change`() async throws {
  let folder = try Folder()
  var store = try SQLiteStore(path: folder.file)
  try await insert(1...10, into: store)
  #expect(try await store.search(SearchQuery(text: "user", accountsMax: 5)) == .disabled)
  #expect(try await store.buildSearchIndex(accountsMax: 4) == 0)
  await store.close()
  store = try SQLiteStore(path: folder.file, options: options(search: true))
  #expect(try await store.buildSearchIndex(accountsMax: 4) == 4)
  let progress = SearchProgress(indexed: 4, accounts: 10)
  #expect(try await store.search(SearchQuery(text: "user", accountsMax: 5)) == .building(progress))
  // One account before the portion that is due, one in it, and a new one.
  let removal = ClosedAccountRecord(id: "account-2", closedAt: Timestamp(millis: 0))
  _ = try await store.commit(Change([.account(.close(removal, version: nil))]), commitDecision: CommitDecision())
  var changed = AccountRecord(id: "account-6", createdAt: Timestamp(millis: 0))
  changed.emailAddress = EmailAddress("other@example.com")
  _ = try await store.commit(Change([.account(.update(changed))]), commitDecision: CommitDecision())
  try await insert(11...11, into: store)
  // A restart continues where the last portion ended.
  await store.close()
  store = try SQLiteStore(path: folder.file, options: options(search: true))
  while try await store.buildSearchIndex(accountsMax: 3) == 3 {}
  #expect(try await found("user", in: store) == Set([1, 3, 4, 5, 7, 8, 9, 10, 11].map { "account-\($0)" }))
  #expect(try await found("other", in: store) == ["account-6"])
  #expect(try await store.buildSearchIndex(accountsMax: 3) == 0)
  await store.close()
}

@Test func `an index that is switched off is dropped, and switched on it is built again`() async throws {
  let folder = try Folder()
  var store = try SQLiteStore(path: folder.file, options: options(search: true))
  try await insert(1...3, into: store)
  while try await store.buildSearchIndex(accountsMax: 2) == 2 {}
  await store.close()
  // A program that says nothing keeps the index in step.
  store = try SQLiteStore(path: folder.file)
  try await insert(4...4, into: store)
  #expect(try await found("user", in: store)?.count == 4)
  await store.close()
  store = try SQLiteStore(path: folder.file, options: options(search: false))
  try await insert(5...5, into: store)
  #expect(try await store.search(SearchQuery(text: "user", accountsMax: 5)) == .disabled)
  await store.close()
  store = try SQLiteStore(path: folder.file, options: options(search: true))
  while try await store.buildSearchIndex(accountsMax: 2) == 2 {}
  #expect(try await found("user", in: store)?.count == 5)
  await store.close()
}
