import Reactor
import Store

/// A read-only connection with every lookup of `Query` prepared, and the snapshot of the turn.
final class Reader {
  let connection: Connection
  private let marks: CommitMarks
  private let methods: SignInMethodsCache
  private let accounts: AccountCache
  private let providerNames: ProviderNames
  /// The last commit that the snapshot certainly shows.
  private var snapshotCommit: UInt64 = 0
  private var mapping = MappingPlan()
  private let mappedBytes: Int64
  private let begin, end: Statement
  private let accountByID, accountByEmail, accountByPhone, accountByIdentity, accountByTransfer: Statement
  private let methodsByEmail, methodsByLinkedEmail: Statement
  private let identities, factors, unlinks: Statement
  private let session, pending, idempotency, spentToken, signingKeys: Statement
  private let dueDeliveries, oldestDelivery, deliveryCounts: Statement
  private let openSessions, openSessionCount: Statement
  private let closedAccount, idleAnonymous: Statement
  private let firstPage, nextPage, importKey: Statement
  private let throttle, device, events, lastEvent: Statement
  private lazy var searches = Result { () throws(SQLiteError) in try SearchReader(connection) }

  init(path: String, options: Options, marks: CommitMarks, methods: SignInMethodsCache) throws(SQLiteError) {
    connection = try Connection.reader(path: path, options: options)
    self.marks = marks
    mappedBytes = options.mappedBytes
    self.methods = methods
    accounts = AccountCache(room: options.accountsKept, marks: marks)
    providerNames = ProviderNames(methods)
    let account = "SELECT \(AccountRow.columns) FROM accounts AS a"
    let ownerByIdentity = """
      SELECT \(AccountRow.columns) FROM identities AS i JOIN accounts AS a ON a.number = i.account_number
      """
    begin = try connection.prepare("BEGIN")
    end = try connection.prepare("ROLLBACK")
    accountByID = try connection.prepare("\(account) WHERE a.id = ?")
    accountByEmail = try connection.prepare("\(account) WHERE a.email = ?")
    accountByPhone = try connection.prepare("\(account) WHERE a.phone_number = ?")
    accountByIdentity = try connection.prepare("\(ownerByIdentity) WHERE i.provider_id = ? AND i.subject = ?")
    accountByTransfer = try connection.prepare("\(ownerByIdentity) WHERE i.provider_id = ? AND i.transfer_subject = ?")
    let methods = """
      SELECT \(SignInMethodsRow.columns) FROM accounts AS a LEFT JOIN identities AS i ON i.account_number = a.number
      """
    methodsByEmail = try connection.prepare("\(methods) WHERE a.email = ?")
    methodsByLinkedEmail = try connection.prepare(
      """
      \(methods) WHERE a.number = (
        SELECT account_number FROM identities WHERE email = ? AND tier >= 1 ORDER BY linked_at LIMIT 1)
      """)
    identities = try connection.prepare(IdentityRecord.dependents)
    factors = try connection.prepare(FactorRecord.dependents)
    unlinks = try connection.prepare(UnlinkRecord.dependents)
    session = try connection.prepare(SessionRecord.select("WHERE id = ?"))
    pending = try connection.prepare(PendingRecord.select("WHERE digest = ?"))
    idempotency = try connection.prepare(IdempotencyRecord.select("WHERE key = ?"))
    spentToken = try connection.prepare("SELECT 1 FROM spent_tokens WHERE digest = ?")
    signingKeys = try connection.prepare(SigningKeyRecord.select("ORDER BY active_from, key_id"))
    throttle = try connection.prepare(ThrottleRecord.select("WHERE key = ?"))
    events = try connection.prepare(AuditRecord.select("WHERE position > ? ORDER BY position LIMIT ?"))
    lastEvent = try connection.prepare("SELECT coalesce(max(position), 0) FROM audit")
    device = try connection.prepare(SessionRecord.onDevice)
    dueDeliveries = try connection.prepare(
      DeliveryRecord.select(
        """
        WHERE buried_at IS NULL AND channel = ? AND priority = ? AND next_attempt_at <= ?
        ORDER BY next_attempt_at LIMIT ?
        """))
    oldestDelivery = try connection.prepare(
      "SELECT created_at FROM deliveries WHERE buried_at IS NULL ORDER BY created_at LIMIT 1")
    deliveryCounts = try connection.prepare("SELECT held FROM pending_counts WHERE scope = ? AND name = ''")
    firstPage = try connection.prepare("\(account) ORDER BY a.id LIMIT ?")
    nextPage = try connection.prepare("\(account) WHERE a.id > ? ORDER BY a.id LIMIT ?")
    let open = "WHERE account_id = ? AND closed_at IS NULL AND ends_at > ?"
    openSessions = try connection.prepare(
      SessionRecord.select("\(open) ORDER BY created_at DESC, id DESC LIMIT ?"))
    openSessionCount = try connection.prepare("SELECT COUNT(*) FROM sessions \(open)")
    closedAccount = try connection.prepare(ClosedAccountRecord.select("WHERE id = ?"))
    idleAnonymous = try connection.prepare(IdleAccount.select)
    importKey = try connection.prepare(ImportKeyRecord.select("WHERE id = ?"))
  }

  /// Returns facts from the snapshot. The first lookup that no cache can answer opens the snapshot.
  func facts(_ query: Query) throws(SQLiteError) -> Facts {
    var facts = Facts()
    if let id = query.sessionID {
      facts.session = try one(session.bind(id))
      if let session = facts.session {
        facts.$sessionAccount = try account(session.accountID, lastSignInMayLag: query.lastSignInMayLag)
      }
    }
    if let id = query.accountID {
      facts.account = try state(accountByID.bind(id))
      if facts.account == nil { facts.closedAccount = try one(closedAccount.bind(id)) }
    }
    try readIdentities(query, &facts)
    if let email = query.email {
      // An address has one owner, who usually also owns the identity that asserts it.
      if facts.identityOwner?.account.email == email {
        facts.$emailOwner = facts.$identityOwner
      } else {
        facts.emailOwner = try state(accountByEmail.bind(email))
      }
    }
    if let number = query.phoneNumber { facts.phoneOwner = try state(accountByPhone.bind(number)) }
    if let digest = query.pending {
      facts.pending = try one(pending.bind(digest))
      if let pending = facts.pending { facts.pendingAccount = try state(accountByID.bind(pending.accountID)) }
    }
    if let digest = query.alsoPending { facts.alsoPending = try one(pending.bind(digest)) }
    if let digest = query.code { facts.code = try one(pending.bind(digest)) }
    if let key = query.idempotency { facts.idempotency = try one(idempotency.bind(key)) }
    for key in query.otherIdempotency { facts.keepIdempotency(try one(idempotency.bind(key))) }
    if let digest = query.spentToken {
      facts.tokenSpent = try one(spentToken.bind(digest)) { _ in true } ?? false
    }
    if query.signingKeys { facts.signingKeys = try all(signingKeys) }
    try readThrottles(query, &facts)
    if let due = query.deliveries { facts.deliveries = try deliveries(due) }
    if let wanted = query.openSessions { try readOpenSessions(wanted, &facts) }
    if let id = query.otherSessionID {
      facts.otherSession = try one(session.bind(id))
      if let session = facts.otherSession {
        facts.otherSessionAccount = try state(accountByID.bind(session.accountID))
      }
    }
    if let idle = query.idleAnonymous {
      facts.idleAnonymous = try all(idleAnonymous.bind(idle.before).bind(idle.accountsMax), IdleAccount.init)
    }
    try administer(query, &facts)
    if let query = query.support { facts.support = try support(query) }
    if let range = query.events {
      facts.lastEvent = try one(lastEvent) { $0.int64() } ?? 0
      if range.after < facts.lastEvent {
        facts.events = try all(events.bind(range.after).bind(range.rowsMax))
      }
    }
    return facts
  }

  private func readIdentities(_ query: Query, _ facts: inout Facts) throws(SQLiteError) {
    if let key = query.identity {
      facts.$identityOwner = try owner(of: key, lastSignInMayLag: query.lastSignInMayLag)
    }
    if let key = query.transfer {
      facts.transferOwner = try state(accountByTransfer.bind(key.providerID).bind(key.subject))
    }
  }

  private func readOpenSessions(_ wanted: OpenSessionsQuery, _ facts: inout Facts) throws(SQLiteError) {
    facts.openSessionCount = try one(openSessionCount.bind(wanted.accountID).bind(wanted.at)) { $0.int() } ?? 0
    if wanted.most > 0 {
      facts.openSessions = try all(openSessions.bind(wanted.accountID).bind(wanted.at).bind(wanted.most))
    }
  }

  private func readThrottles(_ query: Query, _ facts: inout Facts) throws(SQLiteError) {
    for key in query.throttles {
      if let record: ThrottleRecord = try one(throttle.bind(key)) { facts.throttles.append(record) }
    }
    guard let name = query.deviceID else { return }
    let found = facts.emailOwner ?? facts.phoneOwner ?? facts.sessionAccount
    if let ownerID = query.deviceOwnerID ?? found?.account.id {
      facts.deviceIsKnown = try one(device.bind(ownerID).bind(name)) { _ in true } ?? false
    }
  }

  private func deliveries(_ due: DueDeliveries) throws(SQLiteError) -> DeliveryQueue {
    func count(_ scope: CountScope) throws(SQLiteError) -> Int {
      try one(deliveryCounts.bind(scope.rawValue)) { row throws(SQLiteError) in row.int() } ?? 0
    }
    var queue = DeliveryQueue()
    for each in DeliveryClass.all {
      let wanted = dueDeliveries.bind(each.channel.rawValue).bind(each.priority.rawValue).bind(due.at)
      queue.due += try all(wanted.bind(due.rowsMax[each] ?? 0))
    }
    queue.waitingCount = try count(.waiting)
    queue.buriedCount = try count(.buried)
    queue.oldestCreatedAt = try one(oldestDelivery) { row throws(SQLiteError) in row.timestamp() }
    return queue
  }

  /// Reads what only administrators and sign-ins with an imported password request.
  private func administer(_ query: Query, _ facts: inout Facts) throws(SQLiteError) {
    if let page = query.page {
      let statement = page.afterID.map { nextPage.bind($0) } ?? firstPage
      let rows = try all(statement.bind(page.accountsMax), AccountRow.init)
      facts.page = try rows.map { row throws(SQLiteError) in try state(row) }
    }
    if let id = query.importKeyID { facts.importKey = try one(importKey.bind(id)) }
    if let wanted = query.masterKeys { facts.masterKeys = try read(wanted) }
    if let wanted = query.rows { facts.rows = try rows(wanted) }
  }

  /// Prepares its statements when it runs, because most servers never look up most of them.
  private func read(_ query: MasterKeyQuery) throws(SQLiteError) -> MasterKeyFacts {
    switch query {
    case .keys: return .keys(try all(connection.statement(.masterKeys)))
    case .rows(let table, let after, let rowsMax):
      let after = after ?? SealedCursor()
      var rows: [SealedRow] = []
      var next: SealedCursor?
      let statement = try connection.statement(table.page)
      let bound = switch table {
      case .factors: statement.bind(Int64(after.owner) ?? .min).bind(after.id)
      case .pendings: statement.bind(after.digest)
      case .signingKeys, .importKeys, .deliveries: statement.bind(after.id)
      }
      _ = try all(bound.bind(rowsMax)) { row throws(SQLiteError) in
        let (sealed, cursor) = try table.row(row)
        rows.append(sealed)
        next = cursor
      }
      return .rows(rows, next: rows.count < rowsMax ? nil : next)
    case .refreshTokens(let afterID, let rowsMax, let issuedBy, let at):
      let bound = try connection.statement(.refreshTokenAges).bind(issuedBy).bind(at).bind(afterID).bind(rowsMax)
      let ages = try one(bound) { row in
        let (count, lastEnd) = (row.int(), row.optionalTimestamp())
        let (rowCount, lastID) = (row.int(), row.optionalText())
        return RefreshTokenAges(count: count, lastEnd: lastEnd, nextID: rowCount < rowsMax ? nil : lastID)
      }
      return .refreshTokens(ages ?? RefreshTokenAges())
    }
  }

  /// Prepared at their first use, because few readers need them.
  private lazy var rowStatements = Result { () throws(SQLiteError) in
    func page(by column: String) -> String { "WHERE account_id = ? AND \(column) > ? ORDER BY \(column) LIMIT ?" }
    let newest = "WHERE account_id = ? AND position < ? ORDER BY position DESC LIMIT ?"
    return (
      sessions: try connection.prepare(SessionRecord.select(page(by: "id"))),
      pendings: try connection.prepare(PendingRecord.select(page(by: "digest"))),
      failures: try connection.prepare(FailureRecord.select(page(by: "key"))),
      deliveries: try connection.prepare(DeliveryRecord.select(page(by: "id"))),
      sentMessages: try connection.prepare(SentMessageRecord.select(page(by: "id"))),
      events: try connection.prepare(AuditRecord.select(newest))
    )
  }

  private func rows(_ wanted: AccountRowsQuery) throws(SQLiteError) -> AccountRows {
    let statements = try rowStatements.get()
    func page(_ statement: Statement) -> Statement {
      let account = statement.bind(wanted.accountID)
      let after =
        switch wanted.after {
        case .id(let id): account.bind(id)
        case .digest(let digest): account.bind(digest)
        case .position(let position): account.bind(position)
        }
      return after.bind(wanted.rowsMax)
    }
    return switch wanted.kind {
    case .sessions: .sessions(try all(page(statements.sessions)))
    case .pendings: .pendings(try all(page(statements.pendings)))
    case .failures: .failures(try all(page(statements.failures)))
    case .deliveries: .deliveries(try all(page(statements.deliveries)))
    case .sentMessages: .sentMessages(try all(page(statements.sentMessages)))
    case .events: .events(try all(page(statements.events)))
    }
  }

  /// Searches in the snapshot.
  func search(_ query: SearchQuery) throws(SQLiteError) -> SearchResult {
    try openSnapshot()
    guard let search = try searches.get() else { return .disabled }
    if let progress = try search.progress() { return .building(progress) }
    let found = try search.ids(query)
    var accounts: [AccountState] = []
    for id in found.ids {
      if let state = try state(accountByID.bind(id)) { accounts.append(state) }
    }
    return .page(SearchPage(accounts: accounts, next: found.next, match: .part))
  }

  /// Closes the snapshot. The ROLLBACK cannot fail, because every statement is reset after its last step.
  ///
  /// COMMIT would return the error of an earlier read. Most failed reads (IOERR, NOMEM) have already ended the
  /// transaction.
  func endSnapshot() {
    guard connection.isInTransaction else { return }
    do throws(SQLiteError) {
      try end.run()
    } catch {
      preconditionFailure("a snapshot cannot be closed: \(error.text)")
    }
  }

  /// Returns sign-in methods from the cache or the snapshot.
  func methods(_ query: SignInMethodsQuery) throws(SQLiteError) -> SignInMethodsRecord? {
    let key = SignInMethodsCache.Key(query)
    if let found = methods.find(key, providerNames) { return found }
    let record = try storedMethods(query)
    methods.keep(record, key, asOf: snapshotCommit, providerNames)
    return record
  }

  private func storedMethods(_ query: SignInMethodsQuery) throws(SQLiteError) -> SignInMethodsRecord? {
    var rows = try all(methodsByEmail.bind(query.email), SignInMethodsRow.init)
    if rows.isEmpty, query.includesLinkedEmail {
      rows = try all(methodsByLinkedEmail.bind(query.email), SignInMethodsRow.init)
    }
    guard var record = rows.first?.record else { return nil }
    if rows.count > 1 { rows.sort { $0.linkedAt < $1.linkedAt } }
    record.providerIDs = rows.compactMap(\.providerID)
    return record
  }

  private func owner(
    of key: IdentityKey, lastSignInMayLag: Bool
  ) throws(SQLiteError) -> Held<AccountState> {
    if lastSignInMayLag, let kept = accounts.find(.identity(key)) { return kept }
    let owner = Held(wrappedValue: try state(accountByIdentity.bind(key.providerID).bind(key.subject)))
    if lastSignInMayLag { accounts.keep(owner, of: .identity(key), asOf: snapshotCommit) }
    return owner
  }

  private func account(_ id: String, lastSignInMayLag: Bool) throws(SQLiteError) -> Held<AccountState> {
    if lastSignInMayLag, let kept = accounts.find(.id(id)) { return kept }
    let account = Held(wrappedValue: try state(accountByID.bind(id)))
    if lastSignInMayLag { accounts.keep(account, of: .id(id), asOf: snapshotCommit) }
    return account
  }

  private func state(_ statement: Statement) throws(SQLiteError) -> AccountState? {
    guard let row = try one(statement, AccountRow.init) else { return nil }
    return try state(row)
  }

  private func state(_ row: AccountRow) throws(SQLiteError) -> AccountState {
    var state = AccountState(account: row.account)
    let id = row.account.id
    if row.identityCount > 0 {
      state.identities = try all(identities.bind(row.number), ownerID: id)
      if state.identities.count > 1 { state.identities.sort { $0.linkedAt < $1.linkedAt } }
    }
    if row.factorCount > 0 {
      state.factors = try all(factors.bind(row.number), ownerID: id)
      state.factors.sort { $0.enrolledAt < $1.enrolledAt }
    }
    if row.unlinkCount > 0 { state.unlinks = try all(unlinks.bind(row.number), ownerID: id) }
    return state
  }

  /// Opens the snapshot if none is open. Reads the last commit first: the snapshot may be newer, but never older.
  private func openSnapshot() throws(SQLiteError) {
    guard !connection.isInTransaction else { return }
    snapshotCommit = marks.commit
    let wasMapped = mapping.isMapped
    let isMapped = mapping.maps(at: snapshotCommit, nowMillis: monotonicMillis())
    if isMapped != wasMapped { try connection.map(bytes: isMapped ? mappedBytes : 0) }
    try begin.run()
  }

  func one<Record: StoredRecord>(_ statement: Statement) throws(SQLiteError) -> Record? {
    try one(statement) { row throws(SQLiteError) in try row.record() }
  }

  func all<Record: StoredRecord>(
    _ statement: Statement, ownerID: String = ""
  ) throws(SQLiteError) -> [Record] {
    try all(statement) { row throws(SQLiteError) in try row.record(ownerID: ownerID) }
  }

  private func one<Record>(
    _ statement: Statement, _ read: (Statement) throws(SQLiteError) -> Record
  ) throws(SQLiteError) -> Record? {
    defer { statement.reset() }
    try openSnapshot()
    return try statement.step() ? try read(statement) : nil
  }

  private func all<Record>(
    _ statement: Statement, _ read: (Statement) throws(SQLiteError) -> Record
  ) throws(SQLiteError) -> [Record] {
    defer { statement.reset() }
    try openSnapshot()
    var records: [Record] = []
    while try statement.step() { records.append(try read(statement)) }
    return records
  }
}

extension StoredRecord {
  /// Selects the records of the account with a number.
  fileprivate static var dependents: String {
    "SELECT \(columns.without("account_id").names) FROM \(table.name) WHERE account_number = ?"
  }
}

extension SessionRecord {
  /// Selects a row if the account is known on the device.
  fileprivate static let onDevice = """
    SELECT 1 FROM sessions WHERE account_id = ? AND device_id = ? AND device_id <> ''
      AND (closed_reason IS NULL OR closed_reason = 'signed_out' AND closed_at > coalesce(
        (SELECT tokens_valid_after FROM accounts WHERE accounts.id = account_id), 0)) LIMIT 1
    """
}
