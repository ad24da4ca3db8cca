import Store
import Testing

@testable import StorePostgres

/// A thread with its own connections.
@Suite(.enabled(if: Place.isThere)) struct ConnectionPoolTests {
  @Test func `an attached thread watches a descriptor, waits, and is answered on its own connections`()
    async throws
  {
    let place = try Place(database: true)
    let store = try place.open { $0.connections = 2 }
    #expect(store.watchedDescriptor == nil)
    try await ReactorThread.run(on: store) { _ in
      #expect(store.watchedDescriptor != nil)
      #expect(try store.now(Query()) == nil)
      #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
      #expect(try await store.account("ann")?.version == 1)
      try await Place.wait(
        until: "SELECT count(*) = 4 FROM pg_stat_activity WHERE datname = '\(place.name)' AND state = 'idle'")
    }
    #expect(store.watchedDescriptor == nil)
    try await Place.wait(
      until: "SELECT count(*) = 2 FROM pg_stat_activity WHERE datname = '\(place.name)' AND state = 'idle'")
    await store.close()
  }

  @Test func `many calls of one thread run concurrently, each with its own answer`() async throws {
    let place = try Place()
    let store = try place.open { $0.connections = 2 }
    try await ReactorThread.run(on: store) { _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<200 {
          group.addTask {
            let outcome = try await store.commit(.account(.insert(AccountRecord("a\(index)"))))
            let found = try await store.account("a\(index)")
            #expect(outcome == .committed && found?.id == "a\(index)")
          }
        }
        try await group.waitForAll()
      }
    }
    await store.close()
  }

  @Test func `later look-ups on the same connection are answered after a failed one`() async throws {
    let place = try Place()
    let store = try place.open { $0.connections = 1 }
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    // A negative LIMIT makes the server refuse a statement.
    try await ReactorThread.run(on: store) { _ in
      await withTaskGroup(of: Void.self) { group in
        for index in 0..<60 {
          group.addTask {
            var query = Query()
            query.accountID = "ann"
            if index % 20 == 0 { query.page = PageOrder(afterID: nil, accountsMax: -1) }
            let facts = try? await store.load(query)
            #expect((facts?.account != nil) == (index % 20 != 0))
          }
        }
      }
    }
    await store.close()
  }

  @Test func `a closed store accepts no thread and no call`() async throws {
    let place = try Place()
    let store = try place.open()
    await store.close()
    await #expect(throws: StoreError.closed) { try await store.account("ann") }
    #expect(throws: StoreError.closed) { try store.attachThread() }
    await store.close()
  }
}
