internal import Admission
internal import GRPC
internal import HTTP2
internal import Identity
internal import Services
internal import Store
internal import Wire

/// One call on its stream: the protocol's state machine, the method it is for, and how far it has come.
final class ServerCall {
  enum Stage {
    /// Its messages are coming in.
    case receiving
    /// Whole, and waiting for this turn's decisions.
    case ready
    /// Its task runs.
    case running
    /// Answered, refused or gone: whatever a task still brings is dropped.
    case answered
  }

  let stream: HTTP2.Stream
  let method: Method
  let context: CallContext
  /// Monotonic; `.max`: none.
  let deadlineMillis: Int64
  var stage = Stage.receiving
  var headSent = false
  /// Of a streaming call.
  var messagesReceived = 0
  /// As they were counted last: see `Connection.recount`.
  var heldBytes = 0
  /// A drain waits for it: all but calls that only watch and would never end by themselves.
  let holdsDrain: Bool
  private var call: Call
  private var handler: (any StreamHandler)?

  init(
    _ stream: HTTP2.Stream, _ head: RequestHead, _ method: Method, _ caller: Caller, address: String, nowMillis: Int64
  ) {
    self.stream = stream
    self.method = method
    context = CallContext(caller: caller, path: method.path, peerAddress: address, fate: Fate())
    let allowed = min(method.timeLimitMillis, head.timeoutMillis ?? .max)
    deadlineMillis = allowed == .max ? .max : nowMillis + allowed
    switch method.handler {
    case .unary:
      call = Call(head: head, messageBytesMax: method.messageBytesMax, streams: false)
      holdsDrain = true
    case .stream(let fromClient, let make):
      holdsDrain = fromClient
      call = Call(head: head, messageBytesMax: method.messageBytesMax, streams: true)
      handler = make(context)
    }
  }

  var isStreaming: Bool { handler != nil }

  func admit(methodNumber: Int) throws {
    guard method.access != .right || context.caller.rights.include(methodNumber: methodNumber) else {
      throw Failure(.callerNotAllowed, hint: "This caller has no right to the method.")
    }
  }

  /// Bytes kept for messages that are not whole.
  var bufferedBytes: Int { stage == .receiving ? call.bufferedBytes : 0 }

  func received(_ bytes: [UInt8], ended: Bool) -> Call.Step { call.received(bytes, ended: ended) }

  func handle(_ message: Message, arena: Arena) throws -> StreamStep? { try handler?.received(message, arena: arena) }

  func clientEnded(arena: Arena) -> StreamStep? { handler?.ended(arena: arena) }

  func woken(arena: Arena) -> StreamStep? { handler?.woken(arena: arena) }
}

/// Most calls of a connection come with the same credentials: they are looked up once.
struct AdmissionCache {
  private var authorization: [UInt8] = []
  private var caller: Caller?

  /// `table` is only asked for where the credentials are others than before, so that a call does not copy it.
  mutating func caller(
    _ table: @autoclosure () -> CallerTable, certificateName: String?, authorization: [UInt8]
  ) throws(CallerRefusal) -> Caller {
    if let caller, self.authorization == authorization { return caller }
    let found = try table().identify(certificateName: certificateName, authorization: authorization)
    self.authorization = authorization
    caller = found
    return found
  }
}
