import CSQLite

/// Migrates a file to the latest schema. A released step is never edited; a change is a new step.
enum Migrations {
  static let steps = [Schema.baseline]

  /// Migrates the file from its version (`user_version`, 0 for a new file) to the latest one. Each step is one
  /// transaction, so a failed or interrupted step leaves the file at the previous version.
  static func run(on connection: Connection, steps: [String] = steps) throws(SQLiteError) {
    let version = Int(try connection.integer("PRAGMA user_version"))
    guard version <= steps.count else {
      throw SQLiteError(
        code: SQLITE_ERROR,
        text: "the store has schema \(version), this program knows \(steps.count): it was written by a newer version")
    }
    for number in version..<steps.count {
      try connection.execute("BEGIN IMMEDIATE")
      do throws(SQLiteError) {
        try connection.execute(steps[number])
        try connection.execute("PRAGMA user_version = \(number + 1)")
        try connection.execute("COMMIT")
      } catch {
        if connection.isInTransaction { try connection.execute("ROLLBACK") }
        throw SQLiteError(code: error.code, text: "schema \(number + 1): \(error.text)")
      }
    }
  }
}
