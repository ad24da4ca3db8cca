import CSQLite
import Reactor
import Store
import Synchronization

/// A queued change with the continuation that waits for its outcome.
struct ChangeOrder: Sendable {
  let change: Change
  let commitDecision: CommitDecision
  let answer: CheckedContinuation<Outcome, any Error>
}

enum WriteOrder: Sendable {
  case change(ChangeOrder)
  case sweep(at: Timestamp, rowsMax: Int, auditedBefore: Timestamp, CheckedContinuation<Int, any Error>)
  case buildSearch(accountsMax: Int, CheckedContinuation<Int, any Error>)
  /// Resumed when the writer thread has finished its current work.
  case settle(CheckedContinuation<Void, any Error>)
  /// Resumed after a small change was written and read back.
  case probe(CheckedContinuation<Void, any Error>)
}

/// The writer thread. It takes waiting changes, applies them in one transaction, and resumes their callers only after
/// the commit has returned.
final class Writer {
  let connection: Connection
  private var lock: LockFile?
  private let queue: WorkQueue<WriteOrder>
  private let options: Options
  var failuresMax: Int { options.failuresMax }
  private let progress: Progress
  private let observer: (any StoreObserver)?
  /// Whether a count has changed since the last report to the observer.
  var pendingsChanged = false
  var deliveriesChanged = false
  /// The reasons why the transaction left notices unqueued.
  var unqueuedNotices: [UnqueuedNotice] = []
  /// The per-caller limits of which the transaction has used up half.
  var halfUsedLimits: [ThrottleKind] = []
  /// The purposes of the rows that were removed to make room for others.
  var removedPendings: [PendingPurpose] = []
  /// Whether audit rows were appended since the last notification of watchers.
  var eventsAppended = false
  private let appended: (@Sendable () -> Void)?
  let marks: CommitMarks
  let methods: SignInMethodsCache
  /// The versions of accounts that recently confirmed theirs.
  let versions: MarkedCache<String, Int64>
  /// Whether the file has the index of searches.
  let keepsSearch: Bool
  private var checkpoints: CheckpointPlan

  /// The statements around changes. Prepared at the start, because a rollback must not fail for lack of memory.
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
    _ connection: Connection, lock: consuming LockFile, queue: WorkQueue<WriteOrder>, options: Options,
    progress: Progress, marks: CommitMarks, methods: SignInMethodsCache, keepsSearch: Bool = false,
    observer: (any StoreObserver)?, appended: (@Sendable () -> Void)?
  ) throws(SQLiteError) {
    self.connection = connection
    self.lock = consume lock
    self.queue = queue
    self.options = options
    self.progress = progress
    self.observer = observer
    self.marks = marks
    self.methods = methods
    self.keepsSearch = keepsSearch
    versions = MarkedCache(room: options.versionsKept, marks: marks)
    self.appended = appended
    checkpoints = CheckpointPlan(options)
    for bracket in Bracket.all { _ = try connection.statement(bracket) }
    observer?.holds(pendingRows: try held(.total))
    observer?.holds(waitingDeliveries: try held(.waiting))
  }

  /// Runs until the queue is closed and empty. A reader that is still attached may hold back the last checkpoint. The
  /// next start then reads the WAL.
  func run() {
    while let orders = queue.take(atMost: options.groupMax) {
      serve(orders)
      checkpointWhenDue()
    }
    _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    lock = nil
  }

  private func run(_ bracket: StaticString) throws(SQLiteError) { try connection.statement(bracket).run() }

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
        reply(to: answer) { () throws(SQLiteError) in
          try transaction { () throws(SQLiteError) in try sweep(now, rowsMax, auditedBefore: auditedBefore) }
        }
        tellOfCounts()
      case .buildSearch(let accountsMax, let answer):
        reply(to: answer) { () throws(SQLiteError) in
          try transaction { () throws(SQLiteError) in try buildSearch(accountsMax) }
        }
      case .settle(let answer): answer.resume()
      case .probe(let answer):
        reply(to: answer) { () throws(SQLiteError) in try transaction(rewriteHeader) }
      }
    }
  }

  /// Writes the first page of the file without a change, which needs room in the WAL and a sync.
  private func rewriteHeader() throws(SQLiteError) {
    try connection.execute("PRAGMA application_id = \(try connection.integer("PRAGMA application_id"))")
  }

  // MARK: Group commit

  /// Applies all changes in one transaction, first without savepoints. With savepoints, SQLite would copy each page
  /// that a change touches, only for the few changes that fail. If one fails, the transaction is rolled back and
  /// repeated with a savepoint for each change. A rejected change then leaves nothing behind and the others proceed.
  ///
  /// The transaction can be lost: a failed commit, or FULL, IOERR or NOMEM inside it. No caller has a result then and
  /// nothing was written. Each change runs again alone, and may be cancelled until then. If a foreign program holds the
  /// lock, there is no second attempt, because each change would only wait for the lock again.
  private func carryOut(_ group: [ChangeOrder]) {
    let begun = ContinuousClock.now
    forgetReports()
    do throws(SQLiteError) {
      var results = try transaction(if: { $0.count == group.count }) { () throws(SQLiteError) in try attemptAll(group) }
      if results.count < group.count {
        for order in group { order.commitDecision.release() }
        forgetReports()
        results = try transaction { () throws(SQLiteError) in try attemptEach(group) }
      }
      observer?.committed(changes: group.count, took: begun.duration(to: .now))
      // Before callers receive their results: a caller that then looks finds its change counted.
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
        order.commitDecision.release()
        carryOut([order])
      }
    }
  }

  private func answer(_ order: ChangeOrder, _ result: Result<Outcome, StoreError>) {
    if result != .success(.committed) { order.commitDecision.release() }
    observer?.settled(result)
    order.answer.resume(with: result.mapError { $0 as any Error })
  }

  /// Reports the counts that have changed, with one lookup of one row each. A count that cannot be read is reported
  /// with the next change.
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

  /// Applies changes until the first one that fails. Its writes are still in the transaction.
  private func attemptAll(_ group: [ChangeOrder]) throws(SQLiteError) -> [Result<Outcome, StoreError>] {
    var results: [Result<Outcome, StoreError>] = []
    results.reserveCapacity(group.count)
    for order in group {
      let outcome: Outcome
      do throws(SQLiteError) {
        outcome = order.commitDecision.take() ? try apply(order.change) : .cancelled
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

  private func attemptEach(_ group: [ChangeOrder]) throws(SQLiteError) -> [Result<Outcome, StoreError>] {
    var results: [Result<Outcome, StoreError>] = []
    results.reserveCapacity(group.count)
    for order in group { results.append(try attempt(order)) }
    return results
  }

  /// Applies one change inside a savepoint. If the change fails, it leaves no trace and the others proceed.
  private func attempt(_ order: ChangeOrder) throws(SQLiteError) -> Result<Outcome, StoreError> {
    guard order.commitDecision.take() else { return .success(.cancelled) }
    try run(Bracket.savepoint)
    let counts = (unqueuedNotices.count, halfUsedLimits.count, removedPendings.count)
    let result: Result<Outcome, StoreError>
    do throws(SQLiteError) {
      result = .success(try apply(order.change))
    } catch {
      guard connection.isInTransaction else { throw error }
      error.report(to: observer)
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

  /// Runs `body` between BEGIN and COMMIT, or ROLLBACK if its value must not be kept. No error leaves a transaction
  /// open.
  private func transaction<Value>(
    if isKept: (Value) -> Bool = { _ in true }, _ body: () throws(SQLiteError) -> Value
  ) throws(SQLiteError) -> Value {
    do throws(SQLiteError) {
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
      error.report(to: observer)
      if connection.isInTransaction { try run(Bracket.rollback) }
      throw error
    }
  }

  private func reply<Value: Sendable>(
    to answer: CheckedContinuation<Value, any Error>, with body: () throws(SQLiteError) -> Value
  ) {
    do throws(SQLiteError) {
      answer.resume(returning: try body())
    } catch {
      answer.resume(throwing: error.storeError)
    }
  }

  // MARK: Checkpoint

  /// Checkpoints if due. Runs after the callers have their results, so none of them waits for it.
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

  /// Checkpoints, and returns the error of a failure. A failure other than of the sync loses nothing: the WAL keeps the
  /// pages until the next checkpoint.
  private func checkpoint(_ mode: Int32, busyMillis: Int32? = nil) -> SQLiteError? {
    do throws(SQLiteError) {
      try connection.checkpoint(mode, busyMillis: busyMillis)
      return nil
    } catch {
      stopIfSyncFailed(error)
      return error
    }
  }

  private func stopIfSyncFailed(_ failure: SQLiteError) {
    if failure.isSyncFailure {
      fatalError("the store cannot be synced to disk (\(failure.text)): stopping; a restart reads the log again")
    }
  }
}
