import Reactor
import Store

/// The statements that apply a change, in one transaction.
///
/// Many transactions run concurrently, and each must have the outcome that it would have alone. Unique keys and the
/// conditions of updates ensure most of it: a row that another transaction has changed is waited for and checked again.
/// A lock guards each decision that depends on more than one row. It is taken before any row is read.
///
/// All transactions take their locks in one order, so that they cannot deadlock: throttles, accounts, then what the
/// writes touch. Counts that are only added to come last (`ThrottleRows`); a change that locks such a row first may
/// deadlock with one that adds to it, once in a window at most, and is then made again. If pending rows change as well,
/// sessions follow the accounts, then the counts (`CountParts`) and the buckets of the pending rows that the change
/// ends.
///
/// Sessions come before the counts: an account may have very many sessions, and some may be locked. Of several failing
/// guards, that of a session may thus decide the outcome although it does not come first. The change is decided again
/// in any case.
final class Script {
  private(set) var steps: [BoundStatement] = []
  /// The step that returns the number of pending rows, and the steps that return the number of waiting messages in
  /// their second column.
  private(set) var pendingStep: Int?
  private(set) var deliverySteps: [Int] = []
  /// The steps among them that queue a notice, and whether its account has reached its limit.
  private(set) var noticeSteps: [Int: Bool] = [:]
  /// The steps that may have removed a pending row to make room for another one with this purpose.
  private(set) var roomSteps: [Int: PendingPurpose] = [:]
  /// The steps that add to a count. One that fails needs its lock first.
  private(set) var additionSteps = 0..<0
  private var auditRows = 0
  let id: ChangeID
  let throttles: ThrottleRows
  /// Whether the longer statement timeout is set, or never needed because it is no longer than the general one.
  private var hasMoreTime: Bool

  /// - Parameter throttles: the throttles that the change counts or resets, as read under their locks.
  /// - Parameter statementMillis: the general statement timeout.
  init(_ change: Change, id: ChangeID, throttles: ThrottleRows, statementMillis: Int64) {
    self.id = id
    hasMoreTime = statementMillis >= Statement.moreMillis
    self.throttles = throttles
    add(.noteChange) { $0.bind(id.bytes).bind(wallMillis()) }
    let changesPendings = change.writes.contains(where: \.locks.pendings)
    lockAccounts(change, always: changesPendings)
    if let batch = BatchInsert(change) {
      batch.add(to: self)
    } else if changesPendings {
      for write in change.writes where write.locks.sessions { add(write) }
      add(.lockCounts)
      for bucket in Set(change.writes.compactMap(\.locks.pendingBucket)).sorted() {
        add(.lockPendingBucket) { $0.bind(bucket) }
      }
      for write in change.writes { addBehindLock(write) }
      pendingStep = steps.count
      add(.held) { $0.bind(CountScope.total.rawValue) }
    } else {
      for write in change.writes { add(write) }
    }
    let firstAddition = steps.count
    throttles.addAdditions(to: self)
    additionSteps = firstAddition..<steps.count
    // Must precede the COMMIT, which the round trip adds.
    add(.withoutTimeLimit)
  }

  func add(
    _ statement: Statement, refusing refusal: Outcome? = nil, _ bind: (BoundStatement) -> BoundStatement = { $0 }
  ) {
    steps.append(bind(BoundStatement(statement, refusing: refusal)))
  }

  /// Adds a step that queues a notice.
  func addNotice(_ statement: Statement, isOverLimit: Bool, _ bind: (BoundStatement) -> BoundStatement) {
    deliverySteps.append(steps.count)
    noticeSteps[steps.count] = isOverLimit
    add(statement, bind)
  }

  func addMakingRoom(for purpose: PendingPurpose, _ bind: (BoundStatement) -> BoundStatement) {
    roomSteps[steps.count] = purpose
    add(.makeRoom, bind)
  }

  /// Adds a step that touches all sessions of an account.
  func addLong(_ statement: Statement, _ bind: (BoundStatement) -> BoundStatement) {
    if !hasMoreTime { add(.withMoreTime) }
    hasMoreTime = true
    add(statement, bind)
  }

  /// Fails the transaction. The server applies no later step.
  func refuse(_ outcome: Outcome) { add(.refuse, refusing: outcome) { $0.bind(0) } }

  // MARK: Locks

  /// - Parameter always: locks even an only account that the first write locks, because that write does not come first.
  private func lockAccounts(_ change: Change, always: Bool) {
    let locks = change.writes.map(\.locks)
    let accounts = Set(locks.compactMap(\.account) + locks.compactMap(\.accountOfSessions))
    // A single account that the first write locks needs no earlier lock.
    if accounts.count > 1 || (accounts.count > 0 && (always || locks.first?.account == nil)) {
      for id in accounts.subtracting(locks.compactMap(\.newAccount)).sorted() { add(.lockAccount) { $0.bind(id) } }
    }
  }

  /// Adds the part of a write that remains after its session steps.
  private func addBehindLock(_ write: Write) {
    if case .account(.close(let closed, _)) = write {
      deletePendings(of: closed.id, except: nil, sparing: [])
    } else if !write.locks.sessions {
      add(write)
    }
  }

  // MARK: Writes

  private func add(_ write: Write) {
    switch write {
    case .account(let write): add(write)
    case .identity(let write): add(write)
    case .unlink(let write): add(write)
    case .factor(let write): add(write)
    case .session(let write): add(write)
    case .pending(let write): add(write)
    case .delivery(let write): add(write)
    case .throttle(let write): throttles.add(write, to: self)
    case .signingKey(let write): add(write)
    case .record(let write): add(write)
    case .failure(let write): add(write)
    }
  }

  func append(_ record: AuditRecord) {
    add(.appendAudit) { $0.bind(record, except: "position").bind(auditRows) }
    auditRows += 1
  }

  /// Adds one to the count of the scope, or fails if it is full.
  func hold(_ scope: CountScope, _ name: String, atMost heldMax: Int, else outcome: Outcome) {
    guard heldMax > 0 else { return refuse(outcome) }
    if scope == .waiting { deliverySteps.append(steps.count) }
    add(.hold, refusing: outcome) { $0.bind(scope.rawValue).bind(name).bind(heldMax) }
  }
}

/// The permanent id of a change. It identifies the change in the database after the connection that sent it was lost.
struct ChangeID: Hashable, Sendable {
  let bytes: [UInt8]

  static func random() -> ChangeID {
    var generator = SystemRandomNumberGenerator()
    return ChangeID(bytes: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }
}

extension Statement {
  static let noteChange = Statement(
    "note_change", "INSERT INTO changes (id, at, is_fence) VALUES ($1, $2, false)")
  static let lockAccount = Statement("lock_account", "SELECT 1::bigint FROM accounts WHERE id = $1 FOR UPDATE")
  /// The columns of an audit row that has no position.
  static let unplacedAudit = AuditRecord.columns.without("position")
  /// Uses the database's clock after the change has its locks. If one change waited for another, from any replica, it
  /// therefore has the later time.
  static let appendAudit = Statement(
    "append_audit",
    """
    INSERT INTO audit_unplaced (\(unplacedAudit.names), ordinal, written_at)
    VALUES (\(unplacedAudit.placeholders("$")), $\(unplacedAudit.count + 1),
      (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    """)
}
