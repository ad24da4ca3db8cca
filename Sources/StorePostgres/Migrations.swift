import Reactor
import Store

/// Migrates a database to the latest schema. A released step is never edited; a change is a new step.
///
/// Steps that the previous release does not need are additive, so that its servers continue (`SchemaStep`). Each
/// statement is sent on its own: a coordinator of Citus accepts only one in a query.
enum Migrations {
  static let steps: [SchemaStep] = [
    SchemaStep(Schema.baseline), SchemaStep(CountParts.tables), masterKeys, SchemaStep(Schema.forgottenAccounts),
    SchemaStep(index: "audit_by_account", on: "audit (account_id, position)"), SchemaStep(Schema.support),
    SchemaStep(Schema.passkeysAndEmailCodes), SchemaStep(Schema.passkeyColumn), SchemaStep(Schema.transferSubject),
  ]

  private static let masterKeys = SchemaStep([
    """
    CREATE TABLE master_keys (
      id TEXT COLLATE "C" NOT NULL,
      known_at BIGINT NOT NULL,
      seen_at BIGINT NOT NULL,
      sealed_at BIGINT,
      CONSTRAINT master_keys_id PRIMARY KEY (id)
    )
    """
  ])

  /// The conflicts between processes that start at the same time: rows of the catalog, and each other's transactions.
  private static let collisions = ["23505", "42710", "42P07", "42P06", "40001", "40P01", lockTimeout]
  private static let undefinedTable = "42P01"
  private static let undefinedColumn = "42703"
  private static let oldestReader = "ADD COLUMN IF NOT EXISTS min_reader_version BIGINT NOT NULL DEFAULT 1"
  private static let attemptsMax = 50
  private static let lockTimeout = "55P03"
  /// How long to wait for a table that another session uses. Sessions that request the table during that time wait
  /// behind the migration.
  private static let lockMillis = 1_000
  /// How long to retry. In the pauses, waiting sessions proceed.
  private static let patienceMillis: Int64 = 300_000

  /// Migrates the schema to the latest version, one transaction a step. Rejects a database that cannot hold every text
  /// before it writes to it.
  ///
  /// If several processes migrate at the same time, one waits for the other at the row of the version, however long a
  /// step takes. Afterwards the connection may have no statement or lock timeout until the caller sets one.
  ///
  /// - Parameter isAllowed: if false, throws if a step is missing.
  /// - Parameter deadline: limits the statements that wait for no other session, which are all statements if the schema
  ///   is current. A database that hangs must not block a start permanently.
  /// - Returns: the version of the database before.
  @discardableResult
  static func run(
    on connection: ReadyConnection, steps: [SchemaStep] = steps, isAllowed: Bool = true,
    patienceMillis: Int64 = patienceMillis, by deadline: Int64? = nil
  ) throws(ReadyConnection.Refusal) -> SchemaVersion {
    let begun = monotonicMillis()
    var attempts = 0
    try connection.requireUTF8(by: deadline)
    let found = try current(connection, steps, by: deadline)
    if let found, found.version >= steps.count { return found }
    if !isAllowed {
      let seen: SchemaVersion
      if let found { seen = found } else { seen = try version(connection, locking: "", steps, by: deadline) }
      if let why = seen.pending { throw ReadyConnection.Refusal(text: why) }
      return seen
    }
    try connection.execute("SET statement_timeout = 0", by: deadline)
    try connection.execute("SET lock_timeout = 0", by: deadline)
    while true {
      do throws(ReadyConnection.Refusal) {
        return try climb(connection, steps)
      } catch {
        guard collisions.contains(error.state) else { throw error }
        try connection.execute("ROLLBACK")
        guard error.state != lockTimeout else {
          guard monotonicMillis() - begun < patienceMillis else {
            throw ReadyConnection.Refusal(
              text: "the schema cannot be migrated while other sessions use its tables: \(error.text)",
              state: error.state)
          }
          sleepThread(millis: UInt32.random(in: 500...2_000))
          continue
        }
        attempts += 1
        guard attempts < attemptsMax else { throw error }
      }
    }
  }

  /// Returns the schema; version 0 without tables, and `nil` if another session has locked the row, and with it the
  /// schema or all tables.
  private static func current(
    _ connection: ReadyConnection, _ steps: [SchemaStep], by deadline: Int64?
  ) throws(ReadyConnection.Refusal) -> SchemaVersion? {
    do throws(ReadyConnection.Refusal) {
      return try version(connection, locking: "FOR UPDATE NOWAIT", steps, by: deadline)
    } catch {
      if collisions.contains(error.state) { return nil }
      if error.state == undefinedColumn {
        // A development build from before 2026-11-29 made the table.
        try connection.execute("ALTER TABLE schema_version \(oldestReader)", by: deadline)
        return try current(connection, steps, by: deadline)
      }
      guard error.state == undefinedTable else { throw error }
      return SchemaVersion(0, minReaderVersion: 0, known: steps.count)
    }
  }

  /// Throws if this program cannot use the schema.
  private static func version(
    _ connection: ReadyConnection, locking: String, _ steps: [SchemaStep], by deadline: Int64? = nil
  ) throws(ReadyConnection.Refusal) -> SchemaVersion {
    let text = try connection.text(
      "SELECT version || ' ' || min_reader_version FROM schema_version WHERE id = 1 \(locking)", by: deadline)
    let numbers = text.split(separator: " ").compactMap { Int($0) }
    guard numbers.count == 2 else { return SchemaVersion(0, minReaderVersion: 0, known: steps.count) }
    let version = SchemaVersion(numbers[0], minReaderVersion: numbers[1], known: steps.count)
    if let refusal = version.refusal { throw ReadyConnection.Refusal(text: refusal) }
    return version
  }

  private static func climb(
    _ connection: ReadyConnection, _ steps: [SchemaStep]
  ) throws(ReadyConnection.Refusal) -> SchemaVersion {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS schema_version (
        id BIGINT NOT NULL,
        version BIGINT NOT NULL,
        min_reader_version BIGINT NOT NULL DEFAULT 1,
        CONSTRAINT schema_version_id PRIMARY KEY (id)
      )
      """)
    try connection.execute("INSERT INTO schema_version (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING")
    var first: SchemaVersion?
    while true {
      try connection.execute("BEGIN")
      let found = try version(connection, locking: "FOR UPDATE", steps)
      let before = first ?? found
      first = before
      guard found.version < steps.count else {
        try connection.execute("COMMIT")
        return before
      }
      let next = found.version + 1
      switch steps[found.version].work {
      case .statements(let statements):
        try connection.execute("SET LOCAL lock_timeout = \(lockMillis)")
        for statement in statements { try connection.execute(statement) }
        try connection.execute(advance(to: next, steps))
        try connection.execute("COMMIT")
      case .index(let name, let on) where before.version == 0:
        // The tables of a new database are empty.
        try connection.execute("CREATE INDEX \(name) ON \(on)")
        try connection.execute(advance(to: next, steps))
        try connection.execute("COMMIT")
      case .index(let name, let on):
        // Without the lock: other sessions that wait for it would hold snapshots, for which the build would wait.
        try connection.execute("COMMIT")
        try IndexBuild(name: name, on: on).run(on: connection)
        try connection.execute(advance(to: next, steps))
      }
    }
  }

  /// Changes nothing if another process has advanced the version.
  private static func advance(to version: Int, _ steps: [SchemaStep]) -> String {
    """
    UPDATE schema_version SET version = \(version), min_reader_version = \(steps.minReaderVersion(of: version))
    WHERE id = 1 AND version = \(version - 1)
    """
  }
}
