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
  case audit

  package enum Kind: Sendable {
    case text
    case integer
    case boolean
    case bytes
  }

  package struct Column: Sendable {
    package let name: String
    package let kind: Kind
  }

  package var name: String { rawValue }

  /// The unique key, which also orders the rows. Texts and bytes are compared bytewise.
  package var key: [String] {
    switch self {
    case .accounts, .closedAccounts, .sessions, .deliveries, .importKeys: ["id"]
    case .identities, .unlinks: ["account_id", "provider_id", "subject"]
    case .factors: ["account_id", "id"]
    case .pendings, .spentTokens: ["digest"]
    case .pendingCounts: ["scope", "name"]
    case .idempotency, .throttles: ["key"]
    case .signingKeys: ["key_id"]
    case .audit: ["position"]
    }
  }

  /// The columns in row order.
  package var columns: [Column] {
    switch self {
    case .accounts: accountColumns
    case .closedAccounts: columns(text: ["id", "survivor_id", "moved_provider_ids"], integer: ["closed_at"])
    case .identities:
      columns(
        text: ["account_id", "provider_id", "subject", "email", "display_name", "photo_url", "username"],
        integer: ["tier", "linked_at"])
    case .factors:
      columns(
        text: ["account_id", "id", "kind", "display_name", "phone_number"], integer: ["enrolled_at"],
        bytes: ["sealed_secret"])
    case .unlinks: columns(text: ["account_id", "provider_id", "subject"], integer: ["unlinked_at"])
    case .sessions: sessionColumns
    case .pendings: pendingColumns
    case .deliveries:
      columns(
        text: ["id", "channel", "kind", "buried_reason"],
        integer: ["priority", "created_at", "expires_at", "attempts", "next_attempt_at", "buried_at", "kept_until"],
        bytes: ["sealed", "merge_key"])
    case .pendingCounts: columns(text: ["scope", "name"], integer: ["held"])
    case .idempotency:
      columns(
        text: ["outcome", "account_id", "session_id"], integer: ["created_at", "expires_at"],
        bytes: ["key", "request"])
    case .spentTokens: columns(integer: ["expires_at"], bytes: ["digest"])
    case .throttles:
      columns(integer: ["count", "since", "blocks", "blocked_until", "expires_at"], bytes: ["key"])
    case .signingKeys:
      columns(
        text: ["key_id", "algorithm"], integer: ["published_at", "active_from", "retired_at"],
        bytes: ["sealed_private_key"])
    case .importKeys: columns(text: ["id"], integer: ["created_at"], bytes: ["sealed_key"])
    case .audit:
      columns(text: ["id", "account_id", "event", "caller", "details"], integer: ["position", "at"])
    }
  }

  private var accountColumns: [Column] {
    columns(
      text: [
        "id", "email", "email_verification", "email_verification_provider_id", "email_source", "phone_number",
        "display_name", "photo_url", "custom_claims", "password_hash",
      ],
      integer: [
        "version", "password_set_at", "tokens_valid_after", "created_at", "last_sign_in_at", "email_verified_at",
        "phone_number_set_at", "idle_since",
      ],
      boolean: ["email_link", "custom_token", "anonymous", "disabled", "made_by_administrator"])
  }

  private var sessionColumns: [Column] {
    columns(
      text: [
        "id", "account_id", "caller", "sign_in_provider_id", "began_with", "methods", "second_factor",
        "second_factor_id", "audience", "claims_json", "closed_reason", "ip_address", "user_agent", "device_id",
      ],
      integer: [
        "rotated_at", "auth_time", "created_at", "last_used_at", "idle_expires_at", "expires_at", "expires_day",
        "closed_at", "ends_at", "ends_day",
      ],
      bytes: ["refresh_digest", "parent_digest"])
  }

  private var pendingColumns: [Column] {
    columns(
      text: [
        "purpose", "provider_id", "subject", "email", "account_id", "caller", "attempt_id", "completed_account_id",
        "completed_session_id",
      ],
      integer: ["version", "tier", "created_at", "expires_at", "attempts_left", "completed_at"],
      bytes: ["digest", "binding", "sealed", "network"])
  }

  private func columns(
    text: [String] = [], integer: [String] = [], boolean: [String] = [], bytes: [String] = []
  ) -> [Column] {
    text.map { Column(name: $0, kind: .text) } + integer.map { Column(name: $0, kind: .integer) }
      + boolean.map { Column(name: $0, kind: .boolean) } + bytes.map { Column(name: $0, kind: .bytes) }
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
