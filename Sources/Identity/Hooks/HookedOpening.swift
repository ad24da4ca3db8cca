import Store

/// The answer of a decision that may open a session, which hooks can change before the commit.
protocol OpensSession {
  /// The session that the step opens or continues, and its account after the writes. nil: the answer has no session.
  var opening: (session: OpenedSession, state: AccountState)? { get }
  func with(_ session: OpenedSession, _ state: AccountState) -> Self
}

extension Settled: OpensSession where Answer: OpensSession {
  var opening: (session: OpenedSession, state: AccountState)? {
    if case .decided(let answer) = self { answer.opening } else { nil }
  }

  func with(_ session: OpenedSession, _ state: AccountState) -> Self {
    if case .decided(let answer) = self { .decided(answer.with(session, state)) } else { self }
  }
}

/// A session with its account, as the whole answer of a decision.
struct SessionOpening: OpensSession {
  var session: OpenedSession
  var state: AccountState

  var opening: (session: OpenedSession, state: AccountState)? { (session, state) }

  func with(_ session: OpenedSession, _ state: AccountState) -> SessionOpening {
    SessionOpening(session: session, state: state)
  }
}

/// A login that a decision would commit, and what hooks make of it.
///
/// Pure: it turns the change of the decision into another change, guarded by the same versions.
struct HookedOpening: Sendable {
  private(set) var change: Change
  private(set) var session: OpenedSession
  private(set) var state: AccountState
  let isNewAccount: Bool
  private var notes: [AuditNote] = []
  private(set) var isDisabled = false

  /// nil: the change begins no login. A session that a call continues keeps the time of its login.
  init?(_ change: Change, _ opening: (session: OpenedSession, state: AccountState)) {
    let (record, accountID) = (opening.session.record, opening.state.account.id)
    let isLogin = change.writes.contains { write in
      if case .session(.insert(let inserted)) = write { inserted.id == record.id } else { false }
    }
    guard isLogin, record.authTime == record.createdAt else { return nil }
    self.change = change
    (session, state) = opening
    isNewAccount = change.writes.contains { write in
      if case .account(.insert(let account)) = write { account.id == accountID } else { false }
    }
  }

  func login(_ userInfo: UserInfo?) -> HookedLogin {
    HookedLogin(
      account: HookedAccount(state, isNew: isNewAccount), providerID: session.record.signInProviderID,
      methods: session.record.methods, secondFactor: session.record.secondFactor, userInfo: userInfo,
      sessionClaimsJSON: session.record.claimsJSON)
  }

  // MARK: Allowed

  /// Takes over what a hook changes.
  mutating func apply(
    _ changes: HookChanges, of event: HookEvent, by hook: String, _ tokens: any Tokens, now: Timestamp
  ) throws {
    let before = (account: state.account, claims: session.record.claimsJSON)
    session.record.claimsJSON = try tokens.claims(before.claims, overriddenBy: changes.sessionClaimsJSON)
    state.account.apply(changes, isNew: isNewAccount, now: now)
    isDisabled = changes.disables
    var isStored = false
    change.writes = change.writes.compactMap { write in
      switch write {
      case .session(.insert(let record)) where record.id == session.record.id:
        return .session(.insert(session.record))
      case .account(let old) where state.account != before.account:
        let new = old.storing(state.account)
        guard new != old else { return write }
        // A login with a second factor has two writes of the account. One update takes the place of both: a second one
        // would find another version.
        defer { isStored = true }
        return isStored ? nil : .account(new)
      default: return write
      }
    }
    var changed: [String] = []
    let after = state.account
    if after.displayName != before.account.displayName { changed.append("display_name") }
    if after.photoURL != before.account.photoURL { changed.append("photo_url") }
    if after.disabled != before.account.disabled { changed.append("disabled") }
    if after.emailVerified != before.account.emailVerified { changed.append("email_verified") }
    if after.customClaimsJSON != before.account.customClaimsJSON { changed.append("custom_claims") }
    if session.record.claimsJSON != before.claims { changed.append("session_claims") }
    guard !changed.isEmpty else { return }
    let details = ["hook": hook, "hook_event": event.rawValue, "changed": changed.joined(separator: ",")]
    notes.append(AuditNote(.hookChanged, accountID: after.id, details: details))
  }

  /// The change to commit, with an event for each hook that changed something.
  func allowed(_ audit: (AuditNote) -> Write) -> Change { Change(change.writes + notes.map(audit)) }

  // MARK: Disabled

  /// The change that leaves the account disabled and opens no session. Of an existing account, nothing else changes.
  func disabled(now: Timestamp, _ audit: (AuditNote) -> Write) -> Change {
    let note = AuditNote(.disabled, accountID: state.account.id, details: ["by": "hook"])
    guard isNewAccount else {
      return Change(counts + state.cutOff(at: now, disabling: true, reason: .disabled).writes + [audit(note)])
    }
    let kept = change.writes.filter { write in
      switch write {
      case .session(.insert), .record(.insertIdempotency): false
      case .record(.appendAudit(let row)): row.event != AuditEvent.signedIn.rawValue
      default: true
      }
    }
    return Change(kept + (notes + [note]).map(audit))
  }

  // MARK: Denied

  /// The change that a refused login leaves: counts of attempts, and the event.
  func denied(_ denial: HookDenial, of event: HookEvent, by hook: String, _ audit: (AuditNote) -> Write) -> Change {
    var details = ["hook": hook, "hook_event": event.rawValue, "provider_id": session.record.signInProviderID]
    if !denial.code.isEmpty { details["code"] = denial.code }
    let note = AuditNote(.hookDenied, accountID: isNewAccount ? "" : state.account.id, details: details)
    return Change(counts + [audit(note)])
  }

  /// The attempts of the change: sign-ups, and those of the pending rows that it would complete.
  private var counts: [Write] {
    change.writes.compactMap { write in
      switch write {
      case .throttle(.count): write
      case .pending(.complete(let digest, _, _, _, _)): .pending(.countAttempt(digest))
      default: nil
      }
    }
  }
}

extension AccountRecord {
  fileprivate mutating func apply(_ changes: HookChanges, isNew: Bool, now: Timestamp) {
    if let name = changes.displayName { displayName = name }
    if let url = changes.photoURL { photoURL = url }
    if let claims = changes.customClaimsJSON { customClaimsJSON = claims }
    if changes.disables, isNew { disabled = true }
    guard let verified = changes.emailVerified, email != nil, verified != emailVerified else { return }
    emailAddress?.verification = verified ? .administrator : nil
    // An address that comes with its account is not in doubt (section 3.5).
    if verified, !isNew { emailVerifiedAt = now }
  }
}

extension AccountWrite {
  /// The same write with the account as hooks changed it. The version that the decision was taken on guards it.
  fileprivate func storing(_ account: AccountRecord) -> AccountWrite {
    var record = account
    switch self {
    case .insert(let old) where old.id == account.id: return .insert(record)
    case .update(let old) where old.id == account.id:
      record.version = old.version
      return .update(record)
    case .touch(let id, let version, _) where id == account.id,
      .raise(let id, let version) where id == account.id:
      record.version = version
      return .update(record)
    default: return self
    }
  }
}
