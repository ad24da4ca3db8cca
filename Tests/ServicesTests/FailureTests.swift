import Callers
import GRPC
import Identity
import Store
import TestSupport
import Testing
import API
import Protobuf

@testable import Services

/// A second copy of the product's error table: the status of each reason.
private let table: [(status: Int, reasons: [String])] = [
  (
    3,
    [
      "IDEMPOTENCY_KEY_REUSED", "INVALID_FIELD", "INVALID_EMAIL", "INVALID_PHONE_NUMBER", "WEAK_PASSWORD",
      "RESERVED_PARAMETER", "FORBIDDEN_CLAIM", "CLAIMS_TOO_LARGE", "INVALID_CODE",
    ]
  ),
  (
    16,
    [
      "INVALID_LOGIN_CREDENTIALS", "INVALID_CREDENTIAL", "INVALID_ID_TOKEN", "TOKEN_EXPIRED", "TOKEN_REVOKED",
      "INVALID_REFRESH_TOKEN", "INVALID_CUSTOM_TOKEN", "AUDIENCE_UNVERIFIABLE", "MISSING_OR_INVALID_NONCE",
      "FLOW_MISMATCH", "CALLER_UNIDENTIFIED", "INVALID_PASSKEY",
    ]
  ),
  (7, ["USER_DISABLED", "USER_MISMATCH", "CALLER_NOT_ALLOWED", "REDIRECT_URI_NOT_ALLOWED", "DENIED_BY_HOOK"]),
  (
    5,
    [
      "ACCOUNT_NOT_FOUND", "NO_SUCH_PROVIDER", "SECOND_FACTOR_NOT_FOUND", "SIGNING_KEY_NOT_FOUND", "MESSAGE_NOT_FOUND",
      "PASSKEY_NOT_FOUND",
    ]
  ),
  (
    6,
    [
      "EMAIL_ALREADY_IN_USE", "PROVIDER_ALREADY_LINKED", "SECOND_FACTOR_EXISTS", "ACCOUNT_ID_IN_USE", "PASSKEY_EXISTS",
    ]
  ),
  (
    9,
    [
      "REQUIRES_RECENT_LOGIN", "LAST_SIGN_IN_METHOD", "PENDING_CREDENTIAL_EXPIRED", "PENDING_CREDENTIAL_USED",
      "PENDING_CREDENTIAL_MISMATCH", "OPERATION_NOT_ALLOWED", "EXPIRED_CODE", "UNVERIFIED_EMAIL",
      "UNSUPPORTED_FIRST_FACTOR", "SECOND_FACTOR_LIMIT", "REQUIRES_SECOND_FACTOR", "FLOW_EXPIRED", "FLOW_USED",
      "PROVIDER_DENIED", "PROVIDER_REFUSED", "PROVIDER_MISCONFIGURED", "MESSAGE_CONTENT_GONE", "BACKUP_NOT_CONFIGURED",
      "BACKUP_NOT_SUPPORTED", "PASSKEY_LIMIT", "SIGN_UP_CLOSED", "EMAIL_DOMAIN_NOT_ALLOWED",
      "PHONE_COUNTRY_NOT_ALLOWED", "REQUIRES_SECOND_FACTOR_ENROLLMENT",
    ]
  ),
  (8, ["TOO_MANY_ATTEMPTS", "OVERLOADED", "QUOTA_EXCEEDED", "BACKUP_IN_PROGRESS", "BACKUP_STORAGE_FULL"]),
  (
    14,
    [
      "PROVIDER_UNAVAILABLE", "STORE_UNAVAILABLE", "SIGNING_KEY_UNAVAILABLE", "BACKUP_FAILED", "SEARCH_NOT_READY",
      "HOOK_UNAVAILABLE",
    ]
  ),
]

private func status(of error: any Error) -> GRPC.Status { Failures.status(of: error, arena: roomyArena()) }

private func rich(_ status: GRPC.Status) throws -> API.Status {
  try API.Status.decode(status.details.span, arena: roomyArena())
}

/// The only detail of this type, if there is one.
private func detail<M: ProtobufMessage>(_ type: M.Type, of status: GRPC.Status) throws -> M? {
  let found = try rich(status).details.filter { $0.typeURL == "type.googleapis.com/" + M.messageName }
  #expect(found.count <= 1)
  return try found.first.map { try M.decode($0.value.span, arena: roomyArena()) }
}

@Test(arguments: Failure.Reason.allCases.filter { $0 != .cancelled && $0 != .deadlineExceeded })
func `each reason has the status of the error table, and is in the details`(reason: Failure.Reason) throws {
  let expected = try #require(table.first { $0.reasons.contains(reason.rawValue) }, "\(reason) is in no row").status
  let status = status(of: Failure(reason, field: "some.field", hint: "Do this."))
  #expect(status.code.rawValue == expected)
  #expect(status.message == "\(reason.rawValue) (some.field): Do this.")
  let rich = try rich(status)
  #expect(rich.code == Int32(expected) && rich.message == status.message)
  let info = try #require(try detail(ErrorInfo.self, of: status))
  #expect(info == ErrorInfo(reason: reason.rawValue, domain: "latchkey", metadata: ["field": "some.field"]))
  let violations = try detail(BadRequest.self, of: status)?.fieldViolations
  #expect(violations == (expected == 3 ? [.init(field: "some.field", description: "Do this.")] : nil))
}

@Test func `a reason without a hint is the whole text`() throws {
  let status = status(of: Failure(.userMismatch))
  #expect(status.message == "USER_MISMATCH")
  #expect(try detail(ErrorInfo.self, of: status)?.metadata == [:])
  #expect(try rich(status).details.count == 1)
  #expect(status.pushbackMillis == nil)
}

@Test func `a violation without a hint is described by its reason`() throws {
  let violations = try detail(BadRequest.self, of: status(of: Failure(.weakPassword, field: "password")))
  #expect(violations?.fieldViolations == [.init(field: "password", description: "WEAK_PASSWORD")])
}

@Test func `an invalid argument without a field names none`() throws {
  #expect(try detail(BadRequest.self, of: status(of: Failure(.invalidField))) == nil)
}

@Test func `if waiting helps, the details and the pushback state how long`() throws {
  let unhelpful = status(of: Failure(.userDisabled))
  let status = status(of: Failure(.overloaded, retryAfterMillis: 1_500))
  #expect(try detail(RetryInfo.self, of: status) == RetryInfo(retryDelayMillis: 1_500))
  #expect(status.pushbackMillis == 1_500)
  #expect(try detail(RetryInfo.self, of: unhelpful) == nil)
}

@Test func `an UNAVAILABLE failure for which waiting does not help tells gRPC not to retry`() throws {
  let status = status(of: Failure(.providerUnavailable))
  #expect(try detail(RetryInfo.self, of: status) == nil)
  #expect(status.pushbackMillis == -1)
}

@Test func `the metadata contains the machine-readable facts of a reason`() throws {
  let failure = Failure(.requiresRecentLogin, metadata: ["max_age_seconds": "300", "methods": "password"])
  let info = try detail(ErrorInfo.self, of: status(of: failure))
  #expect(info?.metadata == ["max_age_seconds": "300", "methods": "password"])
}

@Test func `debug text for the log is not in the answer`() throws {
  let status = status(of: Failure(.storeUnavailable, hint: "Try again.", debug: "SELECT secret FROM accounts"))
  #expect(!status.message.contains("SELECT"))
  #expect(!String(decoding: status.details, as: UTF8.self).contains("SELECT"))
}

@Test(arguments: [(Failure.Reason.cancelled, 1), (.deadlineExceeded, 4)])
func `a cancelled or late call has the code that the client's library would return`(
  reason: Failure.Reason, code: Int
) {
  let status = status(of: Failure(reason))
  #expect(status.code.rawValue == code && status.details.isEmpty)
}

@Test func `an unexpected error reveals no detail to the client`() {
  struct Surprise: Error { let secret = "lk_secret" }
  let status = status(of: Surprise())
  #expect(status.code == .internal && status.details.isEmpty)
  #expect(!status.message.contains("secret") && !status.message.contains("Surprise"))
}

@Test(arguments: [
  CallerRefusal.unidentified, .unknown, .contradictory, .malformedForward,
  .expired(caller: CallerName("web"), key: "old"),
])
func `an unknown caller is unauthenticated`(refusal: CallerRefusal) throws {
  let status = status(of: refusal)
  #expect(status.code == .unauthenticated)
  #expect(try detail(ErrorInfo.self, of: status)?.reason == "CALLER_UNIDENTIFIED")
}

@Test func `an invalid message is INTERNAL, too many parts RESOURCE_EXHAUSTED, and bad text INVALID_ARGUMENT`()
  throws
{
  #expect(status(of: ProtobufError.malformed(.tag)).code == .internal)
  #expect(status(of: ProtobufError.tooLarge).code == .resourceExhausted)
  let text = status(of: ProtobufError.text(field: "client.user_agent"))
  #expect(text.code.rawValue == 3)
  #expect(try detail(BadRequest.self, of: text)?.fieldViolations.map(\.field) == ["client.user_agent"])
  #expect(try detail(ErrorInfo.self, of: text)?.reason == "INVALID_FIELD")
}

@Test func `an unknown service is not found, and its name is cut in the error`() {
  // The second name is one Character.
  for name in [String(repeating: "x", count: 5_000), "x" + String(repeating: "\u{301}", count: 5_000)] {
    let status = status(of: HealthService.UnknownService(name: name))
    #expect(status.code.rawValue == 5)
    #expect(status.message.utf8.count < 200)
  }
}

@Test func `a long hint is cut, and the details and the message contain the same text`() throws {
  let failure = Failure(.invalidField, field: "some.field", hint: String(repeating: "x", count: 5_000))
  let status = status(of: failure)
  #expect(status.message.utf8.count == 1_024)
  #expect(try rich(status).message == status.message)
  #expect(try detail(BadRequest.self, of: status)?.fieldViolations.first?.description.utf8.count == 1_024)
}
