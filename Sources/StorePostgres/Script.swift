import Reactor
import Store

/// The statements that apply a change, in one transaction.
///
/// Many transactions run concurrently, and each must have the outcome that it would have alone. Unique keys and the
/// conditions of updates ensure most of it: a row that another transaction has changed is waited for and checked again.
/// A lock guards each decision that depends on more than one row. It is taken before any row is read.
///
/// All transactions take their locks in one order, so that they cannot deadlock: throttles, accounts, then what the
/// writes touch. If pending rows change as well, sessions and the row that counts all pending rows follow the accounts.
///
/// Sessions come before that one row, which every request for a code needs: an account may have very many sessions, and
/// some may be locked. Of several failing guards, that of a session may thus decide the outcome although it does not
/// come first. The change is decided again in any case.
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
    let changesPendings = change.writes.contains(where: \.changesPendings)
    lockAccounts(change, always: changesPendings)
    if changesPendings {
      for write in change.writes where write.touchesSessions { add(write) }
      add(.lockPendings)
      for write in change.writes { addBehindLock(write) }
      pendingStep = steps.count
      add(.held) { $0.bind(CountScope.total.rawValue) }
    } else {
      for write in change.writes { add(write) }
    }
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
    let accounts = Set(change.writes.compactMap(\.lockedAccountID) + change.writes.compactMap(\.sessionsAccountID))
    // A single account that the first write locks needs no earlier lock.
    if accounts.count > 1 || (accounts.count > 0 && (always || change.writes.first?.lockedAccountID == nil)) {
      let made = change.writes.compactMap(\.madeAccountID)
      for id in accounts.subtracting(made).sorted() { add(.lockAccount) { $0.bind(id) } }
    }
  }

  /// Adds the part of a write that remains after its session steps.
  private func addBehindLock(_ write: Write) {
    if case .closeAccount(let closed, _) = write {
      deletePendings(of: closed.id, except: nil, sparing: [])
    } else if !write.touchesSessions {
      add(write)
    }
  }

  // MARK: Writes

  private func add(_ write: Write) {
    switch write {
    case .insertAccount, .updateAccount, .guardAccount, .touchAccount, .confirmAccount, .guardFreeEmail, .closeAccount,
      .cutOff, .guardIdle, .noteIdle:
      addAccountWrite(write)
    case .insertIdentity, .updateIdentity, .deleteIdentity, .rememberUnlink, .forgetUnlink, .insertFactor,
      .updateFactor, .deleteFactor, .guardNoFactors:
      addCredentialWrite(write)
    case .insertSession, .rotateSession, .renameSession, .closeSession, .closeSessions, .closeSessionsOf, .guardSession:
      addSessionWrite(write)
    case .insertPending, .completePending, .countPendingAttempt, .spendPendingAttempt, .resealPending, .deletePendings,
      .endPendings:
      addPendingWrite(write)
    case .enqueueDelivery, .enqueueNotice, .claimDelivery, .removeDelivery, .buryDelivery: addDeliveryWrite(write)
    case .insertIdempotency, .spendToken, .insertSigningKey, .guardNoSigningKey, .retireSigningKey, .deleteSigningKeys,
      .keepImportKey:
      addRecordWrite(write)
    case .countThrottle, .resetThrottle: throttles.add(write, to: self)
    case .appendAudit(let record): append(record)
    }
  }

  private func append(_ record: AuditRecord) {
    add(.appendAudit) {
      $0.bind(record.id).bind(auditRows).bind(record.at).bind(record.accountID)
        .bind(record.event).bind(record.caller.text).bind(record.detailsJSON)
    }
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

extension Write {
  /// The account whose row this write locks or relies on by itself.
  fileprivate var lockedAccountID: String? {
    switch self {
    case .updateAccount(let account): account.id
    case .guardAccount(let id, _), .touchAccount(let id, _, _), .guardIdle(let id, _): id
    case .cutOff(let id, _, _), .guardNoFactors(let id): id
    case .closeAccount(let closed, _): closed.id
    case .insertIdentity(let identity): identity.accountID
    case .insertFactor(let factor): factor.accountID
    case .rememberUnlink(let unlink): unlink.accountID
    default: nil
    }
  }

  /// The account whose sessions are added or all closed. Such changes run one after the other: a statement that closes
  /// the sessions and waits for one would miss those added during the wait.
  fileprivate var sessionsAccountID: String? {
    switch self {
    case .insertSession(let session): session.accountID
    case .closeSessions(let accountID, _, _, _), .closeSessionsOf(let accountID, _, _, _, _): accountID
    default: nil
    }
  }

  /// Whether the write adds, locks, closes or reads sessions. These writes keep their relative order.
  fileprivate var touchesSessions: Bool {
    switch self {
    case .insertSession, .rotateSession, .renameSession, .closeSession, .closeSessions, .closeSessionsOf, .guardSession,
      .guardIdle,
      .closeAccount:
      true
    default: false
    }
  }

  fileprivate var madeAccountID: String? {
    guard case .insertAccount(let account) = self else { return nil }
    return account.id
  }

  /// Whether the write adds or removes pending rows. Such changes run one after the other, so that the counts are
  /// exact. Of two concurrent requests for the same code, the later then ends the earlier.
  fileprivate var changesPendings: Bool {
    switch self {
    case .insertPending, .deletePendings, .endPendings, .closeAccount: true
    default: false
    }
  }
}

extension Statement {
  static let noteChange = Statement(
    "note_change", "INSERT INTO changes (id, at, is_fence) VALUES ($1, $2, false)")
  static let lockAccount = Statement("lock_account", "SELECT 1::bigint FROM accounts WHERE id = $1 FOR UPDATE")
  static let lockPendings = Statement(
    "lock_pendings",
    "SELECT held FROM pending_counts WHERE scope = \(CountScope.total.literal) AND name = '' FOR UPDATE")
  /// A guard that also returns the new count.
  static let hold = Statement(
    "hold",
    """
    WITH hit AS (
      INSERT INTO pending_counts AS c (scope, name, held) VALUES ($1, $2, 1)
      ON CONFLICT (scope, name) DO UPDATE SET held = c.held + 1 WHERE c.held < $3 RETURNING c.held)
    SELECT 1 / count(*), max(held) FROM hit
    """)
  /// Subtracts removed rows from a scope.
  static let letGo = Statement(
    "let_go", "UPDATE pending_counts SET held = held - $3 WHERE scope = $1 AND name = $2")
  /// Uses the database's clock after the change has its locks. If one change waited for another, from any replica, it
  /// therefore has the later time.
  static let appendAudit = Statement(
    "append_audit",
    """
    INSERT INTO audit_unplaced (id, written_at, ordinal, at, account_id, event, caller, details)
    VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $2, $3, $4, $5, $6, $7)
    """)
}
