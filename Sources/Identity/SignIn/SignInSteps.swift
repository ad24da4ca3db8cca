import Store

/// One try to sign in: what was verified, before any record is looked at.
struct Attempt: Sendable {
  /// What is put aside where the person has to do something else first.
  var held: HeldAssertion
  /// What the provider says of the person, to be told in the answer.
  var userInfo: UserInfo?
  let call: CallFacts
  /// The row that this call completes.
  var row: PendingRecord?
  /// The other token of a completion: the credential's own, beside the held one.
  var alsoSpent: SingleUse?

  init(_ verified: VerifiedCredential, _ call: CallFacts) {
    let providerID = verified.assertion.identity.providerID
    held = HeldAssertion(
      verified.assertion, firstFactor: .provider(providerID), singleUse: verified.singleUse)
    held.intent = .signIn
    userInfo = UserInfo(verified.assertion)
    self.call = call
  }

  init(_ first: FirstFactor, email: String?, passwordHash: String?, _ call: CallFacts) {
    let identity = IdentityKey(providerID: first.signInProviderID, subject: "")
    held = HeldAssertion(Assertion(identity: identity, email: email), firstFactor: first)
    held.intent = .signIn
    held.passwordHash = passwordHash
    self.call = call
  }

  func query(_ policy: Policy) -> Query {
    var query = Query()
    query.idempotency = call.idempotency?.key
    query.identity = held.assertion.identity
    query.email = policy.oneAccountPerEmail ? held.assertion.email : nil
    query.spentToken = held.singleUse?.digest
    query.pending = row?.digest
    return query
  }
}

extension UserInfo {
  init(_ assertion: Assertion) {
    self.init(
      providerID: assertion.identity.providerID, username: assertion.username, profileJSON: assertion.profileJSON)
  }
}

/// What an idempotency record keeps of a sign-in beside its session: "signed_in", "created", or "reclaimed" with the
/// providers that went.
struct SignInOutcome: Hashable, Sendable {
  var isNewAccount = false
  var revokedProviderIDs: [String] = []

  init(_ opening: Opening) {
    isNewAccount = opening.isNewAccount
    revokedProviderIDs = opening.revokedProviderIDs
  }

  init(_ text: String) {
    isNewAccount = text == "created"
    if let revoked = text.split(separator: " ", maxSplits: 1).dropFirst().first {
      revokedProviderIDs = revoked.split(separator: ",").map(String.init)
    }
  }

  var text: String {
    if isNewAccount { return "created" }
    return revokedProviderIDs.isEmpty ? "signed_in" : "reclaimed " + revokedProviderIDs.joined(separator: ",")
  }
}

/// From a decision about signing in to what is committed and answered.
extension SignIn {
  enum Result: Sendable {
    case session(OpenedSession, Opening)
    case answer(SignInAnswer)
    /// The row was completed before, by this session.
    case completed(sessionID: String)
    case checkAgain
  }

  func step(_ decision: SignInDecision, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    switch decision {
    case .refuse(let failure):
      .refuse(failure, writing: attempt.row.map { Change([.countPendingAttempt($0.digest)]) })
    case .open(let opening): open(opening, attempt, now)
    case .accountExists(let conflict): hold(conflict, attempt, now)
    case .secondFactorRequired(let state): hold(state, attempt, now)
    case .checkAgain: .answer(.checkAgain)
    }
  }

  private func open(_ opening: Opening, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    let account = opening.state.account
    let call = attempt.call
    let opened = environment.openSession(
      accountID: account.id, by: attempt.held.firstFactor, call: call, now: now)
    var writes = opening.writes
    if let row = attempt.row {
      writes.append(
        .completePending(
          row.digest, version: row.version, at: now, accountID: account.id, sessionID: opened.record.id))
    }
    for spent in [attempt.held.singleUse, attempt.alsoSpent] {
      if let spent { writes.append(.spendToken(spent.digest, expiresAt: spent.expiresAt)) }
    }
    writes.append(.insertSession(opened.record))
    writes += opening.notes.map { environment.audit($0, call: call, now: now) }
    writes += call.remember(
      SignInOutcome(opening).text, accountID: account.id, sessionID: opened.record.id, policy: environment.policy,
      now: now)
    return .commit(Change(writes), .session(opened, opening))
  }

  private func hold(_ conflict: Conflict, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    var held = attempt.held
    held.intent = .present
    let assertion = held.assertion
    let pending = environment.hold(
      held, purpose: .link, accountID: conflict.owner.account.id, call: attempt.call, now: now)
    // Below the configured tier the answer tells no more than that the address is taken (section 7).
    let reveals = environment.reveals(assertion.tier, to: attempt.call)
    let exists = AccountExists(
      email: assertion.email ?? "", providerIDs: reveals ? conflict.ways.providerIDs : [],
      methods: reveals ? conflict.ways.methods : [], handle: pending.handle, expiresAt: pending.record.expiresAt,
      userInfo: attempt.userInfo, reason: conflict.reason, canClaimAddress: conflict.canClaimAddress)
    return .commit(
      Change([.insertPending(pending.record, limits: environment.policy.pendingLimits)]),
      .answer(.accountExists(exists)))
  }

  private func hold(_ state: AccountState, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    var held = attempt.held
    held.completing = attempt.row?.digest
    if held.assertion.identity.subject.isEmpty { held.assertion.identity.subject = state.account.id }
    let (write, required) = environment.holdForSecondFactor(
      held, state, userInfo: attempt.userInfo, call: attempt.call, now: now)
    return .commit(Change([write]), .answer(.secondFactorRequired(required)))
  }
}
