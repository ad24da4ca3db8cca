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

  private static let first = "CREATE TABLE notes (id TEXT); INSERT INTO notes VALUES ('old');"
  private static let second = "ALTER TABLE notes ADD COLUMN at INTEGER NOT NULL DEFAULT 7;"

  @Test func `a new file takes all steps, and a second start none`() throws {
    try Migrations.run(on: connection)
    try Migrations.run(on: connection)
    #expect(try connection.integer("PRAGMA user_version") == Int64(Migrations.steps.count))
  }

  @Test func `an old file takes the steps it lacks and keeps its rows`() throws {
    try Migrations.run(on: connection, steps: [Self.first])
    try Migrations.run(on: connection, steps: [Self.first, Self.second])
    #expect(try connection.integer("PRAGMA user_version") == 2)
    #expect(try connection.text("SELECT id || at FROM notes") == "old7")
  }

  @Test func `rows that were held before unknowns were counted apart are let go where they are counted now`() throws {
    try Migrations.run(on: connection, steps: Array(Migrations.steps.prefix(1)))
    for (digest, tier) in [(1, 0), (2, 0), (3, 1)] {
      try connection.execute(
        """
        INSERT INTO pendings VALUES (x'0\(digest)', 1, 'link', 'oidc.corp', 's', 'a@b.c', \(tier), 'ann', 'shop', NULL,
          'attempt', x'00', 0, 1, 5, NULL, NULL, NULL)
        """)
    }
    try connection.execute("INSERT INTO pending_counts VALUES ('account', 'ann', 3), ('caller', 'shop', 3)")
    try Migrations.run(on: connection)
    let counts = try connection.texts("SELECT scope || ' ' || name || ' ' || held FROM pending_counts")
    #expect(counts == ["account ann 1", "caller link shop 3", "purpose link 3", "stranger ann 2"])
  }

  @Test func `sessions that were there before they told of sign-ins leave that to their account`() throws {
    try Migrations.run(on: connection, steps: Array(Migrations.steps.prefix(16)))
    try connection.execute(
      """
      INSERT INTO accounts (id, version, display_name, photo_url, custom_claims, email_link, anonymous, disabled,
        made_by_administrator, created_at, last_sign_in_at)
      VALUES ('ann', 1, '', '', '', 0, 0, 0, 0, 0, 5);
      INSERT INTO sessions (id, account_id, caller, refresh_digest, auth_time, sign_in_provider_id, methods, audience,
        claims_json, created_at, last_used_at, idle_expires_at, expires_at, ip_address, user_agent, device_id, ends_at)
      VALUES ('s', 'ann', 'shop', x'00', 9, '', '', '', '', 9, 9, 9, 9, '', '', '', 9)
      """)
    try Migrations.run(on: connection)
    let reader = try Reader.withoutCaches(path: folder.file)
    var query = Query()
    query.accountID = "ann"
    #expect(try reader.facts(query).account?.account.lastSignInAt == Timestamp(millis: 5))
    reader.endSnapshot()
  }

  @Test func `sessions that were there before their end was kept by the day are swept as all are`() throws {
    try Migrations.run(on: connection, steps: Array(Migrations.steps.prefix(3)))
    let day = 86_400_000
    for end in [3 * day - 1, 3 * day] {
      try connection.execute(
        """
        INSERT INTO sessions (id, account_id, caller, refresh_digest, auth_time, sign_in_provider_id, methods,
          audience, claims_json, created_at, last_used_at, idle_expires_at, expires_at, ip_address, user_agent,
          device_id, ends_at)
        VALUES ('s\(end)', 'ann', 'shop', x'00', 0, '', '', '', '', 0, 0, \(end), \(end), '', '', '', \(end))
        """)
    }
    try Migrations.run(on: connection)
    #expect(try connection.texts("SELECT ends_day FROM sessions ORDER BY ends_day") == ["2", "3"])
  }

  @Test func `a step that fails leaves the file at the version before it`() throws {
    let broken = "INSERT INTO notes VALUES ('new'); CREATE TABLE notes (id TEXT);"
    let refusal = #expect(throws: SQLiteError.self) {
      try Migrations.run(on: connection, steps: [Self.first, broken])
    }
    #expect(try #require(refusal).text.hasPrefix("schema 2: "))
    #expect(try connection.integer("PRAGMA user_version") == 1)
    #expect(try connection.texts("SELECT id FROM notes") == ["old"])
    #expect(!connection.isInTransaction)
  }

  @Test func `a file of a newer version is refused and left alone`() throws {
    try Migrations.run(on: connection)
    try connection.execute("PRAGMA user_version = 99")
    connection.close()
    let refusal = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
    guard case .unusable(let why) = refusal else { throw StoreError.corrupt("\(String(describing: refusal))") }
    #expect(why.contains("newer version"))
  }
}
