import Store

/// Counts that many transactions change at the same time.
///
/// A count in one row is locked until its transaction ends, so all changes would run one after the other: 200 a second
/// if a commit takes 5 ms. A count therefore has up to 32 parts, and each connection changes its own part, chosen by
/// its backend's process ID. The count is the sum of its parts, plus the row of `pending_counts`, which earlier
/// versions count in. A part may be negative: another connection added the rows that this one removed.
///
/// A limit compares the sum as of the beginning of its statement. Changes that are in progress at the same time do not
/// see each other, so a limit may be exceeded by their number, which is at most the number of connections.
enum CountParts {
  private static let partCount = 32
  private static let bucketCount = 256

  static let tables = [
    """
    CREATE TABLE count_parts (
      scope TEXT COLLATE "C" NOT NULL,
      name TEXT COLLATE "C" NOT NULL,
      part BIGINT NOT NULL,
      held BIGINT NOT NULL,
      CONSTRAINT count_parts_part PRIMARY KEY (scope, name, part)
    )
    """,
    "CREATE TABLE pending_locks (bucket BIGINT NOT NULL, CONSTRAINT pending_locks_bucket PRIMARY KEY (bucket))",
    "INSERT INTO pending_locks (bucket) SELECT bucket FROM generate_series(0, \(bucketCount - 1)) AS s (bucket)",
  ]

  /// The part of the connection.
  static let own = "(pg_backend_pid() % \(partCount))::bigint"

  /// The sum of a count, as an SQL expression.
  static func sum(_ scope: String, _ name: String) -> String {
    """
    ((SELECT coalesce(sum(held), 0) FROM count_parts WHERE scope = \(scope) AND name = \(name)) + coalesce((
      SELECT held FROM pending_counts WHERE scope = \(scope) AND name = \(name)), 0))::bigint
    """
  }

  /// Adds the selected numbers to the connection's parts.
  /// - Parameter rows: a query for scope, name and number.
  static func add(_ rows: String) -> String {
    """
    INSERT INTO count_parts AS c (scope, name, part, held)
    SELECT r.scope, r.name, \(own), r.number FROM (\(rows)) AS r (scope, name, number)
    ON CONFLICT (scope, name, part) DO UPDATE SET held = c.held + excluded.held
    """
  }

  /// The lock for pending rows of this purpose and identity (`lockPendingBucket`).
  static func bucket(_ purpose: PendingPurpose, _ key: IdentityKey) -> Int {
    // FNV-1a: every replica must choose the same bucket. Several keys in one bucket only wait for each other.
    var hash: UInt32 = 2_166_136_261
    for byte in "\(purpose.rawValue) \(key.providerID) \(key.subject)".utf8 {
      hash = (hash ^ UInt32(byte)) &* 16_777_619
    }
    return Int(hash % UInt32(bucketCount))
  }
}

extension Statement {
  /// Locks the connection's part of the total, and with it all its parts, since this one is always locked first. Two
  /// connections may have the same part.
  static let lockCounts = Statement(
    "lock_counts",
    """
    SELECT held FROM count_parts
    WHERE scope = \(CountScope.total.literal) AND name = '' AND part = \(CountParts.own) FOR UPDATE
    """)
  /// The later of two concurrent requests for the same code ends the earlier one.
  static let lockPendingBucket = Statement(
    "lock_pending_bucket", "SELECT bucket FROM pending_locks WHERE bucket = $1 FOR UPDATE")
  /// A guard that also returns the new count.
  static let hold = Statement(
    "hold",
    """
    WITH seen AS (SELECT \(CountParts.sum("$1", "$2")) AS held), hit AS (
      INSERT INTO count_parts AS c (scope, name, part, held)
        SELECT $1, $2, \(CountParts.own), 1 FROM seen WHERE held < $3
      ON CONFLICT (scope, name, part) DO UPDATE SET held = c.held + 1 RETURNING 1)
    SELECT 1 / count(*), (SELECT held + 1 FROM seen) FROM hit
    """)
  /// A guard: the account has fewer open pending rows in this scope. The lock of the account makes it exact. The limit
  /// is small, and so is the number of completed rows, which expire soon.
  static let holdOfAccount = Statement(
    "hold_of_account",
    """
    SELECT 1 / (CASE WHEN count(*) < $3::bigint THEN 1 ELSE 0 END), NULL::bigint FROM pendings
    WHERE account_id = $2 AND completed_at IS NULL AND \(CountScope.ofAccountSQL) = $1
    """)
  /// The count of a scope without names.
  static let held = Statement("held", "SELECT \(CountParts.sum("$1", "''"))")

  static let ofCounts = [lockCounts, lockPendingBucket, hold, holdOfAccount, held]
}
