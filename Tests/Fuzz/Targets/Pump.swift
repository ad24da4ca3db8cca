import API
import Callers
import GRPC
import HTTP2
import Protobuf
import Services
import Store
import Transport

/// Drives one connection like the server's own connection code, without a socket: health and reflection as in the
/// server, and a method whose answer comes one turn later, like that of a task.
final class Pump {
  private let session: HTTP2.Session
  private let options: ConnectionOptions
  private let arena = Arena(budgetBytes: 8 * 65_536)
  private var life: Life
  private var nowMillis: Int64 = 0
  private var late: [PumpedCall] = []
  private var answers = Answers()
  private var calls: [Remains] = []

  private static let methods: [Services.Method] = {
    let services = ["latchkey.v1.AuthService"]
    let late = Services.Method("/fuzz.Late/Answer", .unary { _, _, _ in .task { HealthCheckResponse() } })
    let methods =
      HealthService(HealthState(), services: services).methods
      + ReflectionService(services: services).methods + [late]
    return methods
  }()

  private static let methodTable = MethodTable(methods.map(\.path))

  private static let okHead = PreparedHeaders([
    (":status", Array("200".utf8)), ("content-type", Array("application/grpc".utf8)),
  ])
  private static let okTrailers = PreparedHeaders(GRPC.Status(.ok).fields)

  init(_ options: ConnectionOptions) {
    self.options = options
    var limits = Life.Limits()
    limits.idleMillis = 60_000
    life = Life(limits, nowMillis: 0, jitter: 0)
    guard let session = HTTP2.Session(SessionLimits(), nowMillis: 0) else { fatalError("no session") }
    self.session = session
  }

  /// Runs one turn. Returns false if the connection has ended.
  func turn(_ piece: [UInt8]) -> Bool {
    if options.contains(.pauses) { nowMillis += 10_000 }
    let due = late
    late = []
    for call in due { answer(call, HealthCheckResponse(status: .serving).encode(arena: arena)) }
    life.read(nowMillis: nowMillis)
    let isAlive = session.feed(piece, nowMillis: nowMillis)
    process()
    perform(life.due(nowMillis: nowMillis, callsOpen: session.sink.streamCount > 0))
    _ = session.resetUntaken(nowMillis: nowMillis)
    flush(bytesMax: options.contains(.isSlow) ? 64 : 65_536)
    law(session.sink.streamCount <= SessionLimits().streamsMax, "\(session.sink.streamCount) streams are open")
    return isAlive && !session.isOver
  }

  func drain() { perform(life.drain(nowMillis: nowMillis)) }

  /// The client sends no more, and reads everything.
  func finish() {
    for call in late { answer(call, HealthCheckResponse(status: .serving).encode(arena: arena)) }
    late = []
    flush(bytesMax: .max)
    guard !answers.hasGoneAway, !session.isOver else { return }
    session.sink.forEachStream { stream in
      guard let call = stream.call as? PumpedCall else { return }
      law(call.stage != .ready, "a call was not answered")
      let isBlocked = stream.unsentBytes > 0
      law(call.stage == .receiving || isBlocked || answers.hasEnded(stream.id), "an answer was not sent")
    }
  }

  /// Releases everything, like a closed connection.
  func close() -> [Remains] {
    var remains = calls + [Remains(value: session), Remains(value: session.sink)]
    func release(_ stream: HTTP2.Stream) {
      remains.append(Remains(value: stream))
      stream.call = nil
    }
    for stream in session.sink.takeTouched() { release(stream) }
    session.sink.forEachStream(release)
    return remains
  }

  // MARK: Input

  private func process() {
    for stream in session.sink.takeTouched() {
      if stream.call == nil, stream.headersComplete, !stream.isClosed, !stream.answered { begin(stream) }
      guard let call = stream.call as? PumpedCall else { continue }
      guard !stream.isClosed else {
        call.stage = .answered
        stream.call = nil
        continue
      }
      let body = stream.takeBody()
      session.consumed(stream, bytes: body.count)
      guard call.stage == .receiving else { continue }
      follow(call, call.call.received(body, ended: stream.ended))
    }
    for _ in 0..<session.sink.events.pingsReceived {
      perform(life.pinged(nowMillis: nowMillis, callsOpen: session.sink.streamCount > 0))
    }
    session.sink.events.pingsReceived = 0
    if session.sink.events.noticeAnswered { perform(life.noticed(nowMillis: nowMillis)) }
    session.sink.events.noticeAnswered = false
  }

  private func begin(_ stream: HTTP2.Stream) {
    guard !stream.headersTooLarge else {
      return fail(stream, GRPC.Status(.resourceExhausted, "the header list is larger than allowed"))
    }
    var reader = HeadReader()
    stream.headers.forEach { reader.field(name: $0, value: $1) }
    switch reader.finish() {
    case .failure(let refusal): refuse(stream, refusal)
    case .success(let head):
      guard let number = Pump.methodTable[head.path] else {
        return fail(stream, GRPC.Status(.unimplemented, "no such method"))
      }
      let call = PumpedCall(stream, head, Pump.methods[number])
      stream.call = call
      calls.append(Remains(value: call))
      life.used(nowMillis: nowMillis)
    }
  }

  private func follow(_ call: PumpedCall, _ step: Call.Step) {
    switch step {
    case .wait: break
    case .refuse(let refusal):
      call.stage = .answered
      guard !call.headSent else { return session.finish(call.stream, PreparedHeaders(refusal.status.fields)) }
      refuse(call.stream, refusal)
    case .ready(let message): decide(call, message)
    case .messages(let messages, let last): converse(call, messages, last: last)
    }
  }

  private func decide(_ call: PumpedCall, _ message: Message) {
    guard case .unary(let handle) = call.method.handler else { fatalError("a streaming call is ready") }
    do {
      switch try handle(message, call.context, arena) {
      case .answer(let bytes): answer(call, bytes)
      case .task:
        call.stage = .ready
        late.append(call)
      }
    } catch { fail(call, error) }
  }

  private func converse(_ call: PumpedCall, _ messages: [Message], last: Bool) {
    do {
      for message in messages {
        guard call.stage == .receiving, let step = try call.handler?.received(message, arena: arena) else { break }
        send(call, step)
      }
      if last, call.stage == .receiving, let step = call.handler?.ended(arena: arena) { send(call, step) }
    } catch { fail(call, error) }
  }

  // MARK: Output

  private func send(_ call: PumpedCall, _ step: StreamStep) {
    if !step.messages.isEmpty || step.isLast, !call.headSent {
      call.headSent = true
      session.start(call.stream, Pump.okHead)
    }
    for message in step.messages { session.send(call.stream, message) }
    if step.isLast {
      call.stage = .answered
      session.finish(call.stream, Pump.okTrailers)
    }
    if call.stream.unsentBytes > 262_144 {
      call.stage = .answered
      session.reset(call.stream, .enhanceYourCalm)
    }
  }

  private func answer(_ call: PumpedCall, _ bytes: [UInt8]) {
    guard call.stage != .answered else { return }
    call.stage = .answered
    session.respond(call.stream, head: Pump.okHead, body: bytes, trailers: Pump.okTrailers)
  }

  private func fail(_ call: PumpedCall, _ error: any Error) {
    let status = Failures.status(of: error, arena: arena)
    call.stage = .answered
    guard call.headSent else { return fail(call.stream, status) }
    session.finish(call.stream, PreparedHeaders(status.fields))
  }

  private func refuse(_ stream: HTTP2.Stream, _ refusal: Refusal) {
    if refusal.form == .reset { return session.reset(stream, .internalError) }
    fail(stream, refusal.status)
  }

  private func fail(_ stream: HTTP2.Stream, _ status: GRPC.Status) {
    FuzzTarget.checkReadable(status)
    let fields = [(name: ":status", value: Array("200".utf8))] + status.fields
    session.respondTrailersOnly(stream, PreparedHeaders(fields))
  }

  private func flush(bytesMax: Int) {
    while true {
      var out: [UInt8] = []
      law(session.drain(into: &out, bytesMax: bytesMax), "a session cannot be drained")
      answers.take(out)
      process()
      guard !out.isEmpty, bytesMax == .max else { return }
    }
  }

  private func perform(_ step: Life.Step) {
    switch step {
    case .nothing, .close: break
    case .ping: session.ping()
    case .announceShutdown: session.announceShutdown()
    case .shutDown(let why): session.shutDown(why)
    case .terminate(let fault): session.terminate(fault)
    }
  }
}

/// One call, which has a reference cycle with its stream, as in the server.
private final class PumpedCall {
  enum Stage { case receiving, ready, answered }

  let stream: HTTP2.Stream
  let method: Services.Method
  let context: CallContext
  let handler: (any StreamHandler)?
  var call: Call
  var stage = Stage.receiving
  var headSent = false

  init(_ stream: HTTP2.Stream, _ head: RequestHead, _ method: Services.Method) {
    self.stream = stream
    self.method = method
    context = CallContext(
      caller: .anyone, path: method.path, peerAddress: "127.0.0.1", commitDecision: CommitDecision())
    switch method.handler {
    case .unary:
      handler = nil
      call = Call(messageBytesMax: 65_536, streams: false)
    case .stream(let fromClient, let make):
      handler = make(context)
      call = Call(messageBytesMax: 65_536, streams: true, takesOne: !fromClient)
    }
  }
}

/// A client's view of its streams. An answer is a header block, data, and a last header block, or only the last one.
/// After an end, only a reset may follow, which asks the client to stop (RFC 9113 8.1) or reports its own error.
/// Nothing follows a reset.
private struct Answers {
  private enum State { case begun, ended, reset }

  private var states: [Int32: State] = [:]
  private(set) var hasGoneAway = false
  private var isFirst = true

  func hasEnded(_ stream: Int32) -> Bool { states[stream] == .ended || states[stream] == .reset }

  mutating func take(_ bytes: [UInt8]) {
    for frame in ServerFrame.parse(bytes) {
      if isFirst { law(frame.kind == .settings, "the first frame is \(frame.kind)") }
      isFirst = false
      take(frame)
    }
  }

  private mutating func take(_ frame: ServerFrame) {
    let state = states[frame.stream]
    switch frame.kind {
    case .headers:
      law(state == nil || (state == .begun && frame.endsStream), "a header block on a stream that is \(state!)")
      states[frame.stream] = frame.endsStream ? .ended : .begun
    case .data:
      law(state == .begun && !frame.endsStream, "data on a stream that is \(state.map { "\($0)" } ?? "idle")")
    case .reset:
      let code = frame.payload.last.map { ErrorCode(rawValue: UInt32($0)) }
      let isOurs = [.internalError, .cancel, .enhanceYourCalm].contains(code)
      law(state != .ended || !isOurs, "an answer and a reset")
      states[frame.stream] = .reset
    case .goAway: hasGoneAway = true
    case .push, .priority: law(false, "a server never sends \(frame.kind)")
    case .settings, .ping, .windowUpdate, .continuation: break
    }
  }
}
