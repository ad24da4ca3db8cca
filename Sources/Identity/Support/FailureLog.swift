import Encodings
import Store
import Synchronization
import Text

/// What a call that failed was about, as its request named it.
package struct FailedAttempt: Hashable, Sendable {
  package enum Subject: Hashable, Sendable {
    case none
    /// Normalised.
    case email(String)
    case phoneNumber(String)
    /// The sign-in method alone: the failure came before any user was known.
    case method(String)
  }

  /// The method of the API, such as `SignIn`.
  package var call: String
  /// The sign-in method. Empty: unknown.
  package var method: String
  package var subject: Subject

  package init(_ call: String, method: String = "", subject: Subject = .none) {
    self.call = call
    self.method = method
    self.subject = subject
  }

  /// An attempt with a credential.
  package init(_ call: String, _ credential: Credential) {
    self.init(call)
    switch credential {
    case .password(let email, _): (method, subject) = (SignInMethods.password, .email(email))
    case .providerToken(let token): method = token.providerID
    case .customToken: method = FirstFactor.customToken.signInProviderID
    case .phoneCode: method = SignInMethods.phone
    case .emailLink(let email, _): (method, subject) = (SignInMethods.emailLink, .email(email))
    case .passkey: method = SignInMethods.passkey
    case .emailCode: method = SignInMethods.emailCode
    case .anonymous: method = FirstFactor.anonymous.signInProviderID
    // Their rows name the provider.
    case .authorizationResponse, .pendingToken: break
    }
  }
}

/// The limits of the failures that are kept.
package enum FailureLimits {
  /// Rows of one account and hour. Further attempts of an hour share one row for each reason.
  package static let rowsPerAccountMax = 20
  /// The same for all attempts that are about no account.
  package static let rowsWithoutAccountMax = 1_000
  /// Different attempts between two writes. Further ones are only counted by the metric.
  package static let waitingMax = 1_024
  /// Rows in one change, so that no caller's commit waits long for it.
  static let rowsPerChange = 64
}

/// Failed attempts to sign in, which administrators see in ListEvents and DiagnoseSignIn.
///
/// `note` only counts in memory, so that no failing call becomes slower. A part of the server calls `write` every
/// second and when it stops. A crash loses the attempts since the last write.
package final class FailureLog: Sendable {
  /// What became of attempts. The raw values are labels of a metric.
  package enum End: String, Sendable, CaseIterable {
    case written
    /// Too many different attempts between two writes.
    case overflowed
    /// The store rejected or failed the write.
    case lost
  }

  struct Key: Hashable {
    var accountID: String
    var subject: FailedAttempt.Subject
    var reason: String
    var call: String
    var method: String
    var limit: String
    var caller: CallerName
    var network: String
    /// An attempt of the next hour has another row.
    var hour: Int64
  }

  struct Count {
    var count: Int
    var firstAt: Timestamp
    var lastAt: Timestamp
    var deviceID: String
  }

  private let waiting = Mutex<[Key: Count]>([:])
  private let counted: @Sendable (End, Int) -> Void

  package init(counted: @escaping @Sendable (End, Int) -> Void = { _, _ in }) { self.counted = counted }

  /// Notes a failed attempt, unless its reason does not concern a user.
  package func note(_ failure: Failure, _ attempt: FailedAttempt, _ call: CallFacts, in environment: Environment) {
    guard failure.reason.concernsUser else { return }
    let now = environment.clock.now()
    var attempt = attempt
    if attempt.method.isEmpty { attempt.method = failure.providerID ?? "" }
    // Any client can name a provider that does not exist.
    if !environment.policy.knows(attempt.method) { attempt.method = "" }
    let key = Key(failure, attempt, call, now: now)
    let isKept = waiting.withLock { waiting in
      if waiting[key] != nil {
        waiting[key]?.count += 1
        waiting[key]?.lastAt = now
        if !call.deviceID.isEmpty { waiting[key]?.deviceID = call.deviceID }
        return true
      }
      guard waiting.count < FailureLimits.waitingMax else { return false }
      waiting[key] = Count(count: 1, firstAt: now, lastAt: now, deviceID: call.deviceID)
      return true
    }
    if !isKept { counted(.overflowed, 1) }
  }

  /// Writes all noted attempts. Never throws: what cannot be written is counted as lost.
  package func write(to environment: Environment) async {
    let taken = waiting.withLock { waiting in
      defer { waiting = [:] }
      return waiting
    }
    guard !taken.isEmpty else { return }
    // All servers write in the same order, so that none waits for a row of another in turn.
    let rows = taken.map { environment.failureCount($0, $1) }
      .sorted { $0.record.key.bytes.lexicographicallyPrecedes($1.record.key.bytes) }
    for begin in stride(from: 0, to: rows.count, by: FailureLimits.rowsPerChange) {
      let portion = rows[begin..<min(begin + FailureLimits.rowsPerChange, rows.count)]
      let attempts = portion.reduce(0) { $0 + $1.record.count }
      let change = Change(portion.map { .failure(.add($0)) })
      let outcome = try? await environment.store.commit(change, commitDecision: CommitDecision())
      counted(outcome == .committed ? .written : .lost, attempts)
    }
  }
}

extension FailureLog.Key {
  fileprivate init(_ failure: Failure, _ attempt: FailedAttempt, _ call: CallFacts, now: Timestamp) {
    let accountID = failure.accountID ?? ""
    var subject = attempt.subject
    if !accountID.isEmpty {
      subject = .none
    } else if subject == .none, !attempt.method.isEmpty {
      subject = .method(attempt.method)
    }
    self.init(
      accountID: accountID, subject: subject, reason: failure.reason.rawValue, call: attempt.call,
      method: attempt.method, limit: failure.throttle?.rawValue ?? "", caller: call.caller,
      network: Network.region(call.ipAddress), hour: now.millis / FailureRecord.hourMillis)
  }
}

extension Environment {
  /// Returns the row of counted attempts. It contains no address, device ID or network address in clear.
  fileprivate func failureCount(_ key: FailureLog.Key, _ count: FailureLog.Count) -> FailureCount {
    let subject = failureSubject(key.subject)
    let named = subject.map { String(decoding: Hexadecimal.encode($0.bytes), as: UTF8.self) } ?? ""
    let owner = [key.accountID, named, String(key.hour), key.reason]
    let rest = [key.call, key.method, key.limit, key.caller.text, key.network]
    let device = count.deviceID.isEmpty ? nil : cryptography.keyedDigest(Array(count.deviceID.utf8), purpose: "device")
    let keptUntil = count.lastAt.adding(millis: policy.failureLifetimeMillis)
    let record = FailureRecord(
      key: rowKey(owner + rest), accountID: key.accountID, subject: subject, reason: key.reason, call: key.call,
      method: key.method, limit: key.limit, caller: key.caller, network: key.network, device: device,
      count: count.count, firstAt: count.firstAt, lastAt: count.lastAt, keptUntil: keptUntil)
    // All attempts about no account share the rows of the remainder.
    let isAccounts = !key.accountID.isEmpty
    let remainder = FailureRecord(
      key: rowKey(isAccounts ? owner : ["", "", String(key.hour), key.reason]), accountID: key.accountID,
      reason: key.reason, count: count.count, firstAt: count.firstAt, lastAt: count.lastAt, keptUntil: keptUntil)
    return FailureCount(
      record, remainder: remainder,
      rowsMax: isAccounts ? FailureLimits.rowsPerAccountMax : FailureLimits.rowsWithoutAccountMax)
  }

  private func rowKey(_ parts: [String]) -> Digest {
    var packer = Packer()
    for part in parts { packer.append(part) }
    return cryptography.keyedDigest(packer.bytes, purpose: "failure row")
  }

  /// Returns the digest under which failures without an account are found. nil: they named nothing.
  func failureSubject(_ subject: FailedAttempt.Subject) -> Digest? {
    let text =
      switch subject {
      case .none: nil as String?
      case .email(let email): "email \(email)"
      case .phoneNumber(let number): "phone \(number)"
      case .method(let method): "method \(method)"
      }
    return text.map { cryptography.keyedDigest(Array($0.utf8), purpose: "failure subject") }
  }
}

extension Policy {
  /// Whether this is a sign-in method of the service or of an enabled provider.
  fileprivate func knows(_ method: String) -> Bool {
    let own = [
      SignInMethods.password, SignInMethods.phone, SignInMethods.emailLink, SignInMethods.emailCode,
      SignInMethods.passkey,
      FirstFactor.customToken.signInProviderID, FirstFactor.anonymous.signInProviderID,
    ]
    return own.contains(method) || enabledProviderIDs.contains(method)
  }
}

extension Failure.Reason {
  /// Whether a failure with this reason helps to find out why a user cannot sign in. False for malformed requests,
  /// which are a fault of the calling service, and for failures of the store, which could not be written.
  package var concernsUser: Bool {
    switch self {
    case .invalidCode, .invalidLoginCredentials, .invalidCredential, .tokenExpired, .tokenRevoked,
      .invalidRefreshToken, .invalidCustomToken, .audienceUnverifiable, .missingOrInvalidNonce, .flowMismatch,
      .userDisabled, .userMismatch, .accountNotFound, .noSuchProvider, .secondFactorNotFound, .emailAlreadyInUse,
      .providerAlreadyLinked, .pendingCredentialExpired, .pendingCredentialUsed, .pendingCredentialMismatch,
      .operationNotAllowed, .expiredCode, .unverifiedEmail, .requiresSecondFactor, .unsupportedFirstFactor,
      .flowExpired, .flowUsed, .providerDenied, .providerRefused, .providerMisconfigured, .tooManyAttempts,
      .overloaded, .quotaExceeded, .providerUnavailable, .invalidPasskey, .deniedByHook, .hookUnavailable,
      .signUpClosed, .emailDomainNotAllowed, .phoneCountryNotAllowed, .requiresSecondFactorEnrollment:
      true
    case .idempotencyKeyReused, .invalidField, .invalidEmail, .invalidPhoneNumber, .weakPassword, .reservedParameter,
      .forbiddenClaim, .claimsTooLarge, .invalidIDToken, .callerUnidentified, .callerNotAllowed,
      .redirectURINotAllowed, .secondFactorExists, .requiresRecentLogin, .lastSignInMethod, .secondFactorLimit,
      .messageNotFound, .signingKeyNotFound, .messageContentGone, .backupNotConfigured, .backupNotSupported,
      .backupInProgress, .backupStorageFull, .storeUnavailable, .signingKeyUnavailable, .backupFailed, .cancelled,
      .deadlineExceeded, .accountIDInUse, .searchNotReady, .passkeyNotFound, .passkeyExists, .passkeyLimit:
      false
    }
  }
}

// MARK: the account that a failure concerns

extension Failure {
  /// Returns the failure with the account that the facts name, if no account was stated before.
  func concerning(_ facts: Facts) -> Failure { concerning(facts.concernedAccountID) }

  func concerning(_ accountID: String?) -> Failure {
    var failure = self
    failure.accountID = failure.accountID ?? accountID
    return failure
  }
}

extension Facts {
  /// The account that a call is about: that of its session, of its pending row, or the owner of what it presents.
  fileprivate var concernedAccountID: String? {
    let state = sessionAccount ?? pendingAccount ?? identityOwner ?? emailOwner ?? phoneOwner ?? account
    let id = state?.account.id ?? code?.accountID ?? ""
    return id.isEmpty ? nil : id
  }
}
