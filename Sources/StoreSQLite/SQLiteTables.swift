package import Store

/// The tables of a file that no server holds, for whoever moves them to another backend: all of one snapshot.
///
/// Nothing is written, so that a server can go on with the file whatever becomes of the move. A file of an older schema
/// is therefore refused and not brought up to date: the version that wrote it could not open it any more.
package final class SQLiteTables {
  /// Of integrity_check, which would else name each row of a file that is broken throughout.
  private static let faultsMax = 20

  /// Kept until the end, so that no server begins to write meanwhile.
  private let lock: LockFile
  private let connection: Connection

  package init(path: String) throws(StoreError) {
    try LockFile.requireFile(path)
    let path = try LockFile.resolve(path)
    lock = try LockFile(of: path)
    let version: Int
    do throws(Failure) {
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

  /// What `PRAGMA integrity_check` says; `["ok"]` for a sound file. Reads the whole file.
  package func integrityCheck() throws(StoreError) -> [String] {
    do throws(Failure) {
      return try connection.texts("PRAGMA integrity_check(\(SQLiteTables.faultsMax))")
    } catch {
      throw error.storeError
    }
  }

  package func rows(of table: StoredTable) throws(StoreError) -> SQLiteTableRows {
    do throws(Failure) {
      return try SQLiteTableRows(table, connection)
    } catch {
      throw error.storeError
    }
  }
}

/// The rows of one table in the order of their keys, some at a time.
package final class SQLiteTableRows {
  /// From so many bytes on, no more rows are taken up with others.
  private static let bytesPerPortion = 256 * 1024

  private let table: StoredTable
  private let statement: Statement
  /// As many as must be found by their accounts; nil: they are not looked for by them.
  private let countWanted: Int64?
  private var count: Int64 = 0
  private var isOver = false
  /// Texts that hold a character which other backends cannot keep.
  package private(set) var changedTexts = 0

  fileprivate init(_ table: StoredTable, _ connection: Connection) throws(Failure) {
    self.table = table
    statement = try connection.prepare(table.select)
    countWanted = table.hangsOnAccount ? try connection.integer("SELECT count(*) FROM \(table.name)") : nil
  }

  /// At least one row, or nil after the last.
  package func next() throws(StoreError) -> StoredRows? {
    do throws(Failure) {
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

  /// NUL takes the form that the other backends give it when they write a text.
  private func withoutNUL(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(0) else { return text }
    changedTexts += 1
    return text.flatMap { $0 == 0 ? Array("\u{FFFD}".utf8) : [$0] }
  }

  private func end() throws(Failure) {
    isOver = true
    statement.reset()
    if let countWanted, count != countWanted {
      throw .corrupt("\(table.name): \(countWanted - count) rows of no account")
    }
  }
}

extension StoredTable {
  /// Kept by the account's number, which never leaves the file.
  fileprivate var hangsOnAccount: Bool { [.identities, .factors, .unlinks].contains(self) }

  /// Rows in the order of their keys, along an index: a file may be larger than what it could be sorted in. CROSS JOIN
  /// keeps SQLite from turning the join round.
  var select: String {
    let tables =
      hangsOnAccount ? "accounts AS a CROSS JOIN \(name) AS t ON t.account_number = a.number" : "\(name) AS t"
    // A count of none is the same as no count.
    let condition = self == .pendingCounts ? "WHERE t.held <> 0" : ""
    let values = columns.map { expression($0.name) }.joined(separator: ", ")
    return "SELECT \(values) FROM \(tables) \(condition) ORDER BY \(key.map(expression).joined(separator: ", "))"
  }

  private func expression(_ column: String) -> String {
    if column == "account_id", hangsOnAccount { return "a.id" }
    // Of an account, which others tell of their own accord: here its sessions may tell a later one.
    if column == "last_sign_in_at" {
      let told = "(SELECT max(signed_in_at) FROM sessions WHERE account_id = t.id)"
      return "coalesce(max(t.last_sign_in_at, \(told)), t.last_sign_in_at, \(told))"
    }
    // Of the absolute end, which here is divided where it is needed.
    if column == "expires_day" { return "t.expires_at / 86400000" }
    return "t.\(column)"
  }
}
