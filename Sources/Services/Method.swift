// Services: one file a gRPC service: wire message -> use case -> wire message.
//
// Owns: the shape of each request (which field is wrong and why), the mapping to and from the domain, the statuses of
// the application with their details, health and reflection.
// Does not own: the rules of the product (Identity), who may call what (Admission), the protocol (GRPC).
// Read next: AuthService.swift, then Shape.swift and Failures.swift.

package import Admission
package import GRPC
internal import Identity
package import Store
package import API

/// One served method. The table of them is the whole surface of the server; calls only point into it.
package final class Method: Sendable {
  /// `/package.Service/Method`.
  package let path: String
  /// Of batches, which hold many rows each. nil: as much as is configured for a single request.
  package let messageBytesMax: Int?
  /// The longest a call may take, whatever deadline its client sets.
  package let timeLimitMillis: Int64
  package let access: Access
  /// It changes no account, so that its success has no line in the log: in no kind of store, waited for or not.
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

/// Who is served by a method.
package enum Access: Sendable {
  /// Whoever reaches the port, named or not: health, because probes come without credentials.
  case anyone
  /// Every caller that is served here at all.
  case callers
  /// Callers with the right to the method.
  case right
}

package enum Handler: Sendable {
  /// One message in, one out. Runs on the reactor: it decodes, and answers on the spot or hands back the rest as work.
  case unary(@Sendable (Message, CallContext, Arena) throws -> Work)
  /// Any number of messages out, and in where `fromClient`; else the call is over unless just one comes.
  case stream(fromClient: Bool, @Sendable (CallContext) -> any StreamHandler)
}

/// What is left of a unary call after its handler looked at it.
package enum Work: Sendable {
  /// A framed message.
  case answer([UInt8])
  /// To be run as the call's one task; its result is encoded on the reactor.
  case task(@Sendable () async throws -> any ProtobufEncodable)
}

/// The server's half of a streaming call. Lives on its reactor.
package protocol StreamHandler: AnyObject {
  /// A message of the client. Throwing ends the call with that failure.
  func received(_ message: Message, arena: Arena) throws -> StreamStep
  /// The client sends no more.
  func ended(arena: Arena) -> StreamStep
  /// Something the call may be watching has changed.
  func woken(arena: Arena) -> StreamStep

  /// What it wants done before it says more; asked after each message, and whenever its client has taken all that it
  /// was sent. Until its client has taken what came of it, nothing that the client sends is looked at: whoever sends
  /// faster than that finds the window shut. nil: nothing for now.
  func nextWork(nowMillis: Int64) -> StreamWork?
  /// That work is done.
  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep
  /// When it has work to do without news; nil: never.
  var nextDueMillis: Int64? { get }
  /// Whether it follows the store: then it is told of news there, and asked for work after them too.
  var follows: Bool { get }
  /// What it follows may have changed.
  func news()
}

/// Run as a task of the call, on its reactor; may wait.
package typealias StreamWork = @Sendable () async throws -> any Sendable

/// Most streams answer what they are sent, and do not end because their client has no more to say.
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
  /// End the call with OK after them.
  package var isLast: Bool

  package init(_ messages: [[UInt8]] = [], isLast: Bool = false) {
    self.messages = messages
    self.isLast = isLast
  }
}

/// What a handler knows of its call beside the message.
package struct CallContext: Sendable {
  package let caller: Caller
  package let path: String
  package let peerAddress: String
  package let fate: Fate

  package init(caller: Caller, path: String, peerAddress: String, fate: Fate) {
    self.caller = caller
    self.path = path
    self.peerAddress = peerAddress
    self.fate = fate
  }
}

extension Method {
  /// A unary method whose handler starts from a decoded message.
  static func unary<Request, Response>(
    _ rpc: RPC<Request, Response>, access: Access = .right, timeLimitMillis: Int64 = 30_000,
    isLookUp: Bool = false, _ start: @escaping @Sendable (Request, Message, CallContext, Arena) throws -> Work
  ) -> Method {
    Method(
      rpc.path, timeLimitMillis: timeLimitMillis, access: access, isLookUp: isLookUp,
      .unary { message, context, arena in
        let span = message.bytes.span.extracting(message.start..<message.end)
        return try start(try Request.decode(span, arena: arena), message, context, arena)
      })
  }
}
