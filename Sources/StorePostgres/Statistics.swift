package import Store

extension PostgresStore {
  /// Reads sizes and counts. The number of accounts is the planner's estimate from `estimatedFrom` on.
  package func statistics(at now: Timestamp, countingAccounts: Bool) async throws -> StoreStatistics {
    StoreStatistics(
      accounts: countingAccounts ? try await number { BoundStatement(.countAccounts) } : nil,
      throttleBlocks: try await number { BoundStatement(.countBlocks).bind(now) },
      databaseBytes: try await number { BoundStatement(.databaseBytes) }, logBytes: nil)
  }

  private func number(_ statement: @escaping @Sendable () -> BoundStatement) async throws -> Int {
    let number = await ask(.reading, begin: .beginReading, { [statement()] }) { answers throws(RequestError) in
      guard answers[0].step() else { throw .corrupt("a count returned no row") }
      return try answers[0].int()
    }
    switch number {
    case .success(let number): return number
    case .failure(let failure): throw failure.storeError
    }
  }

  /// The open connections of all pools, and those with a request in progress.
  package var connections: (open: Int, inUse: Int) { counters.connections }
}

extension Statement {
  /// From this number of accounts on, a count would take too long.
  private static let estimatedFrom = 100_000
  fileprivate static let countAccounts = Statement(
    "count_accounts",
    """
    SELECT CASE WHEN reltuples >= \(estimatedFrom) THEN reltuples::bigint ELSE (SELECT count(*) FROM accounts) END
    FROM pg_class WHERE oid = 'accounts'::regclass
    """)
  fileprivate static let countBlocks = Statement(
    "count_blocks",
    """
    SELECT count(*) FROM (SELECT 1 FROM throttles WHERE expires_at > $1 AND blocked_until > $1
      LIMIT \(StoreStatistics.throttleBlocksMax)) AS blocked
    """)
  fileprivate static let databaseBytes = Statement("database_bytes", "SELECT pg_database_size(current_database())")

  static let ofStatistics = [countAccounts, countBlocks, databaseBytes]
}
