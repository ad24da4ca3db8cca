package import Store

/// A failure of a call: a stable reason for programs, a hint for developers, and a text for the log only.
package struct Failure: Error, Hashable, Sendable {
  /// The names clients match on. Services maps each to its gRPC status.
  package enum Reason: String, Sendable, CaseIterable {
    // The request is malformed.
    case idempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED"
    case invalidField = "INVALID_FIELD"
    case invalidEmail = "INVALID_EMAIL"
    case invalidPhoneNumber = "INVALID_PHONE_NUMBER"
    case weakPassword = "WEAK_PASSWORD"
    case reservedParameter = "RESERVED_PARAMETER"
    case forbiddenClaim = "FORBIDDEN_CLAIM"
    case claimsTooLarge = "CLAIMS_TOO_LARGE"
    case invalidCode = "INVALID_CODE"
    // A new credential or session is required.
    case invalidLoginCredentials = "INVALID_LOGIN_CREDENTIALS"
    case invalidCredential = "INVALID_CREDENTIAL"
    case invalidIDToken = "INVALID_ID_TOKEN"
    case tokenExpired = "TOKEN_EXPIRED"
    case tokenRevoked = "TOKEN_REVOKED"
    case invalidRefreshToken = "INVALID_REFRESH_TOKEN"
    case invalidCustomToken = "INVALID_CUSTOM_TOKEN"
    case audienceUnverifiable = "AUDIENCE_UNVERIFIABLE"
    case missingOrInvalidNonce = "MISSING_OR_INVALID_NONCE"
    case flowMismatch = "FLOW_MISMATCH"
    case invalidPasskey = "INVALID_PASSKEY"
    case callerUnidentified = "CALLER_UNIDENTIFIED"
    // Not allowed for this user or this caller.
    case userDisabled = "USER_DISABLED"
    case userMismatch = "USER_MISMATCH"
    case callerNotAllowed = "CALLER_NOT_ALLOWED"
    case redirectURINotAllowed = "REDIRECT_URI_NOT_ALLOWED"
    case deniedByHook = "DENIED_BY_HOOK"
    // Not found.
    case accountNotFound = "ACCOUNT_NOT_FOUND"
    case noSuchProvider = "NO_SUCH_PROVIDER"
    case secondFactorNotFound = "SECOND_FACTOR_NOT_FOUND"
    case signingKeyNotFound = "SIGNING_KEY_NOT_FOUND"
    case messageNotFound = "MESSAGE_NOT_FOUND"
    case passkeyNotFound = "PASSKEY_NOT_FOUND"
    // Already exists.
    case emailAlreadyInUse = "EMAIL_ALREADY_IN_USE"
    case providerAlreadyLinked = "PROVIDER_ALREADY_LINKED"
    case secondFactorExists = "SECOND_FACTOR_EXISTS"
    case accountIDInUse = "ACCOUNT_ID_IN_USE"
    case passkeyExists = "PASSKEY_EXISTS"
    // Not in this state.
    case requiresRecentLogin = "REQUIRES_RECENT_LOGIN"
    case lastSignInMethod = "LAST_SIGN_IN_METHOD"
    case pendingCredentialExpired = "PENDING_CREDENTIAL_EXPIRED"
    case pendingCredentialUsed = "PENDING_CREDENTIAL_USED"
    case pendingCredentialMismatch = "PENDING_CREDENTIAL_MISMATCH"
    case operationNotAllowed = "OPERATION_NOT_ALLOWED"
    case expiredCode = "EXPIRED_CODE"
    case unverifiedEmail = "UNVERIFIED_EMAIL"
    case secondFactorLimit = "SECOND_FACTOR_LIMIT"
    case passkeyLimit = "PASSKEY_LIMIT"
    case requiresSecondFactor = "REQUIRES_SECOND_FACTOR"
    case unsupportedFirstFactor = "UNSUPPORTED_FIRST_FACTOR"
    case flowExpired = "FLOW_EXPIRED"
    case flowUsed = "FLOW_USED"
    case providerDenied = "PROVIDER_DENIED"
    case providerRefused = "PROVIDER_REFUSED"
    case providerMisconfigured = "PROVIDER_MISCONFIGURED"
    case messageContentGone = "MESSAGE_CONTENT_GONE"
    case backupNotConfigured = "BACKUP_NOT_CONFIGURED"
    case backupNotSupported = "BACKUP_NOT_SUPPORTED"
    // Too much.
    case tooManyAttempts = "TOO_MANY_ATTEMPTS"
    case overloaded = "OVERLOADED"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case backupInProgress = "BACKUP_IN_PROGRESS"
    case backupStorageFull = "BACKUP_STORAGE_FULL"
    // A dependency is down.
    case providerUnavailable = "PROVIDER_UNAVAILABLE"
    case storeUnavailable = "STORE_UNAVAILABLE"
    case signingKeyUnavailable = "SIGNING_KEY_UNAVAILABLE"
    case backupFailed = "BACKUP_FAILED"
    case searchNotReady = "SEARCH_NOT_READY"
    case hookUnavailable = "HOOK_UNAVAILABLE"
    // Rules for sign-up and use.
    case signUpClosed = "SIGN_UP_CLOSED"
    case emailDomainNotAllowed = "EMAIL_DOMAIN_NOT_ALLOWED"
    case phoneCountryNotAllowed = "PHONE_COUNTRY_NOT_ALLOWED"
    case requiresSecondFactorEnrollment = "REQUIRES_SECOND_FACTOR_ENROLLMENT"
    // A cancel or the deadline came before the commit. Nothing was written, and the client no longer waits for the
    // answer.
    case cancelled = "CANCELLED"
    case deadlineExceeded = "DEADLINE_EXCEEDED"
  }

  package var reason: Reason
  /// The request field at fault, as its path in the proto.
  package var field: String?
  /// What the user or the calling service can do. Never reveals whether an email address exists.
  package var hint: String
  /// Machine-readable extras, such as `max_age_seconds` or `methods` (comma-separated).
  package var metadata: [String: String]
  package var retryAfterMillis: Int64?
  /// For the log only; holds no secret.
  package var debug: String
  /// Throttle that rejected the call, for the metrics.
  package var throttle: ThrottleKind?
  private var unanswered = Unanswered()
  /// Limit of watching calls that was reached, for the metrics.
  package var watchLimit: WatchLimit?

  package init(
    _ reason: Reason, field: String? = nil, hint: String = "", metadata: [String: String] = [:],
    retryAfterMillis: Int64? = nil, debug: String = ""
  ) {
    self.reason = reason
    self.field = field
    self.hint = hint
    self.metadata = metadata
    self.retryAfterMillis = retryAfterMillis
    self.debug = debug
  }
}

/// What administrators and metrics see of a failure, and the status does not contain. Failures that differ only in it
/// are equal: no client can distinguish them.
private struct Unanswered: Hashable, Sendable {
  var accountID: String?
  var providerID: String?
  var rejectedCode: CodeKind?

  static func == (left: Unanswered, right: Unanswered) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

extension Failure {
  /// Account that the call is about, as far as it was found.
  package var accountID: String? {
    get { unanswered.accountID }
    set { unanswered.accountID = newValue }
  }

  /// The kind of a code that was wrong, expired or used, for the metrics.
  package var rejectedCode: CodeKind? {
    get { unanswered.rejectedCode }
    set { unanswered.rejectedCode = newValue }
  }

  func rejecting(_ kind: CodeKind) -> Failure {
    var failure = self
    failure.rejectedCode = kind
    return failure
  }

  /// Provider that failed, if the request does not name it.
  package var providerID: String? {
    get { unanswered.providerID }
    set { unanswered.providerID = newValue }
  }
}

/// A kind of code that a user enters or opens. The raw values are labels of a metric.
package enum CodeKind: String, Sendable, CaseIterable {
  case phone
  case emailCode = "email_code"
  /// The link of an email, of any purpose.
  case emailLink = "email_link"
  case secondFactor = "second_factor"
}

/// Limit of the calls that watch events at the same time.
package enum WatchLimit: Hashable, Sendable {
  case perCaller
  case inAll
}
