import Store

/// The statements of one `Query`, with what each is read into. None needs the answer of another, so that they go out
/// together; where there is more than one, they stand in a transaction that sees one snapshot.
final class LookUp {
  private(set) var facts = Facts()
  /// Audit rows are there that have no position yet: what was read of them is not all that was committed.
  private(set) var hasUnplacedEvents = false
  private var steps: [Step] = []
  private var reads: [(Answer) throws(Failure) -> Void] = []

  init(_ query: Query) {
    askAccounts(query)
    askSessions(query)
    askPendings(query)
    askRecords(query)
    askThrottles(query)
    askDeliveries(query)
    askAdministration(query)
    askEvents(query)
  }

  /// nil: nothing was asked.
  func trip(then: @escaping (Ending) -> Trip?) -> Trip? {
    guard let first = steps.first else { return nil }
    return steps.count == 1 ? .single(first, then: then) : .whole(steps, begin: .beginReading, then: then)
  }

  func read(_ answers: [Answer]) throws(Failure) {
    let answers = steps.count == 1 ? answers[...] : answers.dropFirst().dropLast()
    guard answers.count == reads.count else { throw .corrupt("\(answers.count) answers to \(reads.count) statements") }
    for (read, answer) in zip(reads, answers) { try read(answer) }
  }

  private func ask(_ step: Step, _ read: @escaping (Answer) throws(Failure) -> Void) {
    steps.append(step)
    reads.append(read)
  }

  private func askOne<Record>(
    _ step: Step, _ make: @escaping (Answer) throws(Failure) -> Record, _ keep: @escaping (Record) -> Void
  ) {
    ask(step) { answer throws(Failure) in if answer.step() { keep(try make(answer)) } }
  }

  private func askAll<Record>(
    _ step: Step, _ make: @escaping (Answer) throws(Failure) -> Record, _ keep: @escaping (Record) -> Void
  ) {
    ask(step) { answer throws(Failure) in while answer.step() { keep(try make(answer)) } }
  }

  // MARK: Accounts

  /// The account that `bind` completes the selector with, and what hangs on it.
  private func askAccount(
    _ selector: AccountSelector, into place: ReferenceWritableKeyPath<LookUp, AccountState?>,
    _ bind: (Step) -> Step
  ) {
    askOne(bind(Step(selector.account)), AccountRecord.init) { [unowned self] account in
      self[keyPath: place] = AccountState(account: account)
    }
    ask(bind(Step(selector.hanging))) { [unowned self] answer throws(Failure) in
      guard var state = self[keyPath: place] else { return }
      while answer.step() { state.add(try HangingRow(answer)) }
      self[keyPath: place] = state
    }
  }

  private func askAccounts(_ query: Query) {
    if let id = query.accountID {
      askAccount(.id, into: \.facts.account) { $0.bind(id) }
      askOne(Step(.closedAccount).bind(id), ClosedAccountRecord.init) { [unowned self] closed in
        if facts.account == nil { facts.closedAccount = closed }
      }
    }
    if let key = query.identity {
      askAccount(.identity, into: \.facts.identityOwner) { $0.bind(key.providerID).bind(key.subject) }
    }
    if let email = query.email { askAccount(.email, into: \.facts.emailOwner) { $0.bind(email) } }
    if let number = query.phoneNumber { askAccount(.phoneNumber, into: \.facts.phoneOwner) { $0.bind(number) } }
    if let email = query.waysIn {
      let statement = query.includesLinkedEmail ? Statement.waysInByLinkedEmail : .waysInByEmail
      ask(Step(statement).bind(email)) { [unowned self] answer throws(Failure) in
        facts.waysIn = try WaysInRecord(rows: answer)
      }
    }
  }

  // MARK: Sessions and pending rows

  private func askSessions(_ query: Query) {
    if let id = query.sessionID {
      askOne(Step(.session).bind(id), SessionRecord.init) { [unowned self] in facts.session = $0 }
      askAccount(.session, into: \.facts.sessionAccount) { $0.bind(id) }
    }
    if let id = query.otherSessionID {
      askOne(Step(.session).bind(id), SessionRecord.init) { [unowned self] in facts.otherSession = $0 }
      askAccount(.session, into: \.facts.otherSessionAccount) { $0.bind(id) }
    }
    if let open = query.openSessions {
      askOne(
        Step(.openSessionCount).bind(open.accountID).bind(open.at), { row throws(Failure) in try row.int() }
      ) { [unowned self] in facts.openSessionCount = $0 }
      askAll(
        Step(.openSessions).bind(open.accountID).bind(open.at).bind(max(0, open.most)), SessionRecord.init
      ) { [unowned self] in facts.openSessions.append($0) }
    }
  }

  private func askPendings(_ query: Query) {
    if let digest = query.pending {
      askOne(Step(.pending).bind(digest), PendingRecord.init) { [unowned self] in facts.pending = $0 }
      askAccount(.pending, into: \.facts.pendingAccount) { $0.bind(digest) }
    }
    if let digest = query.alsoPending {
      askOne(Step(.pending).bind(digest), PendingRecord.init) { [unowned self] in facts.alsoPending = $0 }
    }
    if let digest = query.code {
      askOne(Step(.pending).bind(digest), PendingRecord.init) { [unowned self] in facts.code = $0 }
    }
  }

  // MARK: The rest

  private func askRecords(_ query: Query) {
    if let key = query.idempotency {
      askOne(Step(.idempotency).bind(key), IdempotencyRecord.init) { [unowned self] in facts.idempotency = $0 }
    }
    if let digest = query.spentToken {
      ask(Step(.spentToken).bind(digest)) { [unowned self] answer in facts.tokenSpent = answer.step() }
    }
    if query.signingKeys {
      askAll(Step(.signingKeys), SigningKeyRecord.init) { [unowned self] in facts.signingKeys.append($0) }
    }
  }

  private func askThrottles(_ query: Query) {
    for key in query.throttles {
      askOne(Step(.throttle).bind(key), ThrottleRecord.init) { [unowned self] in facts.throttles.append($0) }
    }
    guard let name = query.deviceID else { return }
    let owners = [query.deviceOwnerID, query.email, query.phoneNumber, query.sessionID]
    if owners.contains(where: { $0 != nil }) {
      let device = owners.reduce(Step(.device)) { $0.bind($1) }
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
      let step = Step(.dueDeliveries).bind(each.channel.rawValue).bind(each.priority.rawValue).bind(due.at)
        .bind(due.rowsMax[each] ?? 0)
      askAll(step, DeliveryRecord.init) { [unowned self] in facts.deliveries?.due.append($0) }
    }
    func count(_ row: Answer) throws(Failure) -> Int { try row.int() }
    askOne(Step(.held).bind(CountScope.waiting.rawValue), count) { [unowned self] in
      facts.deliveries?.waitingCount = $0
    }
    askOne(Step(.held).bind(CountScope.buried.rawValue), count) { [unowned self] in
      facts.deliveries?.buriedCount = $0
    }
    askOne(Step(.oldestDelivery), { row throws(Failure) in try row.timestamp() }) { [unowned self] in
      facts.deliveries?.oldestCreatedAt = $0
    }
  }

  private func askAdministration(_ query: Query) {
    if let idle = query.idleAnonymous {
      askAll(Step(.idleAnonymous).bind(idle.before).bind(idle.accountsMax), IdleAccount.init) { [unowned self] in
        facts.idleAnonymous.append($0)
      }
    }
    if let page = query.page {
      // No id is empty.
      let (after, most) = (page.afterID ?? "", page.accountsMax)
      askAll(Step(.page).bind(after).bind(most), AccountRecord.init) { [unowned self] in
        facts.page.append(AccountState(account: $0))
      }
      ask(Step(.pageHanging).bind(after).bind(most)) { [unowned self] answer throws(Failure) in
        var indexes: [String: Int] = [:]
        for (index, state) in facts.page.enumerated() { indexes[state.account.id] = index }
        while answer.step() {
          let row = try HangingRow(answer)
          if let index = indexes[row.accountID] { facts.page[index].add(row) }
        }
      }
    }
    if let id = query.importKeyID {
      askOne(Step(.importKey).bind(id), ImportKeyRecord.init) { [unowned self] in facts.importKey = $0 }
    }
  }

  private func askEvents(_ query: Query) {
    guard let range = query.events else { return }
    ask(Step(.lastEvent)) { [unowned self] answer throws(Failure) in
      guard answer.step() else { throw .corrupt("the position of audit rows is gone") }
      facts.lastEvent = try answer.int64()
      hasUnplacedEvents = try answer.bool()
    }
    askAll(Step(.events).bind(range.after).bind(range.rowsMax), AuditRecord.init) { [unowned self] in
      facts.events.append($0)
    }
  }
}
