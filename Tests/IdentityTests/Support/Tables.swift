import Identity
import Store

/// The contents of `MemoryStore`; a value, so that a failed change is simply discarded.
struct Tables: Hashable, Sendable {
  var accounts: [String: AccountRecord] = [:]
  var identities: [IdentityKey: IdentityRecord] = [:]
  var factors: [FactorRecord] = []
  var unlinks: [UnlinkRecord] = []
  var sessions: [String: SessionRecord] = [:]
  var pendings: [Digest: PendingRecord] = [:]
  var idempotency: [Digest: IdempotencyRecord] = [:]
  var spent: [Digest: Timestamp] = [:]
  var audit: [AuditRecord] = []
  var signingKeys: [SigningKeyRecord] = []
  var deliveries: [DeliveryRecord] = []
  var throttles: [Digest: ThrottleRecord] = [:]
  var closedAccounts: [String: ClosedAccountRecord] = [:]
  var idleSince: [String: Timestamp] = [:]
  var importKeys: [String: ImportKeyRecord] = [:]
  var masterKeys: [String: MasterKeyRecord] = [:]
  var failures: [Digest: FailureRecord] = [:]
  var sentMessages: [SentMessageRecord] = []

  /// Everything except the counts of attempts, which failed calls also change.
  var uncounted: Tables {
    var rest = self
    rest.throttles = [:]
    return rest
  }

  func openSessions(of accountID: String) -> [SessionRecord] {
    sessions.values.filter { $0.accountID == accountID && $0.closed == nil }
  }

  /// Without the sign-ins themselves, which nearly every test has.
  func events(of accountID: String) -> [String] { allEvents(of: accountID).filter { $0 != "SIGNED_IN" } }

  func allEvents(of accountID: String) -> [String] { audit.filter { $0.accountID == accountID }.map(\.event) }
}

extension Tables {
  mutating func carryOut(_ change: Change) -> Outcome {
    var draft = self
    for write in change.writes {
      if let failed = draft.carryOut(write) { return failed }
    }
    self = draft
    return .committed
  }

  /// Returns nil if the write was made.
  private mutating func carryOut(_ write: Write) -> Outcome? {
    switch write {
    case .account(let write): carryOut(write)
    case .identity(let write): carryOut(write)
    case .unlink(let write): carryOut(write)
    case .factor(let write): carryOut(write)
    case .session(let write): carryOut(write)
    case .pending(let write): carryOut(write)
    case .delivery(let write): carryOut(write)
    case .throttle(let write): carryOut(write)
    case .signingKey(let write): carryOut(write)
    case .record(let write): carryOut(write)
    case .failure(let write): carryOut(write)
    }
  }

  private mutating func carryOut(_ write: AccountWrite) -> Outcome? {
    switch write {
    case .insert(let record):
      if accounts[record.id] != nil { return .conflict(.accountID) }
      if let closed = closedAccounts[record.id] {
        guard let forgotten = closed.forgottenAt, let cutOff = record.tokensValidAfter, cutOff >= forgotten else {
          return .conflict(.accountID)
        }
      }
      if let taken = takenKey(of: record) { return .conflict(taken) }
      accounts[record.id] = record
      closedAccounts[record.id] = nil
    case .update(let record):
      guard accounts[record.id]?.version == record.version else { return .stale }
      if let taken = takenKey(of: record) { return .conflict(taken) }
      let signedInAt = [accounts[record.id]?.lastSignInAt, record.lastSignInAt].compactMap { $0 }.max()
      accounts[record.id] = record
      accounts[record.id]?.lastSignInAt = signedInAt
      accounts[record.id]?.version += 1
    case .raise(let id, let version):
      guard accounts[id]?.version == version else { return .stale }
      accounts[id]?.version += 1
    case .touch(let id, let version, let lastSignInAt):
      guard accounts[id]?.version == version else { return .stale }
      let last = accounts[id]?.lastSignInAt ?? lastSignInAt
      accounts[id]?.lastSignInAt = max(last, lastSignInAt)
    case .confirm(let id, let version): return accounts[id]?.version == version ? nil : .stale
    case .cutOff(let id, let at, let disabling):
      guard let account = accounts[id], !(disabling && account.disabled) else { return .stale }
      accounts[id]?.tokensValidAfter = max(account.tokensValidAfter ?? at, at)
      accounts[id]?.disabled = account.disabled || disabling
      accounts[id]?.version += 1
    case .requireFreeEmail(let email): return owner(of: email) == nil ? nil : .conflict(.email)
    case .close(let closed, let version):
      let id = closed.id
      guard let account = accounts[id], version ?? account.version == account.version else { return .stale }
      accounts[id] = nil
      identities = identities.filter { $0.value.accountID != id }
      factors.removeAll { $0.accountID == id }
      unlinks.removeAll { $0.accountID == id }
      sessions = sessions.filter { $0.value.accountID != id }
      pendings = pendings.filter { $0.value.accountID != id }
      closedAccounts[id] = closed
    case .forget(let id, let at):
      guard let closed = closedAccounts[id], closed.forgottenAt == nil else { return .stale }
      closedAccounts[id]?.forgottenAt = at
      failures = failures.filter { $0.value.accountID != id }
      deliveries.removeAll { $0.accountID == id }
      sentMessages.removeAll { $0.accountID == id }
    case .requireIdle(let accountID, let since):
      if sessions.values.contains(where: { $0.accountID == accountID && $0.lastUsedAt >= since }) { return .stale }
    case .noteIdle(let accountID, let since): idleSince[accountID] = since
    }
    return nil
  }

  private func takenKey(of record: AccountRecord) -> UniqueKey? {
    for other in accounts.values where other.id != record.id {
      if let email = record.email, other.email == email { return .email }
      if let number = record.phoneNumber, other.phoneNumber == number { return .phoneNumber }
    }
    return nil
  }

  private mutating func carryOut(_ write: IdentityWrite) -> Outcome? {
    switch write {
    case .insert(let record):
      guard identities[record.key] == nil, isFreeToTransfer(record) else { return .conflict(.identity) }
      identities[record.key] = record
    case .update(let record):
      guard let old = identities[record.key], old.accountID == record.accountID else { return .stale }
      guard isFreeToTransfer(record) else { return .conflict(.identity) }
      identities[record.key] = record
      identities[record.key]?.linkedAt = old.linkedAt
    case .delete(let key, let accountID):
      guard identities[key]?.accountID == accountID else { return .stale }
      identities[key] = nil
    }
    return nil
  }

  private mutating func carryOut(_ write: UnlinkWrite) -> Outcome? {
    switch write {
    case .remember(let record):
      unlinks.removeAll { $0.accountID == record.accountID && $0.key == record.key }
      unlinks.append(record)
    case .forget(let accountID, let key): unlinks.removeAll { $0.accountID == accountID && $0.key == key }
    }
    return nil
  }

  private mutating func carryOut(_ write: FactorWrite) -> Outcome? {
    switch write {
    case .insert(let record): factors.append(record)
    case .update(let record):
      guard let index = index(ofFactor: record.id, of: record.accountID) else { return .stale }
      factors[index].displayName = record.displayName
      factors[index].sealedSecret = record.sealedSecret
    case .delete(let id, let accountID):
      guard let index = index(ofFactor: id, of: accountID) else { return .stale }
      factors.remove(at: index)
    case .requireNone(let accountID): return factors.contains { $0.accountID == accountID } ? .stale : nil
    }
    return nil
  }

  private func index(ofFactor id: String, of accountID: String) -> Int? {
    factors.firstIndex { $0.id == id && $0.accountID == accountID }
  }

  private mutating func carryOut(_ write: SessionWrite) -> Outcome? {
    switch write {
    case .insert(let record): sessions[record.id] = record
    case .rename(let id, let signInProviderID, let methods, let at):
      guard let session = sessions[id], session.isOpen(at: at) else { return .stale }
      sessions[id]?.signInProviderID = signInProviderID
      sessions[id]?.methods = methods
    case .rotate(let id, let from, let to, let at, let idleExpiresAt):
      guard let session = sessions[id], session.isOpen(at: at), session.refreshDigest == from else { return .stale }
      sessions[id]?.refreshDigest = to
      sessions[id]?.parentDigest = from
      sessions[id]?.rotatedAt = at
      sessions[id]?.lastUsedAt = at
      sessions[id]?.idleExpiresAt = idleExpiresAt
    case .close(let id, let accountID, let at, let reason):
      close(at, reason) { $0.id == id && $0.accountID == accountID }
    case .closeAll(let accountID, let except, let at, let reason):
      close(at, reason) { $0.accountID == accountID && $0.id != except }
    case .closeBegun(let accountID, let providerID, let except, let at, let reason):
      close(at, reason) { $0.accountID == accountID && $0.beganWith == providerID && $0.id != except }
    case .requireOpen(let id, let digest, let at):
      guard let session = sessions[id], session.isOpen(at: at) else { return .stale }
      return digest == nil || digest == session.refreshDigest ? nil : .stale
    }
    return nil
  }

  private mutating func close(_ at: Timestamp, _ reason: SessionClosedReason, where matches: (SessionRecord) -> Bool) {
    for session in sessions.values where session.closed == nil && matches(session) {
      sessions[session.id]?.closed = SessionEnd(at: at, reason: reason)
    }
  }

  /// Removes the newest row of the network with the most places of its caller, if it has more than this one.
  private mutating func makeRoom(for record: PendingRecord) -> Bool {
    let held = Dictionary(grouping: pendings.values.filter { $0.quota == record.quota }, by: \.network)
    guard let most = held.max(by: { $0.value.count < $1.value.count }), most.key != record.network,
      most.value.count > 1 + (held[record.network]?.count ?? 0),
      let newest = most.value.max(by: { $0.createdAt < $1.createdAt })
    else { return false }
    pendings[newest.digest] = nil
    return true
  }

  private mutating func carryOut(_ write: PendingWrite) -> Outcome? {
    switch write {
    case .insert(let record, let limits):
      if pendings.values.count(where: { $0.purpose == record.purpose }) >= limits.totalMax { return .limited(.total) }
      if pendings.values.count(where: { $0.quota == record.quota }) >= limits.perCallerMax, !makeRoom(for: record) {
        return .limited(.caller)
      }
      if !record.accountID.isEmpty,
        pendings.values.count(where: {
          $0.accountID == record.accountID && $0.accountScope == record.accountScope && $0.completedAt == nil
        }) >= limits.perAccountMax
      {
        return .limited(.account)
      }
      pendings[record.digest] = record
    case .complete(let digest, let version, let at, let accountID, let sessionID):
      guard let row = pendings[digest], row.version == version, row.completedAt == nil, at < row.expiresAt else {
        return .stale
      }
      pendings[digest]?.completedAt = at
      pendings[digest]?.completedAccountID = accountID
      pendings[digest]?.completedSessionID = sessionID
      pendings[digest]?.version += 1
    case .countAttempt(let digest):
      guard let row = pendings[digest], row.attemptsLeft > 0 else { return nil }
      pendings[digest]?.attemptsLeft -= 1
      pendings[digest]?.version += 1
    case .spendAttempt(let digest, let version):
      guard let row = pendings[digest], row.version == version, row.attemptsLeft > 0 else { return .stale }
      pendings[digest]?.attemptsLeft -= 1
      pendings[digest]?.version += 1
    case .reseal(let digest, let version, let sealed):
      guard let row = pendings[digest], row.version == version, row.completedAt == nil else { return .stale }
      pendings[digest]?.sealed = sealed
      pendings[digest]?.version += 1
    case .deleteAll(let accountID, let except, let spared):
      pendings = pendings.filter {
        $0.value.accountID != accountID || $0.key == except || spared.contains($0.value.purpose)
      }
    case .end(let purpose, let key, let createdAfter):
      pendings = pendings.filter {
        let row = $0.value
        return row.purpose != purpose || row.identity != key || createdAfter.map { row.createdAt <= $0 } ?? false
      }
    }
    return nil
  }

  private mutating func carryOut(_ write: DeliveryWrite) -> Outcome? {
    switch write {
    case .enqueue(let record, let queueMax):
      if deliveries.count(where: { $0.buriedAt == nil }) >= queueMax { return .limited(.deliveries) }
      deliveries.append(record)
    case .enqueueNotice(let record, let limits): enqueue(record, within: limits)
    case .claim(let id, let attempts, let nextAttemptAt):
      guard
        let index = deliveries.firstIndex(where: { $0.id == id && $0.attempts == attempts && $0.buriedAt == nil })
      else { return .stale }
      deliveries[index].attempts += 1
      deliveries[index].nextAttemptAt = nextAttemptAt
    case .remove(let id): deliveries.removeAll { $0.id == id }
    case .removeSent(let id, let at, let keptUntil):
      let sent = deliveries.first { $0.id == id && $0.buriedAt == nil }
      if let sent, let accountID = sent.accountID {
        sentMessages.append(
          SentMessageRecord(
            id: id, accountID: accountID, channel: sent.channel, kind: sent.kind,
            maskedRecipient: sent.maskedRecipient ?? "", createdAt: sent.createdAt, attempts: sent.attempts,
            sentAt: at, keptUntil: keptUntil))
      }
      deliveries.removeAll { $0.id == id }
    case .noteError(let id, let error):
      for index in deliveries.indices where deliveries[index].id == id && deliveries[index].buriedAt == nil {
        deliveries[index].lastError = error
      }
    case .requeue(let id, let at, let queueMax):
      guard let index = deliveries.firstIndex(where: { $0.id == id }), at < deliveries[index].expiresAt,
        !deliveries[index].sealed.isEmpty
      else { return .stale }
      if deliveries[index].buriedAt != nil {
        if deliveries.count(where: { $0.buriedAt == nil }) >= queueMax { return .limited(.deliveries) }
        deliveries[index].attempts = 0
        (deliveries[index].buriedAt, deliveries[index].buriedReason) = (nil, nil)
        (deliveries[index].keptUntil, deliveries[index].mergeKey) = (nil, nil)
      }
      deliveries[index].nextAttemptAt = at
    case .bury(let id, let at, let reason, let keptUntil):
      guard let index = deliveries.firstIndex(where: { $0.id == id && $0.buriedAt == nil }) else { return nil }
      deliveries[index].buriedAt = at
      deliveries[index].buriedReason = reason
      deliveries[index].keptUntil = keptUntil
      if deliveries[index].expiresAt <= at { deliveries[index].sealed = [] }
    }
    return nil
  }

  private mutating func enqueue(_ notice: DeliveryRecord, within limits: NoticeLimits) {
    if let index = deliveries.firstIndex(where: { $0.mergeKey == notice.mergeKey && $0.buriedAt == nil }) {
      deliveries[index].expiresAt = max(deliveries[index].expiresAt, notice.expiresAt)
      return
    }
    let counts = [limits.count] + limits.otherCounts
    if counts.contains(where: { limits.isReached(throttles[$0.key]) }) { return }
    if deliveries.count(where: { $0.buriedAt == nil }) >= limits.queueMax { return }
    deliveries.append(notice)
    guard limits.count.rule.countMax > 0 else { return }
    for count in counts { throttles[count.key] = .counting(count, after: throttles[count.key]) }
  }

  private mutating func carryOut(_ write: RecordWrite) -> Outcome? {
    switch write {
    case .insertIdempotency(let record):
      if let old = idempotency[record.key], record.createdAt < old.expiresAt { return .conflict(.idempotency) }
      idempotency[record.key] = record
    case .spendToken(let digest, let expiresAt):
      guard spent[digest] == nil else { return .conflict(.spentToken) }
      spent[digest] = expiresAt
    case .appendAudit(var record):
      record.position = (audit.last?.position ?? 0) + 1
      audit.append(record)
    case .keepImportKey(let key): importKeys[key.id] = importKeys[key.id] ?? key
    case .noteMasterKey(let id, let seals, let at): noteMasterKey(id, seals: seals, at)
    case .seal(let name, let old, let new): seal(name, old, new)
    }
    return nil
  }

  private mutating func carryOut(_ write: SigningKeyWrite) -> Outcome? {
    switch write {
    case .insert(let record):
      guard !signingKeys.contains(where: { $0.keyID == record.keyID }) else { return .conflict(.signingKey) }
      signingKeys.append(record)
    case .requireNone: return signingKeys.contains { $0.retiredAt == nil } ? .stale : nil
    case .retire(let keyID, let at):
      guard let index = signingKeys.firstIndex(where: { $0.keyID == keyID && $0.retiredAt == nil }) else {
        return .stale
      }
      signingKeys[index].retiredAt = at
    case .delete(let retiredBy):
      signingKeys.removeAll { $0.retiredAt.map { $0 <= retiredBy } ?? false }
    case .confirm(let key):
      let stored = signingKeys.first { $0.keyID == key.keyID }
      guard let stored, (stored.activeFrom, stored.retiredAt) == (key.activeFrom, key.retiredAt) else { return .stale }
    case .reschedule(let keyID, let activeFrom, let retiredAt):
      guard let index = signingKeys.firstIndex(where: { $0.keyID == keyID }) else { return .stale }
      (signingKeys[index].activeFrom, signingKeys[index].retiredAt) = (activeFrom, retiredAt)
    case .revoke(let keyID):
      guard let index = signingKeys.firstIndex(where: { $0.keyID == keyID }) else { return .stale }
      signingKeys.remove(at: index)
    }
    return nil
  }

  func isAfterCutOff(_ session: SessionRecord) -> Bool {
    let cutOff = accounts[session.accountID]?.tokensValidAfter
    guard let closedAt = session.closed?.at, let cutOff else { return true }
    return closedAt > cutOff
  }

  private mutating func carryOut(_ write: ThrottleWrite) -> Outcome? {
    switch write {
    case .count(let count):
      let old = throttles[count.key]
      if count.refusesBlocked, let until = old?.block(at: count.at) { return .throttled(count.kind, until: until) }
      throttles[count.key] = .counting(count, after: old)
    case .reset(let key, let kind, let at, let liftsBlock):
      if !liftsBlock, let until = throttles[key]?.block(at: at) { return .throttled(kind, until: until) }
      throttles[key] = nil
    }
    return nil
  }

  mutating func sweep(at now: Timestamp) -> Int {
    let before = pendings.count + idempotency.count + spent.count + deliveries.count
    pendings = pendings.filter { now < $0.value.expiresAt }
    idempotency = idempotency.filter { now < $0.value.expiresAt }
    spent = spent.filter { now < $0.value }
    deliveries.removeAll { $0.keptUntil.map { $0 <= now } ?? false }
    return before - pendings.count - idempotency.count - spent.count - deliveries.count
  }
}

extension Write {
  static func removal(of accountID: String) -> Write {
    .account(.close(ClosedAccountRecord(id: accountID, closedAt: beginning), version: 1))
  }
}

extension Tables {
  /// Whether no other identity has the transfer identifier.
  fileprivate func isFreeToTransfer(_ record: IdentityRecord) -> Bool {
    guard let subject = record.transferSubject else { return true }
    return !identities.values.contains {
      $0.key != record.key && $0.key.providerID == record.key.providerID && $0.transferSubject == subject
    }
  }
}
