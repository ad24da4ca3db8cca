import Glibc
import Store
import Synchronization
import TestSupport
import Testing

@testable import StoreSQLite

/// The conditions that a store reports.
private final class Troubles: PartialObserver {
  private let met = Mutex<[StoreTrouble]>([])
  var all: [StoreTrouble] { met.withLock { $0 } }

  func met(_ trouble: StoreTrouble, _ why: String) { met.withLock { $0.append(trouble) } }
}

@Suite struct CheckTests {
  let folder: Folder
  private let troubles = Troubles()

  init() throws { folder = try Folder() }

  private func filled(_ count: Int = 500) async throws {
    let store = try SQLiteStore(path: folder.file)
    for number in 0..<count {
      var account = AccountRecord("account-\(number)")
      account.displayName = String(repeating: "x", count: 200)
      _ = try await store.commit(.account(.insert(account)))
    }
    await store.close()
  }

  /// Overwrites the first page of the index of account ids, which no start reads.
  private func damage() throws {
    let connection = try Connection.reader(path: folder.file, options: Options())
    let query = "SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'accounts' AND name LIKE '%_1'"
    let page = Int(try connection.integer(query))
    connection.close()
    let descriptor = unsafe open(folder.file, O_RDWR)
    defer { _ = close(descriptor) }
    let rubbish = [UInt8](repeating: 0xaa, count: 4_096)
    #expect(unsafe pwrite(descriptor, rubbish, 4_096, (page - 1) * 4_096) == 4_096)
  }

  @Test func `a sound file is found sound while it is written`() async throws {
    try await filled()
    let store = try SQLiteStore(path: folder.file, observer: troubles)
    async let result = store.check { true }
    for number in 0..<20 { _ = try await store.commit(.account(.insert(AccountRecord("more-\(number)")))) }
    #expect(try await result == .sound)
    #expect(troubles.all.isEmpty)
    await store.close()
  }

  @Test func `a check that is no longer wanted is unfinished, not corrupt`() async throws {
    try await filled()
    let store = try SQLiteStore(path: folder.file, observer: troubles)
    #expect(try await store.check { false } == .unfinished)
    #expect(troubles.all.isEmpty)
    await store.close()
    await #expect(throws: StoreError.closed) { try await store.check(while: { true }) }
  }

  @Test func `damage is found by the check, and by a call that meets it`() async throws {
    try await filled()
    try damage()
    let store = try SQLiteStore(path: folder.file, observer: troubles)
    let result = try await store.check { true }
    guard case .corrupt(let findings) = result else { throw StoreError.unavailable("the damage was not found") }
    #expect(!findings.isEmpty)
    #expect(troubles.all == [.corrupt])
    for number in 0..<500 {
      var query = Query()
      query.accountID = "account-\(number)"
      do { _ = try await store.load(query) } catch { break }
    }
    #expect(troubles.all.count > 1 && Set(troubles.all) == [.corrupt])
    await store.close()
  }

  @Test func `a full store is reported, and a probe succeeds when a small change does`() async throws {
    var options = Options()
    options.pagesMax = 120
    let store = try SQLiteStore(path: folder.file, options: options, observer: troubles)
    try await store.probe()
    var account = AccountRecord("large")
    account.displayName = String(repeating: "x", count: 1 << 20)
    let large = Write.account(.insert(account))
    await #expect(throws: StoreError.self) { _ = try await store.commit(large) }
    #expect(Set(troubles.all) == [.full])
    try await store.probe()
    await store.close()
    await #expect(throws: StoreError.closed) { try await store.probe() }
  }

  @Test func `only errors of SQLite about the file or the disk are conditions of the store`() {
    let expected: [(Int32, StoreTrouble?)] = [
      (11, .corrupt), (26, .corrupt), (11 | 1 << 8, .corrupt), (13, .full), (10 | 1 << 8, .unreadable),
      (10 | 3 << 8, .unreadable), (14, .unreadable), (10 | 12 << 8, nil), (7, nil), (5, nil), (19, nil), (1, nil),
    ]
    for (code, trouble) in expected { #expect(SQLiteError(code: code, text: "").trouble == trouble, "\(code)") }
    #expect(SQLiteError.corrupt("a row").trouble == nil)
  }
}
