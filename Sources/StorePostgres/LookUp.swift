import Store

/// The statements of one `Query` and the facts that they fill.
///
/// No statement needs the result of another, so all are sent together. Several statements run in one transaction with
/// one snapshot.
final class LookUp {
  var facts = Facts()
  /// Whether audit rows without a position exist. The rows read are then not all that were committed.
  private(set) var hasUnplacedEvents = false
  private var steps: [BoundStatement] = []
  private var reads: [(QueryResult) throws(RequestError) -> Void] = []

  init(_ query: Query) {
    askAccounts(query)
    askSessions(query)
    askPendings(query)
    askRecords(query)
    askThrottles(query)
    askDeliveries(query)
    askAdministration(query)
    if let wanted = query.masterKeys { ask(wanted) }
    if let support = query.support { askSupport(support) }
    askEvents(query)
  }

  /// Returns the round trip of the query. nil: the query is empty.
  func roundTrip(then: @escaping (RoundTripResult) -> RoundTrip?) -> RoundTrip? {
    guard let first = steps.first else { return nil }
    return steps.count == 1 ? .single(first, then: then) : .whole(steps, begin: .beginReading, then: then)
  }

  func read(_ answers: [QueryResult]) throws(RequestError) {
    let answers = steps.count == 1 ? answers[...] : answers.dropFirst().dropLast()
    guard answers.count == reads.count else { throw .corrupt("\(answers.count) answers to \(reads.count) statements") }
    for (read, answer) in zip(reads, answers) { try read(answer) }
  }

  private func ask(_ step: BoundStatement, _ read: @escaping (QueryResult) throws(RequestError) -> Void) {
    steps.append(step)
    reads.append(read)
  }

  private func askOne<Record>(
    _ step: BoundStatement, _ make: @escaping (QueryResult) throws(RequestError) -> Record,
    _ keep: @escaping (Record) -> Void
  ) {
    ask(step) { answer throws(RequestError) in if answer.step() { keep(try make(answer)) } }
  }

  private func askAll<Record>(
    _ step: BoundStatement, _ make: @escaping (QueryResult) throws(RequestError) -> Record,
    _ keep: @escaping (Record) -> Void
  ) {
    ask(step) { answer throws(RequestError) in while answer.step() { keep(try make(answer)) } }
  }

  func askOne<Record: StoredRecord>(
    _ step: BoundStatement, _: Record.Type, _ keep: @escaping (Record) -> Void
  ) {
    askOne(step, { row throws(RequestError) in try row.record() }, keep)
  }

  func askAll<Record: StoredRecord>(
    _ step: BoundStatement, _: Record.Type, _ keep: @escaping (Record) -> Void
  ) {
    askAll(step, { row throws(RequestError) in try row.record() }, keep)
  }

  // MARK: Accounts

  /// Reads an account and its dependents. `bind` completes the selector.
  private func askAccount(
    _ selector: AccountSelector, into place: ReferenceWritableKeyPath<LookUp, AccountState?>,
    _ bind: (BoundStatement) -> BoundStatement
  ) {
    askOne(bind(BoundStatement(selector.account)), AccountRecord.self) { [unowned self] account in
      self[keyPath: place] = AccountState(account: account)
    }
    ask(bind(BoundStatement(selector.dependent))) { [unowned self] answer throws(RequestError) in
      guard var state = self[keyPath: place] else { return }
      while answer.step() { state.add(try DependentRow(answer)) }
      self[keyPath: place] = state
    }
  }

  private func askAccounts(_ query: Query) {
    if let id = query.accountID {
      askAccount(.id, into: \.facts.account) { $0.bind(id) }
      askOne(BoundStatement(.closedAccount).bind(id), ClosedAccountRecord.self) { [unowned self] closed in
        if facts.account == nil { facts.closedAccount = closed }
      }
    }
    if let key = query.identity {
      askAccount(.identity, into: \.facts.identityOwner) { $0.bind(key.providerID).bind(key.subject) }
    }
    if let key = query.transfer {
      askAccount(.transfer, into: \.facts.transferOwner) { $0.bind(key.providerID).bind(key.subject) }
    }
    if let email = query.email { askAccount(.email, into: \.facts.emailOwner) { $0.bind(email) } }
    if let number = query.phoneNumber { askAccount(.phoneNumber, into: \.facts.phoneOwner) { $0.bind(number) } }
  }

  // MARK: Sessions and pending rows

  private func askSessions(_ query: Query) {
    if let id = query.sessionID {
      askOne(BoundStatement(.session).bind(id), SessionRecord.self) { [unowned self] in facts.session = $0 }
      askAccount(.session, into: \.facts.sessionAccount) { $0.bind(id) }
    }
    if let id = query.otherSessionID {
      askOne(BoundStatement(.session).bind(id), SessionRecord.self) { [unowned self] in facts.otherSession = $0 }
      askAccount(.session, into: \.facts.otherSessionAccount) { $0.bind(id) }
    }
    if let open = query.openSessions {
      askOne(
        BoundStatement(.openSessionCount).bind(open.accountID).bind(open.at),
        { row throws(RequestError) in try row.int() }
      ) { [unowned self] in facts.openSessionCount = $0 }
      askAll(
        BoundStatement(.openSessions).bind(open.accountID).bind(open.at).bind(max(0, open.most)), SessionRecord.self
      ) { [unowned self] in facts.openSessions.append($0) }
    }
  }

  private func askPendings(_ query: Query) {
    if let digest = query.pending {
      askOne(BoundStatement(.pending).bind(digest), PendingRecord.self) { [unowned self] in facts.pending = $0 }
      askAccount(.pending, into: \.facts.pendingAccount) { $0.bind(digest) }
    }
    if let digest = query.alsoPending {
      askOne(BoundStatement(.pending).bind(digest), PendingRecord.self) { [unowned self] in facts.alsoPending = $0 }
    }
    if let digest = query.code {
      askOne(BoundStatement(.pending).bind(digest), PendingRecord.self) { [unowned self] in facts.code = $0 }
    }
  }

  // MARK: The rest

  private func askRecords(_ query: Query) {
    if let key = query.idempotency {
      askOne(BoundStatement(.idempotency).bind(key), IdempotencyRecord.self) { [unowned self] in facts.idempotency = $0
      }
    }
    for key in query.otherIdempotency {
      askOne(BoundStatement(.idempotency).bind(key), IdempotencyRecord.self) { [unowned self] in
        facts.keepIdempotency($0)
      }
    }
    if let digest = query.spentToken {
      ask(BoundStatement(.spentToken).bind(digest)) { [unowned self] answer in facts.tokenSpent = answer.step() }
    }
    if query.signingKeys {
      askAll(BoundStatement(.signingKeys), SigningKeyRecord.self) { [unowned self] in facts.signingKeys.append($0) }
    }
  }

  private func askThrottles(_ query: Query) {
    for key in query.throttles {
      askOne(BoundStatement(.throttle).bind(key), ThrottleRecord.self) { [unowned self] in facts.throttles.append($0) }
    }
    guard let name = query.deviceID else { return }
    let owners = [query.deviceOwnerID, query.email, query.phoneNumber, query.sessionID]
    if owners.contains(where: { $0 != nil }) {
      let device = owners.reduce(BoundStatement(.device)) { $0.bind($1) }
      ask(device.bind(name)) { [unowned self] answer in
        facts.deviceIsKnown = answer.step()
      }
    }
  }

  private func askDeliveries(_ query: Query) {
    guard let due = query.deliveries else { return }
    let queue = DeliveryQueue()
    facts.deliveries = queue
    for each in DeliveryClass.all {
      let step = BoundStatement(.dueDeliveries).bind(each.channel.rawValue).bind(each.priority.rawValue).bind(due.at)
        .bind(due.rowsMax[each] ?? 0)
      askAll(step, DeliveryRecord.self) { [unowned self] in facts.deliveries?.due.append($0) }
    }
    func count(_ row: QueryResult) throws(RequestError) -> Int { try row.int() }
    askOne(BoundStatement(.held).bind(CountScope.waiting.rawValue), count) { [unowned self] in
      facts.deliveries?.waitingCount = $0
    }
    askOne(BoundStatement(.held).bind(CountScope.buried.rawValue), count) { [unowned self] in
      facts.deliveries?.buriedCount = $0
    }
    askOne(BoundStatement(.oldestDelivery), { row throws(RequestError) in try row.timestamp() }) { [unowned self] in
      facts.deliveries?.oldestCreatedAt = $0
    }
  }

  private func askAdministration(_ query: Query) {
    if let idle = query.idleAnonymous {
      askAll(BoundStatement(.idleAnonymous).bind(idle.before).bind(idle.accountsMax), IdleAccount.init) {
        [unowned self] in
        facts.idleAnonymous.append($0)
      }
    }
    if let page = query.page {
      // No id is empty.
      let (after, most) = (page.afterID ?? "", page.accountsMax)
      askAll(BoundStatement(.page).bind(after).bind(most), AccountRecord.self) { [unowned self] in
        facts.page.append(AccountState(account: $0))
      }
      ask(BoundStatement(.pageDependent).bind(after).bind(most)) { [unowned self] answer throws(RequestError) in
        var indexes: [String: Int] = [:]
        for (index, state) in facts.page.enumerated() { indexes[state.account.id] = index }
        while answer.step() {
          let row = try DependentRow(answer)
          if let index = indexes[row.accountID] { facts.page[index].add(row) }
        }
      }
    }
    if let wanted = query.rows { askRows(wanted) }
    if let id = query.importKeyID {
      askOne(BoundStatement(.importKey).bind(id), ImportKeyRecord.self) { [unowned self] in facts.importKey = $0 }
    }
  }

  private func ask(_ query: MasterKeyQuery) {
    switch query {
    case .keys:
      ask(BoundStatement(.masterKeys)) { [unowned self] answer throws(RequestError) in
        var keys: [MasterKeyRecord] = []
        while answer.step() { keys.append(try answer.record()) }
        facts.masterKeys = .keys(keys)
      }
    case .rows(let table, let after, let rowsMax):
      ask(table.page(after: after, rowsMax: rowsMax)) { [unowned self] answer throws(RequestError) in
        var rows: [SealedRow] = []
        var next: SealedCursor?
        while answer.step() {
          let (row, cursor) = try table.row(answer)
          rows.append(row)
          next = cursor
        }
        facts.masterKeys = .rows(rows, next: rows.count < rowsMax ? nil : next)
      }
    case .refreshTokens(let afterID, let rowsMax, let issuedBy, let at):
      let step = BoundStatement(.refreshTokenAges).bind(afterID).bind(rowsMax).bind(issuedBy).bind(at)
      ask(step) { [unowned self] answer throws(RequestError) in
        guard answer.step() else { return }
        let (count, lastEnd) = (try answer.int(), try answer.optionalTimestamp())
        let (rowCount, lastID) = (try answer.int(), answer.optionalText())
        facts.masterKeys = .refreshTokens(
          RefreshTokenAges(count: count, lastEnd: lastEnd, nextID: rowCount < rowsMax ? nil : lastID))
      }
    }
  }

  private func askRows(_ wanted: AccountRowsQuery) {
    func page(_ statement: Statement) -> BoundStatement {
      let account = BoundStatement(statement).bind(wanted.accountID)
      let after =
        switch wanted.after {
        case .id(let id): account.bind(id)
        case .digest(let digest): account.bind(digest)
        case .position(let position): account.bind(position)
        }
      return after.bind(wanted.rowsMax)
    }
    func all<Record: StoredRecord>(_ statement: Statement, _ make: @escaping ([Record]) -> AccountRows) {
      ask(page(statement)) { [unowned self] answer throws(RequestError) in
        var records: [Record] = []
        while answer.step() { records.append(try answer.record()) }
        facts.rows = make(records)
      }
    }
    switch wanted.kind {
    case .sessions: all(.everySessionOfAccount, AccountRows.sessions)
    case .pendings: all(.everyPendingOfAccount, AccountRows.pendings)
    case .failures: all(.everyFailureOfAccount, AccountRows.failures)
    case .deliveries: all(.everyDeliveryOfAccount, AccountRows.deliveries)
    case .sentMessages: all(.everySentMessageOfAccount, AccountRows.sentMessages)
    case .events: all(.eventsOfAccount, AccountRows.events)
    }
  }

  private func askEvents(_ query: Query) {
    guard let range = query.events else { return }
    askLastEvent { [unowned self] in facts.lastEvent = $0 }
    askAll(BoundStatement(.events).bind(range.after).bind(range.rowsMax), AuditRecord.self) { [unowned self] in
      facts.events.append($0)
    }
  }

  /// Asks whether audit rows without a position exist.
  func askLastEvent(_ keep: @escaping (Int64) -> Void = { _ in }) {
    ask(BoundStatement(.lastEvent)) { [unowned self] answer throws(RequestError) in
      guard answer.step() else { throw .corrupt("the position of audit rows is missing") }
      keep(try answer.int64())
      hasUnplacedEvents = try answer.bool()
    }
  }
}
