import Reactor
package import Store
import Synchronization

extension PostgresStore {
  /// Sweeps each kind of row in its own transaction, so that a failure of one kind does not affect the others. Skips
  /// rows that another process is sweeping. In a cancelled task, begins no further kind.
  package func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    let failuresMax = options.failuresMax
    let changesBefore = now.adding(millis: -options.changeMillis)
    do {
      try await placeAll()
    } catch {
      if error == .closed { throw error }
      observer?.leftUnswept("place_events", "\(error)")
    }
    var removed = 0
    for steps in [
      { [BoundStatement(.lockCounts), BoundStatement(.sweepPendings).bind(now).bind(rowsMax)] },
      {
        let steps = [BoundStatement(.sweepContents), BoundStatement(.sweepDeliveries)]
        return steps.map { $0.bind(now).bind(rowsMax) }
      },
      { [BoundStatement(.sweepIdempotency).bind(now).bind(rowsMax)] },
      { [BoundStatement(.sweepSpentTokens).bind(now).bind(rowsMax)] },
      { [BoundStatement(.sweepThrottles).bind(now).bind(rowsMax)] },
      { [BoundStatement(.sweepSessions).bind(now.day).bind(rowsMax)] },
      { [BoundStatement(.sweepEvents).bind(auditedBefore).bind(rowsMax)] },
      { [BoundStatement(.sweepSentMessages).bind(now).bind(rowsMax)] },
      { [BoundStatement(.sweepFailures).bind(now).bind(rowsMax)] },
      { [BoundStatement(.sweepSurplusFailures).bind(failuresMax).bind(rowsMax)] },
      { [BoundStatement(.sweepChanges).bind(changesBefore).bind(rowsMax)] },
    ] as [@Sendable () -> [BoundStatement]] where !Task.isCancelled {
      removed += try await remove(steps)
    }
    guard !Task.isCancelled else { return removed }
    if removed > 0 { await count() }
    // Not counted as removed rows: counts that only earlier versions use.
    _ = try await remove { [BoundStatement(.sweepCounts).bind(rowsMax)] }
    return removed
  }

  /// Inserts a fence of no change, which a later sweep removes, and reads the signing keys.
  package func probe() async throws {
    let steps: @Sendable () -> [BoundStatement] = {
      [BoundStatement(.insertFence).bind(ChangeID.random().bytes).bind(wallMillis()), BoundStatement(.withoutTimeLimit)]
    }
    let written = await ask(.writing, begin: .beginWriting, steps) { _ throws(RequestError) in }
    if case .failure(let failure) = written { throw failure.storeError }
    var query = Query()
    query.signingKeys = true
    _ = try await load(query)
  }

  /// Runs the steps and returns the number of rows that the last one removed.
  private func remove(_ steps: @escaping @Sendable () -> [BoundStatement]) async throws(StoreError) -> Int {
    let count = await ask(.writing, begin: .beginWriting, steps) { answers throws(RequestError) in
      guard let answer = answers.last, answer.step() else { throw .corrupt("a sweep returned no count") }
      return try answer.int()
    }
    let kind = steps().last?.statement.name ?? ""
    switch count {
    case .success(let count):
      passedOver.withLock { $0[kind] = nil }
      return count
    // The next sweep removes what this one could not. Only a second consecutive failure is reported.
    case .failure(.refused(let error)) where error.isCollision || error.isLockTimeout:
      let times = passedOver.withLock { kinds in
        kinds[kind, default: 0] += 1
        return kinds[kind]
      }
      if times == 2 { observer?.leftUnswept(kind, "twice in a row: \(error.text)") }
      return 0
    // No request can be sent.
    case .failure(.unsent(let error)): throw error
    case .failure(let failure):
      observer?.leftUnswept(kind, "\(failure.storeError)")
      return 0
    }
  }
}

extension Statement {
  /// Sweeps the oldest rows of a table first.
  private static func sweep(
    _ table: String, by key: String, where condition: String, orderedBy: String
  ) -> Statement {
    Statement(
      "sweep_\(table)",
      """
      WITH gone AS (
        DELETE FROM \(table) WHERE \(key) IN (
          SELECT \(key) FROM \(table) WHERE \(condition) ORDER BY \(orderedBy) LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING 1)
      SELECT count(*) FROM gone
      """)
  }

  static let sweepIdempotency = sweep("idempotency", by: "key", where: "expires_at <= $1", orderedBy: "expires_at")
  static let sweepSpentTokens = sweep("spent_tokens", by: "digest", where: "expires_at <= $1", orderedBy: "expires_at")
  static let sweepThrottles = sweep("throttles", by: "key", where: "expires_at <= $1", orderedBy: "expires_at")
  static let sweepSessions = sweep("sessions", by: "id", where: "ends_day < $1", orderedBy: "ends_day")
  static let sweepSentMessages = sweep("sent_messages", by: "id", where: "kept_until <= $1", orderedBy: "kept_until")
  static let sweepFailures = sweep("failures", by: "key", where: "kept_until <= $1", orderedBy: "kept_until")
  static let sweepChanges = sweep("changes", by: "id", where: "at < $1", orderedBy: "at")
  /// Removes old audit rows. Considers only the rows with the lowest positions, which are ordered by time unless a
  /// clock was set back. A later sweep removes any row that this one skips. The newest row stays.
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
  private static let unusedCount = "scope IN (\(CountScope.account.literal), \(CountScope.unknown.literal))"
  static let sweepCounts = Statement(
    "sweep_counts",
    """
    WITH gone AS (
      DELETE FROM pending_counts WHERE \(unusedCount) AND name IN (
        SELECT name FROM pending_counts WHERE \(unusedCount)
        LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) FROM gone
    """)

  static let ofSweeps = [
    sweepIdempotency, sweepSpentTokens, sweepThrottles, sweepSessions, sweepSentMessages, sweepFailures, sweepChanges,
    sweepEvents, sweepCounts,
  ]
}
