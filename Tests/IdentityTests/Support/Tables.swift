import Identity
import Store

/// What `MemoryStore` holds; a value, so that a failed change is simply thrown away.
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

  func openSessions(of accountID: String) -> [SessionRecord] {
    sessions.values.filter { $0.accountID == accountID && $0.closedAt == nil }
  }

  func events(of accountID: String) -> [String] { audit.filter { $0.accountID == accountID }.map(\.event) }
}

// MARK: look-ups

extension Tables {
  func state(_ accountID: String?) -> AccountState? {
    guard let accountID, let account = accounts[accountID] else { return nil }
    return AccountState(
      account: account,
      identities: identities.values.filter { $0.accountID == accountID }
        .sorted { ($0.linkedAt, $0.key.providerID) < ($1.linkedAt, $1.key.providerID) },
      factors: factors.filter { $0.accountID == accountID }, unlinks: unlinks.filter { $0.accountID == accountID })
  }

  func facts(_ query: Query) -> Facts {
    var facts = Facts()
    facts.idempotency = query.idempotency.flatMap { idempotency[$0] }
    facts.session = query.sessionID.flatMap { sessions[$0] }
    facts.sessionAccount = state(facts.session?.accountID)
    facts.account = state(query.accountID)
    facts.identityOwner = state(query.identity.flatMap { identities[$0]?.accountID })
    facts.emailOwner = query.email.flatMap(owner)
    if let email = query.waysIn {
      facts.waysIn = (owner(of: email) ?? (query.includesLinkedEmail ? linkedOwner(of: email) : nil))?.waysIn
    }
    if let number = query.phoneNumber {
      facts.phoneOwner = state(accounts.values.first { $0.phoneNumber == number }?.id)
    }
    facts.pending = query.pending.flatMap { pendings[$0] }
    facts.pendingAccount = state(facts.pending?.accountID)
    facts.tokenSpent = query.spentToken.map { spent[$0] != nil } ?? false
    facts.signingKeys = query.signingKeys ? signingKeys : []
    return facts
  }

  private func owner(of email: String) -> AccountState? { state(accounts.values.first { $0.email == email }?.id) }

  private func linkedOwner(of email: String) -> AccountState? {
    let linked = identities.values.filter { $0.email == email && $0.tier >= .verified }
    return state(linked.min { $0.linkedAt < $1.linkedAt }?.accountID)
  }
}

// MARK: changes

extension Tables {
  mutating func carryOut(_ change: Change) -> Outcome {
    var draft = self
    for write in change.writes {
      if let failed = draft.carryOut(write) { return failed }
    }
    self = draft
    return .committed
  }

  /// nil: done.
  private mutating func carryOut(_ write: Write) -> Outcome? {
    switch write {
    case .insertAccount, .updateAccount, .guardAccount, .touchAccount, .deleteAccount: accountWrite(write)
    case .insertIdentity, .updateIdentity, .deleteIdentity, .rememberUnlink, .forgetUnlink, .insertFactor:
      identityWrite(write)
    case .insertSession, .rotateSession, .closeSession, .closeSessions, .closeSessionsOf, .guardSession:
      sessionWrite(write)
    case .insertPending, .completePending, .countPendingAttempt, .deletePendings: pendingWrite(write)
    default: otherWrite(write)
    }
  }

  private mutating func accountWrite(_ write: Write) -> Outcome? {
    switch write {
    case .insertAccount(let record):
      if accounts[record.id] != nil { return .conflict(.accountID) }
      if let taken = takenKey(of: record) { return .conflict(taken) }
      accounts[record.id] = record
    case .updateAccount(let record):
      guard accounts[record.id]?.version == record.version else { return .stale }
      if let taken = takenKey(of: record) { return .conflict(taken) }
      accounts[record.id] = record
      accounts[record.id]?.version += 1
    case .guardAccount(let id, let version):
      guard accounts[id]?.version == version else { return .stale }
      accounts[id]?.version += 1
    case .touchAccount(let id, let version, let lastSignInAt):
      guard accounts[id]?.version == version else { return .stale }
      accounts[id]?.lastSignInAt = lastSignInAt
    case .deleteAccount(let id, let version):
      guard accounts[id]?.version == version else { return .stale }
      accounts[id] = nil
      identities = identities.filter { $0.value.accountID != id }
      factors.removeAll { $0.accountID == id }
      unlinks.removeAll { $0.accountID == id }
      sessions = sessions.filter { $0.value.accountID != id }
      pendings = pendings.filter { $0.value.accountID != id }
    default: return nil
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

  private mutating func identityWrite(_ write: Write) -> Outcome? {
    switch write {
    case .insertIdentity(let record):
      guard identities[record.key] == nil else { return .conflict(.identity) }
      identities[record.key] = record
    case .updateIdentity(let record):
      guard let old = identities[record.key], old.accountID == record.accountID else { return .stale }
      identities[record.key] = record
      identities[record.key]?.linkedAt = old.linkedAt
    case .deleteIdentity(let key, let accountID):
      guard identities[key]?.accountID == accountID else { return .stale }
      identities[key] = nil
    case .rememberUnlink(let record):
      unlinks.removeAll { $0.accountID == record.accountID && $0.key == record.key }
      unlinks.append(record)
    case .forgetUnlink(let accountID, let key): unlinks.removeAll { $0.accountID == accountID && $0.key == key }
    case .insertFactor(let record): factors.append(record)
    default: return nil
    }
    return nil
  }

  private mutating func sessionWrite(_ write: Write) -> Outcome? {
    switch write {
    case .insertSession(let record): sessions[record.id] = record
    case .rotateSession(let id, let from, let to, let at, let idleExpiresAt):
      guard let session = sessions[id], session.isOpen(at: at), session.refreshDigest == from else { return .stale }
      sessions[id]?.refreshDigest = to
      sessions[id]?.parentDigest = from
      sessions[id]?.rotatedAt = at
      sessions[id]?.lastUsedAt = at
      sessions[id]?.idleExpiresAt = idleExpiresAt
    case .closeSession(let id, let at, let reason): close(at, reason) { $0.id == id }
    case .closeSessions(let accountID, let except, let at, let reason):
      close(at, reason) { $0.accountID == accountID && $0.id != except }
    case .closeSessionsOf(let accountID, let providerID, let except, let at, let reason):
      close(at, reason) { $0.accountID == accountID && $0.signInProviderID == providerID && $0.id != except }
    case .guardSession(let id, let at): return sessions[id]?.isOpen(at: at) == true ? nil : .stale
    default: return nil
    }
    return nil
  }

  private mutating func close(_ at: Timestamp, _ reason: String, where matches: (SessionRecord) -> Bool) {
    for session in sessions.values where session.closedAt == nil && matches(session) {
      sessions[session.id]?.closedAt = at
      sessions[session.id]?.closedReason = reason
    }
  }

  private mutating func pendingWrite(_ write: Write) -> Outcome? {
    switch write {
    case .insertPending(let record, let limits):
      if pendings.count >= limits.totalMax { return .limited(.total) }
      if pendings.values.count(where: { $0.caller == record.caller }) >= limits.perCallerMax {
        return .limited(.caller)
      }
      if pendings.values.count(where: {
        $0.accountID == record.accountID && $0.isStrangers == record.isStrangers
      }) >= limits.perAccountMax {
        return .limited(.account)
      }
      pendings[record.digest] = record
    case .completePending(let digest, let version, let at, let accountID, let sessionID):
      guard let row = pendings[digest], row.version == version, row.completedAt == nil, at < row.expiresAt else {
        return .stale
      }
      pendings[digest]?.completedAt = at
      pendings[digest]?.completedAccountID = accountID
      pendings[digest]?.completedSessionID = sessionID
      pendings[digest]?.version += 1
    case .countPendingAttempt(let digest):
      guard let row = pendings[digest] else { return nil }
      pendings[digest]?.attemptsLeft = max(0, row.attemptsLeft - 1)
    case .deletePendings(let accountID, let except):
      pendings = pendings.filter { $0.value.accountID != accountID || $0.key == except }
    default: return nil
    }
    return nil
  }

  private mutating func otherWrite(_ write: Write) -> Outcome? {
    switch write {
    case .insertIdempotency(let record):
      if let old = idempotency[record.key], record.createdAt < old.expiresAt { return .conflict(.idempotency) }
      idempotency[record.key] = record
    case .spendToken(let digest, let expiresAt):
      guard spent[digest] == nil else { return .conflict(.spentToken) }
      spent[digest] = expiresAt
    case .appendAudit(let record): audit.append(record)
    case .insertSigningKey(let record):
      guard !signingKeys.contains(where: { $0.keyID == record.keyID }) else { return .conflict(.signingKey) }
      signingKeys.append(record)
    case .retireSigningKey(let keyID, let at):
      for index in signingKeys.indices where signingKeys[index].keyID == keyID { signingKeys[index].retiredAt = at }
    default: return nil
    }
    return nil
  }

  mutating func sweep(at now: Timestamp) -> Int {
    let before = pendings.count + idempotency.count + spent.count
    pendings = pendings.filter { now < $0.value.expiresAt }
    idempotency = idempotency.filter { now < $0.value.expiresAt }
    spent = spent.filter { now < $0.value }
    return before - pendings.count - idempotency.count - spent.count
  }
}
