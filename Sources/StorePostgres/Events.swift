import Store
import Synchronization

// Audit rows get their positions after they were committed. Transactions that number their own rows become visible in
// another order than that of their numbers, and a watcher would pass over a row that comes late; a counter that each
// locks until its end would let one sign-in wait for the other. So a change only appends to `audit_unplaced`, and
// whoever locks the one row of `audit_position` moves what is committed by then to `audit`, each row a position behind
// the last: positions become visible in their order, without a gap, and none is given twice.

extension PostgresStore {
  /// Gives positions to all rows that were committed before and have none yet.
  func placeAll() async throws(StoreError) {
    var failures = 0
    while true {
      switch await place() {
      case .success(let count): if count < options.placedMax { return }
      case .failure(let failure):
        // It does no harm to place again what may have been placed.
        failures += 1
        guard failures <= options.retriesMax, failure.isPassing else {
          holdUpEvents(failure)
          throw failure.storeError
        }
      }
    }
  }

  /// A portion of them; says how many it was.
  private func place() async -> Result<Int, Failure> {
    let most = options.placedMax
    return await ask(
      .writing, begin: .beginWriting, { [Step(.lockPosition), Step(.placeEvents).bind(most)] }
    ) { answers throws(Failure) in
      guard answers[1].step() else { throw .corrupt("the placing of audit rows did not count") }
      return try answers[1].int()
    }
  }

  /// Looks for rows of whichever process, and tells of them. What fails is done by the next look.
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

  /// Tells it once, until a look finds nothing in the way. That nothing can be asked is told by itself (`Reach`).
  private func holdUpEvents(_ failure: Failure) {
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
    let look = await ask(.reading, begin: .beginReading, { [Step(.lastEvent)] }) { answers throws(Failure) in
      guard answers[0].step() else { throw .corrupt("the position of audit rows is gone") }
      return Look(last: try answers[0].int64(), hasUnplaced: try answers[0].bool())
    }
    switch look {
    case .success(let look): return (look.last, look.hasUnplaced)
    case .failure(let failure):
      holdUpEvents(failure)
      return nil
    }
  }

  /// What all processes together hold, for who counts it.
  func count() async {
    guard let observer else { return }
    for (scope, tell) in [
      (.total, { observer.holds(pendingRows: $0) }),
      (.waiting, { observer.holds(waitingDeliveries: $0) }),
    ] as [(CountScope, (Int) -> Void)] {
      let held = await ask(.reading, begin: .beginReading, { [Step(.held).bind(scope.rawValue)] }) {
        answers throws(Failure) in
        answers[0].step() ? try answers[0].int() : 0
      }
      if case .success(let held) = held { tell(held) }
    }
  }
}

extension Statement {
  static let lockPosition = Statement("lock_position", "SELECT last FROM audit_position WHERE id = 1 FOR UPDATE")
  /// Sees what was committed before the lock was had, as a statement of its own.
  static let placeEvents = Statement(
    "place_events",
    """
    WITH moved AS (
      DELETE FROM audit_unplaced
      WHERE id IN (SELECT id FROM audit_unplaced ORDER BY written_at, ordinal, id LIMIT $1)
      RETURNING id, written_at, ordinal, at, account_id, event, caller, details
    ), placed AS (
      INSERT INTO audit (position, id, at, account_id, event, caller, details)
      SELECT (SELECT last FROM audit_position WHERE id = 1) + row_number() OVER (ORDER BY written_at, ordinal, id),
        id, at, account_id, event, caller, details
      FROM moved RETURNING position
    ), raised AS (
      UPDATE audit_position SET last = last + (SELECT count(*) FROM placed)
      WHERE id = 1 AND (SELECT count(*) FROM placed) > 0 RETURNING 1
    )
    SELECT count(*) FROM placed
    """)

  static let ofEvents = [lockPosition, placeEvents, insertFence]
}
