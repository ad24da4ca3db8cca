internal import CNghttp2

/// Collects what nghttp2 reports while it is fed and drained. The session inspects it afterwards.
@safe package final class Sink {
  /// Streams with new events, each once, in order.
  package private(set) var touched: [Stream] = []
  package var events = SessionEvents()
  package private(set) var goawayReceived = false
  var output = OutputAccount()
  private(set) var abuse = AbuseGuard()
  var nowMillis: Int64
  let limits: SessionLimits
  /// The header block being received. No other frame comes between its parts (RFC 9113 4.3).
  private var block = HeaderBlock()
  private var unfed = UnfedFrames()
  private var session: OpaquePointer?
  private var streams: [Int32: Stream] = [:]
  private var closedStreams: ClosedStreams

  init(_ limits: SessionLimits, nowMillis: Int64) {
    self.limits = limits
    self.nowMillis = nowMillis
    closedStreams = ClosedStreams(streamsMax: limits.streamsMax, windowBytes: limits.streamWindowBytes)
  }

  /// Returns the streams with new events. A later event lists a stream again.
  package func takeTouched() -> [Stream] {
    let taken = touched
    touched = []
    for stream in taken { stream.isTouched = false }
    return taken
  }

  /// Number of open streams.
  package var streamCount: Int { streams.count }

  /// Number of response bytes that wait for the client's windows.
  package var unsentBytes: Int { output.unsentBytes }

  package func callerIsIdentified() { abuse.callerIsIdentified = true }

  package func forEachStream(_ body: (Stream) -> Void) {
    for stream in streams.values { body(stream) }
  }

  package func stream(_ id: Int32) -> Stream? { streams[id] }

  /// The highest stream ID so far. -1: none.
  package var lastID: Int32 { closedStreams.lastID }

  func attach(_ session: OpaquePointer) { unsafe self.session = session }

  /// Checks the result of a submission to nghttp2.
  func submitted(_ result: Int32) {
    if result == NGHTTP2_ERR_NOMEM.rawValue { output.hadNoMemory() }
  }

  private func touch(_ stream: Stream) {
    guard !stream.isTouched else { return }
    stream.isTouched = true
    // A busy client has about as many streams in flight. The array does not grow while events arrive.
    if touched.isEmpty { touched.reserveCapacity(16) }
    touched.append(stream)
  }

  /// Puts back streams from `takeTouched` that the caller had no time to handle, before any newer ones.
  package func touchAgain(_ streams: ArraySlice<Stream>) {
    for stream in streams { stream.isTouched = true }
    let others = touched.filter { stream in !streams.contains { $0 === stream } }
    touched = streams + others
  }

  private func spend(_ kind: Budget.Kind) { abuse.spend(kind, of: limits.budget, nowMillis: nowMillis) }

  /// Counts a stream that was reset because its response was left unread.
  func leftUntaken() {
    events.untakenResets += 1
    spend(.untaken)
  }

  // MARK: Events

  /// Checks a frame header before nghttp2 sees it, including frames that nghttp2 will ignore.
  func met(_ head: FrameHeads.Head, start: Int) {
    // Frames after a fault do not matter. If the socket is full, they may keep coming for a while.
    guard abuse.fault == nil else { return }
    if let kind = unfed.met(head, continuationsMax: limits.budget.continuationsPerBlockMax) { spend(kind) }
    guard UInt32(head.kind) == NGHTTP2_DATA.rawValue else { return }
    let isOpen = streams[head.stream] != nil
    // nghttp2 reports every HEADERS frame, but not DATA on a stream that it has forgotten.
    if !isOpen, head.stream <= lastID {
      // Much late DATA may be in flight. Allowed DATA does not need a separate feed.
      if !closedStreams.takeLate(head.stream, bytes: head.length) { unfed.doubt(head, start: start) }
    } else if unfed.mayClose(head.stream, isOpen: isOpen) {
      unfed.doubt(head, start: start)
    }
  }

  func takeDoubtful() -> [(start: Int, head: FrameHeads.Head)] { unfed.takeDoubtful() }

  /// Checks HEADERS that nghttp2 reports before it processes them. On a closed stream they have no effect.
  func beganHeaders(_ id: Int32) {
    guard abuse.fault == nil, streams[id] == nil, id > 0, id <= lastID else { return }
    abuse.violated(closedStreams.faultOfHeaders(id))
    spend(.controlFrame)
  }

  /// Checks doubtful DATA after everything before it is fed.
  func beganData(_ head: FrameHeads.Head) {
    guard abuse.fault == nil, streams[head.stream] == nil, head.stream > 0, head.stream <= lastID else { return }
    if !closedStreams.takeLate(head.stream, bytes: head.length) { abuse.violated(ClosedStreams.frameOnClosedStream) }
  }

  func began(_ id: Int32) {
    closedStreams.opened(id)
    block = HeaderBlock()
    guard streamCount < limits.streamsMax else {
      events.refusedStreams += 1
      spend(abuse.kindOfRefusedStream)
      submitted(
        unsafe nghttp2_submit_rst_stream(
          session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, ErrorCode.refusedStream.rawValue))
      closedStreams.reset(id)
      return
    }
    abuse.beganCall(of: limits.budget, nowMillis: nowMillis)
    let stream = Stream(id: id)
    streams[id] = stream
    unsafe nghttp2_session_set_stream_user_data(session, id, Unmanaged.passUnretained(stream).toOpaque())
  }

  func field(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
    unsafe block.append(name: name, value: value, within: limits)
    let isBomb = block.listBytes > limits.budget.headerListBytesCeiling
      || block.fieldsMet > limits.budget.headerFieldsCeiling
    if isBomb { spend(.headerBomb) }
  }

  func body(_ stream: Stream?, _ bytes: UnsafeBufferPointer<UInt8>) {
    guard let stream else { return }
    // Body bytes after the response are dropped. Their window goes back to the connection.
    if stream.response.isComplete {
      submitted(unsafe nghttp2_session_consume_connection(session, bytes.count))
      return
    }
    unsafe stream.received(bytes)
    touch(stream)
  }

  /// - Parameter stream: The stream of a HEADERS or DATA frame.
  func received(_ frame: UnsafePointer<nghttp2_frame>, _ stream: Stream?) {
    let header = unsafe frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue: if let stream { receivedHeaders(header, on: stream) }
    case NGHTTP2_DATA.rawValue:
      // Padding does not count as content.
      if let stream { unsafe receivedData(header, on: stream, contentBytes: header.length - frame.pointee.data.padlen) }
    case NGHTTP2_PING.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 {
        events.pingsReceived += 1
      } else if unsafe answersNotice(frame.pointee.ping) {
        events.noticeAnswered = true
      }
    case NGHTTP2_SETTINGS.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 { spend(.settings) } else { abuse.acknowledgedSettings() }
    case NGHTTP2_PRIORITY.rawValue: spend(.priority)
    case NGHTTP2_RST_STREAM.rawValue:
      guard let stream = streams[header.stream_id] else { break }
      stream.request.isReset = true
      if !stream.answered { spend(.unfinishedReset) }
    case NGHTTP2_GOAWAY.rawValue: goawayReceived = true
    default: break
    }
  }

  /// Whether a PING has the data of the one after the first GOAWAY.
  private func answersNotice(_ ping: nghttp2_ping) -> Bool {
    unsafe withUnsafeBytes(of: ping.opaque_data) { unsafe $0.elementsEqual(Session.noticeData) }
  }

  private func receivedHeaders(_ header: nghttp2_frame_hd, on stream: Stream) {
    if block.isTooLarge { spend(.largeHeaderList) }
    // Request trailers are not expected and are ignored.
    stream.request.received(block)
    block = HeaderBlock()
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { stream.request.ended = true }
    touch(stream)
  }

  private func receivedData(_ header: nghttp2_frame_hd, on stream: Stream, contentBytes: Int) {
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
      stream.request.ended = true
    } else if contentBytes == 0 {
      stream.request.emptyDataFrames += 1
      if stream.request.emptyDataFrames > limits.budget.emptyDataPerStreamMax { spend(.emptyData) }
    }
    touch(stream)
  }

  func sent(_ frame: UnsafePointer<nghttp2_frame>) {
    let header = unsafe frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_RST_STREAM.rawValue: sentReset(ErrorCode(rawValue: unsafe frame.pointee.rst_stream.error_code))
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      events.sentReply = true
      if UInt32(header.type) == NGHTTP2_DATA.rawValue { abuse.sentData(of: limits.budget) }
      if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0, let stream = streams[header.stream_id],
        !stream.ended
      {
        output.answeredEarly.append(header.stream_id)
      }
    case NGHTTP2_GOAWAY.rawValue where unsafe isFault(frame): output.didSendFault()
    default: break
    }
  }

  /// Whether a frame is a GOAWAY that follows the GOAWAY of a fault. nghttp2 ends a connection itself over some errors,
  /// possibly in the same turn.
  func repeatsFault(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
    unsafe output.sentFault && UInt32(frame.pointee.hd.type) == NGHTTP2_GOAWAY.rawValue
  }

  private func isFault(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
    unsafe frame.pointee.goaway.error_code != ErrorCode.noError.rawValue
  }

  /// Resets a stream whose header block is too large to send. nghttp2 drops the frame silently, and the client would
  /// wait forever.
  func dropped(_ frame: UnsafePointer<nghttp2_frame>, _ why: Int32) {
    let header = unsafe frame.pointee.hd
    guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue, why == NGHTTP2_ERR_FRAME_SIZE_ERROR.rawValue else { return }
    submitted(
      unsafe nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), header.stream_id, ErrorCode.internalError.rawValue))
  }

  /// Counts a sent reset. nghttp2 sends most resets itself and does not report all of them elsewhere. A peer can
  /// provoke any number of them.
  private func sentReset(_ code: ErrorCode) {
    // These codes are sent after a response, above the stream limit (counted in `began`), and at the end of a drain.
    if ![.noError, .refusedStream, .cancel].contains(code) { spend(.provokedReset) }
  }

  func closed(_ id: Int32, _ code: UInt32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    stream.closedWith = ErrorCode(rawValue: code)
    if !stream.ended, !stream.request.isReset { closedStreams.reset(id) }
    output.took(stream.response.dropUnsent())
    // Unread bytes of a closed stream must not hold the connection's window.
    let bytes = stream.takeBody().count
    if bytes > 0 { submitted(unsafe nghttp2_session_consume_connection(session, bytes)) }
    touch(stream)
  }

  // MARK: Callbacks. Pointers from nghttp2 are borrowed for the call, not retained.

  static func install(in callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, context in
      if unsafe UInt32(header!.pointee.type) == NGHTTP2_HEADERS.rawValue {
        unsafe withSink(context) { unsafe $0.beganHeaders(header!.pointee.stream_id) }
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
      if unsafe frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
        unsafe withSink(context) { unsafe $0.began(frame!.pointee.hd.stream_id) }
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameBytes, value, valueBytes, _, context in
      var isFaulty = false
      unsafe withSink(context) {
        unsafe $0.field(
          name: UnsafeBufferPointer(start: name, count: nameBytes),
          value: UnsafeBufferPointer(start: value, count: valueBytes))
        isFaulty = $0.abuse.fault != nil
      }
      // After this error nghttp2 reads the rest of the block without calling back.
      return isFaulty ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue : 0
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
      session, _, id, bytes, count, context in
      unsafe withSink(context) { sink in
        unsafe withTenant(session, id) { unsafe sink.body($0, UnsafeBufferPointer(start: bytes, count: count)) }
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
      let id = unsafe frame!.pointee.hd.stream_id
      unsafe withSink(context) { sink in unsafe withTenant(session, id) { unsafe sink.received(frame!, $0) } }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_before_frame_send_callback(callbacks) { _, frame, context in
      var isRepeated = false
      unsafe withSink(context) { isRepeated = unsafe $0.repeatsFault(frame!) }
      return isRepeated ? NGHTTP2_ERR_CANCEL.rawValue : 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      unsafe withSink(context) { unsafe $0.sent(frame!) }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, why, context in
      unsafe withSink(context) { unsafe $0.dropped(frame!, why) }
      return 0
    }
    // RFC 9113 8.2.1: a field with a malformed name or value is a stream error, in trailers as well. Without this
    // callback nghttp2 would drop the field and accept the request.
    unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, _, _, _, _, _ in
      NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
      unsafe withSink(context) { $0.closed(id, code) }
      return 0
    }
  }
}

private func withSink(_ context: UnsafeMutableRawPointer?, _ body: (Sink) -> Void) {
  unsafe Unmanaged<Sink>.fromOpaque(context!)._withUnsafeGuaranteedRef { body($0) }
}

/// Passes the stream of an ID to `body`, or nil if this connection has no such stream.
private func withTenant(_ session: OpaquePointer?, _ id: Int32, _ body: (Stream?) -> Void) {
  guard let raw = unsafe nghttp2_session_get_stream_user_data(session, id) else { return body(nil) }
  unsafe Unmanaged<Stream>.fromOpaque(raw)._withUnsafeGuaranteedRef { body($0) }
}

/// Reads the body of a response. The pointer of the data source is the stream.
let readBody: nghttp2_data_source_read_callback = { session, _, buffer, count, flags, source, context in
  let bytes = unsafe Unmanaged<Stream>.fromOpaque(source!.pointee.ptr)._withUnsafeGuaranteedRef {
    unsafe $0.response.read(on: $0.id, into: buffer!, count: count, flags: flags!, session: session)
  }
  if bytes > 0 { unsafe withSink(context) { $0.output.took(bytes) } }
  return bytes
}
