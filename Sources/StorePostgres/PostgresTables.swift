package import Store

/// The reason why tables cannot be moved into a database.
package struct TablesError: Error, Hashable {
  package let text: String
  /// The server did not respond, or no longer responds.
  package let isUnreachable: Bool

  init(_ text: String, isUnreachable: Bool = false) {
    self.text = text
    self.isUnreachable = isUnreachable
  }
}

/// The tables of a database that is filled from another backend.
///
/// Everything happens in one transaction, so that no other session ever sees a part, and an interruption leaves no
/// trace. Servers that start during the move wait for the row of the schema's version, which they lock too. Servers
/// that are running cannot write. All calls block. Leaves no trace unless it is committed.
package final class PostgresTables {
  /// How long to wait for a table that another session uses.
  private static let lockMillis: Int64 = 10_000
  /// How long sent data may stay unacknowledged before the server counts as unreachable.
  private static let unansweredMillis: Int64 = 60_000
  private static let connectSeconds = 10

  private let connection: ReadyConnection

  /// Connects and migrates the schema. Rejects a database that contains a row or that a newer version wrote.
  ///
  /// - Parameter passwordFile: empty if no password is sent.
  package init(conninfo: String, passwordFile: String) throws(TablesError) {
    var options = Options(conninfo: conninfo)
    options.passwordFile = passwordFile
    options.connectSeconds = PostgresTables.connectSeconds
    // A COPY and its index builds have no time limit.
    options.statementMillis = 0
    options.slackMillis = PostgresTables.unansweredMillis
    options.idleTransactionMillis = 0
    options.lockMillis = PostgresTables.lockMillis
    let made: ReadyConnection
    let filled: String
    do throws(ReadyConnection.Refusal) {
      made = try ReadyConnection.connect(options)
    } catch {
      throw TablesError(error.text, isUnreachable: true)
    }
    do throws(ReadyConnection.Refusal) {
      filled = try PostgresTables.begin(made, options)
    } catch {
      defer { made.abandon() }
      throw TablesError(error.text, isUnreachable: made.isLost || error.isSilent)
    }
    connection = made
    guard filled.isEmpty else {
      throw TablesError("it holds rows already (in \(filled)): use an empty database, or an empty schema")
    }
  }

  deinit { connection.abandon() }

  /// Begins the transaction and returns the name of a table that contains a row. Empty: all tables are empty.
  private static func begin(_ made: ReadyConnection, _ options: Options) throws(ReadyConnection.Refusal) -> String {
    try Migrations.run(on: made, by: ReadyConnection.deadline(options))
    try made.configure(options)
    try made.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    _ = try made.text("SELECT version FROM schema_version WHERE id = 1 FOR UPDATE")
    try made.execute("LOCK TABLE \(locked) IN EXCLUSIVE MODE")
    return try made.text(firstFilled)
  }

  private static let own = ["audit_unplaced", "audit_position", "changes", "pending_networks", "count_parts"]
  private static let locked = (StoredTable.allCases.map(\.name) + own).joined(separator: ", ")

  private static let firstFilled: String = {
    let tables = StoredTable.allCases.map { ($0.name, $0.condition) }
    let rest = [("audit_unplaced", ""), ("changes", ""), ("audit_position", "WHERE last <> 0")]
    let cases = (tables + rest).map { "WHEN EXISTS (SELECT 1 FROM \($0) \($1)) THEN '\($0)'" }
    return "SELECT CASE \(cases.joined(separator: " ")) ELSE '' END"
  }()

  // MARK: Writing

  package func begin(_ table: StoredTable) throws(TablesError) {
    try run(table.name) { () throws(ReadyConnection.Refusal) in
      try connection.beginCopyIn("COPY \(table.name) (\(table.columnList)) FROM STDIN (FORMAT binary)")
    }
  }

  /// Sends rows of the table that was begun last.
  package func put(_ rows: StoredRows, into table: StoredTable) throws(TablesError) {
    try run(table.name) { () throws(ReadyConnection.Refusal) in try connection.put(rows.bytes) }
  }

  package func end(_ table: StoredTable) throws(TablesError) {
    try run(table.name) { () throws(ReadyConnection.Refusal) in try connection.endCopyIn() }
  }

  /// Completes the tables after the last row: recounts the rows, sets the last audit position, and runs ANALYZE so that
  /// the first lookups have good plans.
  package func complete() throws(TablesError) {
    for statement in PostgresTables.recount { try execute(statement) }
    try execute("UPDATE audit_position SET last = (SELECT coalesce(max(position), 0) FROM audit) WHERE id = 1")
    for table in StoredTable.allCases { try execute("ANALYZE \(table.name)") }
  }

  /// The row of the total exists even if it is 0.
  private static let recount = [
    "DELETE FROM count_parts",
    "DELETE FROM pending_counts",
    """
    INSERT INTO pending_counts (scope, name, held)
      SELECT \(CountScope.ofAccountSQL), account_id, count(*)
      FROM pendings WHERE completed_at IS NULL AND account_id <> '' GROUP BY 1, 2
      UNION ALL SELECT \(CountScope.caller.literal), purpose || ' ' || caller, count(*)
      FROM pendings GROUP BY purpose, caller
      UNION ALL SELECT \(CountScope.purpose.literal), purpose, count(*) FROM pendings GROUP BY purpose
      UNION ALL SELECT \(CountScope.total.literal), '', count(*) FROM pendings
      UNION ALL SELECT CASE WHEN buried_at IS NULL
        THEN \(CountScope.waiting.literal) ELSE \(CountScope.buried.literal) END, '', count(*)
      FROM deliveries GROUP BY 1
    """,
    "DELETE FROM pending_networks",
    """
    INSERT INTO pending_networks (quota, network, held)
      SELECT purpose || ' ' || caller, network, count(*) FROM pendings WHERE network IS NOT NULL GROUP BY 1, 2
    """,
  ]

  /// Commits. If the connection is lost during the commit, either everything is stored or nothing.
  package func commit() throws(TablesError) { try execute("COMMIT") }

  // MARK: Reading back

  /// Returns the rows of a table. Read them to the end before any other call.
  package func rows(of table: StoredTable) throws(TablesError) -> PostgresTableRows {
    let select = "SELECT \(table.columnList) FROM \(table.name) \(table.condition) ORDER BY \(table.keyList)"
    try run(table.name) { () throws(ReadyConnection.Refusal) in
      try connection.beginCopyOut("COPY (\(select)) TO STDOUT (FORMAT binary)")
    }
    return PostgresTableRows(table, connection)
  }

  // MARK: Statements

  func execute(_ sql: String) throws(TablesError) {
    try run { () throws(ReadyConnection.Refusal) in try connection.execute(sql) }
  }

  private func run<Value>(
    _ place: String = "", _ body: () throws(ReadyConnection.Refusal) -> Value
  ) throws(TablesError) -> Value {
    do throws(ReadyConnection.Refusal) {
      return try body()
    } catch {
      let text = place.isEmpty ? error.text : "\(place): \(error.text)"
      throw TablesError(text, isUnreachable: connection.isLost)
    }
  }
}

/// The rows of one table in key order, in portions.
package final class PostgresTableRows {
  /// The size from which a portion takes no more rows.
  private static let bytesPerPortion = 256 * 1024

  private let table: StoredTable
  private let connection: ReadyConnection
  private var isFirst = true
  private var isOver = false

  fileprivate init(_ table: StoredTable, _ connection: ReadyConnection) {
    self.table = table
    self.connection = connection
  }

  /// Returns at least one row, or nil after the last.
  package func next() throws(TablesError) -> StoredRows? {
    let columns = table.columns.count
    var rows = StoredRows()
    while !isOver, rows.bytes.count < PostgresTableRows.bytesPerPortion {
      guard let row = try nextRow() else { break }
      guard rows.append(row: row, columns: columns) else { throw TablesError("\(table.name): a row is malformed") }
    }
    return rows.count > 0 ? rows : nil
  }

  private func nextRow() throws(TablesError) -> ArraySlice<UInt8>? {
    do throws(ReadyConnection.Refusal) {
      let row = try connection.nextCopied(isFirst: isFirst)
      isFirst = false
      isOver = row == nil
      return row
    } catch {
      throw TablesError("\(table.name): \(error.text)", isUnreachable: connection.isLost)
    }
  }
}

extension StoredTable {
  fileprivate var columnList: String { columns.map(\.name).joined(separator: ", ") }
  fileprivate var keyList: String { key.joined(separator: ", ") }
  /// A count of 0 is equivalent to no count.
  fileprivate var condition: String { self == .pendingCounts ? "WHERE held <> 0" : "" }
}
