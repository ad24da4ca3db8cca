internal import GRPC
internal import HTTP2

// What a client may begin without ending it, and ask for without taking it.

extension Connection {
  // MARK: Begun and not ended

  /// A greeting, a header block or a frame of which the rest is missing has its time.
  func watchBegun(_ session: Session) {
    guard !hasBegunTimer, let since = session.begunMillis else { return }
    watchBegun(session, since: max(since, unmutedMillis))
  }

  private func watchBegun(_ session: Session, since: Int64) {
    hasBegunTimer = true
    let delay = since + worker.limits.requestMillis - worker.nowMillis
    worker.startTimer(self, kind: Worker.begunTimer, delayMillis: delay)
  }

  func begunFired() {
    hasBegunTimer = false
    guard let session, let begunMillis = session.begunMillis else { return }
    // While it is not listened to, what it sends lies in the kernel: that is none of its doing.
    let since = isMuted ? worker.nowMillis : max(begunMillis, unmutedMillis)
    guard worker.nowMillis - since >= worker.limits.requestMillis else { return watchBegun(session, since: since) }
    session.terminate(.slowFrame)
    worker.queues.addTouched(self)
  }

  /// Counts what is kept of a call's message that is not whole, or whole and not the end of its request. The window for
  /// it was given back already, or as many calls as a connection has streams could each keep the last byte back, or the
  /// end behind it; so the sum has a limit of its own.
  func recount(_ call: ServerCall, _ session: Session) {
    let held = call.bufferedBytes
    heldBytes += held - call.heldBytes
    worker.heldBytes += held - call.heldBytes
    let grows = held > call.heldBytes
    call.heldBytes = held
    guard grows, heldBytes > worker.limits.heldRequestBytesMax
      || worker.heldBytes > worker.limits.heldRequestBytesPerReactorMax
    else { return }
    worker.reached(.heldRequestBytes, on: self)
    finish(call, Status(.resourceExhausted, "too many messages come in parts at once"), session)
    recount(call, session)
  }

  // MARK: Asked for and not taken

  /// Resets what was left untaken for too long, and has the rest looked at when it may be.
  func watchUntaken(_ session: Session) {
    let due = session.resetUntaken(nowMillis: worker.nowMillis)
    for _ in 0..<session.sink.takeUntakenResets() { worker.reached(.untakenAnswer, on: self) }
    let socketDue = socketUntaken.dueMillis(worker.limits.socket)
    guard !hasUntakenTimer, due != nil || socketDue != nil else { return }
    hasUntakenTimer = true
    let next = min(due ?? .max, socketDue ?? .max)
    worker.startTimer(self, kind: Worker.untakenTimer, delayMillis: next - worker.nowMillis)
  }

  func untakenFired() {
    hasUntakenTimer = false
    guard let session else { return }
    if let due = socketUntaken.dueMillis(worker.limits.socket), due <= worker.nowMillis {
      worker.reached(.slowSocket, on: self)
      return close()
    }
    watchUntaken(session)
    // Here and not above, which a flush calls as well: a socket that takes nothing would be flushed again at once, and
    // for ever.
    if session.wantsToWrite { worker.queues.addTouched(self) }
  }
}
