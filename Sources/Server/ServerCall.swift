internal import Callers
internal import Crypto
internal import GRPC
internal import HTTP2
internal import Identity
internal import Services
internal import Store
internal import API

/// One call on its stream: its protocol state machine, its method and its stage.
final class ServerCall {
  enum Stage {
    /// It receives messages.
    case receiving
    /// Its request is complete and waits for the decision phase of this turn.
    case ready
    /// Its task runs.
    case running
    /// Its client has gone while its task runs. The result of the task is counted and logged, but not sent.
    case unheard
    /// It is answered, rejected or abandoned. The result of a task is discarded.
    case answered
  }

  let stream: HTTP2.Stream
  /// Number of the method in the method table.
  let number: Int
  let method: Method
  let context: CallContext
  /// Deadline on the monotonic clock; `.max` means none.
  let deadlineMillis: Int64
  let begunNanos: Int64
  var stage = Stage.receiving
  var headSent = false
  /// A task runs for the call.
  var hasTask = false
  /// Messages that a streaming call has received.
  var messagesReceived = 0
  /// Its work is running, or the client has not read the result. Further input is not processed.
  var isPaused = false
  /// The result of its work is sent. The call continues when the client has read it.
  var awaitsTaking = false
  /// It did work other than following the store, so the log has a line about its end.
  var hasWorked = false
  /// Messages that arrived with the message that started the work.
  var waiting: (messages: ArraySlice<Message>, last: Bool)?
  /// Buffered bytes at the last count; see `Connection.recount`.
  var heldBytes = 0
  /// A drain waits for the call. This is false only for calls that watch, which never end on their own. An export ends
  /// on its own.
  let holdsDrain: Bool
  private var call: Call
  private var handler: (any StreamHandler)?

  /// - Parameter messageBytesMax: limit for methods without a limit of their own.
  init(
    _ stream: HTTP2.Stream, _ head: RequestHead, _ number: Int, _ method: Method, _ caller: Caller, address: String,
    messageBytesMax: Int, nowMillis: Int64, nowNanos: Int64
  ) {
    self.stream = stream
    self.number = number
    self.method = method
    begunNanos = nowNanos
    context = CallContext(caller: caller, path: method.path, peerAddress: address, commitDecision: CommitDecision())
    let allowed = min(method.timeLimitMillis, head.timeoutMillis ?? .max)
    deadlineMillis = allowed == .max ? .max : nowMillis + allowed
    let bytesMax = method.messageBytesMax ?? messageBytesMax
    switch method.handler {
    case .unary:
      call = Call(messageBytesMax: bytesMax, streams: false)
      holdsDrain = true
    case .stream(let fromClient, let make):
      holdsDrain = fromClient || method.timeLimitMillis < .max
      call = Call(messageBytesMax: bytesMax, streams: true, takesOne: !fromClient)
      handler = make(context)
    }
  }

  var isStreaming: Bool { handler != nil }

  /// The call did more than read, so the log states its outcome.
  var isWorthALine: Bool { isStreaming ? hasWorked : hasTask || stage == .unheard }

  /// Returns the reason of a failure. Work that was cancelled because its deadline passed fails with
  /// `DEADLINE_EXCEEDED`.
  func reason(of error: any Error, nowMillis: Int64) -> any Error {
    guard nowMillis >= deadlineMillis, (error as? Failure)?.reason == .cancelled else { return error }
    return Failure(.deadlineExceeded)
  }

  func admit() throws(Failure) {
    guard method.access != .right || context.caller.rights.include(methodNumber: number) else {
      throw Failure(.callerNotAllowed, hint: "Ask the operator to grant this method to the caller.")
    }
  }

  /// Buffered bytes of undelivered messages.
  var bufferedBytes: Int { stage == .receiving ? call.bufferedBytes : 0 }

  func received(_ bytes: [UInt8], ended: Bool) -> Call.Step { call.received(bytes, ended: ended) }

  func handle(_ message: Message, arena: Arena) throws -> StreamStep? { try handler?.received(message, arena: arena) }

  func clientEnded(arena: Arena) -> StreamStep? { handler?.ended(arena: arena) }

  func woken(arena: Arena) -> StreamStep? { handler?.woken(arena: arena) }

  var follows: Bool { handler?.follows ?? false }

  var nextDueMillis: Int64? { handler?.nextDueMillis }

  func news() { handler?.news() }

  func nextWork(nowMillis: Int64) -> StreamWork? { handler?.nextWork(nowMillis: nowMillis) }

  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep? {
    try handler?.worked(result, nowMillis: nowMillis, arena: arena)
  }
}

/// Cache of a connection's last caller, since most of its calls carry the same credentials.
struct AdmissionCache {
  private var authorization: [UInt8] = []
  private var caller: Caller?

  /// Returns the caller. Evaluates `table` only if the credentials differ from the last call, so most calls do not copy
  /// it.
  mutating func caller(
    _ table: @autoclosure () -> CallerTable, certificateName: String?, authorization: [UInt8]
  ) throws(CallerRefusal) -> Caller {
    if let caller, constantTimeEquals(self.authorization, authorization) { return caller }
    let found = try table().identify(certificateName: certificateName, authorization: authorization)
    self.authorization = authorization
    caller = found
    return found
  }
}
