import CSQLite
import Reactor
import Store
import Synchronization

/// A change on its way, with whoever waits for its outcome.
struct ChangeOrder: Sendable {
  let change: Change
  let fate: Fate
  let answer: CheckedContinuation<Outcome, any Error>
}

enum WriteOrder: Sendable {
  case change(ChangeOrder)
  case sweep(at: Timestamp, rowsMax: Int, auditedBefore: Timestamp, CheckedContinuation<Int, any Error>)
  /// Answered once what the thread was at is done.
  case settle(CheckedContinuation<Void, any Error>)
}

/// The writing thread: takes what waits, carries it out in one transaction, and answers only after the commit returned.
final class Writer {
  let connection: Connection
  private var lock: LockFile?
  private let inbox: Inbox<WriteOrder>
  private let options: Options
  private let progress: Progress
  private let observer: (any StoreObserver)?
  /// Since the observer was told.
  var pendingsChanged = false
  var deliveriesChanged = false
  /// Notices that the transaction has not queued.
  var unqueuedNotices: [UnqueuedNotice] = []
  /// Limits of which the transaction has used up a caller's half.
  var halfUsedLimits: [ThrottleKind] = []
  /// The purposes of the rows that made room for others.
  var removedPendings: [PendingPurpose] = []
  /// Since watchers were told.
  var eventsAppended = false
  private let appended: (@Sendable () -> Void)?
  let marks: CommitMarks
  let waysIn: WaysInCache
  /// Of accounts that confirmed theirs lately.
  let versions: MarkedCache<String, Int64>
  private var checkpoints: CheckpointPlan

  /// What stands around changes. Prepared at the start, since what undoes must not fail for lack of memory.
  private enum Bracket {
    static let begin: StaticString = "BEGIN IMMEDIATE"
    static let commit: StaticString = "COMMIT"
    static let rollback: StaticString = "ROLLBACK"
    static let savepoint: StaticString = "SAVEPOINT change"
    static let release: StaticString = "RELEASE change"
    static let undo: StaticString = "ROLLBACK TO change"
    static var all: [StaticString] { [begin, commit, rollback, savepoint, release, undo] }
  }

  init(
    _ connection: Connection, lock: consuming LockFile, inbox: Inbox<WriteOrder>, options: Options,
    progress: Progress, marks: CommitMarks, waysIn: WaysInCache, observer: (any StoreObserver)?,
    appended: (@Sendable () -> Void)?
  ) throws(Failure) {
    self.connection = connection
    self.lock = consume lock
    self.inbox = inbox
    self.options = options
    self.progress = progress
    self.observer = observer
    self.marks = marks
    self.waysIn = waysIn
    versions = MarkedCache(room: options.versionsKept, marks: marks)
    self.appended = appended
    checkpoints = CheckpointPlan(options)
    for bracket in Bracket.all { _ = try connection.statement(bracket) }
    observer?.holds(pendingRows: try held(.total))
    observer?.holds(waitingDeliveries: try held(.waiting))
  }

  /// Ends once the inbox is closed and empty. The checkpoint may be kept back by a reader that is still attached; the
  /// next start then reads the WAL.
  func run() {
    while let orders = inbox.take(atMost: options.groupMax) {
      serve(orders)
      checkpointWhenDue()
    }
    _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    lock = nil
    inbox.end()
  }

  private func run(_ bracket: StaticString) throws(Failure) { try connection.statement(bracket).run() }

  private func serve(_ orders: [WriteOrder]) {
    var group: [ChangeOrder] = []
    group.reserveCapacity(orders.count)
    for order in orders {
      if case .change(let change) = order { group.append(change) }
    }
    progress.changes.add(group.count, ordering: .relaxed)
    if !group.isEmpty { carryOut(group) }
    for order in orders {
      switch order {
      case .change: continue
      case .sweep(let now, let rowsMax, let auditedBefore, let answer):
        reply(to: answer) { () throws(Failure) in
          try transaction { () throws(Failure) in try sweep(now, rowsMax, auditedBefore: auditedBefore) }
        }
        tellOfCounts()
      case .settle(let answer): answer.resume()
      }
    }
  }

  // MARK: Group commit

  /// One transaction for all, first without savepoints: SQLite would copy each page that a change touches, for the sake
  /// of the few changes that cannot be carried out. Where one is met, all is rolled back and done again with a
  /// savepoint each, so that a refused change leaves nothing behind and the others go on.
  ///
  /// Where the transaction is lost (a failed commit, or FULL, IOERR, NOMEM inside it), nobody has been told anything
  /// and nothing was written: each change is run again alone, and may be cancelled until then. Where a foreign program
  /// holds the lock, each would only wait for it again.
  private func carryOut(_ group: [ChangeOrder]) {
    let begun = ContinuousClock.now
    forgetReports()
    do throws(Failure) {
      var results = try transaction(if: { $0.count == group.count }) { () throws(Failure) in try attemptAll(group) }
      if results.count < group.count {
        for order in group { order.fate.release() }
        forgetReports()
        results = try transaction { () throws(Failure) in try attemptEach(group) }
      }
      observer?.committed(changes: group.count, took: begun.duration(to: .now))
      // Before anyone is told of his change: who then looks finds it counted.
      tellOfCounts()
      for why in unqueuedNotices { observer?.leftUnqueued(why) }
      for limit in halfUsedLimits { observer?.reachedHalf(of: limit) }
      for purpose in removedPendings { observer?.removedPending(for: purpose) }
      for (order, result) in zip(group, results) { answer(order, result) }
      if eventsAppended {
        eventsAppended = false
        appended?()
      }
    } catch {
      observer?.lostCommit()
      if group.count == 1 || error.isLock {
        for order in group { answer(order, .failure(error.storeError)) }
        return
      }
      for order in group {
        order.fate.release()
        carryOut([order])
      }
    }
  }

  private func answer(_ order: ChangeOrder, _ result: Result<Outcome, StoreError>) {
    if result != .success(.committed) { order.fate.release() }
    observer?.settled(result)
    order.answer.resume(with: result.mapError { $0 as any Error })
  }

  /// One look at one row, and only where it has changed. A count that cannot be read is told with the next change.
  private func tellOfCounts() {
    if pendingsChanged, let observer, let count = try? held(.total) {
      pendingsChanged = false
      observer.holds(pendingRows: count)
    }
    if deliveriesChanged, let observer, let count = try? held(.waiting) {
      deliveriesChanged = false
      observer.holds(waitingDeliveries: count)
    }
  }

  /// Stops before the first change that cannot be carried out: what it wrote is still there.
  private func attemptAll(_ group: [ChangeOrder]) throws(Failure) -> [Result<Outcome, StoreError>] {
    var results: [Result<Outcome, StoreError>] = []
    results.reserveCapacity(group.count)
    for order in group {
      let outcome: Outcome
      do throws(Failure) {
        outcome = order.fate.take() ? try apply(order.change) : .cancelled
      } catch {
        guard connection.isInTransaction else { throw error }
        return results
      }
      guard outcome == .committed || outcome == .cancelled else { return results }
      results.append(.success(outcome))
    }
    return results
  }

  private func forgetReports() { (unqueuedNotices, halfUsedLimits, removedPendings) = ([], [], []) }

  private func attemptEach(_ group: [ChangeOrder]) throws(Failure) -> [Result<Outcome, StoreError>] {
    var results: [Result<Outcome, StoreError>] = []
    results.reserveCapacity(group.count)
    for order in group { results.append(try attempt(order)) }
    return results
  }

  /// A change that cannot be carried out leaves the transaction as it was before, so that the others go on.
  private func attempt(_ order: ChangeOrder) throws(Failure) -> Result<Outcome, StoreError> {
    guard order.fate.take() else { return .success(.cancelled) }
    try run(Bracket.savepoint)
    let counts = (unqueuedNotices.count, halfUsedLimits.count, removedPendings.count)
    let result: Result<Outcome, StoreError>
    do throws(Failure) {
      result = .success(try apply(order.change))
    } catch {
      guard connection.isInTransaction else { throw error }
      result = .failure(error.storeError)
    }
    if result != .success(.committed) {
      unqueuedNotices.removeLast(unqueuedNotices.count - counts.0)
      halfUsedLimits.removeLast(halfUsedLimits.count - counts.1)
      removedPendings.removeLast(removedPendings.count - counts.2)
      try run(Bracket.undo)
    }
    try run(Bracket.release)
    return result
  }

  /// Runs `body` between BEGIN and COMMIT, or ROLLBACK where its value is not to be kept; whatever fails, no
  /// transaction is left open.
  private func transaction<Value>(
    if isKept: (Value) -> Bool = { _ in true }, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    do throws(Failure) {
      try run(Bracket.begin)
      let value = try body()
      guard isKept(value) else {
        try run(Bracket.rollback)
        return value
      }
      try run(Bracket.commit)
      marks.advance()
      progress.transactions.add(1, ordering: .relaxed)
      return value
    } catch {
      stopIfSyncFailed(error)
      if connection.isInTransaction { try run(Bracket.rollback) }
      throw error
    }
  }

  private func reply<Value: Sendable>(
    to answer: CheckedContinuation<Value, any Error>, with body: () throws(Failure) -> Value
  ) {
    do throws(Failure) {
      answer.resume(returning: try body())
    } catch {
      answer.resume(throwing: error.storeError)
    }
  }

  // MARK: Checkpoint

  /// After the callers were answered: none of them waits for it.
  private func checkpointWhenDue() {
    let due = checkpoints.due(
      logPages: connection.walPages, isLogHeld: progress.isLogHeld, nowMillis: monotonicMillis())
    switch due {
    case .passive: _ = checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    case .restart:
      let failure = checkpoint(SQLITE_CHECKPOINT_RESTART, busyMillis: options.restartBusyMillis)
      if failure?.isLock == true { checkpoints.metReader(nowMillis: monotonicMillis()) }
    case nil: break
    }
  }

  /// A checkpoint that fails otherwise than by its sync loses nothing: the log keeps the pages until the next one.
  private func checkpoint(_ mode: Int32, busyMillis: Int32? = nil) -> Failure? {
    do throws(Failure) {
      try connection.checkpoint(mode, busyMillis: busyMillis)
      return nil
    } catch {
      stopIfSyncFailed(error)
      return error
    }
  }

  private func stopIfSyncFailed(_ failure: Failure) {
    if failure.isSyncFailure {
      fatalError("the store cannot be synced to disk (\(failure.text)): stopping, a restart reads the log anew")
    }
  }
}
