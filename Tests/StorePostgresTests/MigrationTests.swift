import Reactor
import Store
import Testing

@testable import StorePostgres

/// A migration step while servers run.
@Suite(.enabled(if: Place.isThere)) struct MigrationTests {
  private static let steps = Migrations.steps + [SchemaStep(["ALTER TABLE accounts ADD COLUMN later BIGINT"])]

  /// Releases the lock even if the test fails before it does.
  private static let bounded = "SET idle_in_transaction_session_timeout = '30s'"

  private static func place() async throws -> Place {
    let place = try Place()
    await (try place.open()).close()
    return place
  }

  /// Holds a table like a long query.
  private static func reader(_ place: Place) throws -> ReadyConnection {
    let reader = try place.session()
    try reader.execute("\(bounded); BEGIN; SELECT count(*) FROM accounts")
    return reader
  }

  /// Runs on its own thread, since it blocks.
  private static func migrate(_ place: Place, _ steps: [SchemaStep] = steps) async throws {
    let session = try place.session()
    defer { session.abandon() }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      startThread(named: "test-migration") {
        do {
          try Migrations.run(on: session, steps: steps)
          continuation.resume()
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }

  @Test func `a step waits for readers of its table, and does not block others while it waits`() async throws {
    let place = try await Self.place()
    let (reader, other) = (try Self.reader(place), try place.session())
    defer {
      reader.abandon()
      other.abandon()
    }
    async let migrated: Void = Self.migrate(place)
    try await place.waitForTable()
    // Longer than the step waits for a lock, and shorter than it keeps trying.
    try other.execute("SET statement_timeout = '5s'")
    for _ in 0..<4 { #expect(try other.text("SELECT count(*) FROM accounts") == "0") }
    #expect(try place.text("SELECT version FROM schema_version") == "\(Migrations.steps.count)")
    try reader.execute("COMMIT")
    try await migrated
    #expect(try place.text("SELECT version FROM schema_version") == "\(Self.steps.count)")
    #expect(try place.text("SELECT count(later) FROM accounts") == "0")
  }

  @Test func `a step that never gets its table fails, and reports why`() async throws {
    let place = try await Self.place()
    let (reader, session) = (try Self.reader(place), try place.session())
    defer {
      reader.abandon()
      session.abandon()
    }
    let refusal = #expect(throws: ReadyConnection.Refusal.self) {
      try Migrations.run(on: session, steps: Self.steps, patienceMillis: 0)
    }
    let text = try #require(refusal).text
    #expect(text.contains("other sessions use its tables") && text.contains("55P03"))
    try reader.execute("COMMIT")
    try Migrations.run(on: session, steps: Self.steps)
  }

  @Test func `an index is built while a transaction writes, and an interrupted build is replaced`() async throws {
    let place = try await Self.place()
    let (writer, session) = (try place.session(), try place.session())
    defer {
      writer.abandon()
      session.abandon()
    }
    // A unique index over equal rows fails and leaves an invalid index, like a build that was interrupted.
    try writer.execute("INSERT INTO changes (id, at, is_fence) VALUES ('a', 7, false), ('b', 7, false)")
    #expect(throws: ReadyConnection.Refusal.self) {
      try session.execute("CREATE UNIQUE INDEX CONCURRENTLY changes_by_fence ON changes (is_fence)")
    }
    let valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('changes_by_fence')"
    #expect(try place.text(valid) == "f")
    let steps = Migrations.steps + [SchemaStep(index: "changes_by_fence", on: "changes (is_fence)")]
    try Migrations.run(on: session, steps: steps)
    #expect(try place.text(valid) == "t")
    #expect(try place.text("SELECT version FROM schema_version") == "\(steps.count)")
  }

  @Test func `several servers that start at once build an index once`() async throws {
    let place = try await Self.place()
    let steps = Migrations.steps + [SchemaStep(index: "changes_by_fence", on: "changes (is_fence)")]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { try await Self.migrate(place, steps) } }
      try await group.waitForAll()
    }
    #expect(
      try place.text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('changes_by_fence')") == "t")
  }

  @Test func `the previous program works after an additive step, and not after another one`() async throws {
    let place = try await Self.place()
    let (session, known) = (try place.session(), Migrations.steps.count)
    defer { session.abandon() }
    try Migrations.run(on: session, steps: Self.steps)
    let found = try Migrations.run(on: session)
    #expect(found == SchemaVersion(known + 1, minReaderVersion: 1, known: known))
    let breaking = SchemaStep(["ALTER TABLE accounts DROP COLUMN later"], minReaderVersion: known + 2)
    try Migrations.run(on: session, steps: Self.steps + [breaking])
    let refusal = #expect(throws: ReadyConnection.Refusal.self) { try Migrations.run(on: session) }
    #expect(try #require(refusal).isLasting)
  }

  @Test func `a program that must not migrate rejects an older schema`() async throws {
    let place = try await Self.place()
    let session = try place.session()
    defer { session.abandon() }
    try Migrations.run(on: session, isAllowed: false)
    let refusal = #expect(throws: ReadyConnection.Refusal.self) {
      try Migrations.run(on: session, steps: Self.steps, isAllowed: false)
    }
    #expect(try #require(refusal).text.contains("latchkeyd --migrate") && #require(refusal).isLasting)
    #expect(try place.text("SELECT version FROM schema_version") == "\(Migrations.steps.count)")
  }

  @Test func `a store that waits for another's migration waits as long as necessary`() async throws {
    let place = try await Self.place()
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("\(Self.bounded); BEGIN; SELECT version FROM schema_version WHERE id = 1 FOR UPDATE")
    async let migrated: Void = Self.migrate(place)
    try await place.waitForTable()
    try await Task.sleep(nanoseconds: 1_500_000_000)
    try await place.waitForTable()
    try other.execute("COMMIT")
    try await migrated
  }
}

extension MigrationTests {
  @Test func `each closed set and each pair of columns has a check`() async throws {
    let place = try await Self.place()
    let names = try place.text(
      """
      SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint AS c JOIN pg_namespace AS n
        ON n.oid = c.connamespace WHERE c.contype = 'c' AND n.nspname = '\(place.name)'
      """)
    #expect(
      names == """
        accounts_email_verification accounts_email_verification_provider deliveries_channel deliveries_priority \
        factors_kind identities_tier pending_counts_known_scope pendings_purpose pendings_tier sessions_closed_reason \
        sessions_end
        """)
    #expect(throws: (any Error).self) { try place.text("UPDATE pending_counts SET scope = 'galaxy' RETURNING 1") }
  }
}

extension Place {
  /// Waits until a connection to this place waits for a table or a row of it.
  fileprivate func waitForTable() async throws {
    try await Place.wait(
      until: """
        SELECT count(*) > 0 FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND pid IN (
          SELECT l.pid FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
          JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '\(name)')
        """)
  }
}
