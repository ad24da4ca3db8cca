internal import CNghttp2

/// Collects what nghttp2 reports to a client while it is fed and drained. The client inspects it afterwards.
@safe package final class ClientSink {
  /// The last stream ID that the server will answer. It accepts no new streams. nil: no GOAWAY received.
  package private(set) var goneAfter: Int32?
  var limits = SessionLimits()
  /// Streams with new events, each once, in order.
  private var touched: [ClientStream] = []
  private var streams: [Int32: ClientStream] = [:]
  /// The header block being received. No other frame comes between its parts (RFC 9113 4.3).
  private var block = HeaderBlock()

  init() {}

  /// Returns the streams with new events. A later event lists a stream again.
  package func takeTouched() -> [ClientStream] {
    let taken = touched
    touched = []
    for stream in taken { stream.isTouched = false }
    return taken
  }

  package func stream(_ id: Int32) -> ClientStream? { streams[id] }

  package func forEachStream(_ body: (ClientStream) -> Void) {
    for stream in streams.values { body(stream) }
  }

  func opened(_ stream: ClientStream) { streams[stream.id] = stream }

  private func touch(_ stream: ClientStream) {
    guard !stream.isTouched else { return }
    stream.isTouched = true
    if touched.isEmpty { touched.reserveCapacity(16) }
    touched.append(stream)
  }

  // MARK: Events

  private func beganBlock() { block = HeaderBlock() }

  private func field(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
    unsafe block.append(name: name, value: value, within: limits)
  }

  private func body(_ stream: ClientStream?, _ bytes: UnsafeBufferPointer<UInt8>) {
    guard let stream else { return }
    unsafe stream.body.append(contentsOf: bytes)
    touch(stream)
  }

  private func received(_ header: nghttp2_frame_hd, _ stream: ClientStream?) {
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue: if let stream { received(header, on: stream) }
    default: break
    }
  }

  private func received(_ header: nghttp2_frame_hd, on stream: ClientStream) {
    if UInt32(header.type) == NGHTTP2_HEADERS.rawValue {
      if stream.headersComplete {
        stream.trailers = block
      } else if !block.isInterim {
        stream.headers = block
        stream.headersComplete = true
      }
      block = HeaderBlock()
    }
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { stream.ended = true }
    touch(stream)
  }

  private func closed(_ id: Int32, _ code: UInt32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    stream.closedWith = ErrorCode(rawValue: code)
    touch(stream)
  }

  private func sent(_ header: nghttp2_frame_hd) {
    if UInt32(header.type) == NGHTTP2_HEADERS.rawValue { streams[header.stream_id]?.wasSent = true }
  }

  // MARK: Callbacks. Pointers from nghttp2 are borrowed for the call, not retained.

  static func install(in callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, context in
      unsafe withSink(context) { $0.beganBlock() }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameBytes, value, valueBytes, _, context in
      unsafe withSink(context) {
        unsafe $0.field(
          name: UnsafeBufferPointer(start: name, count: nameBytes),
          value: UnsafeBufferPointer(start: value, count: valueBytes))
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
      session, _, id, bytes, count, context in
      unsafe withSink(context) { sink in
        unsafe withTenant(session, id) { unsafe sink.body($0, UnsafeBufferPointer(start: bytes, count: count)) }
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
      let header = unsafe frame!.pointee.hd
      unsafe withSink(context) { sink in
        if UInt32(header.type) == NGHTTP2_GOAWAY.rawValue {
          sink.goneAfter = unsafe frame!.pointee.goaway.last_stream_id
        } else {
          unsafe withTenant(session, header.stream_id) { sink.received(header, $0) }
        }
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      unsafe withSink(context) { unsafe $0.sent(frame!.pointee.hd) }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
      unsafe withSink(context) { $0.closed(id, code) }
      return 0
    }
  }
}

private func withSink(_ context: UnsafeMutableRawPointer?, _ body: (ClientSink) -> Void) {
  unsafe Unmanaged<ClientSink>.fromOpaque(context!)._withUnsafeGuaranteedRef { body($0) }
}

/// Passes the stream of an ID to `body`, or nil if this client has no such stream.
private func withTenant(_ session: OpaquePointer?, _ id: Int32, _ body: (ClientStream?) -> Void) {
  guard let raw = unsafe nghttp2_session_get_stream_user_data(session, id) else { return body(nil) }
  unsafe Unmanaged<ClientStream>.fromOpaque(raw)._withUnsafeGuaranteedRef { body($0) }
}
