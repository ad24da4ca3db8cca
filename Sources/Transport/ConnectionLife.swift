internal import Callers
internal import GRPC
internal import HTTP2
internal import Identity
internal import Observability
internal import Reactor
internal import Services
internal import Store

// Deadlines of calls, and the lifetime of their connection: performs the decisions of `Life`.

extension Connection {
  /// Starts a timer whose kind is the stream ID. Timers cannot be cancelled, and a client may send many short calls
  /// with deadlines of ten thousand years. The timer of a distant deadline therefore fires early and is restarted.
  func scheduleDeadline(_ call: ServerCall) {
    guard !call.isStreaming || call.deadlineMillis < .max else { return }
    let delayMillis = min(call.deadlineMillis - worker.nowMillis, worker.limits.requestMillis)
    worker.startTimer(self, kind: UInt32(call.stream.id), delayMillis: delayMillis)
  }

  /// Starts the deadline timer of a handler that runs as a task. Other handlers need none.
  func awaitTask(_ call: ServerCall) {
    guard call.deadlineMillis < .max else { return }
    scheduleDeadline(call)
  }

  func deadlineFired(streamID: Int32) {
    guard let session, let call = session.sink.stream(streamID)?.call as? ServerCall else { return }
    let now = worker.nowMillis
    defer {
      // Trailers that flow control holds back cannot report the deadline; a reset can (gRPC A7).
      if call.stage.isAnswered, call.headSent, call.stream.unsentBytes == 0, session.isHeldBack(call.stream) {
        session.reset(call.stream, .cancel)
      }
    }
    switch call.stage {
    case .unheard, .answered: break
    case .receiving where !call.isStreaming: endUnfinished(call, session)
    case .ready where now < call.deadlineMillis: break
    case .running where now < call.deadlineMillis: awaitTask(call)
    case _ where now < call.deadlineMillis: scheduleDeadline(call)
    default:
      // A commit that has started completes, and its response is sent.
      guard call.context.commitDecision.cancel() else { return }
      guard call.isWorthALine else { return finish(call, Status(.deadlineExceeded, "Deadline Exceeded"), session) }
      worker.refuse(call, Failure(.deadlineExceeded), on: self)
    }
  }

  /// Ends a unary call whose request is incomplete.
  private func endUnfinished(_ call: ServerCall, _ session: Session) {
    guard worker.nowMillis < call.deadlineMillis else {
      return finish(call, Status(.deadlineExceeded, "Deadline Exceeded"), session)
    }
    worker.reached(.requestTime, on: self)
    finish(call, Status(.deadlineExceeded, "the request did not end in time"), session)
  }

  /// Records the call's outcome, even if the client has gone.
  func settle(_ call: ServerCall, _ code: Status.Code) {
    guard !call.stage.isAnswered else { return }
    if call.stage.isDelivering { load.endedDelivery() }
    call.stage.settle()
    call.span?.end(code, requestID: call.context.trace.requestID)
    worker.meter.ended(
      call.number, code, caller: call.context.caller.label, begunNanos: call.isStreaming ? nil : call.begunNanos)
  }

  /// Updates the meter with the session's stream count.
  func meterStreams(_ sink: Sink) {
    let change = load.meter(streams: sink.streamCount)
    if change != 0 { worker.meter.streams(change) }
  }

  func ended(_ call: ServerCall) {
    load.ended(call.kind)
    if call.kind.follows { endFollowing() }
    if !call.stage.isAnswered {
      _ = call.context.commitDecision.cancel()
      if !call.stage.leave() { worker.leave(call, .cancelled, on: self) }
    }
    if let session { recount(call, session) }
    call.stream.call = nil
    life.used(nowMillis: worker.nowMillis)
  }

  func heedPings(_ session: Session) {
    if session.sink.events.sentReply {
      session.sink.events.sentReply = false
      life.used(nowMillis: worker.nowMillis)
    }
    for _ in 0..<session.sink.events.pingsReceived {
      perform(life.pinged(nowMillis: worker.nowMillis, callsOpen: callsOpen), session)
    }
    session.sink.events.pingsReceived = 0
    if session.sink.events.noticeAnswered {
      session.sink.events.noticeAnswered = false
      perform(life.noticed(nowMillis: worker.nowMillis), session)
    }
  }

  private var callsOpen: Bool { load.calls > 0 }

  func drain() {
    guard let session else {
      // The client connected while the server still accepted: it is served, unless its handshake takes long.
      return worker.startTimer(self, kind: Worker.handshakeTimer, delayMillis: worker.limits.lateHandshakeMillis)
    }
    perform(life.drain(nowMillis: worker.nowMillis), session)
    scheduleLife()
  }

  func lifeFired() {
    guard let session else { return close() }
    perform(life.due(nowMillis: worker.nowMillis, callsOpen: callsOpen), session)
    if !isClosed { scheduleLife() }
  }

  func scheduleLife() {
    let delay = life.nextMillis(callsOpen: callsOpen) - worker.nowMillis
    worker.startTimer(self, kind: Worker.lifeTimer, delayMillis: delay)
  }

  /// Drains the connection because its stream IDs are nearly exhausted.
  func runOut() {
    guard life.isOpen, let session else { return }
    perform(life.drain(nowMillis: worker.nowMillis, .streamIDs), session)
    scheduleLife()
  }

  /// The state of the session that decides whether the connection ends.
  func sessionEnd(_ session: Session) -> ConnectionPhase.SessionEnd {
    ConnectionPhase.SessionEnd(
      isOver: session.isOver, hasFault: session.endedOver != nil, clientLeaves: session.sink.goawayReceived,
      // Calls that arrived before the last GOAWAY and wait for their turn are answered too (RFC 9113, 6.8).
      mayDrain: session.sink.touched.isEmpty && life.isOver(nowMillis: worker.nowMillis, callsOpen: false))
  }

  /// Ends the calls that only watch, when a drain waits for no other call.
  func endWatches(_ session: Session) {
    session.sink.forEachStream { stream in
      guard let call = stream.call as? ServerCall else { return }
      // A client that has not read an earlier message would not read this one either.
      let isHeldBack = call.headSent && session.isHeldBack(stream)
      if call.stream.unsentBytes > 0 || isHeldBack { session.reset(stream, .cancel) }
      fail(call, Status(.unavailable, "the server is going away"))
    }
  }

  private func perform(_ step: Life.Step, _ session: Session) {
    switch step {
    case .nothing: return
    case .ping: session.ping()
    case .announceShutdown:
      beginDraining()
      session.announceShutdown()
    case .shutDown(let why):
      session.shutDown(why)
      scheduleLife()
    case .terminate(let fault):
      worker.log.debug("connection ended", ["address": address, "why": fault.debugData])
      session.terminate(fault)
    case .close: return close()
    }
    worker.queues.addTouched(self)
  }
}
