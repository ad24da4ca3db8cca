internal import GRPC
internal import API
internal import Protobuf

// API has a message with the same name. Here `Status` is the gRPC status.
typealias Status = GRPC.Status

/// The gRPC status codes (doc/statuscodes.md).
public enum StatusCode: Int, Sendable, CaseIterable {
  case ok = 0, cancelled, unknown, invalidArgument, deadlineExceeded, notFound, alreadyExists, permissionDenied
  case resourceExhausted, failedPrecondition, aborted, outOfRange, unimplemented, `internal`, unavailable, dataLoss
  case unauthenticated

  /// The name in the gRPC documentation, such as `NOT_FOUND`.
  public var name: String {
    "\(self)".reduce(into: "") { text, character in
      text += character.isUppercase ? "_\(character)" : character.uppercased()
    }
  }
}

/// The status of a finished call.
public struct CallStatus: Error, Hashable, Sendable {
  public struct FieldViolation: Hashable, Sendable {
    public var field: String
    public var description: String
  }

  public var code: StatusCode
  /// Text for developers. Programs should use `reason`.
  public var message: String
  /// The reason in google.rpc.ErrorInfo; empty if the server sent none.
  public var reason = ""
  /// The metadata in google.rpc.ErrorInfo.
  public var metadata: [String: String] = [:]
  /// The field violations in google.rpc.BadRequest.
  public var fieldViolations: [FieldViolation] = []
  /// The delay before a retry, in milliseconds, if the server sends one. A negative value means "do not retry" (gRFC
  /// A6).
  public var retryAfterMillis: Int64?
  /// Whether the server cannot have begun the call. If true, the client may retry even calls that are not idempotent.
  public var wasNotProcessed = false

  public init(_ code: StatusCode, _ message: String = "", wasNotProcessed: Bool = false) {
    self.code = code
    self.message = message
    self.wasNotProcessed = wasNotProcessed
  }

  public static let ok = CallStatus(.ok)
  public var isOK: Bool { code == .ok }
}

extension CallStatus {
  init(_ status: Status, wasNotProcessed: Bool, arena: Arena) {
    self.init(StatusCode(rawValue: status.code.rawValue) ?? .unknown, status.message, wasNotProcessed: wasNotProcessed)
    retryAfterMillis = status.pushbackMillis
    guard !status.details.isEmpty, let rich = try? API.Status.decode(status.details.span, arena: arena) else { return }
    for detail in rich.details { add(detail, arena: arena) }
  }

  /// Reads one detail. Ignores details of unknown type and malformed ones.
  private mutating func add(_ detail: AnyMessage, arena: Arena) {
    switch detail.typeURL {
    case "type.googleapis.com/google.rpc.ErrorInfo":
      guard let info = try? ErrorInfo.decode(detail.value.span, arena: arena) else { return }
      reason = info.reason
      metadata = info.metadata
    case "type.googleapis.com/google.rpc.BadRequest":
      guard let request = try? BadRequest.decode(detail.value.span, arena: arena) else { return }
      fieldViolations = request.fieldViolations.map { FieldViolation(field: $0.field, description: $0.description) }
    case "type.googleapis.com/google.rpc.RetryInfo":
      guard let retry = try? RetryInfo.decode(detail.value.span, arena: arena) else { return }
      retryAfterMillis = retryAfterMillis ?? retry.retryDelayMillis
    default: break
    }
  }
}
