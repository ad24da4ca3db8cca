internal import GRPC
internal import API

// API has a message of this name; here it means the protocol's own.
typealias Status = GRPC.Status

/// The codes of gRPC (doc/statuscodes.md).
public enum StatusCode: Int, Sendable, CaseIterable {
  case ok = 0, cancelled, unknown, invalidArgument, deadlineExceeded, notFound, alreadyExists, permissionDenied
  case resourceExhausted, failedPrecondition, aborted, outOfRange, unimplemented, `internal`, unavailable, dataLoss
  case unauthenticated

  /// As the gRPC documents write it.
  public var name: String {
    let words = "\(self)".reduce(into: "") { text, letter in
      text += letter.isUppercase ? "_\(letter)" : letter.uppercased()
    }
    return words
  }
}

/// How a call ended.
public struct CallStatus: Error, Hashable, Sendable {
  public struct FieldViolation: Hashable, Sendable {
    public var field: String
    public var description: String
  }

  public var code: StatusCode
  /// For people; programs look at the reason.
  public var message: String
  /// Of google.rpc.ErrorInfo; empty where the server gave none.
  public var reason = ""
  public var metadata: [String: String] = [:]
  /// Of google.rpc.BadRequest.
  public var fieldViolations: [FieldViolation] = []
  /// How long to wait before another try, where the server says so; negative: there is to be none (gRFC A6).
  public var retryAfterMillis: Int64?
  /// The server cannot have begun the call: whatever it does, it may be sent again.
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

  /// A detail of a kind that we do not know, or that cannot be read, is passed over.
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
