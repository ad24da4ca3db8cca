import Store

/// Inserts of many new accounts, as an import makes them: one statement for each table instead of one for each row.
struct BatchInsert {
  /// Below this number, single statements are as fast.
  private static let accountsMin = 4

  private var accounts: [AccountRecord] = []
  private var identities: [IdentityRecord] = []
  private var factors: [FactorRecord] = []
  private var auditRows: [AuditRecord] = []

  /// Returns `nil` if the change does anything else.
  init?(_ change: Change) {
    guard change.writes.count >= BatchInsert.accountsMin else { return nil }
    for write in change.writes {
      switch write {
      case .account(.insert(let account)): accounts.append(account)
      case .identity(.insert(let identity)): identities.append(identity)
      case .factor(.insert(let factor)): factors.append(factor)
      case .record(.appendAudit(let record)): auditRows.append(record)
      default: return nil
      }
    }
    let ids = Set(accounts.map(\.id))
    guard accounts.count >= BatchInsert.accountsMin, identities.allSatisfy({ ids.contains($0.accountID) }),
      factors.allSatisfy({ ids.contains($0.accountID) })
    else { return nil }
  }

  func add(to script: Script) {
    script.add(.insertAccounts) { $0.bind(columnsOf: accounts) }
    // Follows the insert, like `guardNeverClosed`.
    script.add(.guardNoneClosed, refusing: .conflict(.accountID)) { statement in
      var ids = ArrayColumn(.text)
      for account in accounts { ids.append(account.id) }
      return statement.bind(ids.encoded)
    }
    if !identities.isEmpty { script.add(.insertIdentities) { $0.bind(columnsOf: identities) } }
    if !factors.isEmpty { script.add(.insertFactors) { $0.bind(columnsOf: factors) } }
    if !auditRows.isEmpty { script.add(.appendAuditRows) { $0.bind(columnsOf: auditRows, except: "position") } }
  }
}

extension Statement {
  static let insertAccounts = Statement(
    "insert_accounts",
    """
    INSERT INTO accounts (\(AccountRecord.columns.names), idle_since)
    SELECT \(AccountRecord.columns.names), created_at FROM \(unnested(AccountRecord.columns))
    """)
  static let guardNoneClosed = Statement(
    "guard_none_closed",
    "SELECT 1 / (CASE WHEN count(*) = 0 THEN 1 ELSE 0 END) FROM closed_accounts WHERE id = ANY($1::text[])")
  static let insertIdentities = insertMany(IdentityRecord.self)
  static let insertFactors = insertMany(FactorRecord.self)
  static let appendAuditRows = Statement(
    "append_audit_rows",
    """
    INSERT INTO audit_unplaced (\(unplacedAudit.names), ordinal, written_at)
    SELECT \(unplacedAudit.names), ordinal, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    FROM \(unnested(unplacedAudit, ordinality: true))
    """)

  private static func insertMany<Record: StoredRecord>(_: Record.Type) -> Statement {
    let (table, columns) = (Record.table.name, Record.columns)
    return Statement(
      "insert_many_\(table)",
      "INSERT INTO \(table) (\(columns.names)) SELECT \(columns.names) FROM \(unnested(columns))")
  }

  /// Arrays, one for each column, as rows.
  private static func unnested(_ columns: [StoredColumn], ordinality: Bool = false) -> String {
    let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.kind.type)[]" }.joined(separator: ", ")
    return ordinality
      ? "unnest(\(arrays)) WITH ORDINALITY AS r (\(columns.names), ordinal)"
      : "unnest(\(arrays)) AS r (\(columns.names))"
  }

  static let ofBatches = [insertAccounts, guardNoneClosed, insertIdentities, insertFactors, appendAuditRows]
}

extension BoundStatement {
  /// Binds one array for each column of the records.
  func bind<Record: StoredRecord>(columnsOf records: [Record], except name: String? = nil) -> BoundStatement {
    let columns = Record.columns.filter { $0.name != name }
    let collector = ColumnCollector(columns.map { ArrayColumn($0.kind) })
    for record in records { _ = collector.bind(record, except: name) }
    return collector.columns.reduce(self) { $0.bind($1.encoded) }
  }
}

/// One array in PostgreSQL's binary format: a header, then each element with its length.
private struct ArrayColumn {
  private let typeID: Int32
  private var count: Int32 = 0
  private var hasNull = false
  private var body: [UInt8] = []

  init(_ kind: StoredColumn.Kind) {
    // The ids of the built-in types, from pg_type.dat.
    typeID =
      switch kind {
      case .text: 25
      case .integer: 20
      case .boolean: 16
      case .bytes: 17
      }
  }

  mutating func append(_ value: String) { append(Array((value.utf8.contains(0) ? value.withoutNul : value).utf8)) }

  mutating func append(_ value: Int64) {
    append((0..<8).map { UInt8(truncatingIfNeeded: value >> Int64(56 - 8 * $0)) })
  }

  mutating func append(_ value: [UInt8]) {
    count += 1
    body.append(big: Int32(value.count))
    body += value
  }

  mutating func appendNull() {
    count += 1
    hasNull = true
    body.append(big: -1)
  }

  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20 + body.count)
    // One dimension, whether it has NULLs, the type, the number of elements, and the index of the first.
    for number in [1, hasNull ? 1 : 0, typeID, count, 1] { bytes.append(big: number) }
    return bytes + body
  }
}

/// Distributes the values of records to their columns.
private final class ColumnCollector: ParameterBinding {
  private(set) var columns: [ArrayColumn]
  private var next = 0

  init(_ columns: [ArrayColumn]) { self.columns = columns }

  func bind(_ value: String?) -> ColumnCollector {
    if let value { columns[next].append(value) } else { columns[next].appendNull() }
    return advanced()
  }

  func bind(_ value: Int64) -> ColumnCollector {
    columns[next].append(value)
    return advanced()
  }

  func bind(_ value: Int64?) -> ColumnCollector {
    if let value { columns[next].append(value) } else { columns[next].appendNull() }
    return advanced()
  }

  func bind(_ value: Bool) -> ColumnCollector {
    columns[next].append([value ? 1 : 0])
    return advanced()
  }

  func bind(_ value: [UInt8]?) -> ColumnCollector {
    if let value { columns[next].append(value) } else { columns[next].appendNull() }
    return advanced()
  }

  private func advanced() -> ColumnCollector {
    next = (next + 1) % columns.count
    return self
  }
}

extension [UInt8] {
  fileprivate mutating func append(big number: Int32) {
    for shift in stride(from: 24, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> Int32(shift))) }
  }
}
