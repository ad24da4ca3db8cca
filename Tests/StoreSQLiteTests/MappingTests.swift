import Store
import Testing

@testable import StoreSQLite

@Suite struct MappingPlanTests {
  private static let quiet = MappingPlan.quietMillis

  @Test func `a file is mapped once it has been unchanged for a while, until the next commit`() {
    var plan = MappingPlan()
    let steps: [(commit: UInt64, millis: Int64, isMapped: Bool)] = [
      (1, 10_000, false), (1, 10_000 + Self.quiet - 1, false), (1, 10_000 + Self.quiet, true),
      (1, 10_001 + Self.quiet, true), (2, 10_002 + Self.quiet, false), (2, 10_001 + 2 * Self.quiet, false),
      (2, 10_002 + 2 * Self.quiet, true),
    ]
    for step in steps {
      let isMapped = plan.maps(at: step.commit, nowMillis: step.millis)
      #expect(isMapped == step.isMapped && plan.isMapped == isMapped, "\(step)")
    }
  }

  @Test func `a file that changes all the time is never mapped`() {
    var plan = MappingPlan()
    for commit in 1...100 {
      let isMapped = plan.maps(at: UInt64(commit), nowMillis: Int64(commit) * 10_000)
      #expect(!isMapped)
    }
  }
}

/// Reads with and without a mapping, and across a change of it.
@Suite final class MappedReaderTests {
  private let folder: Folder
  private let store: SQLiteStore

  init() throws {
    folder = try Folder()
    store = try SQLiteStore(path: folder.file)
  }

  deinit { folder.remove() }

  @Test func `a reader maps a quiet file, and sees changes before and after`() async throws {
    _ = try await store.commit(.account(.insert(AccountRecord("ann"))))
    let reader = try Reader.withoutCaches(path: folder.file)
    var query = Query()
    func finds(_ id: String) throws -> Bool {
      query.accountID = id
      defer { reader.endSnapshot() }
      return try reader.facts(query).account?.account.id == id
    }
    func mappedBytes() throws -> Int64 { try reader.connection.integer("PRAGMA mmap_size") }
    #expect(try finds("ann") && mappedBytes() == 0)
    try await Task.sleep(for: .milliseconds(MappingPlan.quietMillis + 50))
    #expect(try finds("ann") && mappedBytes() > 0)
    _ = try await store.commit(.account(.insert(AccountRecord("bob"))))
    // The marks of this reader do not advance, so SQLite itself renews the mapping.
    #expect(try finds("bob") && finds("ann") && mappedBytes() > 0)
    await store.close()
  }
}
