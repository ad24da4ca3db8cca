internal import GRPC
internal import HTTP2
internal import Observability
internal import Services

/// Streaming calls, which receive and send messages until they end.
extension Connection {
  /// Passes received bytes to a streaming call, in parts, until they contain `messagesMax` messages. Returns the number
  /// of messages.
  func converse(_ call: ServerCall, messagesMax: Int, _ session: Session) -> Int {
    let before = call.messagesReceived
    repeat {
      guard !call.stage.isPaused else { break }
      take(call.stream.takeBody(most: worker.limits.streamPartBytes), of: call, session)
    } while call.stream.untakenBodyBytes > 0 && call.messagesReceived - before < messagesMax
    return call.messagesReceived - before
  }

  func converse(_ call: ServerCall, _ messages: [Message], last: Bool, _ session: Session) {
    call.messagesReceived += messages.count
    hear(call, messages[...], last: last, session)
  }

  private func hear(_ call: ServerCall, _ messages: ArraySlice<Message>, last: Bool, _ session: Session) {
    do {
      var waiting = messages
      while call.stage.isReceiving, let message = waiting.popFirst(),
        let step = try call.handle(message, arena: worker.arena)
      {
        send(call, step, session)
        seekWork(call)
      }
      guard !call.stage.isPaused else { return call.stage.keep(CallStage.Waiting(messages: waiting, last: last)) }
      if last, call.stage.isReceiving, let step = call.clientEnded(arena: worker.arena) { send(call, step, session) }
    } catch {
      let status = Failures.status(of: error, arena: worker.arena)
      log(call, error)
      worker.metrics.failed(error, status.code)
      worker.metrics.outcomes.failed(call.context, error, status.code)
      finish(call, status, session)
    }
  }

  func send(_ call: ServerCall, _ step: StreamStep, _ session: Session) {
    let leftBytes = call.stream.unsentBytes
    if !step.messages.isEmpty || step.isLast, !call.headSent {
      call.headSent = true
      session.start(call.stream, worker.heads.head(of: call.context.trace))
    }
    for message in step.messages { session.send(call.stream, message) }
    if step.isLast {
      if call.hasWorked { worker.log.call(call.context, outcome: "OK", tookNanos: worker.nowNanos - call.begunNanos) }
      settle(call, .ok)
      session.finish(call.stream, Replies.okTrailers)
    }
    // A client that sends requests without reading the responses must not use memory, nor cause work on further
    // requests. Unread output of the connection's other calls does not count here: it only rejects new calls. Nor does
    // a single long response after all earlier ones were read.
    if leftBytes > 0, call.stream.unsentBytes > worker.limits.unsentBytesMax {
      worker.reached(.unsentBytes, on: self)
      settle(call, .resourceExhausted)
      session.reset(call.stream, .enhanceYourCalm)
    }
    life.used(nowMillis: worker.nowMillis)
    worker.queues.addTouched(self)
  }

  // MARK: Work of streaming calls

  /// Queues the call's work for the next phase of a turn that may read the store.
  /// - Parameter waiting: input that waits for the end of earlier work.
  func seekWork(_ call: ServerCall, _ waiting: CallStage.Waiting? = nil) {
    guard call.stage.isReceiving, call.stream.unsentBytes == 0,
      let work = call.nextWork(nowMillis: worker.nowMillis)
    else { return }
    call.stage.start(waiting)
    call.hasWorked = !call.kind.follows
    worker.queues.addBeginning(work, of: call, on: self)
  }

  func worked(_ call: ServerCall, _ value: any Sendable) {
    guard let session, call.stage.isWorking else { return }
    do {
      guard let step = try call.worked(value, nowMillis: worker.nowMillis, arena: worker.arena) else { return }
      call.stage.deliver()
      load.beganDelivery()
      send(call, step, session)
    } catch {
      worker.refuse(call, error, on: self)
    }
  }

  /// Continues the calls whose clients have read all messages sent to them.
  func goOn(_ session: Session) {
    guard load.deliveringCalls > 0 else { return }
    session.sink.forEachStream { stream in
      guard let call = stream.call as? ServerCall, call.stage.isDelivering, stream.unsentBytes == 0 else {
        return
      }
      load.endedDelivery()
      let waiting = call.stage.resume()
      seekWork(call, waiting)
      guard !call.stage.isPaused else { return }
      if let waiting { hear(call, waiting.messages, last: waiting.last, session) }
      // Input that arrived during the work is buffered on the stream, or waits for its window.
      session.sink.touchAgain([stream])
      worker.queues.addReader(self)
    }
  }

  /// Notifies streaming calls of a change that they may watch.
  func wakeStreams() {
    guard let session else { return }
    session.sink.forEachStream { stream in
      guard let call = stream.call as? ServerCall, call.stage.isOpen,
        let step = call.woken(arena: worker.arena)
      else { return }
      send(call, step, session)
    }
  }
}
