package import GRPC
internal import HTTP2
internal import Reactor
internal import TLS
internal import API

/// One connection to a server: many calls at once, each with a completion. Calls may be begun before it is made; it is
/// never made again, a new one takes its place.
public final class Connection {
  public let endpoint: Endpoint
  /// Called once, as soon as no call should be begun here any more: the server goes (calls that it has begun are still
  /// answered), or the connection has ended.
  public var onUnusable: ((_ why: String) -> Void)?
  /// Called once, when calls can leave.
  public var onOpen: (() -> Void)?
  public private(set) var isUsable = true

  private enum Stage { case connecting, handshaking, open, closed }

  private static let connectTimer: UInt32 = 0
  private static let deadlineTimer: UInt32 = 1

  private let driver: Driver
  private let session: ClientSession
  private var ticket = Ticket(slot: 0, generation: 0)
  private var stage = Stage.connecting
  private var addressesLeft: [String]
  private var address = ""
  private var descriptor: Int32 = -1
  private var channel: Channel?
  private var hasTicket = false
  /// When the timer for deadlines fires next.
  private var deadlineMillis = Int64.max
  private var out: [UInt8] = []
  private var outOffset = 0
  private var watchesRead = false
  private var watchesWrite = true
  private var readWantsWrite = false
  private var writeWantsRead = false
  var isTouched = false

  public init(to endpoint: Endpoint, on loop: EventLoop) {
    self.endpoint = endpoint
    driver = loop.driver
    addressesLeft = endpoint.addresses
    guard let session = ClientSession(SessionLimits()) else { preconditionFailure("no memory for a connection") }
    self.session = session
    ticket = driver.adopt(self)
    driver.reactor.startTimer(
      ticket, kind: Connection.connectTimer, delayMillis: endpoint.settings.connectMillis)
    // The next turn begins it: whoever made this has yet to say what it waits for.
    driver.later { [self] in connect() }
  }

  public var wasResumed: Bool { channel?.isResumed ?? false }

  // MARK: Calls

  /// Begins a call with a message behind its frame head. The completion runs once, never before this returns.
  /// - Parameter onMessage: given each message of an answer that is a stream; nil: the answer is one message.
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

  /// Ends a call with CANCELLED, if it has not ended yet; the server is told to stop.
  public func cancel(_ call: CallID) {
    guard let stream = session.sink.stream(call.streamID) else { return }
    abandon(stream, Status(.cancelled, "cancelled here"))
  }

  /// Ends the connection and every call on it.
  public func close() {
    if stage == .open, let channel {
      var last = Array(out[outOffset...])
      // Once a GOAWAY is on its way nghttp2 no longer says which calls were cancelled.
      var isWhole = session.drain(into: &last, bytesMax: .max)
      session.terminate()
      isWhole = session.drain(into: &last, bytesMax: .max) && isWhole
      // What the socket does not take at once is not worth waiting for.
      if isWhole { _ = unsafe last.withUnsafeBytes { unsafe channel.write($0) } }
    }
    close("closed here")
  }

  /// The call ends here and now, whatever the server still says.
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

  /// For what calls here brought, while a completion looks at it.
  var arena: Arena { driver.arena }

  func status(of result: CallResult) -> CallStatus {
    CallStatus(result.answer.status, wasNotProcessed: result.wasNotProcessed, arena: driver.detailsArena)
  }

  // MARK: Time

  func timerFired(_ kind: UInt32) {
    switch kind {
    case Connection.connectTimer: if stage != .open { close("no connection within the time allowed") }
    default: endLateCalls()
    }
  }

  /// One timer for all calls: most are answered long before it fires, and then it looks for the next.
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

  private func connect() {
    guard stage == .connecting else { return }
    var why = "the host has no address"
    while !addressesLeft.isEmpty {
      address = addressesLeft.removeFirst()
      do {
        descriptor = try beginConnection(address: address, port: endpoint.settings.port)
        try driver.reactor.watch(descriptor, ticket, read: false, write: true)
        return
      } catch {
        why = "\(error)"
        forgetSocket()
      }
    }
    close(why)
  }

  private func connected() {
    do {
      try connectionResult(descriptor, address: address, port: endpoint.settings.port)
    } catch {
      forgetSocket()
      return addressesLeft.isEmpty ? close("\(error)") : connect()
    }
    let ticket = endpoint.settings.resumesSessions ? driver.tickets[ObjectIdentifier(endpoint)] : nil
    channel = Channel(endpoint.context, descriptor: descriptor, serverName: endpoint.serverName, ticket: ticket)
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
    // What was never watched cannot be unwatched, and needs not.
    try? driver.reactor.unwatch(descriptor)
    closeDescriptor(descriptor)
    descriptor = -1
    (watchesRead, watchesWrite) = (false, true)
  }

  /// A ticket comes after the handshake, and each is best used once.
  private func keepTicket() {
    guard endpoint.settings.resumesSessions, !hasTicket, let ticket = channel?.ticket else { return }
    driver.tickets[ObjectIdentifier(endpoint)] = ticket
    hasTicket = true
  }

  // MARK: In

  func ready(readable: Bool, writable: Bool) {
    switch stage {
    case .connecting: connected()
    case .handshaking: handshake()
    case .open:
      if writable || (readable && writeWantsRead) { driver.touch(self) }
      if readable || (writable && readWantsWrite) { readMore() }
    case .closed: break
    }
  }

  /// Reads what is there, up to a fair share.
  func readMore() {
    guard stage == .open, let channel else { return }
    readWantsWrite = false
    var bytesLeft = 262_144
    while bytesLeft > 0 {
      switch unsafe channel.read(into: driver.readBuffer) {
      case .done(let count):
        bytesLeft -= count
        let alive = unsafe session.feed(UnsafeRawBufferPointer(rebasing: driver.readBuffer[..<count]))
        driver.touch(self)
        process()
        guard stage == .open else { return }
        guard alive else { return close("the server broke the rules of HTTP/2") }
        // The kernel has more only if epoll says so again: no read that would come back empty.
        guard channel.hasPending else { return keepTicket() }
      case .wantRead: return
      case .wantWrite:
        readWantsWrite = true
        return driver.touch(self)
      case .closed: return close("the server closed the connection")
      case .tooManyKeyUpdates: return close("the server changes its keys without end")
      case .failed(let why): return close("the connection failed: \(why)")
      }
    }
    driver.leaveOver(self)
  }

  /// Looks at what nghttp2 reported and runs the completions of calls that ended.
  private func process() {
    // First, so that a completion begins its next call elsewhere.
    if session.sink.goneAfter != nil { becomeUnusable("the server goes") }
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
      // Who was told enough may have cancelled the call.
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

  /// End of the turn: everything there is to say, gathered and written as few times as the socket takes it.
  func flush() {
    guard stage == .open, let channel else { return }
    writeWantsRead = false
    let bufferBytes = 65_536
    while true {
      if outOffset == out.count {
        out.removeAll(keepingCapacity: out.capacity <= 2 * bufferBytes)
        outOffset = 0
        guard session.drain(into: &out, bytesMax: bufferBytes) else { return close("no memory for a connection") }
        if out.isEmpty { break }
      }
      switch unsafe out.withUnsafeBytes({ unsafe channel.write(UnsafeRawBufferPointer(rebasing: $0[outOffset...])) }) {
      case .done(let count): outOffset += count
      case .wantWrite: return watch(read: true, write: true)
      case .wantRead:
        writeWantsRead = true
        return watch(read: true, write: false)
      case .closed: return close("the server closed the connection")
      case .tooManyKeyUpdates: return close("the server changes its keys without end")
      case .failed(let why): return close("the connection failed: \(why)")
      }
    }
    // Streams that closed while frames were sent are reported now.
    process()
    guard stage == .open else { return }
    if session.isOver { return close("the server has gone") }
    watch(read: true, write: readWantsWrite || session.wantsToWrite)
  }

  private func watch(read: Bool, write: Bool) {
    guard stage != .closed, read != watchesRead || write != watchesWrite else { return }
    watchesRead = read
    watchesWrite = write
    do {
      try driver.reactor.change(descriptor, ticket, read: read, write: write)
    } catch {
      close("\(error)")
    }
  }
}
