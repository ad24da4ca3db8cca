/// A table that every backend has, with the same columns under the same names. A backend derives its additional data,
/// such as counts that save a lookup, from these tables.
///
/// Whole tables move from one backend to another in this form, as `StoredRows`. The domain never sees it.
package enum StoredTable: String, CaseIterable, Sendable {
  case accounts
  case closedAccounts = "closed_accounts"
  case identities
  case factors
  case unlinks
  case sessions
  case pendings
  case deliveries
  /// The numbers of rows in the two tables above, which a backend can recount.
  case pendingCounts = "pending_counts"
  case idempotency
  case spentTokens = "spent_tokens"
  case throttles
  case signingKeys = "signing_keys"
  case importKeys = "import_keys"
  case masterKeys = "master_keys"
  case sentMessages = "sent_messages"
  case failures
  case audit

  package var name: String { rawValue }

  /// The unique key, which also orders the rows. Texts and bytes are compared bytewise.
  package var key: [String] {
    switch self {
    case .accounts, .closedAccounts, .sessions, .deliveries, .sentMessages, .importKeys, .masterKeys: ["id"]
    case .identities, .unlinks: ["account_id", "provider_id", "subject"]
    case .factors: ["account_id", "id"]
    case .pendings, .spentTokens: ["digest"]
    case .pendingCounts: ["scope", "name"]
    case .idempotency, .throttles, .failures: ["key"]
    case .signingKeys: ["key_id"]
    case .audit: ["position"]
    }
  }

  /// The columns in row order: those of the record, then those that backends derive from it.
  package var columns: [StoredColumn] {
    switch self {
    case .accounts: AccountRecord.columns + [StoredColumn("idle_since", .integer)]
    case .closedAccounts: ClosedAccountRecord.columns
    case .identities: IdentityRecord.columns
    case .factors: FactorRecord.columns
    case .unlinks: UnlinkRecord.columns
    case .sessions: SessionRecord.columns + ["expires_day", "ends_at", "ends_day"].map { StoredColumn($0, .integer) }
    case .pendings: PendingRecord.columns
    case .deliveries: DeliveryRecord.columns
    case .pendingCounts: [StoredColumn("scope", .text), StoredColumn("name", .text), StoredColumn("held", .integer)]
    case .idempotency: IdempotencyRecord.columns
    case .spentTokens: [StoredColumn("digest", .bytes), StoredColumn("expires_at", .integer)]
    case .throttles: ThrottleRecord.columns
    case .signingKeys: SigningKeyRecord.columns
    case .importKeys: ImportKeyRecord.columns
    case .masterKeys: MasterKeyRecord.columns
    case .audit: AuditRecord.columns
    case .sentMessages: SentMessageRecord.columns
    case .failures: FailureRecord.columns
    }
  }
}

/// Rows of one table in transit to another backend.
///
/// A row begins with its column count in two bytes. For each column follow the length of the value in four bytes (all
/// ones: NULL) and the value. An integer has eight bytes, a boolean one, a text its UTF-8 bytes. Numbers are
/// big-endian. Each value has exactly one encoding, so rows are equal if their bytes are.
package struct StoredRows: Sendable {
  package private(set) var bytes: [UInt8] = []
  package private(set) var count = 0

  package init() {}

  /// Begins a row. Append its columns next, in order.
  package mutating func beginRow(columns: Int) {
    count += 1
    append(UInt64(columns), byteCount: 2)
  }

  package mutating func append(_ value: Int64) {
    append(8, byteCount: 4)
    append(UInt64(bitPattern: value), byteCount: 8)
  }

  package mutating func append(_ value: Bool) {
    append(1, byteCount: 4)
    bytes.append(value ? 1 : 0)
  }

  package mutating func append(_ value: [UInt8]) {
    append(UInt64(value.count), byteCount: 4)
    bytes += value
  }

  package mutating func appendNull() { append(.max, byteCount: 4) }

  /// Appends an encoded row. False: the bytes are not a row with this number of columns.
  package mutating func append(row: ArraySlice<UInt8>, columns: Int) -> Bool {
    var rest = row
    guard StoredRows.number(from: &rest, byteCount: 2) == columns else { return false }
    for _ in 0..<columns {
      guard let byteCount = StoredRows.number(from: &rest, byteCount: 4) else { return false }
      guard byteCount != 0xFFFF_FFFF else { continue }
      guard byteCount <= rest.count else { return false }
      rest = rest.dropFirst(byteCount)
    }
    guard rest.isEmpty else { return false }
    bytes += row
    count += 1
    return true
  }

  private mutating func append(_ number: UInt64, byteCount: Int) {
    for shift in stride(from: 8 * (byteCount - 1), through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
    }
  }

  private static func number(from rest: inout ArraySlice<UInt8>, byteCount: Int) -> Int? {
    guard rest.count >= byteCount else { return nil }
    defer { rest = rest.dropFirst(byteCount) }
    return rest.prefix(byteCount).reduce(0) { $0 << 8 | Int($1) }
  }
}
