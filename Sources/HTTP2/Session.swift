// HTTP2: one connection over nghttp2, without I/O.
//
// Owns: feeding and draining of frames, the streams with their header blocks and bodies, abuse budgets, the life of a
// connection (keepalive, age, drain).
// Does not own: bytes on a socket (TLS), what a header or a body means (GRPC), timers (Server tells the time).
// Read next: Sink.swift for what comes in, Stream.swift, then Budget.swift, Life.swift and Untaken.swift; for the other
// end ClientSession.swift.

internal import CNghttp2

/// Drives nghttp2: feed what was read, look at `sink`, answer, drain what is to be written.
///
/// Callbacks write to the `Sink` only. The two are separate objects because nghttp2 calls back while it is being fed,
/// and Swift forbids touching the same storage twice at once. Nothing is fed or drained from a callback.
@safe package final class Session {
  package let sink: Sink
  private let session: OpaquePointer
  /// Outlives the session, which takes its memory from it.
  private let pool: SessionPool?
  /// The first SETTINGS frame, until it is drained.
  private var greeting: [UInt8]
  /// The first GOAWAY of a shutdown is to be followed by a PING.
  private var pingsAfterNotice = false
  private var frameHeads: FrameHeads
  /// Streams whose trailers found no room behind all of their data.
  private var owing: Set<Int32> = []
  /// The fault over which the connection ends, once one is there.
  package private(set) var endedOver: Fault?

  /// Returns nil without memory.
  /// - Parameter pool: the pool of this thread; without one, memory comes from malloc.
  package init?(_ limits: SessionLimits, _ pool: SessionPool? = nil, nowMillis: Int64) {
    sink = Sink(limits, nowMillis: nowMillis)
    frameHeads = FrameHeads(nowMillis: nowMillis)
    self.pool = pool
    guard let session = unsafe Session.make(sink, limits, pool) else { return nil }
    unsafe self.session = session
    unsafe sink.attach(session)
    greeting = []
    let settings = [
      // Twice what the client is told (see `greet`): nghttp2 would end the whole connection over one stream too many,
      // where RFC 9113 5.1.2 lets us refuse that stream, which a client then sends again.
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(limits.streamsMax * 2)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(limits.streamWindowBytes)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(limits.headerListBytesMax)),
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL.rawValue), value: 0),
    ]
    // SETTINGS come first (RFC 9113 3.4); without them nghttp2 would admit any number of streams.
    guard unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count) == 0,
      unsafe nghttp2_session_set_local_window_size(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(limits.connectionWindowBytes)) == 0
    else { return nil }
    greet()
  }

  deinit { unsafe nghttp2_session_del(session) }

  /// Gives nghttp2 what was read. False: the connection is broken beyond an answer; drain what it still says, then
  /// close.
  package func feed(_ bytes: UnsafeRawBufferPointer, nowMillis: Int64) -> Bool {
    // Nothing that follows a fault changes how the connection ends.
    guard endedOver == nil else { return true }
    sink.nowMillis = nowMillis
    unsafe frameHeads.read(bytes, nowMillis: nowMillis, sink.met)
    // nghttp2 would give up over some of it without a GOAWAY.
    if let fault = sink.fault {
      terminate(fault)
      return true
    }
    var (isAlive, fed) = (true, 0)
    // What is before such a frame is fed first, so that it is judged by what the connection has become.
    for frame in sink.takeDoubtful() where isAlive {
      let start = max(fed, frame.start)
      isAlive = unsafe receive(bytes[fed..<start])
      fed = start
      sink.beganData(frame.head)
    }
    if isAlive { isAlive = unsafe receive(bytes[fed...]) }
    if let fault = sink.fault { terminate(fault) }
    return isAlive
  }

  private func receive(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes)
    guard unsafe !bytes.isEmpty else { return true }
    let received = unsafe nghttp2_session_mem_recv(
      session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    return received == bytes.count
  }

  /// Since when the greeting, a header block or a frame has begun and is not whole; nil: none is under way.
  package var begunMillis: Int64? { frameHeads.begunMillis }

  /// Appends frames to `buffer` until it holds `bytesMax` or there is nothing more to say. False: nghttp2 failed, now
  /// or when it was given something to say.
  package func drain(into buffer: inout [UInt8], bytesMax: Int) -> Bool {
    guard !sink.lacksMemory else { return false }
    if !greeting.isEmpty {
      buffer += greeting
      greeting = []
    }
    while buffer.count < bytesMax {
      var frame: UnsafePointer<UInt8>?
      let bytes = unsafe nghttp2_session_mem_send(session, &frame)
      if bytes < 0 { return false }
      if bytes == 0 {
        guard submitFollowing() else { return true }
        continue
      }
      unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: frame, count: bytes))
    }
    return true
  }

  package var wantsToWrite: Bool {
    if unsafe nghttp2_session_want_write(session) != 0 { return true }
    return !sink.answeredEarly.isEmpty || !greeting.isEmpty || pingsAfterNotice
  }

  /// Frames that wait to be drained, the bodies of answers not counted. nghttp2 bounds acknowledgements, but not the
  /// resets by which it refuses streams.
  package var queuedFrames: Int { unsafe nghttp2_session_get_outbound_queue_size(session) }

  /// The GOAWAY of a fault has left, or nghttp2 has nothing more to read or to write: close.
  package var isOver: Bool {
    if sink.sentFault { return true }
    return unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }

  // MARK: Answers

  /// Headers now, then the body, then the trailers, submitted together.
  package func respond(_ stream: Stream, head: PreparedHeaders, body: [UInt8], trailers: PreparedHeaders) {
    guard !stream.isClosed, !stream.answered else { return }
    queue(body, on: stream)
    stream.finish(trailers)
    start(stream, head)
  }

  /// Headers now; messages follow by `send`, the end by `finish`.
  package func start(_ stream: Stream, _ head: PreparedHeaders) {
    guard !stream.isClosed, !stream.answered else { return }
    stream.answered = true
    var provider = unsafe nghttp2_data_provider()
    unsafe provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
    unsafe provider.read_callback = readBody
    submitted(unsafe nghttp2_submit_response(session, stream.id, head.fields, head.count, &provider))
  }

  package func send(_ stream: Stream, _ message: [UInt8]) {
    guard !stream.isClosed, !stream.finished else { return }
    queue(message, on: stream)
    resume(stream)
  }

  package func finish(_ stream: Stream, _ trailers: PreparedHeaders) {
    guard !stream.isClosed else { return }
    stream.finish(trailers)
    if isHeldBack(stream) { owing.insert(stream.id) }
    resume(stream)
  }

  /// Whether the client has left no room for data, so that not even trailers can leave behind a head that has left.
  package func isHeldBack(_ stream: Stream) -> Bool {
    unsafe nghttp2_session_get_stream_remote_window_size(session, stream.id) <= 0
      || nghttp2_session_get_remote_window_size(session) <= 0
  }

  /// Something was said that the client has left no room for.
  package var hasUntaken: Bool { sink.unsentBytes > 0 || !owing.isEmpty }

  /// The whole answer in one header block with END_STREAM (gRPC: Trailers-Only).
  package func respondTrailersOnly(_ stream: Stream, _ trailers: PreparedHeaders) {
    guard !stream.isClosed, !stream.answered else { return }
    stream.answered = true
    stream.finished = true
    submitted(unsafe nghttp2_submit_response(session, stream.id, trailers.fields, trailers.count, nil))
  }

  package func reset(_ stream: Stream, _ code: ErrorCode) {
    guard !stream.isClosed else { return }
    stream.answered = true
    stream.finished = true
    // At once and not when the reset has left: until then it would be counted as left untaken again and again.
    sink.took(stream.dropUnsent())
    submitted(
      unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, code.rawValue))
  }

  /// Resets the streams whose client has left their answer untaken for too long, and returns when that may be the case
  /// with another; nil: no answer waits.
  package func resetUntaken(nowMillis: Int64) -> Int64? {
    sink.nowMillis = nowMillis
    if !owing.isEmpty { owing = owing.filter { sink.stream($0)?.owesTrailers == true } }
    var nextMillis: Int64?
    sink.forEachStream { stream in
      guard let due = stream.untakenDueMillis(sink.limits.untaken, nowMillis: nowMillis) else { return }
      guard due <= nowMillis else { return nextMillis = min(due, nextMillis ?? due) }
      reset(stream, .enhanceYourCalm)
      sink.leftUntaken()
    }
    if let fault = sink.fault { terminate(fault) }
    return nextMillis
  }

  /// Gives window back: these bytes of the stream's body were consumed, not merely received.
  package func consumed(_ stream: Stream, bytes: Int) {
    guard bytes > 0 else { return }
    if stream.isClosed || stream.ended {
      submitted(unsafe nghttp2_session_consume_connection(session, bytes))
    } else {
      submitted(unsafe nghttp2_session_consume(session, stream.id, bytes))
    }
  }

  // MARK: The connection

  /// First half of a graceful end: GOAWAY with the highest id, so that requests under way still count, and a PING whose
  /// answer tells that the peer has seen it.
  package func announceShutdown() {
    submitted(unsafe nghttp2_submit_shutdown_notice(session))
    // nghttp2 would send the PING first, and its answer would tell nothing of the GOAWAY.
    pingsAfterNotice = true
  }

  /// Second half: GOAWAY with the true last id; later streams are ignored.
  package func shutDown(_ why: Life.Ending) {
    let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
    let text = Array(why.rawValue.utf8)
    submitted(
      unsafe nghttp2_submit_goaway(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, ErrorCode.noError.rawValue, text, text.count))
  }

  /// Sends one GOAWAY with the fault's text; the connection is over as soon as that is written. nghttp2's own call for
  /// this takes no text, so it would need a second GOAWAY.
  package func terminate(_ fault: Fault) {
    guard endedOver == nil else { return }
    endedOver = fault
    let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
    let text = Array(fault.debugData.utf8)
    submitted(
      unsafe nghttp2_submit_goaway(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, fault.code.rawValue, text, text.count))
  }

  package func ping() { submitted(unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)) }

  // MARK: Inside

  /// Takes nghttp2's SETTINGS and writes the true limit of streams into it; `Sink` refuses what is above.
  private func greet() {
    var frames: [UInt8] = []
    guard drain(into: &frames, bytesMax: 1) else { return }
    let (headBytes, entryBytes, streamsMax) = (9, 6, sink.limits.streamsMax)
    for at in stride(from: headBytes, to: frames.count - entryBytes + 1, by: entryBytes)
    where frames[at] == 0 && frames[at + 1] == UInt8(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue) {
      for index in 0..<4 { frames[at + 2 + index] = UInt8(truncatingIfNeeded: streamsMax >> (24 - 8 * index)) }
      break
    }
    greeting = frames
  }

  private func submitted(_ result: Int32) { sink.submitted(result) }

  private func queue(_ bytes: [UInt8], on stream: Stream) {
    stream.queue(bytes)
    sink.queued(bytes.count)
  }

  private func resume(_ stream: Stream) { submitted(unsafe nghttp2_session_resume_data(session, stream.id)) }

  /// Submits what must not leave before everything else has left; false: nothing.
  private func submitFollowing() -> Bool {
    // What leaves can spend a budget, too: resets do.
    if let fault = sink.fault, endedOver == nil {
      terminate(fault)
      return true
    }
    guard !sink.answeredEarly.isEmpty || pingsAfterNotice else { return false }
    // A stream answered before the client ended its request is reset with NO_ERROR, but only after the trailers frame
    // was really sent, because a reset cancels what nghttp2 still holds for the stream (RFC 9113 8.1). One that has
    // closed meanwhile hears nothing more (5.1).
    for id in sink.answeredEarly where sink.stream(id) != nil {
      submitted(
        unsafe nghttp2_submit_rst_stream(
          session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, ErrorCode.noError.rawValue))
    }
    sink.answeredEarly.removeAll(keepingCapacity: true)
    if pingsAfterNotice { ping() }
    pingsAfterNotice = false
    return true
  }

  private static func make(_ sink: Sink, _ limits: SessionLimits, _ pool: SessionPool?) -> OpaquePointer? {
    var callbacks: OpaquePointer?
    var option: OpaquePointer?
    defer {
      unsafe nghttp2_session_callbacks_del(callbacks)
      unsafe nghttp2_option_del(option)
    }
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, unsafe nghttp2_option_new(&option) == 0 else {
      return nil
    }
    unsafe Sink.install(in: callbacks)
    // Window is given back when a message was consumed, not when it was received.
    unsafe nghttp2_option_set_no_auto_window_update(option, 1)
    unsafe nghttp2_option_set_max_outbound_ack(option, 1000)
    unsafe nghttp2_option_set_max_settings(option, 32)
    // Out of reach: nghttp2 counts resets of calls that were answered as well, with which some clients end each of
    // theirs. Our own budgets spare those.
    unsafe nghttp2_option_set_stream_reset_rate_limit(option, 1_000_000, 1_000_000)
    // Behind our own count of frames: nghttp2 counts each time that it is fed a part of a frame's head, of nine bytes.
    unsafe nghttp2_option_set_max_continuations(option, 9 * (limits.budget.continuationsPerBlockMax + 1))
    // What may still come on closed streams is told by `ClosedStreams`.
    unsafe nghttp2_option_set_no_closed_streams(option, 1)
    var session: OpaquePointer?
    let context = unsafe Unmanaged.passUnretained(sink).toOpaque()
    // nghttp2 copies the functions.
    var memory = unsafe pool?.functions ?? nghttp2_mem()
    let made = unsafe pool == nil
      ? nghttp2_session_server_new2(&session, callbacks, context, option)
      : nghttp2_session_server_new3(&session, callbacks, context, option, &memory)
    return unsafe made == 0 ? session : nil
  }
}

/// RFC 9113 7.
package struct ErrorCode: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
  package static let noError = ErrorCode(rawValue: 0)
  package static let protocolError = ErrorCode(rawValue: 1)
  package static let internalError = ErrorCode(rawValue: 2)
  package static let streamClosed = ErrorCode(rawValue: 5)
  package static let refusedStream = ErrorCode(rawValue: 7)
  package static let cancel = ErrorCode(rawValue: 8)
  package static let enhanceYourCalm = ErrorCode(rawValue: 11)
}

/// Why a connection is ended from our side, as the GOAWAY tells it.
package struct Fault: Hashable, Sendable {
  package var code: ErrorCode
  package var debugData: String

  package init(code: ErrorCode, debugData: String) {
    self.code = code
    self.debugData = debugData
  }
}

/// What one connection may use.
package struct SessionLimits: Sendable {
  package var streamsMax = 100
  package var streamWindowBytes = 65_536
  package var connectionWindowBytes = 1 << 20
  package var headerListBytesMax = 16_384
  package var headerFieldsMax = 64
  /// Answers behind a client's windows: still, and until they are taken whole.
  package var untaken = Untaken.Limits(stillMillis: 30_000, wholeMillis: 60_000)
  /// A connection whose stream ids come to three quarters of what there are is told to go.
  package var streamIDMax: Int32 = 3 << 29
  package var budget = Budget.Limits()

  package init() {}
}
