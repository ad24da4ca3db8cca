import Reactor
import Store

/// A change as the statements that carry it out, in one transaction.
///
/// Many transactions run at once here, and each must come to what it would alone. Unique keys and the conditions of
/// updates see to most of it: a row that another transaction has changed is waited for and looked at again. What is
/// decided on more than one row is guarded by a lock that is taken before anything is looked at. All take their locks
/// in one order, so that none waits for another that waits for it: throttles, accounts, where pending rows change as
/// well sessions and the row of all pending rows, then what the writes touch.
///
/// Sessions come before that one row, which everybody needs who has a code sent: an account may have very many of them,
/// and some may be locked. So of several guards that fail, that of a session may decide the outcome though it does not
/// come first; the change is decided again in any case.
final class Script {
  private(set) var steps: [Step] = []
  /// The step whose answer states how many pending rows there are now, and those whose second column states how many
  /// messages wait.
  private(set) var pendingStep: Int?
  private(set) var deliverySteps: [Int] = []
  /// Those of them that queue a notice, and whether its account has reached its limit.
  private(set) var noticeSteps: [Int: Bool] = [:]
  /// The steps that may have removed a pending row to make room for another one for this purpose.
  private(set) var roomSteps: [Int: PendingPurpose] = [:]
  private var auditRows = 0
  let id: ChangeID
  let throttles: ThrottleRows
  /// Or will never need it, since all statements have as much.
  private var hasMoreTime: Bool

  /// - Parameter throttles: those that the change counts or resets, as they are under their locks.
  /// - Parameter statementMillis: what a step may take that needs no more.
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
    // Before the COMMIT, which is the trip's.
    add(.withoutTimeLimit)
  }

  func add(_ statement: Statement, refusing refusal: Outcome? = nil, _ bind: (Step) -> Step = { $0 }) {
    steps.append(bind(Step(statement, refusing: refusal)))
  }

  /// For a step that queues a notice.
  func addNotice(_ statement: Statement, isOverLimit: Bool, _ bind: (Step) -> Step) {
    deliverySteps.append(steps.count)
    noticeSteps[steps.count] = isOverLimit
    add(statement, bind)
  }

  func addMakingRoom(for purpose: PendingPurpose, _ bind: (Step) -> Step) {
    roomSteps[steps.count] = purpose
    add(.makeRoom, bind)
  }

  /// For a step that touches all sessions of an account.
  func addLong(_ statement: Statement, _ bind: (Step) -> Step) {
    if !hasMoreTime { add(.withMoreTime) }
    hasMoreTime = true
    add(statement, bind)
  }

  /// Nothing that follows is carried out.
  func refuse(_ outcome: Outcome) { add(.refuse, refusing: outcome) { $0.bind(0) } }

  // MARK: Locks

  /// - Parameter always: also where the first write locks the only one, since it is not what is done first.
  private func lockAccounts(_ change: Change, always: Bool) {
    let accounts = Set(change.writes.compactMap(\.lockedAccountID) + change.writes.compactMap(\.sessionsAccountID))
    // A single account that is locked by the first write needs no lock before it.
    if accounts.count > 1 || (accounts.count > 0 && (always || change.writes.first?.lockedAccountID == nil)) {
      let made = change.writes.compactMap(\.madeAccountID)
      for id in accounts.subtracting(made).sorted() { add(.lockAccount) { $0.bind(id) } }
    }
  }

  /// What is left of a write once the sessions have been dealt with.
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

  /// Counts one row more in the scope, or refuses where it is full.
  func hold(_ scope: CountScope, _ name: String, atMost heldMax: Int, else outcome: Outcome) {
    guard heldMax > 0 else { return refuse(outcome) }
    if scope == .waiting { deliverySteps.append(steps.count) }
    add(.hold, refusing: outcome) { $0.bind(scope.rawValue).bind(name).bind(heldMax) }
  }
}

/// Names a change for good: what became of it can be asked by whoever lost the connection that it was sent on.
struct ChangeID: Hashable, Sendable {
  let bytes: [UInt8]

  static func random() -> ChangeID {
    var generator = SystemRandomNumberGenerator()
    return ChangeID(bytes: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }
}

extension Write {
  /// The account whose row this write locks, or relies on, for itself alone.
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

  /// The account of which sessions come, or all are ended. One after the other: a statement that ends them and waits
  /// for one does not see those that have come meanwhile, on behalf of it even.
  fileprivate var sessionsAccountID: String? {
    switch self {
    case .insertSession(let session): session.accountID
    case .closeSessions(let accountID, _, _, _), .closeSessionsOf(let accountID, _, _, _, _): accountID
    default: nil
    }
  }

  /// Whether it locks, ends or looks at sessions, or is one that comes: in the order of these writes among themselves.
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

  /// Whether pending rows come or go. One after the other, so that a code that is asked for twice at once is ended by
  /// the later, and so that the counts are exact.
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
  /// A guard that also says how many there are now.
  static let hold = Statement(
    "hold",
    """
    WITH hit AS (
      INSERT INTO pending_counts AS c (scope, name, held) VALUES ($1, $2, 1)
      ON CONFLICT (scope, name) DO UPDATE SET held = c.held + 1 WHERE c.held < $3 RETURNING c.held)
    SELECT 1 / count(*), max(held) FROM hit
    """)
  /// Takes rows that are gone off a scope.
  static let letGo = Statement(
    "let_go", "UPDATE pending_counts SET held = held - $3 WHERE scope = $1 AND name = $2")
  /// By the database's clock, when the locks of the change are had: of two changes of which one waited for the other,
  /// whichever replicas they came from, the later has the later time.
  static let appendAudit = Statement(
    "append_audit",
    """
    INSERT INTO audit_unplaced (id, written_at, ordinal, at, account_id, event, caller, details)
    VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $2, $3, $4, $5, $6, $7)
    """)
}
