package import Store
import Synchronization

extension PostgresStore {
  /// One transaction for each kind: one that cannot be swept leaves the others to be. Rows that another process is
  /// sweeping are passed over.
  package func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    let changesBefore = now.adding(millis: -options.changeMillis)
    do {
      try await placeAll()
    } catch {
      if error == .closed { throw error }
      observer?.leftUnswept("place_events", "\(error)")
    }
    var removed = 0
    for steps in [
      { [Step(.lockPendings), Step(.sweepPendings).bind(now).bind(rowsMax)] },
      { [Step(.sweepDeliveries).bind(now).bind(rowsMax)] },
      { [Step(.sweepIdempotency).bind(now).bind(rowsMax)] },
      { [Step(.sweepSpentTokens).bind(now).bind(rowsMax)] },
      { [Step(.sweepThrottles).bind(now).bind(rowsMax)] },
      { [Step(.sweepSessions).bind(now.day).bind(rowsMax)] },
      { [Step(.sweepEvents).bind(auditedBefore).bind(rowsMax)] },
      { [Step(.sweepChanges).bind(changesBefore).bind(rowsMax)] },
    ] as [@Sendable () -> [Step]] {
      removed += try await remove(steps)
    }
    if removed > 0 { await count() }
    // No rows of anybody: counts that have come to nothing.
    _ = try await remove { [Step(.sweepCounts).bind(rowsMax)] }
    return removed
  }

  /// How many rows the last of the steps has removed.
  private func remove(_ steps: @escaping @Sendable () -> [Step]) async throws(StoreError) -> Int {
    let count = await ask(.writing, begin: .beginWriting, steps) { answers throws(Failure) in
      guard let answer = answers.last, answer.step() else { throw .corrupt("a sweep did not count") }
      return try answer.int()
    }
    let kind = steps().last?.statement.name ?? ""
    switch count {
    case .success(let count):
      passedOver.withLock { $0[kind] = nil }
      return count
    // The next sweep takes what this one has not. That it could not either is told, and no more.
    case .failure(.refused(let error)) where error.isCollision || error.isLockTimeout:
      let times = passedOver.withLock { kinds in
        kinds[kind, default: 0] += 1
        return kinds[kind]
      }
      if times == 2 { observer?.leftUnswept(kind, "twice in a row: \(error.text)") }
      return 0
    // Nothing can be asked for.
    case .failure(.unsent(let error)): throw error
    case .failure(let failure):
      observer?.leftUnswept(kind, "\(failure.storeError)")
      return 0
    }
  }
}

extension Statement {
  /// The oldest rows of a table first.
  private static func sweep(
    _ table: String, by key: String, where condition: String, order: String
  ) -> Statement {
    Statement(
      "sweep_\(table)",
      """
      WITH gone AS (
        DELETE FROM \(table) WHERE \(key) IN (
          SELECT \(key) FROM \(table) WHERE \(condition) ORDER BY \(order) LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING 1)
      SELECT count(*) FROM gone
      """)
  }

  static let sweepIdempotency = sweep("idempotency", by: "key", where: "expires_at <= $1", order: "expires_at")
  static let sweepSpentTokens = sweep("spent_tokens", by: "digest", where: "expires_at <= $1", order: "expires_at")
  static let sweepThrottles = sweep("throttles", by: "key", where: "expires_at <= $1", order: "expires_at")
  static let sweepSessions = sweep("sessions", by: "id", where: "ends_day < $1", order: "ends_day")
  static let sweepChanges = sweep("changes", by: "id", where: "at < $1", order: "at")
  /// Looks at the oldest rows only: they stand in the order of their time, but for what a clock was set back by, and
  /// what is passed over for that goes with a later sweep. The newest row stays.
  static let sweepEvents = Statement(
    "sweep_events",
    """
    WITH oldest AS (SELECT position, at FROM audit ORDER BY position LIMIT $2), gone AS (
      DELETE FROM audit WHERE position < (SELECT last FROM audit_position WHERE id = 1) AND position IN (
        SELECT position FROM audit WHERE position IN (SELECT position FROM oldest WHERE at < $1)
        FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) FROM gone
    """)
  private static let emptyCount =
    "held = 0 AND scope IN (\(CountScope.account.literal), \(CountScope.stranger.literal))"
  static let sweepCounts = Statement(
    "sweep_counts",
    """
    WITH gone AS (
      DELETE FROM pending_counts WHERE \(emptyCount) AND name IN (
        SELECT name FROM pending_counts WHERE \(emptyCount)
        LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) FROM gone
    """)

  static let ofSweeps = [
    sweepIdempotency, sweepSpentTokens, sweepThrottles, sweepSessions, sweepChanges, sweepEvents, sweepCounts,
  ]
}
