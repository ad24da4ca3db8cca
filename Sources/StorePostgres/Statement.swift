/// A statement that every connection prepares when it is made, so that none is parsed on the road of a call.
struct Statement: Sendable {
  let name: String
  let sql: String

  init(_ name: String, _ sql: String) {
    self.name = name
    self.sql = sql
  }

  static let all: [Statement] = [
    transactions, lookUps, ofAccounts, ofSessions, ofPendings, ofDeliveries, ofRecords, ofThrottles, ofEvents, ofSweeps,
  ].flatMap { $0 }

  /// A guard: fails (22012) unless `hit`, which is a query or a change that returns its rows, comes to a row. The
  /// server then passes over the COMMIT that is on its way behind it, which an UPDATE of no row would let through.
  static func guarding(_ name: String, _ hit: String) -> Statement {
    Statement(name, "WITH hit AS (\(hit)) SELECT 1 / count(*) FROM hit")
  }

  // MARK: Transactions

  static let beginReading = Statement("begin_reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  /// Each statement sees what was committed before it, and a row that another changes is looked at again once that is
  /// over: guards and unique keys decide. Where a server knows serializable transactions only, they decide as well.
  static let beginWriting = Statement("begin_writing", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
  /// A COMMIT that waits for a standby must not be cut off by the time that a statement may take: the server would call
  /// it committed with a mere warning that the standby does not have it.
  static let withoutTimeLimit = Statement("without_time_limit", "SET LOCAL statement_timeout = 0")
  /// For steps that touch all sessions of an account, of which there may be very many. Less than the half minute that a
  /// call may take.
  static let moreMillis: Int64 = 25_000
  static let withMoreTime = Statement("with_more_time", "SET LOCAL statement_timeout = \(moreMillis)")
  static let commit = Statement("commit", "COMMIT")
  static let rollback = Statement("rollback", "ROLLBACK")
  /// Fails like a guard where it is given 0.
  static let refuse = Statement("refuse", "SELECT 1 / $1::bigint")

  private static let transactions = [
    beginReading, beginWriting, withMoreTime, withoutTimeLimit, commit, rollback, refuse,
  ]
}
