internal import CNghttp2

/// The client side of one connection over nghttp2. Used like `Session`: feed received bytes, inspect `sink`, send
/// requests, drain output.
@safe package final class ClientSession {
  package let sink = ClientSink()
  private let session: OpaquePointer

  /// Returns nil only if out of memory. The client announces `streamWindowBytes`, `connectionWindowBytes` and
  /// `headerListBytesMax` to the server. The session returns window as bytes arrive, so the reader must bound what it
  /// keeps.
  package init?(_ limits: SessionLimits) {
    sink.limits = limits
    guard let session = unsafe ClientSession.make(sink) else { return nil }
    unsafe self.session = session
    let settings = [
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(limits.streamWindowBytes)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(limits.headerListBytesMax)),
    ]
    guard unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count) == 0,
      unsafe nghttp2_session_set_local_window_size(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(limits.connectionWindowBytes)) == 0
    else { return nil }
  }

  deinit { unsafe nghttp2_session_del(session) }

  /// Opens a stream with a complete request. The request waits while the server allows no more streams. If the server
  /// goes away first, the stream closes with REFUSED_STREAM. Returns nil if the connection has used all its stream IDs.
  package func request(_ head: PreparedHeaders, body: [UInt8]) -> ClientStream? {
    let stream = ClientStream(body)
    var provider = unsafe nghttp2_data_provider()
    let raw = unsafe Unmanaged.passUnretained(stream).toOpaque()
    unsafe provider.source.ptr = raw
    unsafe provider.read_callback = readRequestBody
    let id = unsafe nghttp2_submit_request(session, nil, head.fields, head.count, &provider, raw)
    guard id > 0 else { return nil }
    stream.id = id
    sink.opened(stream)
    return stream
  }

  package func reset(_ stream: ClientStream, _ code: ErrorCode) {
    guard !stream.isClosed else { return }
    unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, code.rawValue)
  }

  /// Passes received bytes to nghttp2. Returns false if the connection is broken and cannot report an error.
  package func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    unsafe nghttp2_session_mem_recv(session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
      == bytes.count
  }

  /// Appends frames to `buffer` until it holds `bytesMax` or no frame is left. Returns false if nghttp2 failed.
  package func drain(into buffer: inout [UInt8], bytesMax: Int) -> Bool {
    while buffer.count < bytesMax {
      var frame: UnsafePointer<UInt8>?
      let bytes = unsafe nghttp2_session_mem_send(session, &frame)
      if bytes <= 0 { return bytes == 0 }
      unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: frame, count: bytes))
    }
    return true
  }

  package var wantsToWrite: Bool { unsafe nghttp2_session_want_write(session) != 0 }

  /// Whether nghttp2 has nothing left to read or write. The caller then closes the connection.
  package var isOver: Bool {
    unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }

  /// Sends GOAWAY. The session is over when the frame is written.
  package func terminate() {
    unsafe nghttp2_session_terminate_session(session, ErrorCode.noError.rawValue)
  }

  private static func make(_ sink: ClientSink) -> OpaquePointer? {
    var callbacks: OpaquePointer?
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    defer { unsafe nghttp2_session_callbacks_del(callbacks) }
    unsafe ClientSink.install(in: callbacks)
    var session: OpaquePointer?
    let context = unsafe Unmanaged.passUnretained(sink).toOpaque()
    guard unsafe nghttp2_session_client_new(&session, callbacks, context) == 0 else { return nil }
    return unsafe session
  }
}

/// One request and its response.
@safe package final class ClientStream {
  package internal(set) var id: Int32 = 0
  /// The fields of the final response. Fields of interim responses (1xx) are dropped.
  package internal(set) var headers = HeaderBlock()
  package internal(set) var trailers = HeaderBlock()
  package internal(set) var headersComplete = false
  /// Whether the server has ended the stream.
  package internal(set) var ended = false
  package internal(set) var closedWith: ErrorCode?
  /// Whether the request has been sent. Before that the server cannot have seen it.
  package internal(set) var wasSent = false
  /// The call of this stream, set by the owner of the connection.
  package var call: AnyObject?
  var isTouched = false
  var body: [UInt8] = []
  private let out: [UInt8]
  private var outOffset = 0

  init(_ out: [UInt8]) { self.out = out }

  package var isClosed: Bool { closedWith != nil }

  /// Takes the part of the response body received so far.
  package func takeBody() -> [UInt8] {
    defer { body = [] }
    return body
  }

  func read(
    into buffer: UnsafeMutablePointer<UInt8>, count: Int, flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    let bytes = min(count, out.count - outOffset)
    if bytes > 0 {
      unsafe out.withUnsafeBufferPointer { unsafe buffer.update(from: $0.baseAddress! + outOffset, count: bytes) }
      outOffset += bytes
    }
    if outOffset == out.count { unsafe flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return bytes
  }
}

/// Reads the body of a request. The pointer of the data source is the stream.
private let readRequestBody: nghttp2_data_source_read_callback = { _, _, buffer, count, flags, source, _ in
  unsafe Unmanaged<ClientStream>.fromOpaque(source!.pointee.ptr)._withUnsafeGuaranteedRef {
    unsafe $0.read(into: buffer!, count: count, flags: flags!)
  }
}
