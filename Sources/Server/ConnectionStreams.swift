internal import GRPC
internal import HTTP2
internal import Services
internal import Wire

/// Calls whose messages come and go while they last.
extension Connection {
  /// Gives a streaming call what came for it, in parts, until they held so many messages; returns how many they held.
  func converse(_ call: ServerCall, messagesMax: Int, _ session: Session) -> Int {
    let before = call.messagesReceived
    repeat {
      take(call.stream.takeBody(most: worker.limits.streamPartBytes), of: call, session)
    } while !call.stream.body.isEmpty && call.messagesReceived - before < messagesMax
    return call.messagesReceived - before
  }

  func converse(_ call: ServerCall, _ messages: [Message], last: Bool, _ session: Session) {
    do {
      call.messagesReceived += messages.count
      for message in messages {
        guard call.stage == .receiving, let step = try call.handle(message, arena: worker.arena) else { break }
        send(call, step, session)
      }
      if last, call.stage == .receiving, let step = call.clientEnded(arena: worker.arena) { send(call, step, session) }
    } catch {
      let status = Failures.status(of: error, arena: worker.arena)
      worker.metrics.failed(error, status.code)
      finish(call, status, session)
    }
  }

  private func send(_ call: ServerCall, _ step: StreamStep, _ session: Session) {
    if !step.messages.isEmpty || step.isLast, !call.headSent {
      call.headSent = true
      session.start(call.stream, Replies.okHead)
    }
    for message in step.messages { session.send(call.stream, message) }
    if step.isLast {
      settle(call, .ok)
      session.finish(call.stream, Replies.okTrailers)
    }
    // A client that asks without taking the answers is not worth the memory, nor the work on what else it asked.
    if session.sink.unsentBytes > worker.limits.unsentBytesMax {
      worker.reached(.unsentBytes, on: self)
      settle(call, .resourceExhausted)
      session.reset(call.stream, .enhanceYourCalm)
    }
    life.used(nowMillis: worker.nowMillis)
    worker.touch(self)
  }

  /// Something that streaming calls may watch has changed.
  func wakeStreams() {
    guard let session else { return }
    session.sink.forEachStream { stream in
      guard let call = stream.call as? ServerCall, call.stage == .receiving,
        let step = call.woken(arena: worker.arena)
      else { return }
      send(call, step, session)
    }
  }
}
