import CSQLite
import Store

/// Migrates a file to the latest schema. A released step is never edited; a change is a new step.
///
/// Steps that the previous release does not need are additive, so that it can still open the file (`SchemaStep`).
enum Migrations {
  static let steps: [SchemaStep] = [
    SchemaStep([Schema.baseline]), masterKeys, SchemaStep(Schema.forgottenAccounts),
    SchemaStep(index: "audit_by_account", on: "audit (account_id, position)"), SchemaStep(Schema.support),
    SchemaStep(Schema.passkeysAndEmailCodes), SchemaStep(Schema.passkeyColumn), SchemaStep(Schema.transferSubject),
  ]

  private static let masterKeys = SchemaStep([
    """
    CREATE TABLE master_keys (
      id TEXT NOT NULL PRIMARY KEY,
      known_at INTEGER NOT NULL,
      seen_at INTEGER NOT NULL,
      sealed_at INTEGER
    ) STRICT, WITHOUT ROWID
    """
  ])

  /// Not a part of the baseline, because it describes the schema of every version.
  private static let compatibility = """
    CREATE TABLE IF NOT EXISTS schema_version (
      id INTEGER PRIMARY KEY,
      min_reader_version INTEGER NOT NULL
    ) STRICT
    """

  /// Returns the schema of the file: `user_version`, 0 for a new file, and the oldest program that works with it.
  static func version(of connection: Connection, steps: [SchemaStep] = steps) throws(SQLiteError) -> SchemaVersion {
    let version = Int(try connection.integer("PRAGMA user_version"))
    var oldest = version
    if version > steps.count, try connection.integer(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'") == 1
    {
      oldest = Int(try connection.integer("SELECT coalesce(max(min_reader_version), \(version)) FROM schema_version"))
    }
    return SchemaVersion(version, minReaderVersion: oldest, known: steps.count)
  }

  /// Migrates the file to the latest version. Each step is one transaction, so a failed or interrupted step leaves the
  /// file at the previous version.
  ///
  /// - Parameter isAllowed: if false, throws if a step is missing.
  /// - Returns: the version of the file before.
  @discardableResult
  static func run(
    on connection: Connection, steps: [SchemaStep] = steps, isAllowed: Bool = true
  ) throws(SQLiteError) -> SchemaVersion {
    let found = try version(of: connection, steps: steps)
    if let refusal = found.refusal ?? (isAllowed ? nil : found.pending) {
      throw SQLiteError(code: SQLITE_ERROR, text: refusal)
    }
    guard found.version < steps.count else { return found }
    for number in found.version..<steps.count {
      try connection.execute("BEGIN IMMEDIATE")
      do throws(SQLiteError) {
        for statement in statements(of: steps[number]) { try connection.execute(statement) }
        try connection.execute(compatibility)
        let oldest = steps.minReaderVersion(of: number + 1)
        try connection.execute("INSERT OR REPLACE INTO schema_version (id, min_reader_version) VALUES (1, \(oldest))")
        try connection.execute("PRAGMA user_version = \(number + 1)")
        try connection.execute("COMMIT")
      } catch {
        if connection.isInTransaction { try connection.execute("ROLLBACK") }
        throw SQLiteError(code: error.code, text: "schema \(number + 1): \(error.text)")
      }
    }
    return found
  }

  private static func statements(of step: SchemaStep) -> [String] {
    switch step.work {
    case .statements(let statements): statements
    case .index(let name, let on): ["CREATE INDEX \(name) ON \(on)"]
    }
  }
}
