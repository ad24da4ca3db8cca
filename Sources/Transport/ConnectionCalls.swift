internal import Callers
internal import GRPC
internal import HTTP2
internal import Identity
internal import Observability
internal import Protobuf
internal import Services

/// Start of a call: reads its headers, identifies its caller and finds its method.
extension Connection {
  func begin(_ stream: HTTP2.Stream, _ session: Session) {
    if stream.headersTooLarge {
      worker.reached(.headerList, on: self)
      return refuse(stream, Refusal(.resourceExhausted, "the header list is larger than allowed"), session)
    }
    guard session.sink.unsentBytes <= worker.limits.unsentBytesMax else {
      worker.reached(.unsentBytes, on: self)
      return refuse(stream, Refusal(.resourceExhausted, "the client has not read earlier responses"), session)
    }
    var reader = HeadReader()
    stream.headers.forEach { reader.field(name: $0, value: $1) }
    let head: RequestHead
    switch reader.finish() {
    case .success(let accepted): head = accepted
    case .failure(let refusal): return refuse(stream, refusal, session)
    }
    guard let number = worker.shared.methodTable[head.path] else {
      return refuse(stream, Refusal(.unimplemented, "no such method"), session)
    }
    let method = worker.shared.methods[number]
    let caller: Caller
    do throws(CallerRefusal) {
      caller = try admitted(head, to: method)
    } catch {
      if self.caller.isFirstUnknown() { worker.log.call(method.path, of: address, error) }
      return turnAway(stream, error, session, number)
    }
    if caller.isIdentified { session.sink.callerIsIdentified() }
    let call = ServerCall(
      stream, head, number, method, caller, address: address, messageBytesMax: worker.limits.messageBytesMax,
      nowMillis: worker.nowMillis, nowNanos: worker.nowNanos)
    do throws(Failure) {
      try call.admit()
    } catch {
      worker.log.call(call.context, error: error)
      return turnAway(stream, error, session, number)
    }
    if call.isStreaming {
      guard load.streamingCalls < worker.limits.streamingCallsPerConnectionMax else {
        worker.reached(.streamingCalls, on: self)
        let refusal = Refusal(.resourceExhausted, "too many streaming calls on one connection")
        return refuse(stream, refusal, session, method: number)
      }
    }
    take(call, session)
  }

  /// Logs a failed call. Malformed requests of unidentified callers are logged once per connection, since these callers
  /// can send any number.
  func log(_ call: ServerCall, _ error: any Error, clientGone: Bool = false) {
    let isNonsense = error is ProtobufError || error is HealthService.UnknownService
    if isNonsense, !call.context.caller.isIdentified, !caller.isFirstUnknown() { return }
    worker.log.call(call.context, error: error, clientGone: clientGone)
  }

  private func take(_ call: ServerCall, _ session: Session) {
    load.began(call.kind)
    if call.kind.follows { beginFollowing() }
    worker.meter.began(call.number)
    call.stream.call = call
    life.used(nowMillis: worker.nowMillis)
    if call.isStreaming || !call.stream.ended { scheduleDeadline(call) }
    if call.deadlineMillis <= worker.nowMillis {
      finish(call, Status(.deadlineExceeded, "Deadline Exceeded"), session)
    }
  }

  private func admitted(_ head: RequestHead, to method: Method) throws(CallerRefusal) -> Caller {
    do throws(CallerRefusal) {
      guard !head.hasSeveralAuthorizations else { throw .ambiguous }
      return try caller.identify(worker.shared.callers, authorization: head.authorization)
    } catch {
      guard method.access == .anyone else { throw error }
      return .anyone
    }
  }

  /// Rejects a call that its caller may not make.
  private func turnAway(_ stream: HTTP2.Stream, _ error: any Error, _ session: Session, _ method: Int) {
    let status = Failures.status(of: error, arena: worker.arena)
    worker.metrics.failed(error, status.code)
    worker.meter.refused(method, status.code)
    session.respondTrailersOnly(stream, Replies.trailersOnly(status))
  }

  /// Rejects a call after its headers. `method` is `nil` if the service has no such method.
  private func refuse(_ stream: HTTP2.Stream, _ refusal: Refusal, _ session: Session, method: Int? = nil) {
    worker.meter.refused(method, refusal.status.code)
    say(refusal, on: stream, session)
  }
}
