internal import GRPC
internal import HTTP2
internal import Observability
internal import Reactor

// Limits for requests that a client does not finish, and for responses that it does not read.

extension Connection {
  // MARK: Unfinished requests

  /// Starts the timer for an incomplete connection preface, header block or frame.
  func watchBegun(_ session: Session) {
    guard !timers.contains(.begun), let since = session.begunMillis else { return }
    watchBegun(session, since: max(since, interest.unmutedMillis))
  }

  private func watchBegun(_ session: Session, since: Int64) {
    timers.insert(.begun)
    let delay = since + worker.limits.requestMillis - worker.nowMillis
    worker.startTimer(self, kind: Worker.begunTimer, delayMillis: delay)
  }

  func begunFired() {
    timers.fired(.begun)
    guard let session, let begunMillis = session.begunMillis else { return }
    // While the connection is not read, its input waits in the kernel. The client is not to blame.
    let since = interest.isMuted ? worker.nowMillis : max(begunMillis, interest.unmutedMillis)
    guard worker.nowMillis - since >= worker.limits.requestMillis else { return watchBegun(session, since: since) }
    session.terminate(.slowFrame)
    worker.queues.addTouched(self)
  }

  /// Counts the buffered bytes of a call: an incomplete message, or a complete one whose request has not ended. The
  /// flow-control window for these bytes is already returned. Otherwise every stream of a connection could withhold its
  /// last byte or END_STREAM. The sum therefore has a limit of its own.
  func recount(_ call: ServerCall, _ session: Session) {
    let held = call.bufferedBytes
    load.held(bytes: held - call.heldBytes)
    worker.heldBytes += held - call.heldBytes
    let grows = held > call.heldBytes
    call.heldBytes = held
    guard grows, load.heldBytes > worker.limits.heldRequestBytesMax
      || worker.heldBytes > worker.limits.heldRequestBytesPerReactorMax
    else { return }
    worker.reached(.heldRequestBytes, on: self)
    finish(call, Status(.resourceExhausted, "too many incomplete messages at the same time"), session)
    recount(call, session)
  }

  // MARK: Unread responses

  /// Resets streams whose responses were unread for too long, and starts a timer for the others.
  func watchUntaken(_ session: Session) {
    let due = session.resetUntaken(nowMillis: worker.nowMillis)
    for _ in 0..<session.sink.events.takeUntakenResets() { worker.reached(.untakenAnswer, on: self) }
    let socketDue = socketUntaken.dueMillis(worker.limits.socket)
    guard due != nil || socketDue != nil, timers.start(.untaken) else { return }
    let next = min(due ?? .max, socketDue ?? .max)
    worker.startTimer(self, kind: Worker.untakenTimer, delayMillis: next - worker.nowMillis)
  }

  func untakenFired() {
    timers.fired(.untaken)
    guard let session else { return }
    if let due = socketUntaken.dueMillis(worker.limits.socket), due <= worker.nowMillis {
      worker.reached(.slowSocket, on: self)
      return close()
    }
    watchUntaken(session)
    // Not in `watchUntaken`, which `flush` calls as well: a socket that accepts nothing would be flushed again
    // immediately, in an endless loop.
    if session.wantsToWrite { worker.queues.addTouched(self) }
  }
}
