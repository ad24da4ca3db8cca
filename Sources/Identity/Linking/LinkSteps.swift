import Store

/// Turns a link decision into a change and an answer.
extension Link {
  enum Result: Sendable {
    case session(OpenedSession, AccountState)
    /// L1: the caller's own session, with all tokens.
    ///
    /// A client keeps the session that it receives, so an empty refresh token would replace a valid one. The token that
    /// the client has stays valid, too. An anonymous session is over.
    case alreadyLinked(OpenedSession, AccountState)
    /// L1 after a second factor, which the session now has.
    case passedAlreadyLinked(OpenedSession, AccountState)
    case answer(LinkAnswer)
    /// The named session completed the pending token before.
    case completed(Digest, sessionID: String)
  }

  func decide(
    _ verified: VerifiedLink, _ caller: CallerSession, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) throws -> Step<Result> {
    if caller.session.closed != nil { return try afterGuest(verified, caller, facts, call, now) }
    var row: PendingRecord?
    if let digest = verified.heldIn {
      let record = verified.passed == nil ? facts.pending : facts.alsoPending
      switch try open(record, for: caller, call, now) {
      case .completed(_, let sessionID): return .answer(.completed(digest, sessionID: sessionID))
      case .held(let record, _):
        guard record.accountID == caller.state.account.id else {
          return refuse(PendingTable.mismatch("the row belongs to another account"), record, verified)
        }
        row = record
      }
    }
    if facts.tokenSpent {
      return refuse(verified.assertion?.passkey == nil ? .tokenWasSpent : .passkeyExists, row, verified)
    }
    let identityOwner = facts.identityOwner ?? facts.phoneOwner ?? facts.transferOwner
    let linkFacts = LinkFacts(
      caller: caller, identityOwner: identityOwner, emailOwner: facts.emailOwner,
      heldSince: row?.createdAt, shownFactorSince: verified.passed?.row.createdAt)
    switch LinkDecision.decide(verified.proof, linkFacts, policy: environment.policy, now: now) {
    case .refuse(let failure):
      return refuse(failure, row, verified, counting: verified.admitted?.count(at: now) ?? [])
    case .alreadyLinked: return alreadyLinked(verified, caller, row, call, now)
    case .credentialInUse(let assertion, let ownerID):
      return inUse(verified, assertion, ownerID: ownerID, caller, call, now)
    case .secondFactorRequired: return secondFactor(verified, caller, row, call, now)
    case .link(let edit):
      let counts = try verified.changes?.admit(facts, now: now).count(at: now) ?? []
      return link(verified, edit, caller, row, counting: counts, call, now)
    }
  }

  /// Answers L1 for a client that still uses an ended anonymous session, after a lost answer or with two windows.
  ///
  /// That session is over. The credential alone would open one, so this call opens one.
  private func afterGuest(
    _ verified: VerifiedLink, _ caller: CallerSession, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> Step<Result> {
    guard let identity = verified.assertion?.identity, caller.state.holds(identity),
      environment.policy.enables(identity.providerID), !caller.state.hasSecondFactor
    else { throw Failure(.tokenRevoked, hint: "Sign in again.") }
    if facts.tokenSpent { return .refuse(.tokenWasSpent) }
    var edit = AccountEdit(caller.state)
    edit.noteSignIn(at: now, upgradedHash: nil)
    let state = edit.state
    let opened = environment.openSession(accountID: state.account.id, by: verified.firstFactor, call: call, now: now)
    var writes = edit.signInWrites + verified.spentToken
    writes += verified.spentCode(for: state.account.id, sessionID: opened.record.id, now)
    writes.append(.session(.insert(opened.record)))
    writes.append(environment.audit(.signedIn, opened: opened.record, call: call, now: now))
    writes += rememberAlreadyLinked(caller, sessionID: opened.record.id, call, now)
    return .commit(Change(writes), .alreadyLinked(opened, state))
  }

  private func refuse(
    _ failure: Failure, _ row: PendingRecord?, _ verified: VerifiedLink, counting counts: [Write] = []
  ) -> Step<Result> {
    let rows = [row, verified.passed?.row].compactMap(\.self)
    let writes = rows.map { .pending(.countAttempt($0.digest)) } + counts
    return .refuse(failure, writing: writes.isEmpty ? nil : Change(writes))
  }

  /// Writes L1, which changes nothing of the account.
  ///
  /// It still spends a code or a token for single use. Otherwise an attacker who obtains it could sign in with it until
  /// it expires (check 46).
  private func alreadyLinked(
    _ verified: VerifiedLink, _ caller: CallerSession, _ row: PendingRecord?, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    guard let passed = verified.passed else {
      let sessionID = caller.session.id
      var writes = spent(verified, row, caller, sessionID: sessionID, now)
      writes += verified.spentCode(for: caller.state.account.id, sessionID: sessionID, now)
      // Without this record, a repeat under the call's key would find the token or the code spent.
      if !writes.isEmpty { writes += rememberAlreadyLinked(caller, sessionID: sessionID, call, now) }
      return environment.repeating(caller, writing: writes, now: now).map { Result.alreadyLinked($0.0, $0.1) }
    }
    let opened = environment.continueSession(caller.session, passing: passed.factor, call: call, now: now)
    let guarding = [Write.session(.requireOpen(id: caller.session.id, at: now))]
    var writes = passed.writes(after: guarding, sessionID: opened.record.id, now: now)
    writes += [.closing(caller.session, at: now, reason: .continued), .session(.insert(opened.record))]
    writes += spent(verified, row, caller, sessionID: opened.record.id, now)
    writes += verified.spentCode(for: caller.state.account.id, sessionID: opened.record.id, now)
    writes += rememberAlreadyLinked(caller, sessionID: opened.record.id, call, now)
    return .commit(Change(writes), .passedAlreadyLinked(opened, caller.state))
  }

  /// Spends the token, and completes the row that held it, so that a repeat is answered from the row.
  ///
  /// Empty if the token may be used more than once.
  private func spent(
    _ verified: VerifiedLink, _ row: PendingRecord?, _ caller: CallerSession, sessionID: String, _ now: Timestamp
  ) -> [Write] {
    guard let row, verified.singleUse != nil else { return verified.spentToken }
    let completion = Write.pending(.complete(
      row.digest, version: row.version, at: now, accountID: caller.state.account.id, sessionID: sessionID))
    return verified.spentToken + [completion]
  }

  private func rememberAlreadyLinked(
    _ caller: CallerSession, sessionID: String, _ call: CallFacts, _ now: Timestamp
  ) -> [Write] {
    call.remember(
      IdempotencyRecord.alreadyLinked, accountID: caller.state.account.id, sessionID: sessionID,
      policy: environment.policy, now: now)
  }

  private func inUse(
    _ verified: VerifiedLink, _ assertion: Assertion, ownerID: String, _ caller: CallerSession, _ call: CallFacts,
    _ now: Timestamp
  ) -> Step<Result> {
    let held = PendingAssertion(assertion, firstFactor: verified.firstFactor, singleUse: verified.singleUse)
    let pending = environment.hold(held, purpose: .credentialInUse, accountID: ownerID, call: call, now: now)
    let inUse = CredentialInUse(
      email: assertion.email, handle: pending.handle, expiresAt: pending.record.expiresAt, tokens: verified.tokens)
    var writes: [Write] = [.session(.requireOpen(id: caller.session.id, at: now))] + verified.spentCode(now)
    writes.append(.pending(.insert(pending.record, limits: environment.policy.pendingLimits)))
    if let passed = verified.passed { writes = passed.writes(after: writes, sessionID: nil, now: now) }
    writes += environment.remember(.credentialInUse(inUse), accountID: ownerID, call, now)
    return .commit(Change(writes), .answer(.credentialInUse(inUse)))
  }

  /// Stores the credential until the second factor has passed, and writes nothing else.
  ///
  /// The factor follows the first factor of the session, because the new credential is not a sign-in method yet.
  private func secondFactor(
    _ verified: VerifiedLink, _ caller: CallerSession, _ row: PendingRecord?, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    let account = caller.state.account
    let first = caller.session.beginning
    if let failure = caller.state.refusal(ofFirstFactor: first.signInProviderID) {
      return refuse(failure, row, verified)
    }
    var held: PendingAssertion
    switch verified.proof {
    case .assertion(let assertion):
      held = PendingAssertion(assertion, firstFactor: first, singleUse: verified.singleUse)
    case .password(let email, let hash):
      let identity = IdentityKey(providerID: SignInMethods.password, subject: account.id)
      held = PendingAssertion(Assertion(identity: identity, email: email), firstFactor: first)
      held.passwordHash = hash
    }
    held.intent = .link
    held.completing = row?.digest
    held.sessionID = caller.session.id
    let (write, required) = environment.holdForSecondFactor(
      held, caller.state, userInfo: verified.userInfo, tokens: verified.tokens, call: call, now: now)
    let remembered = environment.remember(.secondFactorRequired(required), accountID: account.id, call, now)
    return .commit(
      Change([.session(.requireOpen(id: caller.session.id, at: now))] + verified.spentCode(now) + [write] + remembered),
      .answer(.secondFactorRequired(required)))
  }

  /// Writes a link. Its tokens are fresh and name the new sign-in method.
  ///
  /// A link is not a login, so `auth_time` stays. Otherwise a session could make itself recent by linking. The session
  /// continues under its id.
  private func link(
    _ verified: VerifiedLink, _ edit: AccountEdit, _ caller: CallerSession, _ row: PendingRecord?,
    counting counts: [Write], _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    let accountID = caller.state.account.id
    let first = verified.firstFactor
    let (opened, ofSession) = sessionOfLink(verified, caller, call, now)
    var note = AuditNote(.linked, accountID: accountID, details: ["provider_id": first.signInProviderID])
    if let assertion = verified.assertion, assertion.passkey != nil {
      note.details["passkey_id"] = assertion.identity.subject
    }
    var writes: [Write] = [.session(.requireOpen(id: caller.session.id, at: now))] + counts + edit.writes
    writes += edit.endOfGuestSessions(at: now)
    if let passed = verified.passed { writes = passed.writes(after: writes, sessionID: opened.record.id, now: now) }
    writes += verified.spentCode(for: accountID, sessionID: opened.record.id, now)
    writes += unlinkReplacedNumber(edit, caller, call, now)
    if let row {
      writes.append(
        .pending(.complete(
          row.digest, version: row.version, at: now, accountID: accountID, sessionID: opened.record.id)))
    }
    writes += verified.spentToken + ofSession
    writes.append(environment.audit(note, call: call, now: now))
    writes += environment.notices(
      .linked, of: edit, values: ["provider_id": first.signInProviderID], now: now)
    writes += call.remember(
      "linked", accountID: accountID, sessionID: opened.record.id, policy: environment.policy, now: now)
    return .commit(Change(writes), .session(opened, edit.state))
  }

  /// Returns the session of the answer and its writes.
  ///
  /// An anonymous user logs in for the first time and leaves the anonymous sessions. A link that passes a second factor
  /// ends the session that has not passed one. Any other link continues the session of the call.
  private func sessionOfLink(
    _ verified: VerifiedLink, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> (OpenedSession, [Write]) {
    let first = verified.firstFactor
    if caller.state.account.anonymous {
      let opened = environment.openSession(accountID: caller.state.account.id, by: first, call: call, now: now)
      return (opened, [.session(.insert(opened.record))])
    }
    let methods = caller.session.methods + first.methods.filter { !caller.session.methods.contains($0) }
    guard let passed = verified.passed else {
      var kept = environment.keepSession(caller.session, now: now)
      kept.opened.record.signInProviderID = first.signInProviderID
      kept.opened.record.methods = methods
      let renaming = Write.session(.rename(
        id: caller.session.id, signInProviderID: first.signInProviderID, methods: methods, at: now))
      return (kept.opened, kept.writes + [renaming])
    }
    var opened = environment.continueSession(caller.session, passing: passed.factor, call: call, now: now)
    opened.record.signInProviderID = first.signInProviderID
    opened.record.methods += first.methods.filter { !caller.session.methods.contains($0) }
    return (opened, [.closing(caller.session, at: now, reason: .continued), .session(.insert(opened.record))])
  }

  /// Unlinks a phone number that another one replaces, as Unlink does.
  ///
  /// The holder of the old number loses the sign-in method and every session that began with it (check 82). The server
  /// notifies the holder, who may be the owner whom an attacker locks out (check 84).
  private func unlinkReplacedNumber(
    _ edit: AccountEdit, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> [Write] {
    guard let number = edit.before.phoneNumber, number != edit.edited.account.phoneNumber else { return [] }
    let accountID = edit.before.id
    let note = AuditNote(.unlinked, accountID: accountID, details: ["provider_id": SignInMethods.phone])
    let ending = Write.session(.closeBegun(
      accountID: accountID, beganWith: SignInMethods.phone, except: caller.session.id, at: now,
      reason: .numberReplaced))
    return [ending, environment.audit(note, call: call, now: now)]
      + environment.notices(ofUnlinked: SignInMethods.phone, by: edit, now: now)
  }
}

extension Link.Result: OpensSession {
  var opening: (session: OpenedSession, state: AccountState)? {
    switch self {
    case .session(let session, let state), .alreadyLinked(let session, let state),
      .passedAlreadyLinked(let session, let state):
      (session, state)
    case .answer, .completed: nil
    }
  }

  func with(_ session: OpenedSession, _ state: AccountState) -> Link.Result {
    switch self {
    case .session: .session(session, state)
    case .alreadyLinked: .alreadyLinked(session, state)
    case .passedAlreadyLinked: .passedAlreadyLinked(session, state)
    case .answer, .completed: self
    }
  }
}
