internal import Callers
internal import GRPC
internal import HTTP2
internal import Identity
internal import Observability
internal import Protobuf
internal import Reactor
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
    let method = worker.callTable.methods[number]
    let caller: Caller
    do throws(CallerRefusal) {
      caller = try admitted(head, to: method)
    } catch {
      if self.caller.isFirstUnknown() { worker.log.call(method.path, of: address, error) }
      return turnAway(stream, error, session, number)
    }
    if caller.isIdentified { session.sink.callerIsIdentified() }
    let call = ServerCall(
      stream, head, number, method, caller, worker.traces.make(head), address: address,
      messageBytesMax: worker.limits.messageBytesMax,
      nowMillis: worker.nowMillis, nowNanos: worker.nowNanos)
    if let tracer = worker.shared.tracer,
      tracer.sampler.samples(call.context.trace, isIdentified: caller.isIdentified)
    {
      call.span = tracer.start(call: method.path, call.context.trace)
    }
    do throws(Failure) {
      try call.admit()
    } catch {
      if self.caller.isLogged(caller) { worker.log.call(call.context, error: error, tookNanos: 0) }
      worker.metrics.outcomes.failed(call.context, error, .permissionDenied)
      call.span?.end(.permissionDenied, requestID: call.context.trace.requestID)
      return turnAway(stream, error, session, number, call)
    }
    if call.isStreaming {
      guard load.streamingCalls < worker.limits.streamingCallsPerConnectionMax else {
        worker.reached(.streamingCalls, on: self)
        let status = Status(.resourceExhausted, "too many streaming calls on one connection")
        worker.meter.refused(number, status.code, caller: caller.label)
        call.span?.end(status.code, requestID: call.context.trace.requestID)
        return session.respondTrailersOnly(stream, Replies.trailersOnly(status, call.context.trace))
      }
    }
    take(call, session)
  }

  /// Logs a failed call. Malformed requests of unidentified callers are logged once per connection, since these callers
  /// can send any number.
  func log(_ call: ServerCall, _ error: any Error, clientGone: Bool = false) {
    let isNonsense = error is ProtobufError || error is HealthService.UnknownService
    if isNonsense, !caller.isLogged(call.context.caller) { return }
    let tookNanos = monotonicNanos() - call.begunNanos
    worker.log.call(call.context, error: error, tookNanos: tookNanos, clientGone: clientGone)
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
      if !head.forwardedCertificate.isEmpty { noteForward() }
      return try caller.identify(
        worker.callTable.callers, authorization: head.authorization, forwarded: head.forwardedCertificate,
        nowMillis: worker.nowMillis)
    } catch {
      guard method.access == .anyone else { throw error }
      return .anyone
    }
  }

  /// Counts an `x-forwarded-client-cert` of a client that is no trusted proxy, and logs the first of each connection.
  private func noteForward() {
    guard caller.ignoresForward(worker.callTable.callers) else { return }
    worker.metrics.refused(.forwardIgnored)
    guard caller.isFirstIgnored() else { return }
    worker.log.warning("x-forwarded-client-cert ignored: its sender is no trusted proxy", ["peer": address])
  }

  /// Applies a reloaded configuration. The calls in flight finish, but a connection drains if the caller of its last
  /// call is no longer valid, or if a call that only watches may not continue.
  func checkCaller(_ callers: CallerTable) {
    guard caller.isCached else { return }
    guard caller.refresh(callers) else { return drain() }
    guard load.followingCalls > 0, let session else { return }
    var mayWatch = true
    session.sink.forEachStream { stream in
      guard let call = stream.call as? ServerCall else { return }
      if !caller.mayContinue(call, callers) { mayWatch = false }
    }
    if !mayWatch { drain() }
  }

  /// Rejects a call that its caller may not make.
  private func turnAway(
    _ stream: HTTP2.Stream, _ error: any Error, _ session: Session, _ method: Int, _ call: ServerCall? = nil
  ) {
    let status = Failures.status(of: error, arena: worker.arena)
    worker.metrics.failed(error, status.code)
    worker.meter.refused(method, status.code, caller: call?.context.caller.label)
    session.respondTrailersOnly(stream, Replies.trailersOnly(status, call?.context.trace))
  }

  /// Rejects a call for its headers.
  private func refuse(_ stream: HTTP2.Stream, _ refusal: Refusal, _ session: Session) {
    worker.meter.refused(nil, refusal.status.code)
    say(refusal, on: stream, session)
  }
}
