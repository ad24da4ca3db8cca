internal import Callers
internal import GRPC
internal import HTTP2
internal import Identity
internal import Observability
internal import Protobuf
internal import Services
internal import Store

/// One call on its stream: its protocol state machine, its method and its stage.
final class ServerCall {
  let stream: HTTP2.Stream
  /// Number of the method in the method table.
  let number: Int
  let method: Method
  let context: CallContext
  /// Deadline on the monotonic clock; `.max` means none.
  let deadlineMillis: Int64
  let begunNanos: Int64
  /// Where the call counts. Fixed, because the call leaves the counts that it entered.
  let kind: ConnectionLoad.Kind
  /// What named the caller of a call that never ends on its own, because a reload checks it again; nil for other calls.
  let credentials: (authorization: [UInt8], forwarded: [UInt8])?
  var stage = CallStage.receiving
  /// The span of a sampled call.
  var span: RecordedSpan?
  var headSent = false
  /// Messages that a streaming call has received.
  var messagesReceived = 0
  /// It did work other than following the store, so the log has a line about its end.
  var hasWorked = false
  /// Buffered bytes at the last count; see `Connection.recount`.
  var heldBytes = 0
  private let hasSeveralActors: Bool
  private var call: Call
  private let handler: (any StreamHandler)?

  /// - Parameter messageBytesMax: limit for methods without a limit of their own.
  init(
    _ stream: HTTP2.Stream, _ head: RequestHead, _ number: Int, _ method: Method, _ caller: Caller, _ trace: CallTrace,
    address: String, messageBytesMax: Int, nowMillis: Int64, nowNanos: Int64
  ) {
    self.stream = stream
    self.number = number
    self.method = method
    begunNanos = nowNanos
    let allowed = min(method.timeLimitMillis, head.timeoutMillis ?? .max)
    deadlineMillis = allowed == .max ? .max : nowMillis + allowed
    let concernsMany = if case .unary = method.handler { false } else { true }
    context = CallContext(
      caller: caller, path: method.path, peerAddress: address, actor: String(decoding: head.actor, as: UTF8.self),
      commitDecision: CommitDecision(), deadlineMillis: deadlineMillis, trace: trace,
      notes: method.isLookUp ? nil : CallNotes(concernsMany: concernsMany))
    hasSeveralActors = head.hasSeveralActors
    let bytesMax = method.messageBytesMax ?? messageBytesMax
    switch method.handler {
    case .unary:
      call = Call(messageBytesMax: bytesMax, streams: false)
      handler = nil
      kind = ConnectionLoad.Kind(holdsDrain: true)
    case .stream(let fromClient, let make):
      call = Call(messageBytesMax: bytesMax, streams: true, takesOne: !fromClient)
      let handler = make(context)
      self.handler = handler
      // A drain waits for all calls but those that watch, which never end on their own. An export ends on its own.
      kind = ConnectionLoad.Kind(
        isStreaming: true, follows: handler.follows, holdsDrain: fromClient || method.timeLimitMillis < .max)
    }
    let isWatch = !kind.holdsDrain && method.access == .right
    credentials = isWatch ? (authorization: head.authorization, forwarded: head.forwardedCertificate) : nil
  }

  var isStreaming: Bool { kind.isStreaming }

  /// The call did more than read, so the log states its outcome.
  var isWorthALine: Bool { isStreaming ? hasWorked : stage.hasTask }

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
    try ActorShape.check(context.actor, isRepeated: hasSeveralActors, of: context.caller)
  }

  /// Buffered bytes of undelivered messages.
  var bufferedBytes: Int { stage.isOpen ? call.bufferedBytes : 0 }

  func received(_ bytes: [UInt8], ended: Bool) -> Call.Step { call.received(bytes, ended: ended) }

  func handle(_ message: Message, arena: Arena) throws -> StreamStep? { try handler?.received(message, arena: arena) }

  func clientEnded(arena: Arena) -> StreamStep? { handler?.ended(arena: arena) }

  func woken(arena: Arena) -> StreamStep? { handler?.woken(arena: arena) }

  var nextDueMillis: Int64? { handler?.nextDueMillis }

  func news() { handler?.news() }

  func nextWork(nowMillis: Int64) -> StreamWork? { handler?.nextWork(nowMillis: nowMillis) }

  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep? {
    try handler?.worked(result, nowMillis: nowMillis, arena: arena)
  }
}
