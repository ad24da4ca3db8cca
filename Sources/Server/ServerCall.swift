internal import Admission
internal import Crypto
internal import GRPC
internal import HTTP2
internal import Identity
internal import Services
internal import Store
internal import API

/// One call on its stream: the protocol's state machine, the method it is for, and how far it has come.
final class ServerCall {
  enum Stage {
    /// Its messages are coming in.
    case receiving
    /// Whole, and waiting for this turn's decisions.
    case ready
    /// Its task runs.
    case running
    /// Its client has gone while its task runs: it is counted and logged by what comes of that, and not answered.
    case unheard
    /// Answered, refused or gone: whatever a task still brings is dropped.
    case answered
  }

  let stream: HTTP2.Stream
  /// Of the method, in the table.
  let number: Int
  let method: Method
  let context: CallContext
  /// Monotonic; `.max`: none.
  let deadlineMillis: Int64
  let begunNanos: Int64
  var stage = Stage.receiving
  var headSent = false
  /// A task runs for it.
  var hasTask = false
  /// Of a streaming call.
  var messagesReceived = 0
  /// Its work is under way, or the client has yet to take what came of it: nothing more of what it sends is looked at.
  var isPaused = false
  /// What came of its work was sent, and what follows waits until the client has taken it.
  var awaitsTaking = false
  /// It did more than to follow: its end is worth a line of the log.
  var hasWorked = false
  /// What came beside the message that began the work.
  var waiting: (messages: ArraySlice<Message>, last: Bool)?
  /// As they were counted last: see `Connection.recount`.
  var heldBytes = 0
  /// A drain waits for it: all but calls that only watch and would never end by themselves. An export ends by itself.
  let holdsDrain: Bool
  private var call: Call
  private var handler: (any StreamHandler)?

  /// - Parameter messageBytesMax: of a method that has no limit of its own.
  init(
    _ stream: HTTP2.Stream, _ head: RequestHead, _ number: Int, _ method: Method, _ caller: Caller, address: String,
    messageBytesMax: Int, nowMillis: Int64, nowNanos: Int64
  ) {
    self.stream = stream
    self.number = number
    self.method = method
    begunNanos = nowNanos
    context = CallContext(caller: caller, path: method.path, peerAddress: address, fate: Fate())
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

  /// It came to more than a look: the log says how it ended.
  var isWorthALine: Bool { isStreaming ? hasWorked : hasTask || stage == .unheard }

  /// Why it failed. Work that gave up because nobody waits for it any more, when its time was up, failed of that.
  func reason(of error: any Error, nowMillis: Int64) -> any Error {
    guard nowMillis >= deadlineMillis, (error as? Failure)?.reason == .cancelled else { return error }
    return Failure(.deadlineExceeded)
  }

  func admit() throws(Failure) {
    guard method.access != .right || context.caller.rights.include(methodNumber: number) else {
      throw Failure(.callerNotAllowed, hint: "This caller has no right to the method.")
    }
  }

  /// Bytes kept of messages that nobody was handed.
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

/// Most calls of a connection come with the same credentials: they are looked up once.
struct AdmissionCache {
  private var authorization: [UInt8] = []
  private var caller: Caller?

  /// `table` is only asked for where the credentials are others than before, so that a call does not copy it.
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
