package import GRPC
internal import HTTP2
internal import Reactor
internal import TLS
internal import API
internal import Protobuf

/// One connection to a server, with many concurrent calls.
///
/// Calls may begin before the connection is established. A connection never reconnects; open a new one instead.
public final class Connection {
  public let endpoint: Endpoint
  /// Called once, when the connection takes no more calls.
  ///
  /// Either the server has sent GOAWAY, which lets calls in progress finish, or the connection has ended.
  public var onUnusable: ((_ why: String) -> Void)?
  /// Called once, when the connection is established.
  public var onOpen: (() -> Void)?
  public private(set) var isUsable = true
  /// The number of times that bytes arrived.
  package private(set) var arrivals = 0

  private enum Stage: Equatable {
    /// Connects to `address`; the others follow if it fails.
    case connecting(to: String, others: ArraySlice<String>)
    case handshaking
    case open
    case closed
  }

  private static let connectTimer: UInt32 = 0
  private static let deadlineTimer: UInt32 = 1
  private static let attemptTimer: UInt32 = 2

  private let driver: Driver
  private let session: ClientSession
  private var ticket = Ticket(slot: 0, generation: 0)
  private var stage: Stage
  private let connectEndMillis: Int64
  /// The time at which the next address follows.
  private var attemptEndMillis = Int64.max
  private var descriptor: Int32 = -1
  private var channel: ByteChannel?
  private var hasTicket = false
  /// The time at which the deadline timer fires next.
  private var deadlineMillis = Int64.max
  private var interest = SocketInterest(read: false, write: true)
  private var output = SocketOutput()
  var isTouched = false

  public init(to endpoint: Endpoint, on loop: EventLoop) {
    self.endpoint = endpoint
    driver = loop.driver
    stage = .connecting(to: "", others: endpoint.addresses[...])
    guard let session = ClientSession(SessionLimits()) else { preconditionFailure("no memory for a connection") }
    self.session = session
    connectEndMillis = driver.reactor.nowMillis + endpoint.settings.connectMillis
    ticket = driver.adopt(self)
    driver.reactor.startTimer(
      ticket, kind: Connection.connectTimer, delayMillis: endpoint.settings.connectMillis)
    // Connect in the next turn, so that the creator can set `onOpen` and `onUnusable` first.
    driver.later { [self] in connect("the host has no address") }
  }

  public var wasResumed: Bool { channel?.isResumed ?? false }

  // MARK: Calls

  /// Begins a call. The completion runs once, after this method has returned.
  ///
  /// - Parameter frame: the request message with its gRPC frame header.
  /// - Parameter onMessage: receives each message of a response stream; nil for a unary call.
  package func begin(
    _ head: CallHead, frame: [UInt8], onMessage: ((Message) -> Void)? = nil,
    _ completion: @escaping (CallResult) -> Void
  ) -> CallID? {
    guard isUsable, let stream = session.request(head.fields, body: frame) else {
      let status = Status(.unavailable, "the connection takes no more calls")
      driver.later { completion(CallResult(Answer(status: status), wasNotProcessed: true)) }
      return nil
    }
    let deadline = head.timeoutMillis.map { driver.reactor.nowMillis + $0 } ?? .max
    stream.call = OpenCall(
      AnswerReader(messageBytesMax: endpoint.settings.answerBytesMax, streams: onMessage != nil),
      deadlineMillis: deadline, onMessage: onMessage, completion)
    if deadline < deadlineMillis { armDeadline(deadline) }
    driver.touch(self)
    return CallID(streamID: stream.id)
  }

  /// Ends a call with CANCELLED if it is still in progress, and resets its stream.
  public func cancel(_ call: CallID) {
    guard let stream = session.sink.stream(call.streamID) else { return }
    abandon(stream, Status(.cancelled, "the client cancelled the call"))
  }

  /// Ends the connection and every call on it.
  public func close() {
    if stage == .open, let channel {
      var last = Array(output.unsent)
      // After GOAWAY, nghttp2 no longer sends RST_STREAM for cancelled calls. Drain those frames first.
      var isWhole = session.drain(into: &last, bytesMax: .max)
      session.terminate()
      isWhole = session.drain(into: &last, bytesMax: .max) && isWhole
      // Write once, without waiting for a full socket.
      if isWhole { _ = channel.write(last[...]) }
    }
    close("the client closed the connection")
  }

  /// Ends a call with a status and resets its stream. Ignores all later frames of the server.
  private func abandon(_ stream: ClientStream, _ status: Status) {
    guard let call = take(stream) else { return }
    let result = CallResult(Answer(status: status), wasNotProcessed: !stream.wasSent)
    session.reset(stream, .cancel)
    driver.touch(self)
    driver.later { [driver] in driver.complete(call, result) }
  }

  private func take(_ stream: ClientStream) -> OpenCall? {
    defer { stream.call = nil }
    return stream.call as? OpenCall
  }

  /// The arena for decoding responses.
  var arena: Arena { driver.arena }

  func status(of result: CallResult) -> CallStatus {
    CallStatus(result.answer.status, wasNotProcessed: result.wasNotProcessed, arena: driver.detailsArena)
  }

  // MARK: Time

  func timerFired(_ kind: UInt32) {
    switch kind {
    case Connection.connectTimer: if stage != .open { close("the connection timed out") }
    case Connection.attemptTimer: endLateAttempt()
    default: endLateCalls()
    }
  }

  /// Ends all calls past their deadline and restarts the timer for the next deadline.
  ///
  /// All calls share one timer, because most calls finish long before it fires.
  private func endLateCalls() {
    let now = driver.reactor.nowMillis
    guard now >= deadlineMillis else { return }
    var next = Int64.max
    var late: [ClientStream] = []
    session.sink.forEachStream { stream in
      guard let call = stream.call as? OpenCall else { return }
      if call.deadlineMillis <= now { late.append(stream) } else { next = min(next, call.deadlineMillis) }
    }
    deadlineMillis = .max
    if next < .max { armDeadline(next) }
    for stream in late { abandon(stream, Status(.deadlineExceeded, "Deadline Exceeded")) }
  }

  private func armDeadline(_ millis: Int64) {
    deadlineMillis = millis
    driver.reactor.startTimer(
      ticket, kind: Connection.deadlineTimer, delayMillis: millis - driver.reactor.nowMillis)
  }

  // MARK: Beginning and end

  /// Begins to connect to the next address.
  ///
  /// - Parameter failure: why no earlier address could be reached.
  private func connect(_ failure: String) {
    var why = failure
    while case .connecting(_, var others) = stage, let address = others.popFirst() {
      stage = .connecting(to: address, others: others)
      do {
        descriptor = try beginConnection(address: address, port: endpoint.settings.port)
        try driver.reactor.watch(descriptor, ticket, read: false, write: true)
        return limitAttempt(othersCount: others.count)
      } catch {
        why = "\(error)"
        forgetSocket()
      }
    }
    if case .connecting = stage { close(why) }
  }

  /// Leaves each other address an equal share of the time, because one that drops all packets causes no error.
  private func limitAttempt(othersCount: Int) {
    guard othersCount > 0 else {
      attemptEndMillis = .max
      return
    }
    let now = driver.reactor.nowMillis
    let shareMillis = max(1, (connectEndMillis - now) / Int64(othersCount + 1))
    attemptEndMillis = now + shareMillis
    driver.reactor.startTimer(ticket, kind: Connection.attemptTimer, delayMillis: shareMillis)
  }

  private func endLateAttempt() {
    // The timer may be that of an earlier address.
    guard case .connecting = stage, driver.reactor.nowMillis >= attemptEndMillis else { return }
    forgetSocket()
    connect("the connection timed out")
  }

  private func connected(to address: String) {
    do {
      try connectionResult(descriptor, address: address, port: endpoint.settings.port)
    } catch {
      forgetSocket()
      return connect("\(error)")
    }
    let ticket = endpoint.settings.resumesSessions ? driver.ticket(for: endpoint) : nil
    channel = if endpoint.settings.isPlain {
      .plain(descriptor: descriptor)
    } else {
      Channel(endpoint.context, descriptor: descriptor, serverName: endpoint.serverName, ticket: ticket)
        .map { .tls($0) }
    }
    stage = .handshaking
    handshake()
  }

  private func handshake() {
    guard let channel else { return close("no memory for a connection") }
    switch channel.handshake() {
    case .done:
      guard channel.speaksHTTP2 else { return close("the server does not speak HTTP/2") }
      stage = .open
      watch(read: true, write: false)
      driver.touch(self)
      onOpen?()
      onOpen = nil
      readMore()
    case .wantRead: watch(read: true, write: false)
    case .wantWrite: watch(read: false, write: true)
    case .closed: close("the server ended the handshake")
    case .tooManyKeyUpdates: close("the server changes its keys without end")
    case .failed(let why): close("the handshake failed: " + (channel.refusal ?? why))
    }
  }

  private func close(_ why: String) {
    guard stage != .closed else { return }
    stage = .closed
    keepTicket()
    channel?.sayGoodbye()
    if descriptor >= 0 { forgetSocket() }
    driver.release(ticket)
    for stream in session.sink.takeTouched() { settle(stream) }
    session.sink.forEachStream { stream in
      guard let call = take(stream) else { return }
      let result = CallResult(Answer(status: Status(.unavailable, why)), wasNotProcessed: !stream.wasSent)
      driver.later { [driver] in driver.complete(call, result) }
    }
    becomeUnusable(why)
  }

  private func becomeUnusable(_ why: String) {
    guard isUsable else { return }
    isUsable = false
    onUnusable?(why)
    onUnusable = nil
    onOpen = nil
  }

  private func forgetSocket() {
    guard descriptor >= 0 else { return }
    // This fails harmlessly if the descriptor was never watched.
    try? driver.reactor.unwatch(descriptor)
    closeDescriptor(descriptor)
    descriptor = -1
    interest = SocketInterest(read: false, write: true)
  }

  /// Stores the connection's first session ticket. Tickets arrive after the handshake, and each should be used once.
  private func keepTicket() {
    guard endpoint.settings.resumesSessions, !hasTicket, let ticket = channel?.ticket else { return }
    driver.keep(ticket, for: endpoint)
    hasTicket = true
  }

  // MARK: In

  func ready(readable: Bool, writable: Bool) {
    switch stage {
    case .connecting(let address, _): connected(to: address)
    case .handshaking: handshake()
    case .open:
      if interest.mayWrite(readable: readable, writable: writable) { driver.touch(self) }
      if interest.mayRead(readable: readable, writable: writable) { readMore() }
    case .closed: break
    }
  }

  /// Reads available bytes, up to a fair share.
  func readMore() {
    guard stage == .open, let channel else { return }
    interest.beginReading()
    var bytesLeft = 262_144
    while bytesLeft > 0 {
      switch unsafe channel.read(into: driver.readBuffer) {
      case .done(let count):
        arrivals += 1
        bytesLeft -= count
        let alive = unsafe session.feed(UnsafeRawBufferPointer(rebasing: driver.readBuffer[..<count]))
        driver.touch(self)
        process()
        guard stage == .open else { return }
        guard alive else { return close("the server violated the HTTP/2 protocol") }
        // epoll reports further bytes, so skip a read that would return nothing.
        guard channel.hasPending else { return keepTicket() }
      case .wantRead: return
      case .wantWrite:
        interest.needWriteToRead()
        return driver.touch(self)
      case .closed: return close("the server closed the connection")
      case .tooManyKeyUpdates: return close("the server changes its keys without end")
      case .failed(let why): return close("the connection failed: \(why)")
      }
    }
    driver.leaveOver(self)
  }

  /// Handles the events from nghttp2 and runs the completions of finished calls.
  private func process() {
    // Do this first, so that completions begin their next call on another connection.
    if session.sink.goneAfter != nil { becomeUnusable("the server is shutting down") }
    for stream in session.sink.takeTouched() { settle(stream) }
  }

  private func settle(_ stream: ClientStream) {
    guard let call = stream.call as? OpenCall else { return }
    if stream.headersComplete, !call.hasHead {
      call.hasHead = true
      stream.headers.forEach { call.reader.field(name: $0, value: $1) }
    }
    if let fault = call.reader.received(stream.takeBody()) { return abandon(stream, fault) }
    if let onMessage = call.onMessage {
      for message in call.reader.takeMessages() { onMessage(message) }
      // `onMessage` may have cancelled the call.
      guard stream.call != nil else { return }
    }
    if stream.ended {
      stream.trailers.forEach { call.reader.field(name: $0, value: $1) }
      stream.call = nil
      driver.complete(call, CallResult(call.reader.finish(), wasNotProcessed: false))
    } else if let code = stream.closedWith {
      stream.call = nil
      let isLate = code == .cancel && call.deadlineMillis <= driver.reactor.nowMillis
      let status = Status(
        isLate ? .deadlineExceeded : Status.Code(resetCode: code.rawValue),
        "the server reset the call with HTTP/2 error \(code.rawValue)")
      driver.complete(call, CallResult(Answer(status: status), wasNotProcessed: code == .refusedStream))
    }
  }

  // MARK: Out

  /// Writes all pending frames at the end of a turn, with as few writes as possible.
  func flush() {
    guard stage == .open, let channel else { return }
    interest.beginWriting()
    let bufferBytes = 65_536
    while true {
      if output.unsentBytes == 0 {
        output.clear(keepingUpTo: 2 * bufferBytes)
        guard session.drain(into: &output.bytes, bytesMax: bufferBytes) else {
          return close("no memory for a connection")
        }
        if output.bytes.isEmpty { break }
      }
      switch channel.write(output.unsent) {
      case .done(let count): output.accepted(count)
      case .wantWrite: return watch(read: true, write: true)
      case .wantRead:
        interest.needReadToWrite()
        return watch(read: true, write: false)
      case .closed: return close("the server closed the connection")
      case .tooManyKeyUpdates: return close("the server changes its keys without end")
      case .failed(let why): return close("the connection failed: \(why)")
      }
    }
    // Handle streams that closed while frames were sent.
    process()
    guard stage == .open else { return }
    if session.isOver { return close("the server has shut down") }
    watch(read: true, write: interest.waitsToWrite(hasOutput: session.wantsToWrite))
  }

  private func watch(read: Bool, write: Bool) {
    guard stage != .closed, interest.watch(read: read, write: write) else { return }
    do {
      try driver.reactor.change(descriptor, ticket, read: read, write: write)
    } catch {
      close("\(error)")
    }
  }
}
