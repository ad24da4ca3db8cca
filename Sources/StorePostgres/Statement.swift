/// A statement that every connection prepares when it is made, so that no call waits for parsing.
struct Statement: Sendable {
  let name: String
  let sql: String

  init(_ name: String, _ sql: String) {
    self.name = name
    self.sql = sql
  }

  static let all: [Statement] = [
    transactions, lookUps, ofAccounts, ofBatches, ofSessions, ofCounts, ofPendings, ofDeliveries, ofRecords,
    ofThrottles, ofEvents, ofSweeps, ofMasterKeys, ofSearches, ofSupport, ofStatistics,
  ].flatMap { $0 }

  /// Returns a guard, which fails unless `hit` returns one row: with 22012 for none, with 21000 for several. `hit` is a
  /// query or a change that returns its rows.
  ///
  /// The failure makes the server skip the COMMIT that follows, which an UPDATE of no row would not.
  static func guarding(_ name: String, _ hit: String) -> Statement {
    Statement(name, "WITH hit AS (\(hit)) \(oneHit)")
  }

  static let oneHit = "SELECT 1::bigint / coalesce((SELECT 1 FROM hit), 0)"

  // MARK: Transactions

  static let beginReading = Statement("begin_reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  /// Each statement sees what was committed before it, and checks a row again after a concurrent change of it: guards
  /// and unique keys decide. They also decide if a server supports only serializable transactions.
  static let beginWriting = Statement("begin_writing", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
  /// The statement timeout must not cut off a COMMIT that waits for a standby. The server would report it as committed,
  /// with only a warning that the standby does not have it.
  static let withoutTimeLimit = Statement("without_time_limit", "SET LOCAL statement_timeout = 0")
  /// The timeout for steps that touch all sessions of an account, of which there may be very many. Less than the 30
  /// seconds that a call may take.
  static let moreMillis: Int64 = 25_000
  static let withMoreTime = Statement("with_more_time", "SET LOCAL statement_timeout = \(moreMillis)")
  static let commit = Statement("commit", "COMMIT")
  static let rollback = Statement("rollback", "ROLLBACK")
  /// Fails like a guard if its argument is 0.
  static let refuse = Statement("refuse", "SELECT 1 / $1::bigint")

  private static let transactions = [
    beginReading, beginWriting, withMoreTime, withoutTimeLimit, commit, rollback, refuse,
  ]
}
