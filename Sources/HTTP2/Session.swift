// HTTP2: one HTTP/2 connection over nghttp2, without I/O.
//
// Owns: feeding and draining of frames, streams with their header blocks and bodies, abuse budgets, and the lifetime of
// a connection (keepalive, age, drain).
// Does not own: socket bytes (TLS), the meaning of headers and bodies (GRPC), timers (Transport passes the time).
// Read next: Sink.swift for received frames, Stream.swift, then Budget.swift, Life.swift and Untaken.swift;
// ClientSession.swift for the client side.

internal import CNghttp2

/// The server side of one connection over nghttp2: feed received bytes, inspect `sink`, respond, drain output.
///
/// Callbacks write to the `Sink` only. The two are separate objects because nghttp2 calls back during a feed, and Swift
/// forbids overlapping access to the same storage. Callbacks never feed or drain.
@safe package final class Session {
  /// The data of the PING after the first GOAWAY. A keepalive PING has zeros, so a late answer to it is not taken for
  /// the answer to this one.
  static let noticeData = Array("shutdown".utf8)

  package let sink: Sink
  private let session: OpaquePointer
  /// The allocator of the session. It must outlive the session.
  private let pool: SessionPool?
  /// The first SETTINGS frame, until the caller drains it.
  private var greeting: [UInt8]
  /// Whether a PING must follow the first GOAWAY of a shutdown.
  private var pingsAfterNotice = false
  private var frameHeads: FrameHeads
  /// Streams whose trailers wait because the client's window was full at the end of the data.
  private var owing: Set<Int32> = []
  /// The fault that ends the connection, or nil.
  package private(set) var endedOver: Fault?

  /// Returns nil if out of memory.
  /// - Parameter pool: The pool of this thread. nil: memory comes from malloc.
  package init?(_ limits: SessionLimits, _ pool: SessionPool? = nil, nowMillis: Int64) {
    sink = Sink(limits, nowMillis: nowMillis)
    frameHeads = FrameHeads(nowMillis: nowMillis)
    self.pool = pool
    guard let session = unsafe Session.make(sink, limits, pool) else { return nil }
    unsafe self.session = session
    unsafe sink.attach(session)
    greeting = []
    let settings = [
      // Twice the limit that the client receives (see `greet`). nghttp2 would end the whole connection over one stream
      // too many. RFC 9113 5.1.2 allows refusing only that stream, and the client then retries it.
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(limits.streamsMax * 2)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(limits.streamWindowBytes)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(limits.headerListBytesMax)),
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL.rawValue), value: 0),
    ]
    // SETTINGS must be the first frame (RFC 9113 3.4). Without them nghttp2 would admit any number of streams.
    guard unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count) == 0,
      unsafe nghttp2_session_set_local_window_size(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(limits.connectionWindowBytes)) == 0
    else { return nil }
    greet()
  }

  deinit { unsafe nghttp2_session_del(session) }

  /// Passes received bytes to nghttp2. Returns false if the connection is broken. The caller then drains the remaining
  /// output and closes the connection.
  package func feed(_ bytes: UnsafeRawBufferPointer, nowMillis: Int64) -> Bool {
    // Bytes after a fault do not change how the connection ends.
    guard endedOver == nil else { return true }
    sink.nowMillis = nowMillis
    unsafe frameHeads.read(bytes, nowMillis: nowMillis, sink.met)
    // nghttp2 would end the connection without a GOAWAY for some of these faults.
    if let fault = sink.abuse.fault {
      terminate(fault)
      return true
    }
    var (isAlive, fed) = (true, 0)
    // First feed what precedes such a frame, so that the state of the connection at that point decides.
    for frame in sink.takeDoubtful() where isAlive {
      let start = max(fed, frame.start)
      isAlive = unsafe receive(bytes[fed..<start])
      fed = start
      sink.beganData(frame.head)
    }
    if isAlive { isAlive = unsafe receive(bytes[fed...]) }
    if let fault = sink.abuse.fault { terminate(fault) }
    return isAlive
  }

  /// Does the same with the bytes of an array.
  package func feed(_ bytes: [UInt8], nowMillis: Int64) -> Bool {
    unsafe bytes.withUnsafeBytes { unsafe feed($0, nowMillis: nowMillis) }
  }

  private func receive(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes)
    guard unsafe !bytes.isEmpty else { return true }
    let received = unsafe nghttp2_session_mem_recv(
      session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    return received == bytes.count
  }

  /// When an incomplete preface, header block or frame began. nil: none is incomplete.
  package var begunMillis: Int64? { frameHeads.begunMillis }

  /// Appends frames to `buffer` until it holds `bytesMax` or no frame is left. Returns false if nghttp2 failed, now or
  /// in an earlier submission.
  package func drain(into buffer: inout [UInt8], bytesMax: Int) -> Bool {
    guard !sink.output.lacksMemory else { return false }
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
    return !sink.output.answeredEarly.isEmpty || !greeting.isEmpty || pingsAfterNotice
  }

  /// Number of frames waiting to be drained, without response bodies. nghttp2 bounds acknowledgements, but not the
  /// resets by which it refuses streams.
  package var queuedFrames: Int { unsafe nghttp2_session_get_outbound_queue_size(session) }

  /// Whether the caller must close the connection: the GOAWAY of a fault is sent, or nghttp2 has nothing left to read
  /// or write.
  package var isOver: Bool {
    if sink.output.sentFault { return true }
    return unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }

  // MARK: Responses

  /// Submits a complete response: headers, body and trailers.
  package func respond(_ stream: Stream, head: PreparedHeaders, body: [UInt8], trailers: PreparedHeaders) {
    guard !stream.isClosed, !stream.answered else { return }
    queue(body, on: stream)
    stream.response.finish(trailers)
    start(stream, head)
  }

  /// Starts a response with its headers. Messages follow by `send`, the end by `finish`.
  package func start(_ stream: Stream, _ head: PreparedHeaders) {
    guard !stream.isClosed, !stream.answered else { return }
    stream.response.begin()
    var provider = unsafe nghttp2_data_provider()
    unsafe provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
    unsafe provider.read_callback = readBody
    submitted(unsafe nghttp2_submit_response(session, stream.id, head.fields, head.count, &provider))
  }

  package func send(_ stream: Stream, _ message: [UInt8]) {
    guard !stream.isClosed, !stream.response.isComplete else { return }
    queue(message, on: stream)
    resume(stream)
  }

  package func finish(_ stream: Stream, _ trailers: PreparedHeaders) {
    guard !stream.isClosed else { return }
    stream.response.finish(trailers)
    if isHeldBack(stream) { owing.insert(stream.id) }
    resume(stream)
  }

  /// Whether the client's windows are full. Then not even trailers can follow headers that are already sent.
  package func isHeldBack(_ stream: Stream) -> Bool {
    unsafe nghttp2_session_get_stream_remote_window_size(session, stream.id) <= 0
      || nghttp2_session_get_remote_window_size(session) <= 0
  }

  /// Whether response data or trailers wait for the client's windows.
  package var hasUntaken: Bool { sink.unsentBytes > 0 || !owing.isEmpty }

  /// Sends the complete response in one header block with END_STREAM (gRPC: Trailers-Only).
  package func respondTrailersOnly(_ stream: Stream, _ trailers: PreparedHeaders) {
    guard !stream.isClosed, !stream.answered else { return }
    stream.response.close()
    submitted(unsafe nghttp2_submit_response(session, stream.id, trailers.fields, trailers.count, nil))
  }

  package func reset(_ stream: Stream, _ code: ErrorCode) {
    guard !stream.isClosed else { return }
    stream.response.close()
    // Drop the data now, not when the reset is sent. Until then it would count as unread again and again.
    sink.output.took(stream.response.dropUnsent())
    submitted(
      unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, code.rawValue))
  }

  /// Resets the streams whose client has left a response unread for too long. Returns the next time when this may apply
  /// to another stream, or nil if no response waits.
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
    if let fault = sink.abuse.fault { terminate(fault) }
    return nextMillis
  }

  /// Returns flow-control window for body bytes that the application has consumed, not only received.
  package func consumed(_ stream: Stream, bytes: Int) {
    guard bytes > 0 else { return }
    if stream.isClosed || stream.ended {
      submitted(unsafe nghttp2_session_consume_connection(session, bytes))
    } else {
      submitted(unsafe nghttp2_session_consume(session, stream.id, bytes))
    }
  }

  // MARK: The connection

  /// Starts a graceful shutdown. Sends a GOAWAY with the highest stream ID, so that requests in flight still count, and
  /// a PING. The answer to the PING shows that the peer has seen the GOAWAY.
  package func announceShutdown() {
    submitted(unsafe nghttp2_submit_shutdown_notice(session))
    // nghttp2 would send the PING first, and its answer would not confirm the GOAWAY.
    pingsAfterNotice = true
  }

  /// Completes a graceful shutdown: sends a GOAWAY with the true last ID and ignores later streams.
  package func shutDown(_ why: Life.Ending) {
    let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
    let text = Array(why.rawValue.utf8)
    submitted(
      unsafe nghttp2_submit_goaway(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, ErrorCode.noError.rawValue, text, text.count))
  }

  /// Sends one GOAWAY with the fault's text. The connection is over when that frame is written. nghttp2's own function
  /// takes no text, so it would need a second GOAWAY.
  package func terminate(_ fault: Fault) {
    guard endedOver == nil else { return }
    endedOver = fault
    let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
    let text = Array(fault.debugData.utf8)
    submitted(
      unsafe nghttp2_submit_goaway(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, fault.code.rawValue, text, text.count))
  }

  /// Sends a keepalive PING. Any input answers it.
  package func ping() { submitPing(nil) }

  // MARK: Internals

  /// Takes the SETTINGS frame of nghttp2 and writes the true stream limit into it. `Sink` refuses streams above that
  /// limit.
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

  /// - Parameter data: Eight bytes. nil: zeros.
  private func submitPing(_ data: [UInt8]?) {
    submitted(unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), data))
  }

  private func queue(_ bytes: [UInt8], on stream: Stream) {
    stream.response.queue(bytes)
    sink.output.queued(bytes.count)
  }

  private func resume(_ stream: Stream) { submitted(unsafe nghttp2_session_resume_data(session, stream.id)) }

  /// Submits frames that must follow all others. Returns false if there are none.
  private func submitFollowing() -> Bool {
    // Sent frames such as resets can exceed a budget, too.
    if let fault = sink.abuse.fault, endedOver == nil {
      terminate(fault)
      return true
    }
    guard !sink.output.answeredEarly.isEmpty || pingsAfterNotice else { return false }
    // The server resets a stream with NO_ERROR if it responded before the client ended its request. It must first send
    // the trailers, because a reset cancels what nghttp2 still holds for the stream (RFC 9113 8.1). A stream that has
    // closed since then gets no reset (5.1).
    for id in sink.output.answeredEarly where sink.stream(id) != nil {
      submitted(
        unsafe nghttp2_submit_rst_stream(
          session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, ErrorCode.noError.rawValue))
    }
    sink.output.answeredEarly.removeAll(keepingCapacity: true)
    if pingsAfterNotice { submitPing(Session.noticeData) }
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
    // The session returns window when a message is consumed, not when it is received.
    unsafe nghttp2_option_set_no_auto_window_update(option, 1)
    unsafe nghttp2_option_set_max_outbound_ack(option, 1000)
    unsafe nghttp2_option_set_max_settings(option, 32)
    // Too high to apply: nghttp2 also counts resets of answered calls, and some clients end every call that way.
    // `Budget` does not count those.
    unsafe nghttp2_option_set_stream_reset_rate_limit(option, 1_000_000, 1_000_000)
    // Higher than the limit in `Budget`: nghttp2 counts each time it receives a part of a nine-byte frame header.
    unsafe nghttp2_option_set_max_continuations(option, 9 * (limits.budget.continuationsPerBlockMax + 1))
    // `ClosedStreams` tracks frames on closed streams.
    unsafe nghttp2_option_set_no_closed_streams(option, 1)
    var session: OpaquePointer?
    let context = unsafe Unmanaged.passUnretained(sink).toOpaque()
    // nghttp2 copies the functions, so a local variable is enough.
    var memory = unsafe pool?.functions ?? nghttp2_mem()
    let made = unsafe pool == nil
      ? nghttp2_session_server_new2(&session, callbacks, context, option)
      : nghttp2_session_server_new3(&session, callbacks, context, option, &memory)
    return unsafe made == 0 ? session : nil
  }
}

/// An HTTP/2 error code (RFC 9113 7).
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

/// Why the server ends a connection: the code and debug data of its GOAWAY.
package struct Fault: Hashable, Sendable {
  package var code: ErrorCode
  package var debugData: String

  package init(code: ErrorCode, debugData: String) {
    self.code = code
    self.debugData = debugData
  }
}

/// Limits of one connection.
package struct SessionLimits: Sendable {
  package var streamsMax = 100
  package var streamWindowBytes = 65_536
  package var connectionWindowBytes = 1 << 20
  package var headerListBytesMax = 16_384
  package var headerFieldsMax = 64
  /// Maximum time that response data may wait for the client's windows: without progress, and in total.
  package var untaken = Untaken.Limits(stillMillis: 30_000, wholeMillis: 60_000)
  /// The connection drains when a stream ID reaches this value, which is three quarters of the ID space.
  package var streamIDMax: Int32 = 3 << 29
  package var budget = Budget.Limits()

  package init() {}
}
