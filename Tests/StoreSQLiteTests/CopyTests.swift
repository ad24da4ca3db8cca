import Glibc
import Store
import Synchronization
import Testing

@testable import StoreSQLite

@Suite struct CopyTests {
  let folder: Folder
  let place: Folder

  init() throws {
    folder = try Folder()
    place = try Folder()
    try LockFile.createPrivately(place.file)
  }

  /// Small steps and long pauses, so that many changes happen during a copy.
  private static var slow: Options {
    var options = Options()
    options.copyPagesPerStep = 4
    options.copyPauseMillis = 5
    return options
  }

  /// The account of this number, with the audit row that belongs to it.
  private static func commit(_ number: Int, to store: SQLiteStore) async throws {
    var account = AccountRecord("account-\(number)")
    account.displayName = String(repeating: "x", count: 400)
    let audit = AuditRecord(
      id: "audit-\(number)", at: Timestamp(millis: Int64(number)), accountID: account.id, event: "MADE",
      caller: CallerName("test"), detailsJSON: "{}")
    #expect(try await store.commit(.account(.insert(account)), .record(.appendAudit(audit))) == .committed)
  }

  @Test func `a copy contains everything that was committed, and a store can open it`() async throws {
    let store = try SQLiteStore(path: folder.file)
    for number in 1...300 { try await Self.commit(number, to: store) }
    #expect(try await store.copy(to: place.file) { true } == StoreCopy(accountCount: 300, lastEvent: 300))
    try await Self.commit(301, to: store)
    await store.close()
    let restored = try SQLiteStore(path: place.file)
    var query = Query()
    query.accountID = "account-300"
    query.events = EventRange(after: 299, rowsMax: 10)
    let facts = try await restored.load(query)
    #expect(facts.account?.account.id == "account-300" && facts.events.map(\.id) == ["audit-300"])
    query.accountID = "account-301"
    #expect(try await restored.load(query).account == nil)
    try await Self.commit(301, to: restored)
    await restored.close()
    #expect(try SQLiteTables(path: place.file).integrityCheck() == ["ok"])
  }

  @Test func `an empty store can be copied`() async throws {
    let store = try SQLiteStore(path: folder.file)
    #expect(try await store.copy(to: place.file) { true } == StoreCopy(accountCount: 0, lastEvent: 0))
    await store.close()
    await (try SQLiteStore(path: place.file)).close()
  }

  @Test func `a copy is a single file that only its owner can read`() async throws {
    let store = try SQLiteStore(path: folder.file)
    try await Self.commit(1, to: store)
    _ = try await store.copy(to: place.file) { true }
    await store.close()
    for suffix in ["-wal", "-shm", "-journal"] { #expect(unsafe access(place.file + suffix, F_OK) != 0, "\(suffix)") }
    var status = stat()
    #expect(unsafe stat(place.file, &status) == 0 && status.st_mode & 0o777 == 0o600)
    let connection = try Connection.reader(path: place.file, options: Options())
    #expect(try connection.text("PRAGMA journal_mode") == "delete")
  }

  @Test func `a copy is a consistent snapshot while changes continue`() async throws {
    let store = try SQLiteStore(path: folder.file, options: Self.slow)
    for number in 1...500 { try await Self.commit(number, to: store) }
    let last = Atomic<Int>(500)
    let isOver = Atomic<Bool>(false)
    let writing = Task { [store] in
      while !isOver.load(ordering: .acquiring) {
        let number = last.load(ordering: .relaxed) + 1
        try await Self.commit(number, to: store)
        last.store(number, ordering: .releasing)
      }
    }
    _ = try await eventually { last.load(ordering: .acquiring) > 520 ? true : nil }
    let before = last.load(ordering: .acquiring)
    let copy = try await store.copy(to: place.file) {
      // Each step waits for a commit, so that the copy does not end first.
      let seen = last.load(ordering: .acquiring)
      for _ in 0..<1_000 where last.load(ordering: .acquiring) == seen { usleep(1_000) }
      return true
    }
    let after = last.load(ordering: .acquiring)
    isOver.store(true, ordering: .releasing)
    try await writing.value
    await store.close()
    #expect(copy.accountCount >= before && after > copy.accountCount, "changes continued during the copy")
    #expect(copy.lastEvent == Int64(copy.accountCount))
    let connection = try Connection.reader(path: place.file, options: Options())
    let ids = try connection.texts("SELECT id FROM accounts ORDER BY number")
    #expect(ids == (1...copy.accountCount).map { "account-\($0)" })
  }

  @Test func `no commit waits for a copy, however long the log grows, and the log is truncated afterwards`()
    async throws
  {
    var options = Self.slow
    options.checkpointPages = 20
    options.logBytesKept = 1 << 20
    options.writerBusyMillis = 60_000
    let store = try SQLiteStore(path: folder.file, options: options)
    for number in 1...1_000 { try await Self.commit(number, to: store) }
    let isHeld = Atomic<Bool>(true)
    let asked = Atomic<Int>(0)
    let place = place.file
    // The copy stops, with its snapshot open, for as long as the changes take.
    let copying = Task { [store] in
      try await store.copy(to: place) {
        asked.add(1, ordering: .relaxed)
        while isHeld.load(ordering: .acquiring) { usleep(1_000) }
        return false
      }
    }
    _ = try await eventually { asked.load(ordering: .relaxed) > 0 ? true : nil }
    var slowest = Duration.zero
    for number in 1_001...1_600 {
      let begun = ContinuousClock.now
      try await Self.commit(number, to: store)
      slowest = max(slowest, begun.duration(to: .now))
      if logBytes > 2 << 20 && number > 1_400 || slowest > .seconds(30) { break }
    }
    #expect(logBytes > 2 << 20, "the log could not start over during the snapshot")
    // A checkpoint that waits for readers would wait for a minute.
    #expect(slowest < .seconds(30))
    isHeld.store(false, ordering: .releasing)
    await #expect(throws: StoreCopyError.unwanted) { try await copying.value }
    for number in 2_001...2_200 { try await Self.commit(number, to: store) }
    #expect(logBytes <= 1 << 20)
    await store.close()
  }

  @Test func `a cancelled copy ends`() async throws {
    let store = try SQLiteStore(path: folder.file, options: Self.slow)
    for number in 1...300 { try await Self.commit(number, to: store) }
    await #expect(throws: StoreCopyError.unwanted) { try await store.copy(to: place.file) { false } }
    try await Self.commit(301, to: store)
    await store.close()
  }

  @Test func `a store that is closed ends its copy`() async throws {
    let store = try SQLiteStore(path: folder.file, options: Self.slow)
    for number in 1...300 { try await Self.commit(number, to: store) }
    let asked = Atomic<Int>(0)
    let place = place.file
    let copying = Task { [store] in
      try await store.copy(to: place) {
        asked.add(1, ordering: .relaxed)
        return true
      }
    }
    _ = try await eventually { asked.load(ordering: .relaxed) > 0 ? true : nil }
    await store.close()
    await #expect(throws: StoreError.closed) { try await copying.value }
    await #expect(throws: StoreError.closed) { try await store.copy(to: place) { true } }
  }

  @Test func `a copy that cannot be written fails, and the store continues`() async throws {
    let store = try SQLiteStore(path: folder.file)
    try await Self.commit(1, to: store)
    let failure = await #expect(throws: StoreCopyError.self) { try await store.copy(to: "/nowhere/copy") { true } }
    guard case .failed = try #require(failure) else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(SQLiteError(code: 13, text: "database or disk is full").copyError == .full)
    try await Self.commit(2, to: store)
    await store.close()
  }

  private var logBytes: Int {
    var status = stat()
    return unsafe stat(folder.file + "-wal", &status) == 0 ? Int(status.st_size) : 0
  }
}
