package import GRPC
internal import Callers
internal import Identity
internal import API
package import Protobuf

/// The status codes that only the application may produce.
extension GRPC.Status.Code {
  static let invalidArgument = Self(rawValue: 3)
  static let notFound = Self(rawValue: 5)
  static let alreadyExists = Self(rawValue: 6)
  static let failedPrecondition = Self(rawValue: 9)
}

/// The conversion of errors from handlers to gRPC statuses.
///
/// The status text consists of the reason and the hint only. It never contains secrets, SQL or stack traces, and never
/// reveals whether an email address has an account.
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
      // A bug in the server. The log has the error; the client receives no details.
      return GRPC.Status(.internal, "the call failed inside the server")
    }
  }

  private static func status(_ error: ProtobufError, _ arena: Arena) -> GRPC.Status {
    switch error {
    // R23: a malformed message is the fault of the caller's library, not of its application.
    case .malformed: return GRPC.Status(.internal, "the message cannot be parsed")
    case .tooLarge: return GRPC.Status(.resourceExhausted, "the message needs too much memory to decode")
    case .text(let field):
      return status(
        Failure(
          .invalidField, field: field,
          hint: "Send valid UTF-8 without NUL and with at most 30 combining marks in a row."), arena)
    }
  }

  private static func failure(_ refusal: CallerRefusal) -> Failure {
    switch refusal {
    case .unidentified:
      Failure(.callerUnidentified, hint: "Present a client certificate or an API key (authorization: Bearer lk_…).")
    case .unknown, .expired: Failure(.callerUnidentified, hint: "Use a certificate or API key of a configured caller.")
    case .ambiguous: Failure(.callerUnidentified, hint: "Send only one authorization field.")
    case .malformedForward:
      Failure(.callerUnidentified, hint: "Correct x-forwarded-client-cert, which the trusted proxy sends.")
    case .contradictory: Failure(.callerUnidentified, hint: "Use a certificate and an API key of the same caller.")
    }
  }

  private static func status(_ failure: Failure, _ arena: Arena) -> GRPC.Status {
    let code = code(of: failure.reason)
    // The client no longer waits for these. The codes and texts match those of client libraries.
    switch failure.reason {
    case .cancelled: return GRPC.Status(code, "the call was cancelled before it changed anything")
    case .deadlineExceeded: return GRPC.Status(code, "Deadline Exceeded")
    default: break
    }
    var message = failure.reason.rawValue
    if let field = failure.field { message += " (\(field))" }
    // A hint may quote client input. Truncate it, so that the details match the truncated header.
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
    // gRPC clients retry UNAVAILABLE on their own. A negative pushback stops them if the same call cannot succeed (gRFC
    // A6), such as the call that has used up a flow.
    let pushbackMillis = failure.retryAfterMillis ?? (code == .unavailable ? -1 : nil)
    return GRPC.Status(code, message, details: rich.encodeBare(arena: arena), pushbackMillis: pushbackMillis)
  }

  /// Maps each reason to its status code. The switch is exhaustive, so every new reason needs a code.
  static func code(of reason: Failure.Reason) -> GRPC.Status.Code {
    switch reason {
    case .idempotencyKeyReused, .invalidField, .invalidEmail, .invalidPhoneNumber, .weakPassword, .reservedParameter,
      .forbiddenClaim, .claimsTooLarge, .invalidCode:
      .invalidArgument
    case .invalidLoginCredentials, .invalidCredential, .invalidIDToken, .tokenExpired, .tokenRevoked,
      .invalidRefreshToken, .invalidCustomToken, .audienceUnverifiable, .missingOrInvalidNonce, .flowMismatch,
      .callerUnidentified, .invalidPasskey:
      .unauthenticated
    case .userDisabled, .userMismatch, .callerNotAllowed, .redirectURINotAllowed, .deniedByHook: .permissionDenied
    case .accountNotFound, .noSuchProvider, .secondFactorNotFound, .signingKeyNotFound, .messageNotFound,
      .passkeyNotFound:
      .notFound
    case .emailAlreadyInUse, .providerAlreadyLinked, .secondFactorExists, .accountIDInUse, .passkeyExists:
      .alreadyExists
    case .requiresRecentLogin, .lastSignInMethod, .pendingCredentialExpired, .pendingCredentialUsed,
      .pendingCredentialMismatch, .operationNotAllowed, .requiresSecondFactor, .unsupportedFirstFactor,
      .expiredCode, .unverifiedEmail, .secondFactorLimit, .passkeyLimit,
      .flowExpired, .flowUsed, .providerDenied, .providerRefused, .providerMisconfigured,
      .messageContentGone, .backupNotConfigured, .backupNotSupported,
      .signUpClosed, .emailDomainNotAllowed, .phoneCountryNotAllowed, .requiresSecondFactorEnrollment:
      .failedPrecondition
    case .tooManyAttempts, .overloaded, .quotaExceeded, .backupInProgress, .backupStorageFull: .resourceExhausted
    case .providerUnavailable, .storeUnavailable, .signingKeyUnavailable, .backupFailed, .searchNotReady,
      .hookUnavailable:
      .unavailable
    case .cancelled: .cancelled
    case .deadlineExceeded: .deadlineExceeded
    }
  }
}
