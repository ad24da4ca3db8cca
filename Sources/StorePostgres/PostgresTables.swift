package import Store

/// Why tables cannot be brought into a database.
package struct TablesError: Error, Hashable {
  package let text: String
  /// Nobody answered, or does not any more.
  package let isUnreachable: Bool

  init(_ text: String, isUnreachable: Bool = false) {
    self.text = text
    self.isUnreachable = isUnreachable
  }
}

/// The tables of a database that is filled from another backend: all of it in one transaction, so that nobody ever sees
/// a part, and whatever interrupts it leaves nothing.
///
/// Servers that are started meanwhile wait at the row of the schema's version, which is locked as they lock it; those
/// that run already cannot write. Blocks. Goes away without a trace unless it is committed.
package final class PostgresTables {
  /// How long a table is waited for that somebody else uses.
  private static let lockMillis: Int64 = 10_000
  /// How long what was sent may stay unacknowledged before the server counts as gone.
  private static let unansweredMillis: Int64 = 60_000
  private static let connectSeconds = 10

  private let connection: MadeConnection

  /// Brings the schema up to date; refuses a database that holds a row, or that a newer version wrote.
  ///
  /// - Parameter passwordFile: empty: none is sent.
  package init(conninfo: String, passwordFile: String) throws(TablesError) {
    var options = Options(conninfo: conninfo)
    options.passwordFile = passwordFile
    options.connectSeconds = PostgresTables.connectSeconds
    // A copy, and an index that is built by it, take the time that they take.
    options.statementMillis = 0
    options.slackMillis = PostgresTables.unansweredMillis
    options.idleTransactionMillis = 0
    options.lockMillis = PostgresTables.lockMillis
    let made: MadeConnection
    let filled: String
    do throws(MadeConnection.Refusal) {
      made = try MadeConnection.connect(options)
    } catch {
      throw TablesError(error.text, isUnreachable: true)
    }
    do throws(MadeConnection.Refusal) {
      filled = try PostgresTables.begin(made, options)
    } catch {
      defer { made.abandon() }
      throw TablesError(error.text, isUnreachable: made.isLost || error.isSilent)
    }
    connection = made
    guard filled.isEmpty else {
      throw TablesError("it holds rows already (in \(filled)): take an empty database, or an empty schema of one")
    }
  }

  deinit { connection.abandon() }

  /// The name of a table that holds a row; empty: none does.
  private static func begin(_ made: MadeConnection, _ options: Options) throws(MadeConnection.Refusal) -> String {
    try Migrations.run(on: made, by: MadeConnection.deadline(options))
    try made.configure(options)
    try made.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    _ = try made.text("SELECT version FROM schema_version WHERE id = 1 FOR UPDATE")
    try made.execute("LOCK TABLE \(locked) IN EXCLUSIVE MODE")
    return try made.text(firstFilled)
  }

  private static let own = ["audit_unplaced", "audit_position", "changes", "pending_networks"]
  private static let locked = (StoredTable.allCases.map(\.name) + own).joined(separator: ", ")

  private static let firstFilled: String = {
    let tables = StoredTable.allCases.map { ($0.name, $0.condition) }
    let rest = [("audit_unplaced", ""), ("changes", ""), ("audit_position", "WHERE last <> 0")]
    let cases = (tables + rest).map { "WHEN EXISTS (SELECT 1 FROM \($0) \($1)) THEN '\($0)'" }
    return "SELECT CASE \(cases.joined(separator: " ")) ELSE '' END"
  }()

  // MARK: Writing

  package func begin(_ table: StoredTable) throws(TablesError) {
    try run(table.name) { () throws(MadeConnection.Refusal) in
      try connection.beginCopyIn("COPY \(table.name) (\(table.columnList)) FROM STDIN (FORMAT binary)")
    }
  }

  /// Of the table that was begun last.
  package func put(_ rows: StoredRows, into table: StoredTable) throws(TablesError) {
    try run(table.name) { () throws(MadeConnection.Refusal) in try connection.put(rows.bytes) }
  }

  package func end(_ table: StoredTable) throws(TablesError) {
    try run(table.name) { () throws(MadeConnection.Refusal) in try connection.endCopyIn() }
  }

  /// After the last row: counts what is held, notes the last position of the audit rows, and has the server look at its
  /// tables, so that the first look-ups are planned well.
  package func complete() throws(TablesError) {
    try execute(PostgresTables.recount)
    try execute("UPDATE audit_position SET last = (SELECT coalesce(max(position), 0) FROM audit) WHERE id = 1")
    for table in StoredTable.allCases { try execute("ANALYZE \(table.name)") }
  }

  /// The row of the total is there also where it is 0.
  private static let recount = """
    DELETE FROM pending_counts;
    INSERT INTO pending_counts (scope, name, held)
      SELECT \(CountScope.ofAccountSQL), account_id, count(*)
      FROM pendings WHERE completed_at IS NULL AND account_id <> '' GROUP BY 1, 2
      UNION ALL SELECT \(CountScope.caller.literal), purpose || ' ' || caller, count(*)
      FROM pendings GROUP BY purpose, caller
      UNION ALL SELECT \(CountScope.purpose.literal), purpose, count(*) FROM pendings GROUP BY purpose
      UNION ALL SELECT \(CountScope.total.literal), '', count(*) FROM pendings
      UNION ALL SELECT CASE WHEN buried_at IS NULL
        THEN \(CountScope.waiting.literal) ELSE \(CountScope.buried.literal) END, '', count(*)
      FROM deliveries GROUP BY 1;
    DELETE FROM pending_networks;
    INSERT INTO pending_networks (quota, network, held)
      SELECT purpose || ' ' || caller, coalesce(network, ''), count(*) FROM pendings GROUP BY 1, 2
    """

  /// Where the connection is lost meanwhile, all of it is there or nothing.
  package func commit() throws(TablesError) { try execute("COMMIT") }

  // MARK: Reading back

  /// To be read to its end before anything else is asked.
  package func rows(of table: StoredTable) throws(TablesError) -> PostgresTableRows {
    let select = "SELECT \(table.columnList) FROM \(table.name) \(table.condition) ORDER BY \(table.keyList)"
    try run(table.name) { () throws(MadeConnection.Refusal) in
      try connection.beginCopyOut("COPY (\(select)) TO STDOUT (FORMAT binary)")
    }
    return PostgresTableRows(table, connection)
  }

  // MARK: Statements

  func execute(_ sql: String) throws(TablesError) {
    try run { () throws(MadeConnection.Refusal) in try connection.execute(sql) }
  }

  private func run<Value>(
    _ place: String = "", _ body: () throws(MadeConnection.Refusal) -> Value
  ) throws(TablesError) -> Value {
    do throws(MadeConnection.Refusal) {
      return try body()
    } catch {
      let text = place.isEmpty ? error.text : "\(place): \(error.text)"
      throw TablesError(text, isUnreachable: connection.isLost)
    }
  }
}

/// The rows of one table in the order of their keys, some at a time.
package final class PostgresTableRows {
  /// From so many bytes on, no more rows are taken up with others.
  private static let bytesPerPortion = 256 * 1024

  private let table: StoredTable
  private let connection: MadeConnection
  private var isFirst = true
  private var isOver = false

  fileprivate init(_ table: StoredTable, _ connection: MadeConnection) {
    self.table = table
    self.connection = connection
  }

  /// At least one row, or nil after the last.
  package func next() throws(TablesError) -> StoredRows? {
    let columns = table.columns.count
    var rows = StoredRows()
    while !isOver, rows.bytes.count < PostgresTableRows.bytesPerPortion {
      guard let row = try nextRow() else { break }
      guard rows.append(row: row, columns: columns) else { throw TablesError("\(table.name): a row is none of ours") }
    }
    return rows.count > 0 ? rows : nil
  }

  private func nextRow() throws(TablesError) -> ArraySlice<UInt8>? {
    do throws(MadeConnection.Refusal) {
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
  /// A count of none is the same as no count.
  fileprivate var condition: String { self == .pendingCounts ? "WHERE held <> 0" : "" }
}
