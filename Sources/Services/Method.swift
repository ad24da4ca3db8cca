// Services: the gRPC services, one file each: request message -> use case -> response message.
//
// Owns: validation of request fields, conversion to and from domain values, application statuses with their details,
// health and reflection.
// Does not own: the rules of the product (Identity), the rights of callers (Callers), the protocol (GRPC).
// Read next: AuthService.swift, then Shape.swift and Failures.swift.

package import Callers
package import GRPC
package import Identity
package import Store
internal import API
package import Protobuf

/// One served method. The method table contains all methods of the server.
package final class Method: Sendable {
  /// `/package.Service/Method`.
  package let path: String
  /// Maximum size of a request message in bytes, for methods that take batches. nil: the configured limit.
  package let messageBytesMax: Int?
  /// The time limit of a call. A longer deadline of the client has no effect.
  package let timeLimitMillis: Int64
  package let access: Access
  /// Whether the method changes no account. The server does not log successful calls of such methods.
  package let isLookUp: Bool
  package let handler: Handler

  package init(
    _ path: String, messageBytesMax: Int? = nil, timeLimitMillis: Int64 = 30_000, access: Access = .right,
    isLookUp: Bool = false, _ handler: Handler
  ) {
    self.path = path
    self.messageBytesMax = messageBytesMax
    self.timeLimitMillis = timeLimitMillis
    self.access = access
    self.isLookUp = isLookUp
    self.handler = handler
  }
}

/// The clients that may call a method.
package enum Access: Sendable {
  /// Any client, also an unidentified one. For health checks, because probes have no credentials.
  case anyone
  /// Every accepted caller.
  case callers
  /// Callers with the right to the method.
  case right
}

package enum Handler: Sendable {
  /// One request message, one response message. Runs on the reactor, and returns the response or a task.
  case unary(@Sendable (Message, CallContext, Arena) throws -> Work)
  /// A response stream. If `fromClient`, the request is a stream too; otherwise it must be exactly one message.
  case stream(fromClient: Bool, @Sendable (CallContext) -> any StreamHandler)
}

/// The result of a unary handler.
package enum Work: Sendable {
  /// The framed response message.
  case answer([UInt8])
  /// A task that returns the response. The reactor encodes it.
  case task(@Sendable () async throws -> any ProtobufEncodable)
}

/// The server side of a streaming call. All methods run on the call's reactor.
package protocol StreamHandler: AnyObject {
  /// Handles a message of the client. A thrown error ends the call.
  func received(_ message: Message, arena: Arena) throws -> StreamStep
  /// Handles the end of the request stream.
  func ended(arena: Arena) -> StreamStep
  /// Handles a change of state that the call may be watching, such as the health status.
  func woken(arena: Arena) -> StreamStep

  /// Returns asynchronous work for the call, or nil if there is none now.
  ///
  /// The server asks after each message, and when the client has received all messages. It reads no further messages
  /// until the client has received the result of the work. A client that sends faster runs out of flow-control window.
  func nextWork(nowMillis: Int64) -> StreamWork?
  /// Handles the result of the work.
  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep
  /// The time at which the handler has work even without new events; nil: never.
  var nextDueMillis: Int64? { get }
  /// Whether the handler follows the store. If true, the server calls `news` after changes and then asks for work.
  var follows: Bool { get }
  /// Reports that the store may have changed.
  func news()
}

/// Work of a streaming call. Runs as a task on the call's reactor and may suspend.
package typealias StreamWork = @Sendable () async throws -> any Sendable

/// Defaults for handlers that only respond to messages and ignore the end of the request stream.
extension StreamHandler {
  package func ended(arena: Arena) -> StreamStep { StreamStep() }
  package func woken(arena: Arena) -> StreamStep { StreamStep() }
  package func nextWork(nowMillis: Int64) -> StreamWork? { nil }
  package func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep { StreamStep() }
  package var nextDueMillis: Int64? { nil }
  package var follows: Bool { false }
  package func news() {}
}

package struct StreamStep {
  /// Framed messages to send, in order.
  package var messages: [[UInt8]]
  /// Whether the call ends with OK after these messages.
  package var isLast: Bool

  package init(_ messages: [[UInt8]] = [], isLast: Bool = false) {
    self.messages = messages
    self.isLast = isLast
  }
}

/// What a handler knows about its call in addition to the message.
package struct CallContext: Sendable {
  package let caller: Caller
  package let path: String
  package let peerAddress: String
  /// The human for whom the caller acts, as it names them. Empty: it names none.
  package let actor: String
  package let commitDecision: CommitDecision
  /// The end of the call on the monotonic clock; `.max`: none.
  package let deadlineMillis: Int64
  package let trace: CallTrace
  /// For the log and the metrics; nil for look-ups.
  package let notes: CallNotes?

  package init(
    caller: Caller, path: String, peerAddress: String, actor: String = "", commitDecision: CommitDecision,
    deadlineMillis: Int64 = .max, trace: CallTrace = .none, notes: CallNotes? = nil
  ) {
    self.caller = caller
    self.path = path
    self.peerAddress = peerAddress
    self.actor = actor
    self.commitDecision = commitDecision
    self.deadlineMillis = deadlineMillis
    self.trace = trace
    self.notes = notes
  }
}

extension Method {
  /// Returns a unary method whose handler receives the decoded message.
  static func unary<Request, Response>(
    _ rpc: RPC<Request, Response>, access: Access = .right, timeLimitMillis: Int64 = 30_000, isLookUp: Bool = false,
    _ start: @escaping @Sendable (Request, Message, CallContext, Arena) throws -> Work
  ) -> Method {
    Method(
      rpc.path, timeLimitMillis: timeLimitMillis, access: access, isLookUp: isLookUp,
      .unary { message, context, arena in
        let span = message.bytes.span.extracting(message.start..<message.end)
        return try start(try Request.decode(span, arena: arena), message, context, arena)
      })
  }
}
