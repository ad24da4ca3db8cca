internal import Callers
internal import GRPC
internal import HTTP2
internal import Reactor
internal import Services
internal import Store
internal import TLS
internal import API

// API has messages with these names; in this module the names mean the protocol types.
typealias Session = HTTP2.Session
typealias Status = GRPC.Status

/// One client connection: the only place that stacks TLS, HTTP/2 and gRPC.
///
///   socket -> Channel.read -> Session.feed -> (Sink) -> Call.received -> handler      `readPhase`, `process`
///   handler -> Session.respond -> Session.drain -> Channel.write -> socket            `answer`, `flush`
///
/// Lives on one reactor, which calls it in the phases of its turn. These calls never nest.
final class Connection {
  let ticket: Ticket
  let descriptor: Int32
  let address: String
  private let channel: Channel
  /// The worker that owns this connection. `close` breaks the reference cycle at the latest.
  let worker: Worker
  private(set) var session: Session?
  var life: Life
  var certificateName: String?
  var admission = AdmissionCache()
  /// The log already has a line about an unidentified caller on this connection.
  var hasRefusedUnknown = false
  private var out: [UInt8] = []
  private var outOffset = 0
  private var watchesRead = true
  private var watchesWrite = false
  /// The connection is not read until the queued output is sent.
  private(set) var isMuted = false
  private var readWantsWrite = false
  private var writeWantsRead = false
  private(set) var isClosed = false
  /// nghttp2 rejected the input: the connection ends as soon as its GOAWAY is sent.
  private var isBroken = false
  /// The connection ended without an error, and everything was sent.
  private(set) var endsInOrder = false
  /// Time when reading last resumed, in milliseconds.
  private(set) var unmutedMillis: Int64 = 0
  /// Started calls with open streams.
  var callCount = 0
  var streamingCalls = 0
  /// Streaming calls that follow the store.
  var followingCalls = 0
  /// Calls that a drain waits for.
  var holdingCalls = 0
  /// Streaming calls that continue when their client has read the messages sent so far.
  var callsToGoOn = 0
  /// Number of streams that the meter counts.
  var meteredStreams = 0
  /// The reactor has not processed it yet.
  var isNewcomer = true
  /// Buffered bytes of undelivered messages of all calls.
  var heldBytes = 0
  /// Progress of writes that libssl has not accepted yet, and the total number of written bytes.
  var socketUntaken = Untaken()
  private var writtenBytes = 0
  /// Running timers.
  var hasBegunTimer = false
  var hasUntakenTimer = false
  var hasFollowTimer = false
  /// It is on the worker's list of connections to flush at the end of this turn.
  var isTouched = false
  /// It is on a ready list and waits for its share of a turn.
  var isQueued = false

  init(ticket: Ticket, descriptor: Int32, address: String, channel: Channel, worker: Worker) {
    self.ticket = ticket
    self.descriptor = descriptor
    self.address = address
    self.channel = channel
    self.worker = worker
    life = Life(worker.limits.life, nowMillis: worker.nowMillis, jitter: Double.random(in: -1...1))
  }

  var isHandshaking: Bool { session == nil }

  // MARK: In

  func ready(readable: Bool, writable: Bool) {
    if isHandshaking { return worker.queues.addHandshake(self) }
    if writable || (readable && writeWantsRead) { worker.queues.addTouched(self) }
    if readable || (writable && readWantsWrite) { worker.queues.addReader(self) }
  }

  func handshake() {
    guard isHandshaking, !isClosed else { return }
    switch channel.handshake() {
    case .done:
      switch channel.peerName {
      case .none: break
      case .name(let name): certificateName = name
      case .unusable: certificateName = ""
      }
      worker.metrics.handshake(channel.isResumed ? .resumed : .full)
      guard let session = Session(worker.limits.session, worker.sessionPool, nowMillis: worker.nowMillis) else {
        return close()
      }
      self.session = session
      scheduleLife()
      watch(read: true, write: false)
      worker.queues.addTouched(self)
      worker.queues.addReader(self)
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
    guard let session, !isClosed, !isBroken else { return }
    readWantsWrite = false
    var bytesLeft = worker.limits.readBytesPerTurnMax
    var readsLeft = worker.limits.readsPerTurnMax
    // Streams that exceeded the share of an earlier turn come first. The touched connection sends the response to a
    // rejected call, since nothing else may touch it in this turn.
    if !session.sink.touched.isEmpty { worker.queues.addTouched(self) }
    var callsLeft = worker.limits.newCallsPerTurnMax - process(session, callsMax: worker.limits.newCallsPerTurnMax)
    while bytesLeft > 0, readsLeft > 0, callsLeft > 0 {
      guard !leavesTooMuch(session) else {
        isMuted = true
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
          isBroken = true
          return
        }
        // epoll reports further bytes; another read now would often return nothing.
        guard channel.hasPending else { return watchBegun(session) }
      case .wantRead: return watchBegun(session)
      case .wantWrite:
        readWantsWrite = true
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
    if session.sink.pingsReceived > 0 || session.sink.pingAcknowledged { heedPings(session) }
    meterStreams(session.sink)
    for _ in 0..<session.sink.takeRefusedStreams() { worker.reached(.streams, on: self) }
    if session.sink.lastID > worker.limits.session.streamIDMax { runOut() }
    return callsMax - callsLeft
  }

  private func waitForTurn(_ streams: ArraySlice<HTTP2.Stream>, _ session: Session) {
    session.sink.touchAgain(streams)
    worker.queues.addReader(self)
  }

  func take(_ body: [UInt8], of call: ServerCall, _ session: Session) {
    session.consumed(call.stream, bytes: body.count)
    guard call.stage == .receiving else { return }
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
      call.stage = .ready
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
    guard let session, call.stage != .answered else { return }
    settle(call, .ok)
    session.respond(call.stream, head: Replies.okHead, body: message, trailers: Replies.okTrailers)
    life.used(nowMillis: worker.nowMillis)
    worker.queues.addTouched(self)
  }

  func fail(_ call: ServerCall, _ status: Status) {
    guard let session, call.stage != .answered else { return }
    finish(call, status, session)
  }

  func finish(_ call: ServerCall, _ status: Status, _ session: Session) {
    settle(call, status.code)
    if call.headSent {
      session.finish(call.stream, PreparedHeaders(status.fields))
    } else {
      session.respondTrailersOnly(call.stream, Replies.trailersOnly(status))
    }
    life.used(nowMillis: worker.nowMillis)
    worker.queues.addTouched(self)
  }

  private var unsentBytes: Int { out.count - outOffset }

  /// Writes all pending output at the end of the turn, with as few system calls as the socket allows.
  func flush() {
    guard let session, !isClosed else { return }
    writeWantsRead = false
    while true {
      if unsentBytes == 0 {
        if out.isEmpty { out = worker.writeBuffer.take() }
        out.removeAll(keepingCapacity: true)
        outOffset = 0
        guard session.drain(into: &out, bytesMax: worker.limits.writeBufferBytes) else { return close() }
        if out.isEmpty { break }
      }
      switch unsafe out.withUnsafeBytes({ unsafe channel.write(UnsafeRawBufferPointer(rebasing: $0[outOffset...])) }) {
      case .done(let count):
        outOffset += count
        writtenBytes += count
        socketUntaken.look(leftBytes: unsentBytes, takenBytes: writtenBytes, nowMillis: worker.nowMillis)
      case .wantWrite:
        socketUntaken.look(leftBytes: unsentBytes, takenBytes: writtenBytes, nowMillis: worker.nowMillis)
        watchUntaken(session)
        // A broken connection is not read: unread bytes would wake the reactor immediately, again and again.
        return watch(read: !isMuted && !isBroken && session.endedOver == nil, write: true)
      case .wantRead:
        writeWantsRead = true
        return watch(read: true, write: false)
      case .closed, .failed, .tooManyKeyUpdates: return close()
      }
    }
    // A connection without pending output keeps no write buffer.
    worker.writeBuffer.giveBack(out, bytesMax: 2 * worker.limits.writeBufferBytes)
    out = []
    // Processes streams that closed while the responses were sent.
    _ = process(session, callsMax: 0)
    goOn(session)
    if isBroken { return close() }
    if session.isOver || lifeIsOver(session) {
      // nghttp2 may end the session as well, after an error that no compliant client makes.
      endsInOrder = session.endedOver == nil && (!life.isOpen || session.sink.goawayReceived)
      return close()
    }
    if isMuted {
      // epoll does not report bytes that libssl has already read.
      isMuted = false
      unmutedMillis = worker.nowMillis
      worker.queues.addReader(self)
    }
    if session.hasUntaken { watchUntaken(session) }
    watch(read: true, write: readWantsWrite || session.wantsToWrite)
  }

  // MARK: The socket

  private func watch(read: Bool, write: Bool) {
    guard !isClosed, read != watchesRead || write != watchesWrite else { return }
    watchesRead = read
    watchesWrite = write
    worker.watch(self, read: read, write: write)
  }

  private func release(_ stream: HTTP2.Stream) {
    if let call = stream.call as? ServerCall { ended(call) }
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    if let session {
      if let fault = session.endedOver { worker.offended(self, fault) }
      channel.sayGoodbye()
      // A call and its stream reference each other, even if the stream has closed and was not processed since.
      for stream in session.sink.takeTouched() { release(stream) }
      session.sink.forEachStream(release)
    }
    worker.meter.streams(-meteredStreams)
    worker.closed(self)
  }
}
