import Store

/// One try to sign in: what was verified, before any record is looked at. It is handed on many times, so that all of it
/// is kept outside.
struct Attempt: Sendable {
  /// What is put aside where the person has to do something else first.
  @Boxed var held: HeldAssertion
  /// What the provider says of the person, to be told in the answer.
  @Held var userInfo: UserInfo?
  /// The tokens of the provider whose credential this call presents.
  @Held var tokens: ProviderTokens?
  let call: CallFacts
  /// The row that this call completes.
  @Held var row: PendingRecord?
  /// The other token of a completion: the credential's own, beside the held one.
  @Held var alsoSpent: SingleUse?
  /// Of a password: what its failure is counted by. Of an anonymous sign-up: what it is counted by itself.
  @Held var admitted: AdmittedAttempt?
  /// By what a completion is counted, which links as Link does.
  @Held var change: AdmittedAttempt?
  /// The second factor that this call has shown.
  @Held var passed: PassedFactor?
  /// The code that proves the credential, used up by what this call commits.
  @Held var code: ProvedCode?

  /// - Parameter request: what it asks for beside the credential.
  init(
    _ verified: VerifiedCredential, _ first: FirstFactor, _ call: CallFacts, asking request: SignInRequest? = nil
  ) {
    let held = HeldAssertion(verified.$assertion, firstFactor: first, singleUse: verified.singleUse)
    self.init(held, call, asking: request)
    userInfo = UserInfo(verified.assertion)
    $tokens = verified.$tokens
  }

  private init(_ held: HeldAssertion, _ call: CallFacts, asking request: SignInRequest? = nil) {
    var held = held
    held.intent = .signIn
    if let request { (held.existingOnly, held.claimAddress) = (request.existingOnly, request.claimAddress) }
    self.held = held
    self.call = call
  }

  init(_ first: FirstFactor, email: String?, passwordHash: String?, _ call: CallFacts) {
    let identity = IdentityKey(providerID: first.signInProviderID, subject: "")
    var held = HeldAssertion(Assertion(identity: identity, email: email), firstFactor: first)
    held.passwordHash = passwordHash
    self.init(held, call)
  }

  /// What waited for its second factor.
  init(_ held: HeldAssertion, passed: PassedFactor, _ call: CallFacts) {
    self.held = held
    self.passed = passed
    if held.firstFactor.isFederated { userInfo = UserInfo(held.assertion) }
    self.call = call
  }

  init(_ code: ProvedCode, _ call: CallFacts, asking request: SignInRequest? = nil) {
    self.init(HeldAssertion(code.assertion, firstFactor: code.firstFactor), call, asking: request)
    self.code = code
  }

  /// A mailed link names its account by the address in every mode.
  func query(_ policy: Policy) -> Query {
    let identity = held.assertion.identity
    var query = Query()
    query.idempotency = call.idempotency?.key
    query.identity = identity
    if identity.providerID == WaysIn.phone { query.phoneNumber = identity.subject }
    let comparesEmail = policy.oneAccountPerEmail || identity.providerID == WaysIn.emailLink
    query.email = comparesEmail ? held.assertion.email : nil
    query.code = code?.digest
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

extension SessionGrant {
  mutating func tell(_ outcome: SignInOutcome) {
    isNewAccount = outcome.isNewAccount
    revokedProviderIDs = outcome.revokedProviderIDs
  }
}

/// From a decision about signing in to what is committed and answered.
extension SignIn {
  enum Result: Sendable {
    case session(Granted)
    case answer(SignInAnswer)
    case checkAgain
  }

  /// A session, and what its answer tells once it is durable. A class, since all of it is handed on as it is.
  final class Granted: Sendable {
    let session: OpenedSession
    let state: AccountState
    /// nil: the row was completed before, by this session.
    let outcome: SignInOutcome?

    init(_ session: OpenedSession, _ state: AccountState, _ outcome: SignInOutcome?) {
      self.session = session
      self.state = state
      self.outcome = outcome
    }
  }

  func step(_ decision: SignInDecision, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    switch decision {
    case .refuse(let failure): refuse(failure, attempt, now)
    case .open(let opening):
      attempt.passed.map { $0.account.id != opening.state.account.id } ?? false
        ? refuse(PendingTable.mismatch("the credential has become another account's"), attempt, now)
        : open(opening, attempt, now)
    case .accountExists(let conflict): hold(conflict, attempt, now)
    case .secondFactorRequired(let state):
      attempt.passed == nil
        ? hold(state, attempt, now)
        : refuse(PendingTable.mismatch("the credential has become another account's"), attempt, now)
    case .checkAgain: .answer(.checkAgain)
    }
  }

  /// Leaves nothing behind but what counts the attempt.
  private func refuse(_ failure: Failure, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    let rows = [attempt.row, attempt.passed?.row].compactMap(\.self)
    var counts = rows.map { Write.countPendingAttempt($0.digest) }
    if failure.reason == .invalidLoginCredentials { counts += attempt.admitted?.count(at: now) ?? [] }
    return .refuse(failure, writing: counts.isEmpty ? nil : Change(counts))
  }

  /// What becomes of the counts once the credential was good.
  private func settled(_ attempt: Attempt, isNewAccount: Bool, _ now: Timestamp) -> [Write] {
    guard let admitted = attempt.admitted else { return [] }
    return isNewAccount ? admitted.count(at: now) : admitted.reset(at: now)
  }

  private func open(_ opening: Opening, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    let account = opening.state.account
    let call = attempt.call
    let opened = environment.openSession(
      accountID: account.id, by: attempt.held.firstFactor, secondFactor: attempt.passed?.factor, call: call, now: now)
    // Room for what nearly every sign-in writes.
    var writes: [Write] = []
    writes.reserveCapacity(8)
    // First, since what comes after it may remove the row.
    if let code = attempt.code { writes += code.spend(for: account.id, sessionID: opened.record.id, now: now) }
    writes += opening.writes
    if let passed = attempt.passed { writes = passed.writes(after: writes, sessionID: opened.record.id, now: now) }
    if let row = attempt.row {
      writes.append(
        .completePending(
          row.digest, version: row.version, at: now, accountID: account.id, sessionID: opened.record.id))
    }
    if let singleUse = attempt.held.singleUse { writes.append(singleUse.spending) }
    if let singleUse = attempt.alsoSpent { writes.append(singleUse.spending) }
    writes.append(.insertSession(opened.record))
    if let detached = opening.detached, let email = account.email {
      writes += environment.notices(ofDetached: email, from: detached, now: now)
    }
    for note in opening.notes { writes += environment.notices(of: note, to: opening.state, now: now) }
    for note in opening.notes { writes.append(environment.audit(note, call: call, now: now)) }
    writes.append(environment.audit(.signedIn, opened: opened.record, call: call, now: now))
    writes += settled(attempt, isNewAccount: opening.isNewAccount, now)
    writes += attempt.change?.count(at: now) ?? []
    let outcome = SignInOutcome(opening)
    writes += call.remember(
      outcome.text, accountID: account.id, sessionID: opened.record.id, policy: environment.policy, now: now)
    return .commit(Change(writes), .session(Granted(opened, opening.state, outcome)))
  }

  private func hold(_ conflict: Conflict, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    var held = attempt.held
    held.intent = .present
    held.sentCode = nil
    let assertion = held.assertion
    let pending = environment.hold(
      held, purpose: .link, accountID: conflict.owner.account.id, call: attempt.call, now: now)
    // Below the configured tier the answer tells no more than that the address is taken (section 7): not even that
    // its account has another identity of this provider, or no way in at all.
    let reveals = environment.reveals(assertion.tier, to: attempt.call)
    let exists = AccountExists(
      email: assertion.email ?? "", providerIDs: reveals ? conflict.ways.providerIDs : [],
      methods: reveals ? conflict.ways.methods : [], handle: pending.handle, expiresAt: pending.record.expiresAt,
      userInfo: attempt.userInfo, tokens: attempt.tokens, reason: reveals ? conflict.reason : .none,
      canClaimAddress: conflict.canClaimAddress)
    var writes: [Write] = [.insertPending(pending.record, limits: environment.policy.pendingLimits)]
    if let passed = attempt.passed { writes = passed.writes(after: writes, sessionID: nil, now: now) }
    writes += environment.remember(.accountExists(exists), accountID: conflict.owner.account.id, attempt.call, now)
    return .commit(Change(writes), .answer(.accountExists(exists)))
  }

  private func hold(_ state: AccountState, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    if let failure = state.refusal(ofFirstFactor: attempt.held.firstFactor.signInProviderID) {
      return refuse(failure, attempt, now)
    }
    var held = attempt.held
    held.completing = attempt.row?.digest
    if held.assertion.identity.subject.isEmpty { held.assertion.identity.subject = state.account.id }
    let (write, required) = environment.holdForSecondFactor(
      held, state, userInfo: attempt.userInfo, tokens: attempt.tokens, call: attempt.call, now: now)
    // What the code proved is held by the new row from now on.
    let settled = (attempt.code?.spend(now: now) ?? []) + settled(attempt, isNewAccount: false, now)
    let remembered = environment.remember(
      .secondFactorRequired(required), accountID: state.account.id, attempt.call, now)
    return .commit(Change(settled + [write] + remembered), .answer(.secondFactorRequired(required)))
  }
}
