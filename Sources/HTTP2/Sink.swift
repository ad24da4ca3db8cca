internal import CNghttp2

/// What nghttp2 reports while it is fed and drained: collected here, looked at afterwards.
@safe package final class Sink {
  /// Streams on which something is new, each once, in order.
  package private(set) var touched: [Stream] = []
  /// PINGs of the peer, and answers to ours, since the last look.
  package var pingsReceived = 0
  package var pingAcknowledged = false
  /// Open streams.
  package private(set) var streamCount = 0
  /// A HEADERS or DATA frame left since the last look: by gRFC A8 it forgives pings.
  package var sentReply = false
  package private(set) var goawayReceived = false
  /// A GOAWAY with an error code has left: no second one follows.
  private(set) var sentFault = false
  /// Set once a budget is spent: the connection must end.
  private(set) var fault: Fault?
  /// Streams that were refused, since the last look, because there were as many as allowed.
  private var refusedStreams = 0
  /// Streams that were reset, since the last look, because their answers were left untaken.
  private var untakenResets = 0
  /// Bytes of answers that wait for the client to take them.
  package private(set) var unsentBytes = 0
  /// nghttp2 had no memory for something that had to be said. The peer would wait for it without end: the connection
  /// can only be closed.
  private(set) var lacksMemory = false
  var nowMillis: Int64
  /// Ids of streams answered in full while their client was still sending.
  var answeredEarly: [Int32] = []
  /// The header block that is coming in: nothing else comes between its parts (RFC 9113 4.3).
  private var block = HeaderBlock()
  /// CONTINUATION frames of it.
  private var continuations = 0
  let limits: SessionLimits
  /// A caller has been identified on this connection: it may cancel a share of its calls, however many those are.
  package var callerIsIdentified = false
  private var budget = Budget()
  private var session: OpaquePointer?
  private var streams: [Int32: Stream] = [:]
  private var settingsAcknowledged = false
  private var closedStreams: ClosedStreams
  /// DATA on streams that may have closed, and where in what was read it begins.
  private var doubtful: [(start: Int, head: FrameHeads.Head)] = []
  /// A stream is reset by what has been read and is not yet fed.
  private var resetIsAhead = false
  /// The highest id that has been read and is not yet fed: opening it closes those that it passes over.
  private var idAhead: Int32 = 0

  init(_ limits: SessionLimits, nowMillis: Int64) {
    self.limits = limits
    self.nowMillis = nowMillis
    closedStreams = ClosedStreams(streamsMax: limits.streamsMax, windowBytes: limits.streamWindowBytes)
  }

  /// Hands out what is new; a stream is listed again when more of it comes.
  package func takeTouched() -> [Stream] {
    let taken = touched
    touched = []
    for stream in taken { stream.isTouched = false }
    return taken
  }

  package func takeRefusedStreams() -> Int {
    defer { refusedStreams = 0 }
    return refusedStreams
  }

  package func takeUntakenResets() -> Int {
    defer { untakenResets = 0 }
    return untakenResets
  }

  package func forEachStream(_ body: (Stream) -> Void) {
    for stream in streams.values { body(stream) }
  }

  package func stream(_ id: Int32) -> Stream? { streams[id] }

  /// The highest id so far; -1: none.
  package var lastID: Int32 { closedStreams.lastID }

  func attach(_ session: OpaquePointer) { unsafe self.session = session }

  /// What nghttp2 said to something that it was given to say.
  func submitted(_ result: Int32) {
    if result == NGHTTP2_ERR_NOMEM.rawValue { lacksMemory = true }
  }

  private func touch(_ stream: Stream) {
    guard !stream.isTouched else { return }
    stream.isTouched = true
    // As many as a client that is busy has under way: no growth while they are collected.
    if touched.isEmpty { touched.reserveCapacity(16) }
    touched.append(stream)
  }

  /// Puts back what `takeTouched` handed out and nobody had the time to look at, before what came since.
  package func touchAgain(_ streams: ArraySlice<Stream>) {
    for stream in streams { stream.isTouched = true }
    let others = touched.filter { stream in !streams.contains { $0 === stream } }
    touched = streams + others
  }

  private func spend(_ kind: Budget.Kind) {
    if fault == nil, !budget.spend(kind, of: limits.budget, nowMillis: nowMillis, isIdentified: callerIsIdentified) {
      fault = Fault(code: .enhanceYourCalm, debugData: kind.rawValue)
    }
  }

  // MARK: Answers

  /// What was submitted waits until the client takes it.
  func queued(_ bytes: Int) { unsentBytes += bytes }

  /// They wait no more.
  func took(_ bytes: Int) { unsentBytes -= bytes }

  func leftUntaken() {
    untakenResets += 1
    spend(.untaken)
  }

  // MARK: Events

  /// The head of a frame, before nghttp2 knows of it and also where it will ignore it.
  func met(_ head: FrameHeads.Head, start: Int) {
    // Nobody looks at what comes behind a fault, and where a socket is full it may come for a while.
    guard fault == nil else { return }
    switch UInt32(head.kind) {
    case NGHTTP2_HEADERS.rawValue:
      continuations = 0
      idAhead = max(idAhead, head.stream)
    case NGHTTP2_CONTINUATION.rawValue:
      continuations += 1
      if continuations > limits.budget.continuationsPerBlockMax { spend(.continuation) }
    case NGHTTP2_DATA.rawValue where head.length > 0: break
    default: spend(.controlFrame)
    }
    switch UInt32(head.kind) {
    case NGHTTP2_RST_STREAM.rawValue: resetIsAhead = true
    // nghttp2 tells of each HEADERS, but of no DATA on a stream that it has forgotten.
    case NGHTTP2_DATA.rawValue where streams[head.stream] == nil && head.stream <= lastID:
      // Much of it may be under way: what is in order needs no feeding of its own.
      if !closedStreams.takeLate(head.stream, bytes: head.length) { doubtful.append((start, head)) }
    case NGHTTP2_DATA.rawValue where resetIsAhead || (streams[head.stream] == nil && head.stream < idAhead):
      doubtful.append((start, head))
    default: break
    }
  }

  func takeDoubtful() -> [(start: Int, head: FrameHeads.Head)] {
    resetIsAhead = false
    idAhead = 0
    defer { doubtful = [] }
    return doubtful
  }

  /// HEADERS, told by nghttp2 before it looks what they are for. On a stream that has closed they bring nothing.
  func beganHeaders(_ id: Int32) {
    guard fault == nil, streams[id] == nil, id > 0, id <= lastID else { return }
    fault = closedStreams.faultOfHeaders(id)
    spend(.controlFrame)
  }

  /// DATA that was doubtful, when all before it was fed.
  func beganData(_ head: FrameHeads.Head) {
    guard fault == nil, streams[head.stream] == nil, head.stream > 0, head.stream <= lastID else { return }
    if !closedStreams.takeLate(head.stream, bytes: head.length) { fault = ClosedStreams.frameOnClosedStream }
  }

  func began(_ id: Int32) {
    closedStreams.opened(id)
    block = HeaderBlock()
    guard streamCount < limits.streamsMax else {
      // Before it has seen our SETTINGS a client cannot know better.
      refusedStreams += 1
      spend(settingsAcknowledged ? .provokedReset : .prematureStream)
      submitted(
        unsafe nghttp2_submit_rst_stream(
          session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, ErrorCode.refusedStream.rawValue))
      closedStreams.reset(id)
      return
    }
    budget.earnControlFrames(limits.budget.controlFramesPerCall)
    budget.beganCall(of: limits.budget, nowMillis: nowMillis)
    let stream = Stream(id: id)
    streams[id] = stream
    streamCount += 1
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
    // What comes after the answer is dropped, its window given back to the connection.
    if stream.finished {
      submitted(unsafe nghttp2_session_consume_connection(session, bytes.count))
      return
    }
    unsafe stream.received(bytes)
    touch(stream)
  }

  /// `stream`: that of a HEADERS or DATA frame.
  func received(_ frame: UnsafePointer<nghttp2_frame>, _ stream: Stream?) {
    let header = unsafe frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue: if let stream { receivedHeaders(header, on: stream) }
    case NGHTTP2_DATA.rawValue:
      // Padding is no content.
      if let stream { unsafe receivedData(header, on: stream, contentBytes: header.length - frame.pointee.data.padlen) }
    case NGHTTP2_PING.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { pingAcknowledged = true } else { pingsReceived += 1 }
    case NGHTTP2_SETTINGS.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 { spend(.settings) } else { settingsAcknowledged = true }
    case NGHTTP2_PRIORITY.rawValue: spend(.priority)
    case NGHTTP2_RST_STREAM.rawValue:
      guard let stream = streams[header.stream_id] else { break }
      stream.isReset = true
      if !stream.answered { spend(.unfinishedReset) }
    case NGHTTP2_GOAWAY.rawValue: goawayReceived = true
    default: break
    }
  }

  private func receivedHeaders(_ header: nghttp2_frame_hd, on stream: Stream) {
    if block.isTooLarge { spend(.largeHeaderList) }
    // Trailers of a request are not expected and ignored.
    if !stream.headersComplete { stream.headers = block }
    block = HeaderBlock()
    stream.headersComplete = true
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { stream.ended = true }
    touch(stream)
  }

  private func receivedData(_ header: nghttp2_frame_hd, on stream: Stream, contentBytes: Int) {
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
      stream.ended = true
    } else if contentBytes == 0 {
      stream.emptyDataFrames += 1
      if stream.emptyDataFrames > limits.budget.emptyDataPerStreamMax { spend(.emptyData) }
    }
    touch(stream)
  }

  func sent(_ frame: UnsafePointer<nghttp2_frame>) {
    let header = unsafe frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_RST_STREAM.rawValue: sentReset(ErrorCode(rawValue: unsafe frame.pointee.rst_stream.error_code))
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      sentReply = true
      if UInt32(header.type) == NGHTTP2_DATA.rawValue {
        budget.earnControlFrames(limits.budget.controlFramesPerDataFrame)
      }
      if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0, let stream = streams[header.stream_id],
        !stream.ended
      {
        answeredEarly.append(header.stream_id)
      }
    case NGHTTP2_GOAWAY.rawValue where unsafe isFault(frame): sentFault = true
    default: break
    }
  }

  /// nghttp2 ends a connection by itself over some errors, and may do so in the same turn as we do.
  func repeatsFault(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
    unsafe sentFault && UInt32(frame.pointee.hd.type) == NGHTTP2_GOAWAY.rawValue
  }

  private func isFault(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
    unsafe frame.pointee.goaway.error_code != ErrorCode.noError.rawValue
  }

  /// A header block that nghttp2 finds too large to send: it drops the frame in silence, and the client would wait for
  /// ever.
  func dropped(_ frame: UnsafePointer<nghttp2_frame>, _ why: Int32) {
    let header = unsafe frame.pointee.hd
    guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue, why == NGHTTP2_ERR_FRAME_SIZE_ERROR.rawValue else { return }
    submitted(
      unsafe nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), header.stream_id, ErrorCode.internalError.rawValue))
  }

  /// Most resets are nghttp2's own, and a peer can provoke them without end; some of those it tells nobody else of.
  private func sentReset(_ code: ErrorCode) {
    // After an answer, past the limit of streams (counted in `began`), and at the end of a drain.
    if ![.noError, .refusedStream, .cancel].contains(code) { spend(.provokedReset) }
  }

  func closed(_ id: Int32, _ code: UInt32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    streamCount -= 1
    stream.closedWith = ErrorCode(rawValue: code)
    if !stream.ended, !stream.isReset { closedStreams.reset(id) }
    unsentBytes -= stream.dropUnsent()
    // Bytes nobody will take any more must not hold the connection's window.
    let bytes = stream.takeBody().count
    if bytes > 0 { submitted(unsafe nghttp2_session_consume_connection(session, bytes)) }
    touch(stream)
  }

  // MARK: The callbacks. What nghttp2 points to is borrowed for the call, not retained.

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
        isFaulty = $0.fault != nil
      }
      // Nobody asks for the rest of the block: nghttp2 reads it without calling.
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
    // RFC 9113 8.2.1: a field whose name or value is malformed is a stream error, in trailers as well. Without this
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

/// nil: the id is of no stream of ours.
private func withTenant(_ session: OpaquePointer?, _ id: Int32, _ body: (Stream?) -> Void) {
  guard let raw = unsafe nghttp2_session_get_stream_user_data(session, id) else { return body(nil) }
  unsafe Unmanaged<Stream>.fromOpaque(raw)._withUnsafeGuaranteedRef { body($0) }
}

/// The data source of every response: its pointer is the stream.
let readBody: nghttp2_data_source_read_callback = { session, _, buffer, count, flags, source, context in
  let bytes = unsafe Unmanaged<Stream>.fromOpaque(source!.pointee.ptr)._withUnsafeGuaranteedRef {
    unsafe $0.read(into: buffer!, count: count, flags: flags!, session: session)
  }
  if bytes > 0 { unsafe withSink(context) { $0.took(bytes) } }
  return bytes
}
