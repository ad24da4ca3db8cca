import Reactor

/// Migrates a database to the latest schema. A released step is never edited; a change is a new step.
enum Migrations {
  static let steps = [Schema.baseline]

  /// The conflicts between processes that start at the same time: rows of the catalog, and each other's transactions.
  private static let collisions = ["23505", "42710", "42P07", "42P06", "40001", "40P01", lockTimeout]
  private static let undefinedTable = "42P01"
  private static let question = "SELECT version FROM schema_version WHERE id = 1"
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
  /// - Parameter deadline: limits the statements that wait for no other session, which are all statements if the schema
  ///   is current. A database that hangs must not block a start permanently.
  static func run(
    on connection: ReadyConnection, steps: [String] = steps, patienceMillis: Int64 = patienceMillis,
    by deadline: Int64? = nil
  ) throws(ReadyConnection.Refusal) {
    let begun = monotonicMillis()
    var attempts = 0
    try connection.requireUTF8(by: deadline)
    if try isUpToDate(connection, steps, by: deadline) { return }
    try connection.execute("SET statement_timeout = 0; SET lock_timeout = 0", by: deadline)
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

  /// Returns whether the schema is current. Also false if another session has locked the row, and with it the schema or
  /// all tables.
  private static func isUpToDate(
    _ connection: ReadyConnection, _ steps: [String], by deadline: Int64?
  ) throws(ReadyConnection.Refusal) -> Bool {
    do throws(ReadyConnection.Refusal) {
      return try version(connection, "\(question) FOR UPDATE NOWAIT", steps, by: deadline) == steps.count
    } catch {
      guard error.state == undefinedTable || collisions.contains(error.state) else { throw error }
      return false
    }
  }

  private static func version(
    _ connection: ReadyConnection, _ query: String, _ steps: [String], by deadline: Int64? = nil
  ) throws(ReadyConnection.Refusal) -> Int {
    let version = Int(try connection.text(query, by: deadline)) ?? 0
    guard version <= steps.count else {
      throw ReadyConnection.Refusal(
        text: "the store has schema \(version), this program knows \(steps.count): it was written by a newer version")
    }
    return version
  }

  private static func climb(_ connection: ReadyConnection, _ steps: [String]) throws(ReadyConnection.Refusal) {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS schema_version (
        id BIGINT NOT NULL,
        version BIGINT NOT NULL,
        CONSTRAINT schema_version_id PRIMARY KEY (id)
      )
      """)
    try connection.execute("INSERT INTO schema_version (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING")
    while true {
      try connection.execute("BEGIN")
      let version = try version(connection, "\(question) FOR UPDATE", steps)
      if version == steps.count { return try connection.execute("COMMIT") }
      try connection.execute("SET LOCAL lock_timeout = \(lockMillis)")
      try connection.execute(steps[version])
      try connection.execute("UPDATE schema_version SET version = \(version + 1) WHERE id = 1")
      try connection.execute("COMMIT")
    }
  }
}
