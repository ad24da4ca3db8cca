import Store

/// Why a user probably cannot sign in. The raw values are the names in the API.
package enum SignInCause: String, Sendable, CaseIterable {
  case nothingFound = "NOTHING_FOUND"
  case noAccount = "NO_ACCOUNT"
  case accountDeleted = "ACCOUNT_DELETED"
  case accountMerged = "ACCOUNT_MERGED"
  case accountIdleRemoved = "ACCOUNT_IDLE_REMOVED"
  case accountDisabled = "ACCOUNT_DISABLED"
  case importedPasswordUnusable = "IMPORTED_PASSWORD_UNUSABLE"
  case blocked = "BLOCKED"
  case limitReached = "LIMIT_REACHED"
  case noSignInMethod = "NO_SIGN_IN_METHOD"
  case noPassword = "NO_PASSWORD"
  case wrongPassword = "WRONG_PASSWORD"
  case wrongCode = "WRONG_CODE"
  case secondFactorFailed = "SECOND_FACTOR_FAILED"
  case emailNotVerified = "EMAIL_NOT_VERIFIED"
  case messageNotDelivered = "MESSAGE_NOT_DELIVERED"
  case providerDenied = "PROVIDER_DENIED"
  case providerFailing = "PROVIDER_FAILING"
  case credentialRejected = "CREDENTIAL_REJECTED"
  case methodNotEnabled = "METHOD_NOT_ENABLED"
  case conflictOpen = "CONFLICT_OPEN"
  case sessionsEnded = "SESSIONS_ENDED"
  case attemptOutdated = "ATTEMPT_OUTDATED"
  case serviceOverloaded = "SERVICE_OVERLOADED"
  case deniedByHook = "DENIED_BY_HOOK"
  case hookUnavailable = "HOOK_UNAVAILABLE"
  case secondFactorNotEnrolled = "SECOND_FACTOR_NOT_ENROLLED"
}

/// Everything that a diagnosis depends on.
struct DiagnosisFacts: Sendable {
  var state: AccountState?
  var closed: ClosedAccountRecord?
  /// The newest events of the account.
  var events: [AuditRecord] = []
  /// False: the account's imported password hash cannot be compared with any password.
  var passwordIsUsable = true
  var blocks: [UserBlock] = []
  /// Failures about the account or its address, newest first.
  var failures: [FailureRecord] = []
  /// Failures of the account's providers that are about no account, newest first.
  var providerFailures: [FailureRecord] = []
  /// Newest first.
  var messages: [AccountMessage] = []
  var pendings: [PendingRecord] = []
  var sessions: [SessionRecord] = []
  var now: Timestamp
}

/// What `latchkey why` states first.
struct Diagnosis: Hashable, Sendable {
  var cause: SignInCause
  /// The sign-in method at fault. Empty: none in particular.
  var method = ""
  var reason = ""
  var limit = ""
  var until: Timestamp?
  var count = 0
  var at: Timestamp?
  var detail = ""

  /// States the most probable cause.
  ///
  /// What stops every sign-in comes first: no account, a disabled account, an unusable password, a block, no method.
  /// Otherwise the latest trouble since the last sign-in counts. Earlier ones did not prevent that sign-in.
  static func decide(_ facts: DiagnosisFacts, _ policy: Policy) -> Diagnosis {
    guard let state = facts.state else { return withoutAccount(facts) }
    if state.account.disabled {
      let disabled = facts.events.first { $0.event == AuditEvent.disabled.rawValue }
      return Diagnosis(cause: .accountDisabled, at: disabled?.at, detail: disabled?.caller.text ?? "")
    }
    if state.account.passwordHash != nil, !facts.passwordIsUsable {
      return Diagnosis(cause: .importedPasswordUnusable, method: SignInMethods.password)
    }
    if let block = facts.blocks.max(by: { $0.until < $1.until }) {
      return Diagnosis(cause: .blocked, limit: block.kind.rawValue, until: block.until)
    }
    if SignInMethods(state, policy).isEmpty, !state.account.customToken, !state.account.anonymous {
      return Diagnosis(cause: .noSignInMethod)
    }
    let troubles = [
      failure(facts.failures, state), provider(facts), message(facts), conflict(facts), ended(facts, state),
    ]
    let since = state.account.lastSignInAt ?? Timestamp(millis: .min)
    let latest = troubles.compactMap(\.self).filter { $0.at ?? facts.now > since }
      .max { $0.at ?? facts.now < $1.at ?? facts.now }
    return latest ?? restricted(facts, state, policy) ?? Diagnosis(cause: .nothingFound, at: state.account.lastSignInAt)
  }

  private static func withoutAccount(_ facts: DiagnosisFacts) -> Diagnosis {
    if let closed = facts.closed {
      if !closed.survivorID.isEmpty {
        return Diagnosis(cause: .accountMerged, at: closed.closedAt, detail: closed.survivorID)
      }
      let isIdle = facts.events.first?.event == AuditEvent.idleRemoved.rawValue
      return Diagnosis(cause: isIdle ? .accountIdleRemoved : .accountDeleted, at: closed.closedAt)
    }
    if let block = facts.blocks.max(by: { $0.until < $1.until }) {
      return Diagnosis(cause: .blocked, limit: block.kind.rawValue, until: block.until)
    }
    // A hook may be the reason why there is no account.
    let latest = facts.failures.first
    switch latest.flatMap({ Failure.Reason(rawValue: $0.reason) }) {
    case .deniedByHook?: return Diagnosis(cause: .deniedByHook, latest, of: facts.failures)
    case .hookUnavailable?: return Diagnosis(cause: .hookUnavailable, latest, of: facts.failures)
    default:
      let attempts = facts.failures.reduce(0) { $0 + $1.count }
      return Diagnosis(cause: .noAccount, count: attempts, at: latest?.lastAt)
    }
  }

  // MARK: troubles

  private static func failure(_ failures: [FailureRecord], _ state: AccountState) -> Diagnosis? {
    for latest in failures {
      guard let cause = cause(of: latest, state) else { continue }
      return Diagnosis(cause: cause, latest, of: failures)
    }
    return nil
  }

  /// Returns the cause that a failed attempt points to. nil: none, such as an own block that has ended.
  static func cause(of failure: FailureRecord, _ state: AccountState) -> SignInCause? {
    guard let reason = Failure.Reason(rawValue: failure.reason) else { return nil }
    switch reason {
    case .invalidLoginCredentials: return state.account.passwordHash == nil ? .noPassword : .wrongPassword
    case .invalidCode, .secondFactorNotFound: return failure.isSecondFactor ? .secondFactorFailed : .wrongCode
    case .expiredCode: return failure.isSecondFactor ? .secondFactorFailed : .attemptOutdated
    case .unverifiedEmail: return .emailNotVerified
    case .providerDenied: return .providerDenied
    case .providerRefused, .providerMisconfigured, .providerUnavailable: return .providerFailing
    case .operationNotAllowed, .unsupportedFirstFactor: return .methodNotEnabled
    case .tokenRevoked, .invalidRefreshToken, .tokenExpired: return .sessionsEnded
    case .invalidCustomToken:
      return state.account.tokensValidAfter == nil ? .credentialRejected : .sessionsEnded
    case .tooManyAttempts: return failure.limit.isEmpty || failure.isOwnLimit ? nil : .limitReached
    case .quotaExceeded, .overloaded: return .serviceOverloaded
    case .deniedByHook: return .deniedByHook
    case .hookUnavailable: return .hookUnavailable
    case .flowExpired, .flowUsed, .pendingCredentialExpired, .pendingCredentialUsed: return .attemptOutdated
    // The open sessions state whether it still is.
    case .userDisabled, .accountNotFound, .emailAlreadyInUse, .requiresSecondFactorEnrollment: return nil
    default: return reason.concernsUser ? .credentialRejected : nil
    }
  }

  /// Sign-ins at a provider fail before the account is known. They count for a day.
  private static func provider(_ facts: DiagnosisFacts) -> Diagnosis? {
    let begin = facts.now.adding(millis: -86_400_000)
    let failing: [Failure.Reason] = [.providerRefused, .providerMisconfigured, .providerUnavailable]
    let names = Set(failing.map(\.rawValue))
    let recent = facts.providerFailures.filter { $0.lastAt >= begin && names.contains($0.reason) }
    guard let latest = recent.max(by: { $0.lastAt < $1.lastAt }) else { return nil }
    let alike = recent.filter { $0.reason == latest.reason && $0.method == latest.method }
    return Diagnosis(
      cause: .providerFailing, method: latest.method, reason: latest.reason,
      count: alike.reduce(0) { $0 + $1.count }, at: latest.lastAt)
  }

  private static func message(_ facts: DiagnosisFacts) -> Diagnosis? {
    guard let latest = facts.messages.first, latest.isStuck(at: facts.now) else { return nil }
    let why =
      switch latest.state {
      case .waiting(_, let error): error ?? "no attempt was made yet"
      case .givenUp(_, let reason, _): reason
      case .sent: ""
      }
    return Diagnosis(cause: .messageNotDelivered, method: latest.kind, at: latest.createdAt, detail: why)
  }

  private static func conflict(_ facts: DiagnosisFacts) -> Diagnosis? {
    let open = facts.pendings.first { row in
      [.link, .credentialInUse].contains(row.purpose) && row.completedAt == nil && !row.isExpired(at: facts.now)
    }
    return open.map {
      Diagnosis(
        cause: .conflictOpen, method: $0.identity.providerID, until: $0.expiresAt, at: $0.createdAt,
        detail: $0.caller.text)
    }
  }

  /// The newest open session, if it is restricted. The user can sign in, but not use the calling service.
  private static func restricted(_ facts: DiagnosisFacts, _ state: AccountState, _ policy: Policy) -> Diagnosis? {
    guard let session = facts.sessions.first(where: { $0.isOpen(at: facts.now) }) else { return nil }
    guard case .overdue(let due) = policy.secondFactorDuty(of: session, state, now: facts.now) else { return nil }
    return Diagnosis(cause: .secondFactorNotEnrolled, at: due, detail: session.caller.text)
  }

  /// A session that was ended by someone or something else, if no other one is open.
  private static func ended(_ facts: DiagnosisFacts, _ state: AccountState) -> Diagnosis? {
    guard !facts.sessions.contains(where: { $0.isOpen(at: facts.now) }) else { return nil }
    let ends = facts.sessions.compactMap(\.closed).filter { ![.signedOut, .continued].contains($0.reason) }
    if let latest = ends.max(by: { $0.at < $1.at }) {
      return Diagnosis(cause: .sessionsEnded, reason: latest.reason.rawValue, at: latest.at)
    }
    // An account that took a freed id begins with a cut-off (SEMANTICS.md section 14), and had no session to end.
    guard state.account.lastSignInAt != nil else { return nil }
    return state.account.tokensValidAfter.map { Diagnosis(cause: .sessionsEnded, reason: "revoked", at: $0) }
  }
}

extension Diagnosis {
  /// The cause that a failed attempt points to, with the number of attempts like it.
  fileprivate init(cause: SignInCause, _ latest: FailureRecord?, of failures: [FailureRecord]) {
    self.init(cause: cause)
    guard let latest else { return }
    (method, reason, limit, detail) = (latest.method, latest.reason, latest.limit, latest.call)
    at = latest.lastAt
    count = failures.filter { $0.reason == latest.reason && $0.method == latest.method }.reduce(0) { $0 + $1.count }
  }
}

extension FailureRecord {
  var isSecondFactor: Bool { call == "FinishSecondFactor" || call == "StartSecondFactor" }

  /// Whether the limit counts this user alone. Its blocks are looked up separately.
  var isOwnLimit: Bool {
    guard let kind = ThrottleKind(rawValue: limit) else { return false }
    switch kind {
    case .passwordFailuresPerAccount, .passwordFailuresPerDevice, .codeFailuresPerAccount,
      .codeFailuresOnKnownDevices, .sendsPerRecipient, .sendsOnKnownDevices, .resetsPerRecipient,
      .resetsOnKnownDevices, .changesPerAccount, .passwordChangesPerAccount, .noticesPerAccount:
      return true
    case .passwordFailuresPerNetwork, .passwordFailuresPerCaller, .codeFailuresPerNetwork, .codeFailuresPerCaller,
      .signUpsPerNetwork, .signUpsPerCaller, .flowStartsPerNetwork, .flowStartsPerCaller, .sendsPerNetwork,
      .sendsPerCaller:
      return false
    }
  }
}
