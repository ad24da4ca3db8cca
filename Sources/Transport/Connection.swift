internal import GRPC
internal import HTTP2
internal import Observability
internal import Reactor
internal import Services
internal import Store
internal import TLS

/// One client connection: the only place that stacks TLS, HTTP/2 and gRPC.
///
///   socket -> Channel.read -> Session.feed -> (Sink) -> Call.received -> handler      `readPhase`, `process`
///   handler -> Session.respond -> Session.drain -> Channel.write -> socket            `answer`, `flush`
///
/// Lives on one reactor, which calls it in the phases of its turn. These calls never nest.
final class Connection {
  let ticket: Ticket
  let descriptor: Int32
  /// The address of the client, as far as it is known.
  var address: String
  /// The address for which the connection counts; nil for one that a proxy opened, until its client is known.
  var countedAddress: String?
  /// The bytes of an incomplete PROXY header; nil if none is expected any more.
  var proxyHeader: [UInt8]?
  private let channel: Channel
  /// The worker that owns this connection. `close` breaks the reference cycle at the latest.
  let worker: Worker
  /// The session from the end of the handshake on.
  private(set) var session: Session?
  private(set) var phase = ConnectionPhase.handshaking(isNewcomer: true)
  /// The time limits that move the phase.
  var life: Life
  private(set) var interest = SocketInterest(read: true, write: false)
  private var output = SocketOutput()
  /// Progress of writes that libssl has not accepted yet.
  var socketUntaken = Untaken()
  var load = ConnectionLoad()
  var timers: ConnectionTimers = []
  var queues: QueueMembership = []
  var caller = ConnectionCaller()

  /// - Parameter isProxied: the address is that of a proxy, which sends a PROXY header.
  init(ticket: Ticket, descriptor: Int32, address: String, isProxied: Bool, channel: Channel, worker: Worker) {
    self.ticket = ticket
    self.descriptor = descriptor
    self.address = address
    countedAddress = isProxied ? nil : address
    proxyHeader = isProxied ? [] : nil
    self.channel = channel
    self.worker = worker
    life = Life(worker.limits.life, nowMillis: worker.nowMillis, jitter: Double.random(in: -1...1))
  }

  var isHandshaking: Bool { phase.isHandshaking }
  var isClosed: Bool { phase.isClosed }

  // MARK: In

  func ready(readable: Bool, writable: Bool) {
    if isHandshaking { return worker.queues.addHandshake(self) }
    if interest.mayWrite(readable: readable, writable: writable) { worker.queues.addTouched(self) }
    if interest.mayRead(readable: readable, writable: writable) { worker.queues.addReader(self) }
  }

  func handshake() {
    guard isHandshaking, proxyHeader == nil || readProxyHeader() else { return }
    switch channel.handshake() {
    case .done:
      switch channel.peerName {
      case .none: break
      case .name(let name): caller = ConnectionCaller(certificateName: name)
      case .unusable: caller = ConnectionCaller(certificateName: "")
      }
      worker.metrics.handshake(channel.isResumed ? .resumed : .full)
      guard let session = Session(worker.limits.session, worker.sessionPool, nowMillis: worker.nowMillis) else {
        return close()
      }
      self.session = session
      phase.established()
      scheduleLife()
      watch(read: true, write: false)
      worker.queues.addTouched(self)
      worker.queues.addReader(self)
      if worker.draining { drain() }
    case .wantRead: watch(read: true, write: false)
    case .wantWrite: watch(read: false, write: true)
    case .closed, .tooManyKeyUpdates:
      worker.metrics.handshake(.closed)
      close()
    case .failed(let why):
      worker.metrics.handshake(.failed(channel.fault ?? .other))
      worker.log.debug("handshake failed", ["address": address, "why": why])
      close()
    }
  }

  /// Reads available bytes up to the fair share, and starts complete calls.
  func readPhase() {
    guard let session, phase == .serving || phase == .draining else { return }
    interest.beginReading()
    var bytesLeft = worker.limits.readBytesPerTurnMax
    var readsLeft = worker.limits.readsPerTurnMax
    // Streams that exceeded the share of an earlier turn come first. The touched connection sends the response to a
    // rejected call, since nothing else may touch it in this turn.
    if !session.sink.touched.isEmpty { worker.queues.addTouched(self) }
    var callsLeft = worker.limits.newCallsPerTurnMax - process(session, callsMax: worker.limits.newCallsPerTurnMax)
    while bytesLeft > 0, readsLeft > 0, callsLeft > 0 {
      guard !leavesTooMuch(session) else {
        interest.mute()
        return worker.queues.addTouched(self)
      }
      switch unsafe channel.read(into: worker.readBuffer) {
      case .done(let count):
        bytesLeft -= count
        readsLeft -= 1
        life.read(nowMillis: worker.nowMillis)
        let alive = unsafe session.feed(
          UnsafeRawBufferPointer(rebasing: worker.readBuffer[..<count]), nowMillis: worker.nowMillis)
        worker.queues.addTouched(self)
        callsLeft -= process(session, callsMax: callsLeft)
        guard alive else {
          phase.rejectedInput()
          return
        }
        // epoll reports further bytes; another read now would often return nothing.
        guard channel.hasPending else { return watchBegun(session) }
      case .wantRead: return watchBegun(session)
      case .wantWrite:
        interest.needWriteToRead()
        return worker.queues.addTouched(self)
      case .tooManyKeyUpdates:
        worker.offended(self, .tooManyKeyUpdates)
        return close()
      case .closed: return close()
      case .failed(let why):
        worker.log.debug("connection failed", ["address": address, "why": why])
        return close()
      }
    }
    worker.queues.addReader(self)
  }

  /// Whether the client leaves too much output unread, so that its connection is not read either. Output that waits for
  /// flow-control windows does not count: the server must read to receive their updates.
  private func leavesTooMuch(_ session: Session) -> Bool {
    let unsentBytes = output.unsentBytes
    let socketIsFull = unsentBytes > 0 && unsentBytes + session.sink.unsentBytes > worker.limits.unsentBytesMax
    guard socketIsFull || session.queuedFrames > worker.limits.queuedFramesMax else { return false }
    worker.reached(.unreadFrames, on: self)
    return true
  }

  /// Processes the streams that nghttp2 reported, until `callsMax` calls have started. Returns the number of started
  /// calls.
  private func process(_ session: Session, callsMax: Int) -> Int {
    var callsLeft = callsMax
    let touched = session.sink.takeTouched()
    for (index, stream) in touched.enumerated() {
      let isNew = stream.call == nil && stream.headersComplete && !stream.isClosed && !stream.answered
      if isNew, callsLeft > 0 {
        callsLeft -= 1
        begin(stream, session)
        stream.dropHeaders()
      } else if isNew {
        waitForTurn(touched[index...], session)
        break
      }
      guard let call = stream.call as? ServerCall else { continue }
      if stream.isClosed {
        ended(call)
      } else if call.isStreaming {
        if callsLeft > 0 { callsLeft -= converse(call, messagesMax: callsLeft, session) }
        guard callsLeft > 0 else {
          waitForTurn(touched[index...], session)
          break
        }
      } else {
        take(stream.takeBody(), of: call, session)
      }
    }
    if session.sink.events.hasPing { heedPings(session) }
    meterStreams(session.sink)
    for _ in 0..<session.sink.events.takeRefusedStreams() { worker.reached(.streams, on: self) }
    if session.sink.lastID > worker.limits.session.streamIDMax { runOut() }
    return callsMax - callsLeft
  }

  private func waitForTurn(_ streams: ArraySlice<HTTP2.Stream>, _ session: Session) {
    session.sink.touchAgain(streams)
    worker.queues.addReader(self)
  }

  func take(_ body: [UInt8], of call: ServerCall, _ session: Session) {
    session.consumed(call.stream, bytes: body.count)
    guard call.stage.isOpen else { return }
    carryOut(call, call.received(body, ended: call.stream.ended && call.stream.untakenBodyBytes == 0), session)
    recount(call, session)
  }

  /// Performs the step that a call's state machine returned.
  private func carryOut(_ call: ServerCall, _ step: Call.Step, _ session: Session) {
    switch step {
    case .wait: break
    case .refuse(let refusal):
      if refusal.status.code == .resourceExhausted { worker.reached(.messageBytes, on: self) }
      // A streaming call may have started its response: then only trailers can carry the status.
      guard !call.headSent else { return finish(call, refusal.status, session) }
      settle(call, refusal.status.code)
      say(refusal, on: call.stream, session)
    case .ready(let message):
      call.stage.completeRequest()
      worker.queues.addUndecided(call, message, on: self)
    case .messages(let messages, let last): converse(call, messages, last: last, session)
    }
  }

  func say(_ refusal: Refusal, on stream: HTTP2.Stream, _ session: Session) {
    if refusal.form == .reset {
      session.reset(stream, .internalError)
    } else {
      session.respondTrailersOnly(stream, Replies.refusal(refusal))
    }
  }

  // MARK: Out

  /// Sends a unary call's response, unless the call has ended.
  func answer(_ call: ServerCall, _ message: [UInt8]) {
    guard let session, !call.stage.isAnswered else { return }
    settle(call, .ok)
    let head = worker.heads.head(of: call.context.trace)
    session.respond(call.stream, head: head, body: message, trailers: Replies.okTrailers)
    life.used(nowMillis: worker.nowMillis)
    worker.queues.addTouched(self)
  }

  func fail(_ call: ServerCall, _ status: Status) {
    guard let session, !call.stage.isAnswered else { return }
    finish(call, status, session)
  }

  func finish(_ call: ServerCall, _ status: Status, _ session: Session) {
    settle(call, status.code)
    if call.headSent {
      session.finish(call.stream, PreparedHeaders(status.fields))
    } else {
      session.respondTrailersOnly(call.stream, Replies.trailersOnly(status, call.context.trace))
    }
    life.used(nowMillis: worker.nowMillis)
    worker.queues.addTouched(self)
  }

  /// Writes all pending output at the end of the turn, with as few system calls as the socket allows.
  func flush() {
    guard let session, !isClosed else { return }
    interest.beginWriting()
    while true {
      if output.unsentBytes == 0 {
        if output.bytes.isEmpty { output.bytes = worker.writeBuffer.take() }
        output.clear()
        guard session.drain(into: &output.bytes, bytesMax: worker.limits.writeBufferBytes) else { return close() }
        if output.bytes.isEmpty { break }
      }
      switch channel.write(output.unsent) {
      case .done(let count):
        output.accepted(count)
        lookAtSocket()
      case .wantWrite:
        lookAtSocket()
        watchUntaken(session)
        // A closing connection is not read: unread bytes would wake the reactor immediately, again and again.
        let mayRead = !interest.isMuted && phase != .closing && session.endedOver == nil
        return watch(read: mayRead, write: true)
      case .wantRead:
        interest.needReadToWrite()
        return watch(read: true, write: false)
      case .closed, .failed, .tooManyKeyUpdates: return close()
      }
    }
    // A connection without pending output keeps no write buffer.
    worker.writeBuffer.giveBack(output.takeBuffer(), bytesMax: 2 * worker.limits.writeBufferBytes)
    // Processes streams that closed while the responses were sent.
    _ = process(session, callsMax: 0)
    goOn(session)
    switch phase.sentOutput(sessionEnd(session), load) {
    case .close(let kind): return close(kind)
    case .endWatches: endWatches(session)
    case .continue: break
    }
    // epoll does not report bytes that libssl has already read.
    if interest.unmute(nowMillis: worker.nowMillis) { worker.queues.addReader(self) }
    if session.hasUntaken { watchUntaken(session) }
    watch(read: true, write: interest.waitsToWrite(hasOutput: session.wantsToWrite))
  }

  private func lookAtSocket() {
    socketUntaken.look(
      leftBytes: output.unsentBytes, takenBytes: output.acceptedBytes, nowMillis: worker.nowMillis)
  }

  // MARK: The socket

  private func watch(read: Bool, write: Bool) {
    guard !isClosed, interest.watch(read: read, write: write) else { return }
    worker.watch(self, read: read, write: write)
  }

  // MARK: The phase

  /// The reactor has processed the connection: from now on it does not count as a newcomer.
  func processed() {
    if phase.processed() { worker.forgetNewcomer() }
  }

  func beginDraining() { phase.drain() }

  private func release(_ stream: HTTP2.Stream) {
    if let call = stream.call as? ServerCall { ended(call) }
  }

  func close(_ kind: ConnectionPhase.CloseKind = .abrupt) {
    processed()
    guard phase.close(kind) else { return }
    if let session {
      if let fault = session.endedOver { worker.offended(self, fault) }
      channel.sayGoodbye()
      // A call and its stream reference each other, even if the stream has closed and was not processed since.
      for stream in session.sink.takeTouched() { release(stream) }
      session.sink.forEachStream(release)
    }
    worker.meter.streams(-load.meteredStreams)
    worker.closed(self, kind)
  }
}
