import Store

// What lookups read that is not a stored record alone.

extension SignInMethodsRecord {
  /// One row for each identity of an account, or one row if it has none.
  static let columns = """
    a.password_hash IS NOT NULL, a.email_link, a.email_verification IS NOT NULL, a.phone_number IS NOT NULL, \
    CASE WHEN a.phone_number IS NULL THEN false ELSE coalesce(( \
      SELECT bool_and(kind = 'phone') FROM factors WHERE account_id = a.id AND kind <> 'recovery_code'), false) END, \
    i.provider_id
    """

  /// nil: there is no row.
  init?(rows row: QueryResult) throws(RequestError) {
    guard row.step() else { return nil }
    self.init(
      hasPassword: try row.bool(), emailLink: try row.bool(), emailVerified: try row.bool(),
      hasPhoneNumber: try row.bool(), hasOnlyPhoneFactors: try row.bool())
    if let providerID = row.optionalText() { providerIDs.append(providerID) }
    while row.step() {
      for _ in 0..<5 { _ = try row.bool() }
      providerIDs.append(row.text())
    }
  }
}

/// A dependent of an account. One statement reads the rows of three tables, each with the columns of all.
enum DependentRow {
  case identity(IdentityRecord)
  case factor(FactorRecord)
  case unlink(UnlinkRecord)

  private struct Part {
    let table: StoredTable
    /// The column that orders its rows.
    let time: String
    let columns: [StoredColumn]

    init<Record: StoredRecord>(_: Record.Type, orderedBy time: String) {
      table = Record.table
      self.time = time
      columns = Record.columns.without("account_id")
    }

    /// The columns, or NULL in each if these are rows of another part.
    func values(in part: Part) -> String {
      columns.map { column in
        let value = part.table == table ? column.name : "NULL::\(column.kind.type)"
        return "\(value) AS \(table.name)_\(column.name)"
      }.joined(separator: ", ")
    }

    /// The unique key within an account, under the names of `values`.
    var key: [String] { table.key.filter { $0 != "account_id" }.map { "\(table.name)_\($0)" } }
  }

  private static let parts = [
    Part(IdentityRecord.self, orderedBy: "linked_at"), Part(FactorRecord.self, orderedBy: "enrolled_at"),
    Part(UnlinkRecord.self, orderedBy: "unlinked_at"),
  ]

  /// Selects the dependents of the accounts whose ids match this condition, each kind in time order.
  static func select(ofAccounts condition: String) -> String {
    let selects = parts.enumerated().map { index, part in
      """
      SELECT account_id, \(index)::bigint AS part, \(part.time) AS ordered_by, \
      \(parts.map { $0.values(in: part) }.joined(separator: ", ")) \
      FROM \(part.table.name) WHERE account_id \(condition)
      """
    }
    return selects.joined(separator: "\nUNION ALL\n")
      + "\nORDER BY part, ordered_by, \(parts.flatMap(\.key).joined(separator: ", "))"
  }

  init(_ row: QueryResult) throws(RequestError) {
    let accountID = row.text()
    let part = try row.int()
    guard DependentRow.parts.indices.contains(part) else { throw .corrupt("\(part) is not a kind of dependent") }
    row.skip(1 + DependentRow.parts[..<part].reduce(0) { $0 + $1.columns.count })
    self =
      switch DependentRow.parts[part].table {
      case .identities: .identity(try row.record(ownerID: accountID))
      case .factors: .factor(try row.record(ownerID: accountID))
      default: .unlink(try row.record(ownerID: accountID))
      }
  }

  var accountID: String {
    switch self {
    case .identity(let identity): identity.accountID
    case .factor(let factor): factor.accountID
    case .unlink(let unlink): unlink.accountID
    }
  }
}

extension AccountState {
  mutating func add(_ row: DependentRow) {
    switch row {
    case .identity(let identity): identities.append(identity)
    case .factor(let factor): factors.append(factor)
    case .unlink(let unlink): unlinks.append(unlink)
    }
  }
}

extension IdleAccount {
  static let columns = """
    a.id, a.version, (SELECT max(last_used_at) FROM sessions WHERE account_id = a.id)
    """

  init(_ row: QueryResult) throws(RequestError) {
    self.init(id: row.text(), version: try row.int64(), lastUsedAt: try row.optionalTimestamp())
  }
}
