package import GRPC
internal import Admission
internal import Identity
package import API

/// The codes that only the application may produce.
extension GRPC.Status.Code {
  static let invalidArgument = Self(rawValue: 3)
  static let notFound = Self(rawValue: 5)
  static let alreadyExists = Self(rawValue: 6)
  static let failedPrecondition = Self(rawValue: 9)
}

/// Turns whatever a handler threw into the status the client sees.
///
/// Text never holds a secret, SQL, a stack, or whether some address exists: it is made of the reason and the hint only.
package enum Failures {
  static let domain = "latchkey"

  package static func status(of error: any Error, arena: Arena) -> GRPC.Status {
    switch error {
    case let failure as Failure: return status(failure, arena)
    case let error as ProtobufError: return status(error, arena)
    case let refusal as CallerRefusal: return status(failure(refusal), arena)
    case let unknown as HealthService.UnknownService:
      return GRPC.Status(.notFound, "unknown service \(GRPC.Status.cut(unknown.name, bytesMax: 128))")
    default:
      // A mistake of ours: the log has the error, the client has the fact.
      return GRPC.Status(.internal, "the call failed inside the server")
    }
  }

  private static func status(_ error: ProtobufError, _ arena: Arena) -> GRPC.Status {
    switch error {
    // R23: bytes that are no message are the fault of a library, not of the application.
    case .malformed: return GRPC.Status(.internal, "the message does not parse")
    case .tooLarge: return GRPC.Status(.resourceExhausted, "the message has more parts than allowed")
    case .text(let field):
      return status(
        Failure(
          .invalidField, field: field,
          hint: "The text is not valid UTF-8, or holds a NUL or more than 30 combining marks in a row."), arena)
    }
  }

  private static func failure(_ refusal: CallerRefusal) -> Failure {
    switch refusal {
    case .unidentified:
      Failure(.callerUnidentified, hint: "Present a client certificate or an API key (authorization: Bearer lk_…).")
    case .unknown: Failure(.callerUnidentified, hint: "The certificate or API key names no known caller.")
    case .ambiguous: Failure(.callerUnidentified, hint: "Send one authorization field only.")
    case .contradictory: Failure(.callerUnidentified, hint: "The certificate and the API key name different callers.")
    }
  }

  private static func status(_ failure: Failure, _ arena: Arena) -> GRPC.Status {
    let code = code(of: failure.reason)
    // Nobody waits for these; the codes are what a client's own library would have said.
    switch failure.reason {
    case .cancelled: return GRPC.Status(code, "the call was cancelled before it changed anything")
    case .deadlineExceeded: return GRPC.Status(code, "Deadline Exceeded")
    default: break
    }
    var message = failure.reason.rawValue
    if let field = failure.field { message += " (\(field))" }
    // A hint may quote what came from outside; and the details say the same as the header, which is cut.
    let hint = GRPC.Status.cut(failure.hint, bytesMax: GRPC.Status.messageBytesMax)
    if !hint.isEmpty { message += ": \(hint)" }
    message = GRPC.Status.cut(message, bytesMax: GRPC.Status.messageBytesMax)
    var metadata = failure.metadata
    if let field = failure.field { metadata["field"] = field }
    var details = [ErrorInfo(reason: failure.reason.rawValue, domain: domain, metadata: metadata).asAny(arena: arena)]
    // AIP-193: field violations belong to INVALID_ARGUMENT.
    if let field = failure.field, code == .invalidArgument {
      let violation = BadRequest.FieldViolation(
        field: field, description: hint.isEmpty ? failure.reason.rawValue : hint)
      details.append(BadRequest(fieldViolations: [violation]).asAny(arena: arena))
    }
    if let millis = failure.retryAfterMillis { details.append(RetryInfo(retryDelayMillis: millis).asAny(arena: arena)) }
    let rich = API.Status(code: Int32(code.rawValue), message: message, details: details)
    return GRPC.Status(
      code, message, details: rich.encodeBare(arena: arena), pushbackMillis: failure.retryAfterMillis)
  }

  /// The error table of the product, whole: a new reason does not compile without its status.
  static func code(of reason: Failure.Reason) -> GRPC.Status.Code {
    switch reason {
    case .idempotencyKeyReused, .invalidField, .invalidEmail, .invalidPhoneNumber, .weakPassword, .reservedParameter,
      .forbiddenClaim, .claimsTooLarge, .invalidCode:
      .invalidArgument
    case .invalidLoginCredentials, .invalidCredential, .invalidIDToken, .tokenExpired, .tokenRevoked,
      .invalidRefreshToken, .invalidCustomToken, .audienceUnverifiable, .missingOrInvalidNonce, .flowMismatch,
      .callerUnidentified:
      .unauthenticated
    case .userDisabled, .userMismatch, .callerNotAllowed, .redirectURINotAllowed: .permissionDenied
    case .accountNotFound, .noSuchProvider, .secondFactorNotFound: .notFound
    case .emailAlreadyInUse, .providerAlreadyLinked, .secondFactorExists: .alreadyExists
    case .requiresRecentLogin, .lastSignInMethod, .pendingCredentialExpired, .pendingCredentialUsed,
      .pendingCredentialMismatch, .operationNotAllowed, .requiresSecondFactor, .unsupportedFirstFactor,
      .expiredCode, .unverifiedEmail, .secondFactorLimit,
      .flowExpired, .flowUsed, .providerDenied, .providerRefused, .providerMisconfigured,
      .backupNotConfigured, .backupNotSupported:
      .failedPrecondition
    case .tooManyAttempts, .overloaded, .quotaExceeded, .backupInProgress, .backupStorageFull: .resourceExhausted
    case .providerUnavailable, .storeUnavailable, .signingKeyUnavailable, .backupFailed: .unavailable
    case .cancelled: .cancelled
    case .deadlineExceeded: .deadlineExceeded
    }
  }
}
