import Glibc
import Store
import Testing

@testable import StoreSQLite

/// Exporting whole tables to another backend.
@Suite struct TablesTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  private func made(_ sql: String = "") throws {
    let connection = try folder.newFile()
    try Migrations.run(on: connection)
    try connection.execute(sql)
  }

  @Test(arguments: StoredTable.allCases)
  func `a table of any size is read along an index`(table: StoredTable) throws {
    try made()
    let connection = try Connection.reader(path: folder.file, options: Options())
    let plan = try connection.prepare("EXPLAIN QUERY PLAN \(table.select)")
    var steps: [String] = []
    while try plan.step() {
      for _ in 0..<3 { _ = plan.int64() }
      steps.append(plan.text())
    }
    #expect(!steps.isEmpty && !steps.contains { $0.contains("TEMP B-TREE") }, "\(steps)")
  }

  @Test func `the tables of the file have only columns that are moved or derived from them`() throws {
    try made()
    let connection = try Connection.reader(path: folder.file, options: Options())
    let found = try connection.texts(
      """
      SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'
      """)
    let own = [
      "accounts.number", "accounts.identity_count", "accounts.factor_count", "accounts.unlink_count",
      "sessions.signed_in_at", "pending_networks.quota", "pending_networks.network", "pending_networks.held",
      "schema_version.id", "schema_version.min_reader_version",
    ]
    let numbered = Set(["identities", "factors", "unlinks"])
    let wanted = StoredTable.allCases.flatMap { table in
      table.columns.map { column in
        let isNumber = column.name == "account_id" && numbered.contains(table.name)
        return "\(table.name).\(isNumber ? "account_number" : column.name)"
      }
    }
    #expect(Set(found) == Set(wanted + own).subtracting(["sessions.expires_day"]))
  }

  @Test func `a file with another schema is rejected and not changed`() throws {
    try made("PRAGMA user_version = 0")
    var refusal = #expect(throws: StoreError.self) { try SQLiteTables(path: folder.file) }
    #expect("\(try #require(refusal))".contains("the store has schema 0"))
    #expect("\(try #require(refusal))".contains("start a server of this version"))
    let connection = try Connection.writer(path: folder.file, options: Options())
    #expect(try connection.integer("PRAGMA user_version") == 0)
    try connection.execute("PRAGMA user_version = 99")
    refusal = #expect(throws: StoreError.self) { try SQLiteTables(path: folder.file) }
    #expect("\(try #require(refusal))".contains("newer version"))
  }

  @Test func `an invalid or damaged file is reported`() throws {
    try made()
    let connection = try Connection.writer(path: folder.file, options: Options())
    try connection.checkpoint()
    connection.close()
    _ = unsafe unlink(folder.file + "-wal")
    #expect(try SQLiteTables(path: folder.file).integrityCheck() == ["ok"])
    // The sixth page belongs to a table or an index, and a page that is full of ones is invalid.
    try overwrite(at: 5 * 4_096, count: 4_096)
    #expect((try? SQLiteTables(path: folder.file).integrityCheck()) != ["ok"])
    try overwrite(at: 0, count: 100)
    let refusal = #expect(throws: StoreError.self) { try SQLiteTables(path: folder.file) }
    guard case .corrupt = refusal else { throw StoreError.unavailable("\(String(describing: refusal))") }
    let missing = #expect(throws: StoreError.self) { try SQLiteTables(path: folder.path + "/none") }
    #expect("\(try #require(missing))".contains("cannot be read"))
  }

  private func overwrite(at offset: Int, count: Int) throws {
    let descriptor = unsafe Glibc.open(folder.file, O_RDWR)
    defer { _ = Glibc.close(descriptor) }
    let written = unsafe pwrite(descriptor, [UInt8](repeating: 0xFF, count: count), count, off_t(offset))
    guard written == count else { throw StoreError.unavailable("the file cannot be written") }
  }

  @Test func `rows that a crash left in the log are read as well, and stay there`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let account = AccountRecord(id: "ann", createdAt: Timestamp(millis: 0))
    #expect(
      try await store.commit(Change([.account(.insert(account))]), commitDecision: CommitDecision()) == .committed)
    await store.close()
    let connection = try Connection.writer(path: folder.file, options: Options())
    try connection.execute("UPDATE accounts SET display_name = 'in the log'")
    connection.close()
    var count = 0
    for _ in 0..<2 {
      let rows = try SQLiteTables(path: folder.file).rows(of: .accounts)
      while let portion = try rows.next() {
        count += portion.count
        // After the last byte of its length.
        #expect(portion.bytes.split(separator: 0).contains { $0.dropFirst().elementsEqual("in the log".utf8) })
      }
    }
    #expect(count == 2)
  }

  @Test func `a row is distinguished from invalid bytes`() {
    var rows = StoredRows()
    rows.beginRow(columns: 4)
    rows.append(-2 as Int64)
    rows.append(true)
    rows.append([7, 8])
    rows.appendNull()
    let row: [UInt8] = [
      0, 4, 0, 0, 0, 8, 255, 255, 255, 255, 255, 255, 255, 254, 0, 0, 0, 1, 1, 0, 0, 0, 2, 7, 8, 255, 255, 255, 255,
    ]
    #expect(rows.bytes == row && rows.count == 1)
    var copy = StoredRows()
    func isTaken(_ row: ArraySlice<UInt8>, columns: Int) -> Bool { copy.append(row: row, columns: columns) }
    #expect(isTaken(row[...], columns: 4) && copy.bytes == row && copy.count == 1)
    #expect(!isTaken(row[...], columns: 3))
    #expect(!isTaken((row + [0])[...], columns: 4))
    for count in 0..<row.count { #expect(!isTaken(row.prefix(count), columns: 4)) }
    #expect(copy.bytes == row && copy.count == 1)
  }
}
