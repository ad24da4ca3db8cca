import Store
import Synchronization

// Audit rows get their positions after their commit.
//
// Transactions that number their own rows become visible in another order than their numbers, and a watcher would miss
// a late row. A counter that each transaction locks until its end would make one sign-in wait for another.
//
// A change therefore only appends to `audit_unplaced`. A process that locks the single row of `audit_position` moves
// the rows committed by then to `audit`, each one position after the last. Positions thus become visible in order,
// without gaps, and none is assigned twice.

extension PostgresStore {
  /// Assigns positions to all committed rows that have none.
  func placeAll() async throws(StoreError) {
    var failures = 0
    while true {
      switch await place() {
      case .success(let count): if count < options.placedMax { return }
      case .failure(let failure):
        // It is safe to repeat a placing that may have succeeded.
        failures += 1
        guard failures <= options.retriesMax, failure.isPassing else {
          holdUpEvents(failure)
          throw failure.storeError
        }
      }
    }
  }

  /// Places one portion and returns its size.
  private func place() async -> Result<Int, RequestError> {
    let most = options.placedMax
    return await ask(
      .writing, begin: .beginWriting, { [BoundStatement(.lockPosition), BoundStatement(.placeEvents).bind(most)] }
    ) { answers throws(RequestError) in
      guard answers[1].step() else { throw .corrupt("the placing of audit rows returned no count") }
      return try answers[1].int()
    }
  }

  /// Checks for rows from all processes and notifies watchers. A failure is retried by the next check.
  func watchEvents() async {
    guard let (last, hasUnplaced) = await lookAtEvents() else { return }
    var (newest, arePlaced) = (last, true)
    if hasUnplaced {
      do { try await placeAll() } catch { arePlaced = false }
      newest = await lookAtEvents()?.last ?? last
    }
    if arePlaced, eventsAreHeldUp.exchange(false, ordering: .relaxed) { observer?.freedEvents() }
    if lastEvent.exchange(newest, ordering: .relaxed) < newest { appended?() }
  }

  /// Notifies the observer once, until a check succeeds. `Availability` reports an unreachable database separately.
  private func holdUpEvents(_ failure: RequestError) {
    switch failure {
    case .unsent, .lost: return
    case .refused(let error) where error.isUnknown: return
    case .refused, .corrupt: break
    }
    if !eventsAreHeldUp.exchange(true, ordering: .relaxed) { observer?.heldUpEvents("\(failure.storeError)") }
  }

  private func lookAtEvents() async -> (last: Int64, hasUnplaced: Bool)? {
    struct Look: Sendable {
      var last: Int64
      var hasUnplaced: Bool
    }
    let look = await ask(.reading, begin: .beginReading, { [BoundStatement(.lastEvent)] }) {
      answers throws(RequestError) in
      guard answers[0].step() else { throw .corrupt("the position of audit rows is missing") }
      return Look(last: try answers[0].int64(), hasUnplaced: try answers[0].bool())
    }
    switch look {
    case .success(let look): return (look.last, look.hasUnplaced)
    case .failure(let failure):
      holdUpEvents(failure)
      return nil
    }
  }

  /// Reports the counts over all processes to the observer.
  func count() async {
    guard let observer else { return }
    for (scope, tell) in [
      (.total, { observer.holds(pendingRows: $0) }),
      (.waiting, { observer.holds(waitingDeliveries: $0) }),
    ] as [(CountScope, (Int) -> Void)] {
      let held = await ask(.reading, begin: .beginReading, { [BoundStatement(.held).bind(scope.rawValue)] }) {
        answers throws(RequestError) in
        answers[0].step() ? try answers[0].int() : 0
      }
      if case .success(let held) = held { tell(held) }
    }
  }
}

extension Statement {
  static let lockPosition = Statement("lock_position", "SELECT last FROM audit_position WHERE id = 1 FOR UPDATE")
  /// A separate statement, so that it sees everything committed before the lock was acquired.
  static let placeEvents = Statement(
    "place_events",
    """
    WITH moved AS (
      DELETE FROM audit_unplaced
      WHERE id IN (SELECT id FROM audit_unplaced ORDER BY written_at, ordinal, id LIMIT $1)
      RETURNING \(unplacedAudit.names), written_at, ordinal
    ), placed AS (
      INSERT INTO audit (position, \(unplacedAudit.names))
      SELECT (SELECT last FROM audit_position WHERE id = 1) + row_number() OVER (ORDER BY written_at, ordinal, id),
        \(unplacedAudit.names)
      FROM moved RETURNING position
    ), raised AS (
      UPDATE audit_position SET last = last + (SELECT count(*) FROM placed)
      WHERE id = 1 AND (SELECT count(*) FROM placed) > 0 RETURNING 1
    )
    SELECT count(*) FROM placed
    """)

  static let ofEvents = [lockPosition, placeEvents, insertFence]
}
