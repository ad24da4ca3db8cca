package import Store

/// One snapshot of the tables of a file that no server holds, for a migration to another backend.
///
/// Nothing is written, so a server can continue with the file if the migration fails. A file with an older schema is
/// therefore rejected, not migrated: the version that wrote it could no longer open it.
package final class SQLiteTables {
  /// The limit on faults from integrity_check, which would otherwise name each row of a thoroughly broken file.
  private static let faultsMax = 20

  /// Held until the end, so that no server begins to write.
  private let lock: LockFile
  private let connection: Connection

  package init(path: String) throws(StoreError) {
    try LockFile.requireFile(path)
    let path = try LockFile.resolve(path)
    lock = try LockFile(of: path)
    try lock.settleLog(of: path)
    let version: Int
    do throws(SQLiteError) {
      connection = try Connection.reader(path: path, options: Options())
      try connection.execute("BEGIN")
      version = Int(try connection.integer("PRAGMA user_version"))
    } catch {
      throw error.storeError
    }
    let known = Migrations.steps.count
    guard version <= known else {
      throw .unavailable(
        "the store has schema \(version), this program knows \(known): it was written by a newer version")
    }
    guard version == known else {
      throw .unavailable(
        "the store has schema \(version), this program has \(known): start a server of this version on it once")
    }
  }

  /// Returns the result of `PRAGMA integrity_check`; `["ok"]` for an intact file. Reads the whole file.
  package func integrityCheck() throws(StoreError) -> [String] {
    do throws(SQLiteError) {
      return try connection.texts("PRAGMA integrity_check(\(SQLiteTables.faultsMax))")
    } catch {
      throw error.storeError
    }
  }

  package func rows(of table: StoredTable) throws(StoreError) -> SQLiteTableRows {
    do throws(SQLiteError) {
      return try SQLiteTableRows(table, connection)
    } catch {
      throw error.storeError
    }
  }
}

/// The rows of one table in key order, in portions.
package final class SQLiteTableRows {
  /// The size from which a portion takes no more rows.
  private static let bytesPerPortion = 256 * 1024

  private let table: StoredTable
  private let statement: Statement
  /// The number of rows that must be found through their accounts. nil: the table is not read through accounts.
  private let countWanted: Int64?
  private var count: Int64 = 0
  private var isOver = false
  /// The number of texts with a character that other backends cannot store.
  package private(set) var changedTexts = 0

  fileprivate init(_ table: StoredTable, _ connection: Connection) throws(SQLiteError) {
    self.table = table
    statement = try connection.prepare(table.select)
    countWanted = table.dependsOnAccount ? try connection.integer("SELECT count(*) FROM \(table.name)") : nil
  }

  /// Returns at least one row, or nil after the last.
  package func next() throws(StoreError) -> StoredRows? {
    do throws(SQLiteError) {
      var rows = StoredRows()
      while !isOver, rows.bytes.count < SQLiteTableRows.bytesPerPortion {
        if try statement.step() { append(to: &rows) } else { try end() }
      }
      return rows.count > 0 ? rows : nil
    } catch {
      throw error.storeError
    }
  }

  private func append(to rows: inout StoredRows) {
    count += 1
    rows.beginRow(columns: table.columns.count)
    for column in table.columns {
      switch column.kind {
      case .integer: if let value = statement.optionalInt64() { rows.append(value) } else { rows.appendNull() }
      case .boolean: if let value = statement.optionalInt64() { rows.append(value != 0) } else { rows.appendNull() }
      case .bytes: if let value = statement.optionalBytes() { rows.append(value) } else { rows.appendNull() }
      case .text:
        if let value = statement.optionalBytes() { rows.append(withoutNUL(value)) } else { rows.appendNull() }
      }
    }
  }

  /// Replaces NUL as the other backends do when they write a text.
  private func withoutNUL(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(0) else { return text }
    changedTexts += 1
    return text.flatMap { $0 == 0 ? Array("\u{FFFD}".utf8) : [$0] }
  }

  private func end() throws(SQLiteError) {
    isOver = true
    statement.reset()
    if let countWanted, count != countWanted {
      throw .corrupt("\(table.name): \(countWanted - count) rows of no account")
    }
  }
}

extension StoredTable {
  /// Whether the table refers to accounts by their number, which never leaves the file.
  fileprivate var dependsOnAccount: Bool { [.identities, .factors, .unlinks].contains(self) }

  /// Selects the rows in key order, along an index: the file may be too large to sort. CROSS JOIN keeps SQLite from
  /// reversing the join.
  var select: String {
    let tables =
      dependsOnAccount ? "accounts AS a CROSS JOIN \(name) AS t ON t.account_number = a.number" : "\(name) AS t"
    // A count of 0 is equivalent to no count.
    let condition = self == .pendingCounts ? "WHERE t.held <> 0" : ""
    let values = columns.map { expression($0.name) }.joined(separator: ", ")
    return "SELECT \(values) FROM \(tables) \(condition) ORDER BY \(key.map(expression).joined(separator: ", "))"
  }

  private func expression(_ column: String) -> String {
    if column == "account_id", dependsOnAccount { return "a.id" }
    // The last sign-in of an account. Other backends store it in the account; here its sessions may state a later one.
    if column == "last_sign_in_at" {
      let latest = "(SELECT max(signed_in_at) FROM sessions WHERE account_id = t.id)"
      return "coalesce(max(t.last_sign_in_at, \(latest)), t.last_sign_in_at, \(latest))"
    }
    // The day of the absolute end, which this backend computes on demand.
    if column == "expires_day" { return "t.expires_at / 86400000" }
    return "t.\(column)"
  }
}
