import Store

/// One sign-in attempt: what the call verified before it loaded any record.
///
/// Functions pass it on many times, so its large fields are stored out of line.
struct Attempt: Sendable {
  /// The content of the pending row if the user must complete another step first.
  @Boxed var held: PendingAssertion
  /// The provider's user profile, for the answer.
  @Held var userInfo: UserInfo?
  /// The tokens of the provider whose credential this call presents.
  @Held var tokens: ProviderTokens?
  let call: CallFacts
  /// The pending row that this call completes.
  @Held var row: PendingRecord?
  /// The single-use token of the completed row, which is spent in addition to the credential's own.
  @Held var alsoSpent: SingleUse?
  /// The throttle of a password, which counts failures, or of an anonymous sign-up, which counts every attempt.
  @Held var admitted: AdmittedAttempt?
  /// The throttle of account changes for a completion, which links an identity like Link.
  @Held var change: AdmittedAttempt?
  /// The second factor that this call verified.
  @Held var passed: PassedFactor?
  /// The code that is the credential. The commit of this call uses it up.
  @Held var code: VerifiedCode?
  /// Whether the operator's list contains the password that is the credential.
  private(set) var usesListedPassword = false

  /// - Parameter request: the source of `existingOnly` and `claimAddress`.
  init(
    _ verified: VerifiedCredential, _ first: FirstFactor, _ call: CallFacts, asking request: SignInRequest? = nil
  ) {
    let held = PendingAssertion(verified.$assertion, firstFactor: first, singleUse: verified.singleUse)
    self.init(held, call, asking: request)
    if verified.assertion.passkey == nil { userInfo = UserInfo(verified.assertion) }
    $tokens = verified.$tokens
  }

  private init(_ held: PendingAssertion, _ call: CallFacts, asking request: SignInRequest? = nil) {
    var held = held
    held.intent = .signIn
    if let request { (held.existingOnly, held.claimAddress) = (request.existingOnly, request.claimAddress) }
    self.held = held
    self.call = call
  }

  init(_ first: FirstFactor, email: String?, passwordHash: String?, _ call: CallFacts) {
    let identity = IdentityKey(providerID: first.signInProviderID, subject: "")
    var held = PendingAssertion(Assertion(identity: identity, email: email), firstFactor: first)
    held.passwordHash = passwordHash
    self.init(held, call)
  }

  init(_ password: CheckedPassword, _ call: CallFacts) {
    self.init(.password, email: password.email, passwordHash: password.check.upgradedHash, call)
    usesListedPassword = password.check.isBlocked
  }

  /// Resumes a call that waited for its second factor.
  init(_ held: PendingAssertion, passed: PassedFactor, _ call: CallFacts) {
    self.held = held
    self.passed = passed
    if held.firstFactor.isFederated { userInfo = UserInfo(held.assertion) }
    self.call = call
  }

  init(_ code: VerifiedCode, _ call: CallFacts, asking request: SignInRequest? = nil) {
    self.init(PendingAssertion(code.assertion, firstFactor: code.firstFactor), call, asking: request)
    self.code = code
  }

  /// Returns the look-ups of the attempt. A sign-in link identifies its account by email address in every mode.
  func query(_ policy: Policy) -> Query {
    let identity = held.assertion.identity
    var query = Query()
    query.look(for: call.idempotency)
    query.identity = identity
    query.transfer = held.assertion.transferKey
    if identity.providerID == SignInMethods.phone { query.phoneNumber = identity.subject }
    let comparesEmail = policy.oneAccountPerEmail || identity.providerID == SignInMethods.emailLink
    query.email = comparesEmail ? held.assertion.email : nil
    query.code = code?.digest
    query.spentToken = held.singleUse?.digest
    query.pending = row?.digest
    return query
  }
}

extension Assertion {
  /// Finds the identity of the same user at the application's former team (X6).
  var transferKey: IdentityKey? {
    transferSubject.isEmpty ? nil : IdentityKey(providerID: identity.providerID, subject: transferSubject)
  }
}

extension UserInfo {
  init(_ assertion: Assertion) {
    self.init(
      providerID: assertion.identity.providerID, username: assertion.username, profileJSON: assertion.profileJSON)
  }
}

/// The outcome of a sign-in in an idempotency record: "signed_in", "created", or "reclaimed" with the removed
/// providers. The record has the session in another field.
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

/// Conversion of a sign-in decision to writes and an answer.
extension SignIn {
  enum Result: Sendable {
    case session(Granted)
    case answer(SignInAnswer)
    case checkAgain
  }

  /// A session and the content of the answer once it is durable. A class, because functions pass it on unchanged.
  final class Granted: Sendable {
    let session: OpenedSession
    let state: AccountState
    /// nil: this session completed the row in an earlier call.
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
        ? refuse(PendingTable.mismatch("the credential now belongs to another account"), attempt, now)
        : open(opening, attempt, now)
    case .accountExists(let conflict): hold(conflict, attempt, now)
    case .secondFactorRequired(let state):
      attempt.passed == nil
        ? hold(state, attempt, now)
        : refuse(PendingTable.mismatch("the credential now belongs to another account"), attempt, now)
    case .checkAgain: .answer(.checkAgain)
    }
  }

  /// Rejects the attempt. Writes nothing but its counts.
  private func refuse(_ failure: Failure, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    let rows = [attempt.row, attempt.passed?.row].compactMap(\.self)
    var counts = rows.map { Write.pending(.countAttempt($0.digest)) }
    if failure.reason == .invalidLoginCredentials { counts += attempt.admitted?.count(at: now) ?? [] }
    return .refuse(failure, writing: counts.isEmpty ? nil : Change(counts))
  }

  /// Returns the throttle writes after a valid credential.
  private func settled(_ attempt: Attempt, isNewAccount: Bool, _ now: Timestamp) -> [Write] {
    guard let admitted = attempt.admitted else { return [] }
    return isNewAccount ? admitted.count(at: now) : admitted.reset(at: now)
  }

  private func open(_ opening: Opening, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    let account = opening.state.account
    let call = attempt.call
    let opened = environment.openSession(
      accountID: account.id, by: attempt.held.firstFactor,
      secondFactor: attempt.passed?.factor ?? attempt.held.ownFactor(of: opening.state), call: call, now: now)
    // Sufficient for nearly every sign-in.
    var writes: [Write] = []
    writes.reserveCapacity(8)
    // First, because a later write may delete the row.
    if let code = attempt.code { writes += code.spend(for: account.id, sessionID: opened.record.id, now: now) }
    writes += opening.writes
    if let passed = attempt.passed { writes = passed.writes(after: writes, sessionID: opened.record.id, now: now) }
    if let row = attempt.row {
      writes.append(
        .pending(.complete(
          row.digest, version: row.version, at: now, accountID: account.id, sessionID: opened.record.id)))
    }
    if let singleUse = attempt.held.singleUse { writes.append(singleUse.spending) }
    if let singleUse = attempt.alsoSpent { writes.append(singleUse.spending) }
    writes.append(.session(.insert(opened.record)))
    if let detached = opening.detached, let email = account.email {
      writes += environment.notices(ofDetached: email, from: detached, now: now)
    }
    for note in opening.notes { writes += environment.notices(of: note, to: opening.state, now: now) }
    for note in opening.notes { writes.append(environment.audit(note, call: call, now: now)) }
    if attempt.usesListedPassword { writes.append(compromised(account.id, call, now)) }
    writes.append(environment.audit(.signedIn, opened: opened.record, call: call, now: now))
    writes += settled(attempt, isNewAccount: opening.isNewAccount, now)
    writes += attempt.change?.count(at: now) ?? []
    let outcome = SignInOutcome(opening)
    writes += call.remember(
      outcome.text, accountID: account.id, sessionID: opened.record.id, policy: environment.policy, now: now)
    return .commit(Change(writes), .session(Granted(opened, opening.state, outcome)))
  }

  /// The event of a valid password that is in the operator's list.
  @inline(never) private func compromised(_ accountID: String, _ call: CallFacts, _ now: Timestamp) -> Write {
    environment.audit(AuditNote(.passwordCompromised, accountID: accountID), call: call, now: now)
  }

  private func hold(_ conflict: Conflict, _ attempt: Attempt, _ now: Timestamp) -> Step<Result> {
    var held = attempt.held
    held.intent = .present
    held.sentCode = nil
    let assertion = held.assertion
    let pending = environment.hold(
      held, purpose: .link, accountID: conflict.owner.account.id, call: attempt.call, now: now)
    // Below the configured tier the answer states only that the email address is in use (section 7). It does not reveal
    // whether the account has another identity of this provider, or no sign-in method.
    let reveals = environment.reveals(assertion.tier, to: attempt.call)
    let exists = AccountExists(
      email: assertion.email ?? "", providerIDs: reveals ? conflict.ways.providerIDs : [],
      methods: reveals ? conflict.ways.methods : [], handle: pending.handle, expiresAt: pending.record.expiresAt,
      userInfo: attempt.userInfo, tokens: attempt.tokens, reason: reveals ? conflict.reason : .none,
      canClaimAddress: conflict.canClaimAddress)
    var writes: [Write] = [.pending(.insert(pending.record, limits: environment.policy.pendingLimits))]
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
    // The new pending row now holds what the code verified.
    var settled = (attempt.code?.spend(now: now) ?? []) + settled(attempt, isNewAccount: false, now)
    if attempt.usesListedPassword { settled.append(compromised(state.account.id, attempt.call, now)) }
    let remembered = environment.remember(
      .secondFactorRequired(required), accountID: state.account.id, attempt.call, now)
    return .commit(Change(settled + [write] + remembered), .answer(.secondFactorRequired(required)))
  }
}

extension SignIn.Result: OpensSession {
  var opening: (session: OpenedSession, state: AccountState)? {
    if case .session(let granted) = self { (granted.session, granted.state) } else { nil }
  }

  func with(_ session: OpenedSession, _ state: AccountState) -> SignIn.Result {
    if case .session(let granted) = self { .session(SignIn.Granted(session, state, granted.outcome)) } else { self }
  }
}
