import Store
import Synchronization
import Testing

@testable import StoreMigration
@testable import StorePostgres
@testable import StoreSQLite

/// A move that fails leaves nothing behind.
@Suite(.enabled(if: Place.isThere)) struct MoveRefusalTests {
  private func why(_ body: () throws(MoveError) -> Void) throws -> MoveError {
    do throws(MoveError) {
      try body()
    } catch {
      return error
    }
    throw StoreError.corrupt("nothing was refused")
  }

  private func expectEmpty(_ place: Place) throws {
    for table in StoredTable.allCases where table != .pendingCounts {
      #expect(try place.text("SELECT count(*) FROM \(table.name)") == "0")
    }
    #expect(try place.text("SELECT sum(held) FROM pending_counts") == "0")
    #expect(try place.text("SELECT last FROM audit_position") == "0")
  }

  /// Runs a statement like another program.
  private func run(_ sql: String, on embedded: Embedded) throws {
    let connection = try StoreSQLite.Connection.writer(path: embedded.file, options: StoreSQLite.Options())
    try connection.execute(sql)
    connection.close()
  }

  @Test func `a file that a server holds, or a missing one, is not moved`() async throws {
    let (embedded, place) = (try await Embedded.filled { _ in }, try Place())
    let store = try embedded.open()
    guard case .source(let held) = try why({ () throws(MoveError) in _ = try embedded.move(to: place) }) else {
      throw StoreError.corrupt("it is the file's fault")
    }
    #expect(held.contains("held by another process"))
    await store.close()
    let missing = try Embedded()
    guard case .source(let why) = try why({ () throws(MoveError) in _ = try missing.move(to: place) }) else {
      throw StoreError.corrupt("it is the file's fault")
    }
    #expect(why.contains("cannot be read"))
  }

  @Test func `a file with rows without an account, or with invalid text, is not moved`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place())
    try run("INSERT INTO unlinks VALUES (9999, 'x', 'y', 0)", on: embedded)
    guard case .source(let orphan) = try why({ () throws(MoveError) in _ = try embedded.move(to: place).run() }) else {
      throw StoreError.corrupt("it is the file's fault")
    }
    #expect(orphan.contains("unlinks: 1 rows of no account"))
    try run(
      "DELETE FROM unlinks; UPDATE accounts SET display_name = CAST(x'ff' AS TEXT) WHERE id = 'a'", on: embedded)
    guard case .target(let text) = try why({ () throws(MoveError) in _ = try embedded.move(to: place).run() }) else {
      throw StoreError.corrupt("the database refuses it")
    }
    #expect(text.hasPrefix("accounts: PostgreSQL 22021"))
    try expectEmpty(place)
  }

  @Test func `a database that has rows or a newer schema, or does not answer, is not changed`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place())
    _ = try embedded.move(to: place).run()
    guard case .target(let held) = try why({ () throws(MoveError) in _ = try embedded.move(to: place) }) else {
      throw StoreError.corrupt("it is the database's fault")
    }
    #expect(held.contains("it holds rows already (in accounts)"))
    let newer = try Place()
    await (try newer.open()).close()
    try newer.run("UPDATE schema_version SET version = 99, min_reader_version = 99")
    guard case .target(let schema) = try why({ () throws(MoveError) in _ = try embedded.move(to: newer) }) else {
      throw StoreError.corrupt("it is the database's fault")
    }
    #expect(schema.contains("schema 99"))
    let nowhere = try why { () throws(MoveError) in _ = try Move(from: embedded.file, to: "host=/nowhere") }
    guard case .unreachable = nowhere else { throw StoreError.corrupt("nobody answers") }
  }

  @Test(arguments: [
    ("accounts", "UPDATE accounts SET display_name = 'x' WHERE id = 'a'"),
    ("identities", "DELETE FROM identities WHERE account_id = 'a'"),
    ("factors", "UPDATE factors SET sealed_secret = '' WHERE id = 'p'"),
    ("sessions", "UPDATE sessions SET ends_day = ends_day + 1 WHERE id = 'open'"),
    ("spent_tokens", "INSERT INTO spent_tokens VALUES ('\\x00', 0)"),
    ("signing_keys", "UPDATE signing_keys SET retired_at = NULL"),
    ("audit", "UPDATE audit SET position = position + 1 WHERE position = 5"),
    ("pending_counts", "UPDATE pending_counts SET held = held + 1 WHERE scope = 'total'"),
  ])
  func `a difference is reported with its table`(table: String, sql: String) async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place())
    let move = try embedded.move(to: place)
    try move.copy()
    #expect(try move.compare().filter { !$0.isSame } == [])
    try move.target.execute(sql)
    #expect(try move.compare().filter { !$0.isSame }.map(\.name) == [table])
  }

  @Test func `nothing is moved if counts do not match the rows`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place())
    try run("UPDATE pending_counts SET held = held + 1 WHERE scope = 'caller'", on: embedded)
    guard case .differs(let tables) = try why({ () throws(MoveError) in _ = try embedded.move(to: place).run() })
    else { throw StoreError.corrupt("there is a difference") }
    #expect(tables.filter { !$0.isSame }.map(\.name) == ["pending_counts"])
    try expectEmpty(place)
  }

  @Test func `an interrupted move leaves nothing, and can be repeated`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place(database: true))
    var move: Move? = try embedded.move(to: place)
    try move?.copy(.accounts)
    let others = "FROM pg_stat_activity WHERE datname = '\(place.name)' AND pid <> pg_backend_pid()"
    #expect(try place.text("SELECT count(pg_terminate_backend(pid)) \(others)") == "1")
    guard case .unreachable = try why({ () throws(MoveError) in try move?.copy(.sessions) }) else {
      throw StoreError.corrupt("the connection is gone")
    }
    try expectEmpty(place)
    // The first move still holds the file.
    guard case .source = try why({ () throws(MoveError) in _ = try embedded.move(to: place) }) else {
      throw StoreError.corrupt("two moves hold one file")
    }
    move = nil
    #expect(try embedded.move(to: place).run().tables.allSatisfy(\.isSame))
  }

  @Test func `a connection that is lost at the end leaves the result of the move unknown`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place(database: true))
    let move = try embedded.move(to: place)
    try move.copy()
    let others = "FROM pg_stat_activity WHERE datname = '\(place.name)' AND pid <> pg_backend_pid()"
    #expect(try place.text("SELECT count(pg_terminate_backend(pid)) \(others)") == "1")
    guard case .unknown = try why({ () throws(MoveError) in try move.commit() }) else {
      throw StoreError.corrupt("nobody can know")
    }
  }

  @Test func `a server that starts during a move waits, and finds everything`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place())
    let move = try embedded.move(to: place)
    try move.copy()
    let isOpen = Atomic<Bool>(false)
    async let opening = Task.detached {
      let store = try place.open()
      isOpen.store(true, ordering: .releasing)
      return store
    }.value
    try await Task.sleep(nanoseconds: 300_000_000)
    #expect(isOpen.load(ordering: .acquiring) == false)
    #expect(try move.compare().allSatisfy(\.isSame))
    try move.commit()
    let store = try await opening
    #expect(try await store.account("full")?.email == "f@example.com")
    await store.close()
  }
}
