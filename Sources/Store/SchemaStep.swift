/// One step of a store's schema. A released step is never edited; a change is a new step.
package struct SchemaStep: Sendable {
  package enum Work: Sendable {
    /// Statements that run in one transaction.
    case statements([String])
    /// An index of a table that has rows already. PostgreSQL builds it while servers write (`CONCURRENTLY`).
    case index(name: String, on: String)
  }

  package let work: Work
  /// The oldest program, by the number of its last step, that works with the schema from this step on. `nil`: programs
  /// of the previous schema still work. Such a step is additive: new tables, indexes, and columns with a default.
  package let minReaderVersion: Int?

  package init(_ statements: [String], minReaderVersion: Int? = nil) {
    work = .statements(statements)
    self.minReaderVersion = minReaderVersion
  }

  /// - Parameter on: the table with what follows it in `CREATE INDEX … ON`.
  package init(index name: String, on: String) {
    work = .index(name: name, on: on)
    minReaderVersion = nil
  }
}

/// The schema that a store has, compared with the schema that this program knows.
package struct SchemaVersion: Hashable, Sendable {
  /// The number of steps that the store has.
  package var version: Int
  /// The oldest program that works with it.
  package var minReaderVersion: Int
  /// The number of steps that this program knows.
  package var known: Int

  package init(_ version: Int, minReaderVersion: Int, known: Int) {
    self.version = version
    self.minReaderVersion = minReaderVersion
    self.known = known
  }

  /// A newer program has migrated the store, and this program still works with it.
  package var isNewer: Bool { version > known }

  /// The reason why this program cannot use the store; `nil` if it can, after a migration if `version` is smaller.
  package var refusal: String? {
    guard version > known, minReaderVersion > known else { return nil }
    return "the store has schema \(version), which requires schema \(minReaderVersion) of a program; this program "
      + "knows \(known): it was written by a newer version"
  }

  /// The reason why a program that must not migrate cannot use the store; `nil` if it can.
  package var pending: String? {
    guard version < known else { return nil }
    return "the store has schema \(version), this program needs \(known), and store.migrate_at_start is off: run "
      + "latchkeyd --migrate once"
  }
}

extension [SchemaStep] {
  /// The oldest program that works with the schema of the first `count` steps.
  package func minReaderVersion(of count: Int) -> Int {
    prefix(count).compactMap(\.minReaderVersion).max() ?? Swift.min(1, count)
  }
}
