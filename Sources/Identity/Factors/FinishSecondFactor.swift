import Store

package struct FinishSecondFactorRequest: Hashable, Sendable {
  package var handle: String
  package var factorID: String
  package var verificationID: String
  package var code: String
  /// Passkeys only.
  package var credentialJSON: String

  package init(
    handle: String, factorID: String, verificationID: String = "", code: String, credentialJSON: String = ""
  ) {
    self.handle = handle
    self.factorID = factorID
    self.verificationID = verificationID
    self.code = code
    self.credentialJSON = credentialJSON
  }
}

package enum FinishSecondFactorAnswer: Hashable, Sendable {
  case session(SessionGrant, alreadyLinked: Bool)
  case accountExists(AccountExists)
  case credentialInUse(CredentialInUse)
}

/// Finishes a SignIn, Link or Reauthenticate that waits for a second factor.
///
/// It decides the whole call again on current records. One change contains the writes of the call, the use of the
/// factor and the completion of the row.
package struct FinishSecondFactor: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    _ request: FinishSecondFactorRequest, _ call: CallFacts
  ) async throws -> FinishSecondFactorAnswer {
    try call.requireBinding(environment.policy)
    let guesses = environment.throttle(.codeFailures, of: request.handle, call: call)
    if let record = try await environment.recorded(call, guesses) { return try await repeated(record, call) }
    let (query, throttle, userInfo) = try await prepare(request, call)
    let loaded = try await environment.load(query)
    let settled = try await environment.settle(query, loaded, call: call, userInfo: userInfo) { facts, now in
      try decide(request, throttle, facts, call, now)
    }
    switch settled {
    case .repeated(let record): return try await repeated(record, call)
    case .decided(let ended): return try await answer(ended, userInfo)
    }
  }

  private func repeated(
    _ record: IdempotencyRecord, _ call: CallFacts
  ) async throws -> FinishSecondFactorAnswer {
    switch try environment.heldAnswer(of: record) {
    case .accountExists(let exists): return .accountExists(exists)
    case .credentialInUse(let inUse): return .credentialInUse(inUse)
    case .secondFactorRequired: throw PendingTable.mismatch("the idempotency record still requires a factor")
    case nil: break
    }
    var grant = try await environment.repeatSession(of: record, call: call)
    grant.tell(SignInOutcome(record.outcome))
    return .session(grant, alreadyLinked: record.outcome == IdempotencyRecord.alreadyLinked)
  }

  /// The outcome of the pending call.
  private enum Ended: Sendable, OpensSession {
    /// The commit counts the attempt before the call fails.
    case wrongCode(CodeFault, accountID: String)
    case signIn(SignIn.Result)
    case link(Link.Result)
    case reauthenticate(OpenedSession, AccountState)

    var opening: (session: OpenedSession, state: AccountState)? {
      switch self {
      case .wrongCode: nil
      case .signIn(let result): result.opening
      case .link(let result): result.opening
      case .reauthenticate(let session, let state): (session, state)
      }
    }

    func with(_ session: OpenedSession, _ state: AccountState) -> Ended {
      switch self {
      case .wrongCode: self
      case .signIn(let result): .signIn(result.with(session, state))
      case .link(let result): .link(result.with(session, state))
      case .reauthenticate: .reauthenticate(session, state)
      }
    }
  }

  private func answer(_ ended: Ended, _ userInfo: UserInfo?) async throws -> FinishSecondFactorAnswer {
    switch ended {
    case .wrongCode(.wrong, let accountID): throw Failure.wrongFactorCode.concerning(accountID)
    case .wrongCode(.invalidPasskey(var failure), let accountID):
      failure.field = "passkey_credential_json"
      throw failure.concerning(accountID)
    case .wrongCode(.expired, let accountID): throw Failure.codeHasExpired.concerning(accountID)
    case .signIn(.session(let granted)):
      guard let outcome = granted.outcome else { throw Failure.rowWasUsed }
      var grant = try await grant(granted.session, granted.state, userInfo)
      grant.tell(outcome)
      return .session(grant, alreadyLinked: false)
    case .link(.session(let opened, let state)), .reauthenticate(let opened, let state):
      return .session(try await grant(opened, state, userInfo), alreadyLinked: false)
    case .link(.passedAlreadyLinked(let opened, let state)):
      return .session(try await grant(opened, state, userInfo), alreadyLinked: true)
    case .signIn(.answer(.accountExists(let exists))): return .accountExists(exists)
    case .link(.answer(.credentialInUse(let inUse))): return .credentialInUse(inUse)
    case .signIn(.checkAgain):
      throw Failure(.invalidLoginCredentials, hint: "The password changed; sign in again.")
    case .signIn(.answer), .link(.completed), .link(.answer), .link(.alreadyLinked):
      throw Failure.rowWasUsed
    }
  }

  private func grant(
    _ opened: OpenedSession, _ state: AccountState, _ userInfo: UserInfo?
  ) async throws -> SessionGrant {
    var grant = try await environment.grant(opened, state, now: environment.clock.now())
    grant.userInfo = userInfo
    return grant
  }
}

// MARK: look-ups

extension FinishSecondFactor {
  /// Returns the look-ups that the pending call needs for its decision, and the user profile for its answer.
  ///
  /// The fixed fields of a row are sealed, so only its state is checked again.
  private func prepare(
    _ request: FinishSecondFactorRequest, _ call: CallFacts
  ) async throws -> (Query, Throttle, UserInfo?) {
    var query = Query()
    query.pending = try environment.pendingDigest(request.handle)
    let facts = try await environment.first(query)
    let now = environment.clock.now()
    let (row, held, _) = try environment.openForSecondFactor(facts, call: call, now: now)
    var assertion = held.assertion
    query.look(for: call.idempotency)
    query.accountID = row.accountID
    query.sessionID = held.sessionID
    query.alsoPending = held.completing
    query.spentToken = held.singleUse?.digest
    if held.completing != nil {
      let facts = try await environment.load(query)
      if let other = facts.alsoPending, other.purpose == .link,
        case .held(_, let completed) = try environment.openPending(other, purpose: .link, call: call, now: now)
      {
        assertion = completed.assertion
        query.spentToken = (held.singleUse ?? completed.singleUse)?.digest
      }
    }
    query.identity = assertion.identity
    query.transfer = assertion.transferKey
    let verified = held.assertion.identity
    if verified.providerID == SignInMethods.phone { query.phoneNumber = verified.subject }
    let isByAddress =
      verified.providerID == SignInMethods.password || assertion.identity.providerID == SignInMethods.emailLink
    query.email = environment.policy.oneAccountPerEmail || isByAddress ? assertion.email : nil
    let isProviders = environment.policy.enabledProviderIDs.contains(assertion.identity.providerID)
    let throttle = environment.throttle(.codeFailures, ofAccount: row.accountID, call: call)
    throttle.look(into: &query)
    return (query, throttle, isProviders ? UserInfo(assertion) : nil)
  }
}

// MARK: deciding again

extension FinishSecondFactor {
  private func decide(
    _ request: FinishSecondFactorRequest, _ throttle: Throttle, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) throws -> Step<Ended> {
    let (row, held, owner) = try environment.openForSecondFactor(facts, call: call, now: now)
    let offered = owner.factorsToOffer(behind: held.firstFactor)
    guard let factor = offered.first(where: { $0.id == request.factorID }) else {
      return .refuse(.noSuchFactor)
    }
    let admitted = try throttle.admit(facts, now: now)
    let shown = ShownCode(
      code: request.code, verificationID: request.verificationID, credentialJSON: request.credentialJSON)
    var passed = PassedFactor(factor: factor, row: row, account: owner.account, writes: admitted.reset(at: now))
    switch environment.check(shown, factor, held, attemptsLeft: row.attemptsLeft, now: now) {
    case .refused(.expired): return .refuse(.codeHasExpired)
    case .refused(let fault): return wrong(fault, row, admitted.count(at: now))
    case .suspicious(nil):
      let note = suspicion(of: factor, isRejected: true, call, now)
      return wrong(.invalidPasskey(.invalidPasskey("sign_count")), row, admitted.count(at: now) + [note])
    case .suspicious(let used?):
      passed.factor = used
      passed.writes.append(suspicion(of: factor, isRejected: false, call, now))
    case .passed(let used): passed.factor = used
    }
    let step: Step<Ended>
    do {
      step = try decideAgain(held, passed, owner, facts, call, now)
    } catch let failure as Failure {
      throw failure.ofHeldCall
    }
    guard case .refuse(let failure, let change) = step else { return step }
    return .refuse(failure.ofHeldCall, writing: change)
  }

  private func wrong(_ fault: CodeFault, _ row: PendingRecord, _ writes: [Write]) -> Step<Ended> {
    let attempt = Write.pending(.spendAttempt(row.digest, version: row.version))
    return .commit(Change([attempt] + writes), .wrongCode(fault, accountID: row.accountID))
  }

  /// The event of a passkey whose sign count did not rise.
  private func suspicion(of factor: FactorRecord, isRejected: Bool, _ call: CallFacts, _ now: Timestamp) -> Write {
    let note = AuditNote.cloneSuspected(of: factor.accountID, ["factor_id": factor.id], isRejected: isRejected)
    return environment.audit(note, call: call, now: now)
  }

  private func decideAgain(
    _ held: PendingAssertion, _ passed: PassedFactor, _ owner: AccountState, _ facts: Facts, _ call: CallFacts,
    _ now: Timestamp
  ) throws -> Step<Ended> {
    if let failure = disabled(held) { return .refuse(failure) }
    switch held.intent {
    case .present: throw PendingTable.mismatch("the pending row has no intent")
    case .signIn: return try signIn(held, passed, owner, facts, call, now).map(Ended.signIn)
    case .link:
      return try link(held, passed, facts, call, now).map(Ended.link)
    case .reauthenticate:
      return try reauthenticate(held, passed, facts, call, now).map { Ended.reauthenticate($0.0, $0.1) }
    }
  }

  /// Checks whether the operator disabled the sign-in method while the call was pending (check 21).
  private func disabled(_ held: PendingAssertion) -> Failure? {
    let policy = environment.policy
    let providerID = held.assertion.identity.providerID
    let isEnabled =
      switch providerID {
      case SignInMethods.password: policy.passwordEnabled
      case FirstFactor.customToken.signInProviderID: policy.customTokenEnabled
      default: policy.enables(providerID)
      }
    return isEnabled ? nil : .notEnabled(providerID)
  }

  private func signIn(
    _ held: PendingAssertion, _ passed: PassedFactor, _ owner: AccountState, _ facts: Facts, _ call: CallFacts,
    _ now: Timestamp
  ) throws -> Step<SignIn.Result> {
    let signIn = SignIn(environment)
    var attempt = Attempt(held, passed: passed, call)
    let way = held.method(to: owner.account, heldSince: passed.row.createdAt)
    guard held.completing != nil else {
      return signIn.step(decide(way, signIn, attempt, facts, now), attempt, now)
    }
    guard let record = facts.alsoPending, record.accountID == owner.account.id, record.purpose != .secondFactor else {
      throw PendingTable.mismatch("the row to complete no longer exists")
    }
    guard
      case .held(let row, let other) = try environment.openPending(
        record, purpose: record.purpose, call: call, now: now)
    else { return .refuse(.rowWasUsed) }
    attempt.row = row
    if row.purpose == .credentialInUse { return signIn.step(signIn.present(attempt, facts, now), attempt, now) }
    if facts.identityOwner == nil { attempt.alsoSpent = other.singleUse }
    let decision = CompletionDecision(
      way: way, passedFor: owner.account.id, policy: environment.policy, now: now)
    return signIn.step(decision.decide(row, other, facts), attempt, now)
  }

  private func decide(
    _ way: VerifiedMethod, _ signIn: SignIn, _ attempt: Attempt, _ facts: Facts, _ now: Timestamp
  ) -> SignInDecision {
    let accountID = attempt.passed?.account.id
    return switch way {
    case .password(let password): CredentialDecision.decide(password, facts, passedFor: accountID, now: now)
    case .customToken(let token):
      CredentialDecision.decide(token, facts, existingOnly: true, passedFor: accountID, now: now)
    case .identity: signIn.decision(attempt, now).federated(facts)
    case .code: signIn.decision(attempt, now).byCode(facts)
    }
  }

  private func link(
    _ held: PendingAssertion, _ passed: PassedFactor, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) throws -> Step<Link.Result> {
    let caller = try caller(of: passed, facts, now)
    var verified: VerifiedLink
    let isPassword = held.assertion.identity.providerID == SignInMethods.password
    if isPassword, let hash = held.passwordHash, let email = held.assertion.email {
      verified = VerifiedLink(proof: .password(email: email, hash: hash))
    } else {
      verified = VerifiedLink(
        proof: .assertion(held.assertion), singleUse: held.singleUse, heldIn: held.completing)
    }
    verified.passed = passed
    return try Link(environment).decide(verified, caller, facts, call, now)
  }

  private func reauthenticate(
    _ held: PendingAssertion, _ passed: PassedFactor, _ facts: Facts, _ call: CallFacts, _ now: Timestamp
  ) throws -> Step<(OpenedSession, AccountState)> {
    let caller = try caller(of: passed, facts, now)
    let proof: ReauthenticationProof
    switch held.method(to: caller.state.account, heldSince: passed.row.createdAt) {
    case .password(let checked):
      guard checked.check.matches else { return .refuse(.wrongPassword) }
      proof = .password(setAt: caller.state.account.passwordSetAt, upgradedHash: checked.check.upgradedHash)
    case .identity(let assertion), .code(let assertion): proof = .assertion(assertion)
    case .customToken(let token): proof = .customToken(token)
    }
    switch ReauthenticateDecision.decide(
      proof, caller, tokenSpent: facts.tokenSpent, factorPassed: true, now: now)
    {
    case .refuse(let failure):
      return .refuse(failure, writing: Change([.pending(.countAttempt(passed.row.digest))]))
    case .secondFactorRequired: throw PendingTable.mismatch("the decision ignored the passed factor")
    case .session(let edit): return Reauthenticate(environment).open(held, edit, caller, passed: passed, call, now)
    }
  }

  /// Returns the session that called Link or Reauthenticate, if it is still open.
  private func caller(
    of passed: PassedFactor, _ facts: Facts, _ now: Timestamp
  ) throws(Failure) -> CallerSession {
    let caller = try SessionCheck.live(facts.session, facts.sessionAccount, now: now)
    guard caller.session.accountID == passed.account.id else {
      throw PendingTable.mismatch("the session belongs to another account")
    }
    return caller
  }
}

extension Failure {
  /// The failure without its field, which belongs to the pending call. FinishSecondFactor has no such field, and its
  /// `pending_token` is a different one.
  fileprivate var ofHeldCall: Failure {
    var failure = self
    failure.field = nil
    return failure
  }
}

extension PendingAssertion {
  /// Returns the sign-in method that the pending call verified, if it is still valid.
  ///
  /// A password that was set after `heldSince`, or a later cut-off of custom tokens, makes it invalid.
  func method(to account: AccountRecord, heldSince: Timestamp) -> VerifiedMethod {
    if firstFactor == .password {
      let isOld = account.passwordSetAt.map { $0 < heldSince } ?? true
      let isSame = account.passwordHash != nil && account.email == assertion.email && isOld
      return .password(
        CheckedPassword(
          email: assertion.email ?? "", ownerID: account.id, hash: account.passwordHash,
          check: PasswordCheck(matches: isSame, upgradedHash: passwordHash)))
    }
    if [FirstFactor.phone, .emailLink].contains(firstFactor) { return .code(assertion) }
    guard firstFactor.signInProviderID == FirstFactor.customToken.signInProviderID else {
      return .identity(assertion)
    }
    // The token was valid when the call became pending. Only a later cut-off makes it invalid.
    return .customToken(
      CustomToken(
        accountID: account.id, issuedAt: heldSince, expiresAt: heldSince,
        claimsJSON: firstFactor.claimsJSON))
  }
}
