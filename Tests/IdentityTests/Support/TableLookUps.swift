import Identity
import Store

/// The look-ups of `MemoryStore`.
extension Tables {
  func state(_ accountID: String?) -> AccountState? {
    guard let accountID, let account = accounts[accountID] else { return nil }
    return AccountState(
      account: account,
      identities: identities.values.filter { $0.accountID == accountID }
        .sorted { ($0.linkedAt, $0.key.providerID) < ($1.linkedAt, $1.key.providerID) },
      factors: factors.filter { $0.accountID == accountID }, unlinks: unlinks.filter { $0.accountID == accountID })
  }

  func methods(_ query: SignInMethodsQuery) -> SignInMethodsRecord? {
    (owner(of: query.email) ?? (query.includesLinkedEmail ? linkedOwner(of: query.email) : nil))?.methods
  }

  func facts(_ query: Query) -> Facts {
    var facts = Facts()
    facts.idempotency = query.idempotency.flatMap { idempotency[$0] }
    for key in query.otherIdempotency { facts.keepIdempotency(idempotency[key]) }
    facts.session = query.sessionID.flatMap { sessions[$0] }
    facts.sessionAccount = state(facts.session?.accountID)
    facts.account = state(query.accountID)
    facts.identityOwner = state(query.identity.flatMap { identities[$0]?.accountID })
    facts.transferOwner = state(query.transfer.flatMap(transferOwner))
    facts.emailOwner = query.email.flatMap(owner)
    if query.lastSignInMayLag { facts.sessionAccount?.account.lastSignInAt = nil }
    if query.lastSignInMayLag, let owner = facts.identityOwner {
      facts.identityOwner?.account.lastSignInAt = nil
      if facts.emailOwner?.account.id == owner.account.id { facts.emailOwner = facts.identityOwner }
    }
    if let number = query.phoneNumber {
      facts.phoneOwner = state(accounts.values.first { $0.phoneNumber == number }?.id)
    }
    facts.pending = query.pending.flatMap { pendings[$0] }
    facts.pendingAccount = state(facts.pending?.accountID)
    facts.alsoPending = query.alsoPending.flatMap { pendings[$0] }
    facts.code = query.code.flatMap { pendings[$0] }
    facts.tokenSpent = query.spentToken.map { spent[$0] != nil } ?? false
    facts.signingKeys = query.signingKeys ? signingKeys : []
    facts.rows = query.rows.map(rows)
    if let range = query.events {
      facts.lastEvent = audit.last?.position ?? 0
      facts.events = Array(audit.filter { $0.position > range.after }.prefix(range.rowsMax))
    }
    facts.throttles = query.throttles.compactMap { throttles[$0] }
    let found = facts.emailOwner ?? facts.phoneOwner ?? facts.sessionAccount
    if let name = query.deviceID, let ownerID = query.deviceOwnerID ?? found?.account.id {
      facts.deviceIsKnown = sessions.values.contains {
        $0.accountID == ownerID && $0.deviceID == name
          && ($0.closed == nil || $0.closed?.reason == .signedOut && isAfterCutOff($0))
      }
    }
    facts.deliveries = query.deliveries.map(queue)
    if let wanted = query.openSessions {
      let open = openSessions(of: wanted.accountID).filter { $0.isOpen(at: wanted.at) }
        .sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
      facts.openSessionCount = open.count
      facts.openSessions = Array(open.prefix(wanted.most))
    }
    facts.closedAccount = facts.account == nil ? query.accountID.flatMap { closedAccounts[$0] } : nil
    facts.otherSession = query.otherSessionID.flatMap { sessions[$0] }
    facts.otherSessionAccount = state(facts.otherSession?.accountID)
    if let idle = query.idleAnonymous { facts.idleAnonymous = idleAnonymous(idle) }
    if let page = query.page {
      let ids = accounts.keys.sorted().filter { id in page.afterID.map { $0 < id } ?? true }
      facts.page = ids.prefix(page.accountsMax).compactMap(state)
    }
    facts.importKey = query.importKeyID.flatMap { importKeys[$0] }
    facts.masterKeys = query.masterKeys.map(masterKeyFacts)
    facts.support = query.support.map(support)
    return facts
  }

  private func rows(_ wanted: AccountRowsQuery) -> AccountRows {
    func page<Row>(_ rows: [Row], _ place: (Row) -> AccountRowsQuery.Place) -> [Row] {
      let sorted = rows.sorted { place($0).precedes(place($1)) }
      return Array(sorted.filter { wanted.after.precedes(place($0)) }.prefix(wanted.rowsMax))
    }
    let id = wanted.accountID
    return switch wanted.kind {
    case .sessions: .sessions(page(sessions.values.filter { $0.accountID == id }) { .id($0.id) })
    case .pendings: .pendings(page(pendings.values.filter { $0.accountID == id }) { .digest($0.digest) })
    case .failures: .failures(page(failures.values.filter { $0.accountID == id }) { .digest($0.key) })
    case .deliveries: .deliveries(page(deliveries.filter { $0.accountID == id }) { .id($0.id) })
    case .sentMessages: .sentMessages(page(sentMessages.filter { $0.accountID == id }) { .id($0.id) })
    case .events: .events(page(audit.filter { $0.accountID == id }) { .position($0.position) })
    }
  }

  private func transferOwner(of key: IdentityKey) -> String? {
    identities.values.first { $0.key.providerID == key.providerID && $0.transferSubject == key.subject }?.accountID
  }

  private func queue(_ due: DueDeliveries) -> DeliveryQueue {
    let waiting = deliveries.filter { $0.buriedAt == nil }
    let sorted = waiting.filter { $0.nextAttemptAt <= due.at }.sorted { $0.nextAttemptAt < $1.nextAttemptAt }
    let first = DeliveryClass.all.flatMap { each in
      sorted.filter { $0.deliveryClass == each }.prefix(due.rowsMax[each] ?? 0)
    }
    return DeliveryQueue(
      due: first, waitingCount: waiting.count,
      buriedCount: deliveries.count - waiting.count, oldestCreatedAt: waiting.map(\.createdAt).min())
  }

  private func idleAnonymous(_ query: IdleQuery) -> [IdleAccount] {
    func since(_ account: AccountRecord) -> Timestamp { idleSince[account.id] ?? account.createdAt }
    let idle = accounts.values.filter { $0.anonymous && since($0) < query.before }.sorted { since($0) < since($1) }
    return idle.prefix(query.accountsMax).map { account in
      let used = sessions.values.filter { $0.accountID == account.id }.map(\.lastUsedAt).max()
      return IdleAccount(id: account.id, version: account.version, lastUsedAt: used)
    }
  }

  func owner(of email: String) -> AccountState? { state(accounts.values.first { $0.email == email }?.id) }

  private func linkedOwner(of email: String) -> AccountState? {
    let linked = identities.values.filter { $0.email == email && $0.tier >= .verified }
    return state(linked.min { $0.linkedAt < $1.linkedAt }?.accountID)
  }
}

extension AccountRowsQuery.Place {
  /// The newest event comes first.
  fileprivate func precedes(_ other: AccountRowsQuery.Place) -> Bool {
    switch (self, other) {
    case (.id(let one), .id(let two)): one.utf8.lexicographicallyPrecedes(two.utf8)
    case (.digest(let one), .digest(let two)): one.bytes.lexicographicallyPrecedes(two.bytes)
    case (.position(let one), .position(let two)): one > two
    default: false
    }
  }
}
