import Store
import Testing

@testable import StoreSQLite

@Suite struct MigrationTests {
  let folder: Folder
  let connection: Connection

  init() throws {
    folder = try Folder()
    connection = try folder.newFile()
  }

  private static let first = SchemaStep(["CREATE TABLE notes (id TEXT)", "INSERT INTO notes VALUES ('old')"])
  private static let second = SchemaStep(["ALTER TABLE notes ADD COLUMN at INTEGER NOT NULL DEFAULT 7"])
  private static let index = SchemaStep(index: "notes_by_at", on: "notes (at)")
  private static let breaking = SchemaStep(["DROP INDEX notes_by_at"], minReaderVersion: 4)

  @Test func `a new file runs all steps, and a second start runs none`() throws {
    try Migrations.run(on: connection)
    try Migrations.run(on: connection)
    #expect(try connection.integer("PRAGMA user_version") == Int64(Migrations.steps.count))
  }

  @Test func `an old file runs the missing steps and keeps its rows`() throws {
    try Migrations.run(on: connection, steps: [Self.first])
    try Migrations.run(on: connection, steps: [Self.first, Self.second])
    #expect(try connection.integer("PRAGMA user_version") == 2)
    #expect(try connection.text("SELECT id || at FROM notes") == "old7")
  }

  @Test func `the previous program opens a file after additive steps, and a later one after a breaking step`() throws {
    try Migrations.run(on: connection, steps: [Self.first, Self.second, Self.index])
    let found = try Migrations.run(on: connection, steps: [Self.first])
    #expect(found == SchemaVersion(3, minReaderVersion: 1, known: 1))
    #expect(found.isNewer)
    try Migrations.run(on: connection, steps: [Self.first, Self.second, Self.index, Self.breaking])
    let refusal = #expect(throws: SQLiteError.self) {
      try Migrations.run(on: connection, steps: [Self.first, Self.second, Self.index])
    }
    #expect(try #require(refusal).text.contains("schema 4, which requires schema 4 of a program; this program knows 3"))
  }

  @Test func `a program that must not migrate rejects an older file and does not change it`() throws {
    try Migrations.run(on: connection, steps: [Self.first])
    let refusal = #expect(throws: SQLiteError.self) {
      try Migrations.run(on: connection, steps: [Self.first, Self.second], isAllowed: false)
    }
    #expect(try #require(refusal).text.contains("latchkeyd --migrate"))
    #expect(try connection.integer("PRAGMA user_version") == 1)
    try Migrations.run(on: connection, steps: [Self.first], isAllowed: false)
  }

  @Test(
    arguments: [
      ("accounts", "email_verification", "hearsay"), ("identities", "tier", "3"), ("factors", "kind", "fax"),
      ("pendings", "purpose", "favor"), ("pendings", "tier", "-1"), ("deliveries", "channel", "pigeon"),
      ("deliveries", "priority", "2"), ("pending_counts", "scope", "galaxy"), ("sessions", "closed_reason", "boredom"),
    ])
  func `a value outside its closed set is rejected`(table: String, column: String, value: String) throws {
    #expect(try refusal(of: [column: "'\(value)'"], in: table)?.hasPrefix("CHECK constraint failed: \(table)_") == true)
  }

  @Test(
    arguments: [
      ("accounts", "email_verification_provider_id", "email_verification_provider"),
      ("sessions", "closed_reason", "end"), ("sessions", "closed_at", "end"),
    ])
  func `a column without the one that belongs to it is rejected`(table: String, absent: String, check: String) throws {
    let values = [absent: "NULL", "email_verification": "'assertion'"]
    #expect(try refusal(of: values, in: table) == "CHECK constraint failed: \(table)_\(check)")
  }

  /// Inserts a valid row, then one with these values. Returns the error of the second one.
  private func refusal(of values: [String: String], in table: String) throws -> String? {
    try Migrations.run(on: connection)
    let known = [
      "email_verification": "'reset'", "kind": "'totp'", "purpose": "'link'", "channel": "'mail'", "scope": "'total'",
      "closed_reason": "'merged'",
    ]
    func insert(_ values: [String: String]) throws {
      let columns = try connection.texts("SELECT name || ' ' || type FROM pragma_table_info('\(table)')")
      let row = columns.map { described in
        values[String(described.prefix { $0 != " " })] ?? (described.hasSuffix("BLOB") ? "x'00'" : "1")
      }
      try connection.execute("INSERT INTO \(table) VALUES (\(row.joined(separator: ", ")))")
    }
    try insert(known)
    return #expect(throws: SQLiteError.self) { try insert(known.merging(values) { $1 }) }?.text
  }

  @Test func `a step that fails leaves the file at the version before it`() throws {
    let broken = SchemaStep(["INSERT INTO notes VALUES ('new')", "CREATE TABLE notes (id TEXT)"])
    let refusal = #expect(throws: SQLiteError.self) {
      try Migrations.run(on: connection, steps: [Self.first, broken])
    }
    #expect(try #require(refusal).text.hasPrefix("schema 2: "))
    #expect(try connection.integer("PRAGMA user_version") == 1)
    #expect(try connection.texts("SELECT id FROM notes") == ["old"])
    #expect(!connection.isInTransaction)
  }

  @Test func `a file of a newer version is rejected and not changed`() throws {
    try Migrations.run(on: connection)
    try connection.execute("PRAGMA user_version = 99")
    try connection.execute("UPDATE schema_version SET min_reader_version = 98")
    connection.close()
    let refusal = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
    guard case .unusable(let why) = refusal else { throw StoreError.corrupt("\(String(describing: refusal))") }
    #expect(why.contains("newer version"))
  }
}
