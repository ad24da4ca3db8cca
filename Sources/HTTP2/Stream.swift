internal import CNghttp2

/// One request and its response, as bytes.
@safe package final class Stream {
  package let id: Int32
  var request = StreamRequest()
  var response = StreamResponse()
  /// The code that closed the stream. nil: it is open.
  package internal(set) var closedWith: ErrorCode?
  /// Whether the stream has new events since the last inspection.
  var isTouched = false
  /// The call of this stream, set by the owner of the connection.
  package var call: AnyObject?

  init(id: Int32) { self.id = id }

  package var isClosed: Bool { closedWith != nil }

  // MARK: The request

  /// The request's fields in order, including pseudo-header fields.
  package var headers: HeaderBlock { request.headers }

  /// Whether the header block is complete.
  package var headersComplete: Bool { request.headersComplete }

  /// Whether the block exceeded the size limit or had too many fields. None of it is kept.
  package var headersTooLarge: Bool { request.headers.isTooLarge }

  /// Whether the client has ended the stream.
  package var ended: Bool { request.ended }

  /// Frees the request fields after they are read. A call does not need them.
  package func dropHeaders() { request.headers = HeaderBlock() }

  /// Number of unread body bytes.
  package var untakenBodyBytes: Int { request.body.count }

  func received(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe request.body.append(bytes) }

  /// Takes all unread body bytes.
  package func takeBody() -> [UInt8] { request.body.takeAll() }

  /// Takes at most `most` unread body bytes.
  package func takeBody(most: Int) -> [UInt8] { request.body.take(most: most) }

  // MARK: The response

  /// Whether the response headers are submitted.
  package var answered: Bool { response.hasBegun }

  /// Number of queued response bytes that have not left. Backpressure uses this value.
  package var unsentBytes: Int { response.unsentBytes }

  /// Whether trailers still wait. They follow the data and need room in the client's windows, even if no data is left.
  var owesTrailers: Bool { response.owesTrailers && !isClosed }

  /// Returns the deadline for a client that leaves data unread. Returns nil if nothing waits.
  func untakenDueMillis(_ limits: Untaken.Limits, nowMillis: Int64) -> Int64? {
    response.untakenDueMillis(limits, owesTrailers: owesTrailers, nowMillis: nowMillis)
  }
}

/// The received part of a request.
struct StreamRequest {
  var headers = HeaderBlock()
  private(set) var headersComplete = false
  /// Received bytes of the body that are not taken yet.
  var body = ByteQueue()
  var ended = false
  /// Whether the client has reset the stream.
  var isReset = false
  var emptyDataFrames = 0

  /// Takes a complete header block. Request trailers are not expected and are ignored.
  mutating func received(_ block: HeaderBlock) {
    if !headersComplete { headers = block }
    headersComplete = true
  }
}

/// A response: its headers, the body that has not left, and the trailers that follow it.
struct StreamResponse {
  /// Whether the headers are submitted.
  private(set) var hasBegun = false
  /// Whether the response is complete, even if not yet sent. Further request bytes are useless then.
  private(set) var isComplete = false
  private var body = ByteQueue()
  /// Total number of body bytes that left for the client.
  private var takenBytes = 0
  private var untaken = Untaken()
  private var trailers: PreparedHeaders?
  private var trailersSubmitted = false

  var unsentBytes: Int { body.count }

  mutating func begin() { hasBegun = true }

  mutating func queue(_ bytes: [UInt8]) {
    if body.count == 0 { untaken = Untaken() }
    body.append(bytes)
  }

  mutating func finish(_ trailers: PreparedHeaders) {
    self.trailers = trailers
    isComplete = true
  }

  /// Ends the response with a single header block, or with a reset.
  mutating func close() {
    hasBegun = true
    isComplete = true
  }

  var owesTrailers: Bool { trailers != nil && !trailersSubmitted }

  /// Drops all response data that has not left. Returns its size in bytes.
  mutating func dropUnsent() -> Int {
    defer {
      body.removeAll()
      trailersSubmitted = true
    }
    return unsentBytes
  }

  mutating func untakenDueMillis(_ limits: Untaken.Limits, owesTrailers: Bool, nowMillis: Int64) -> Int64? {
    untaken.look(leftBytes: unsentBytes + (owesTrailers ? 1 : 0), takenBytes: takenBytes, nowMillis: nowMillis)
    return untaken.dueMillis(limits)
  }

  /// Copies at most `count` bytes of the body for nghttp2. At the end of the body it submits the trailers. nghttp2
  /// requires this place: after the end of data is known and before the frame is built.
  mutating func read(
    on id: Int32, into buffer: UnsafeMutablePointer<UInt8>, count: Int, flags: UnsafeMutablePointer<UInt32>,
    session: OpaquePointer?
  ) -> Int {
    let bytes = min(count, unsentBytes)
    if bytes > 0 {
      unsafe body.take(into: buffer, count: bytes)
      takenBytes += bytes
    }
    guard unsentBytes == 0 else { return bytes }
    guard let trailers else { return bytes > 0 ? bytes : Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    unsafe flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) | UInt32(NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue)
    trailersSubmitted = true
    let result = unsafe nghttp2_submit_trailer(session, id, trailers.fields, trailers.count)
    return result == 0 ? bytes : Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
  }
}

/// The fields of a request in one buffer. The lengths of name and value (4 bytes each) precede each field.
package struct HeaderBlock {
  private static let lengthBytes = 4
  /// Large enough for a typical request.
  private static let usualBytes = 512
  /// A buffer with zeros after the first `byteCount` bytes. Writing into existing room is cheaper than appending.
  private var bytes: [UInt8] = []
  private var byteCount = 0
  package private(set) var count = 0
  /// Size as in RFC 9113 6.5.2: name + value + 32 for each field. Continues to grow after the block is full.
  private(set) var listBytes = 0
  /// Number of received fields, kept or not.
  private(set) var fieldsMet = 0
  private(set) var isTooLarge = false

  /// Passes name and value of each field to `body`, in order.
  package func forEach(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) {
    var at = 0
    while at < byteCount {
      let name = at + 2 * HeaderBlock.lengthBytes
      let value = name + length(at)
      let end = value + length(at + HeaderBlock.lengthBytes)
      body(bytes.span.extracting(name..<value), bytes.span.extracting(value..<end))
      at = end
    }
  }

  /// Whether this is an interim response, which another response follows (RFC 9110 15.2).
  var isInterim: Bool {
    var interim = false
    forEach { name, value in
      guard name.count == 7, value.count > 0, name[1] == UInt8(ascii: "s") else { return }
      if unsafe name.withUnsafeBufferPointer({ unsafe $0.elementsEqual(":status".utf8) }) {
        interim = value[0] == UInt8(ascii: "1")
      }
    }
    return interim
  }

  /// Appends a field. Above a limit it empties the block and keeps no more fields.
  mutating func append(
    name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, within limits: SessionLimits
  ) {
    listBytes += name.count + value.count + 32
    fieldsMet += 1
    guard !isTooLarge else { return }
    guard listBytes <= limits.headerListBytesMax, count < limits.headerFieldsMax else {
      return refuse()
    }
    count += 1
    let end = byteCount + 2 * HeaderBlock.lengthBytes + name.count + value.count
    if end > bytes.count {
      let room = [UInt8](repeating: 0, count: max(HeaderBlock.usualBytes, end, 2 * bytes.count) - bytes.count)
      if bytes.isEmpty { bytes = room } else { bytes += room }
    }
    unsafe bytes.withUnsafeMutableBytes { room in
      let lengths = unsafe room.baseAddress! + byteCount
      unsafe lengths.storeBytes(of: UInt32(name.count), as: UInt32.self)
      unsafe (lengths + HeaderBlock.lengthBytes).storeBytes(of: UInt32(value.count), as: UInt32.self)
      let text = unsafe lengths + 2 * HeaderBlock.lengthBytes
      if let start = name.baseAddress { unsafe text.copyMemory(from: start, byteCount: name.count) }
      if let start = value.baseAddress { unsafe (text + name.count).copyMemory(from: start, byteCount: value.count) }
    }
    byteCount = end
  }

  private mutating func refuse() {
    bytes = []
    byteCount = 0
    count = 0
    isTooLarge = true
  }

  private func length(_ at: Int) -> Int {
    Int(unsafe bytes.span.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt32.self))
  }
}

/// A header list whose last values each response replaces. nghttp2 copies the list, so that one serves a whole thread.
@safe package final class RewrittenHeaders {
  /// The list with the current values. Only the owner's thread may use it.
  package let list: PreparedHeaders
  private let fixedCount: Int
  private let bytesMax: [Int]

  /// - Parameter variable: names of the last fields, with the maximum length of their values.
  package init(_ fixed: [(name: String, value: [UInt8])], variable: [(name: String, bytesMax: Int)]) {
    list = PreparedHeaders(fixed + variable.map { ($0.name, [UInt8](repeating: 0, count: $0.bytesMax)) })
    fixedCount = fixed.count
    bytesMax = variable.map(\.bytesMax)
    // Values that never repeat must not fill the table of HPACK.
    for index in fixedCount..<list.count {
      unsafe list.fields[index].flags = UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
    }
  }

  /// Replaces the value of a variable field. The body writes into room for the field's maximum, and returns the length.
  package func set(_ index: Int, _ write: (inout MutableSpan<UInt8>) -> Int) {
    let field = unsafe list.fields + fixedCount + index
    var room = unsafe MutableSpan(_unsafeStart: field.pointee.value, count: bytesMax[index])
    unsafe field.pointee.valuelen = write(&room)
  }
}

/// A header list in nghttp2's format. Created once for lists that every call sends, so that a response allocates
/// nothing for them.
@safe package final class PreparedHeaders: Sendable {
  /// Written once, before other threads can access the list.
  nonisolated(unsafe) let fields: UnsafeMutablePointer<nghttp2_nv>
  let count: Int
  private nonisolated(unsafe) let text: UnsafeMutablePointer<UInt8>

  package init(_ list: [(name: String, value: [UInt8])]) {
    count = list.count
    unsafe fields = .allocate(capacity: max(1, list.count))
    unsafe text = .allocate(capacity: max(1, list.reduce(0) { $0 + $1.name.utf8.count + $1.value.count }))
    var at = unsafe text
    for (index, field) in list.enumerated() {
      let name = unsafe at
      for byte in field.name.utf8 {
        unsafe at.pointee = byte
        unsafe at += 1
      }
      let value = unsafe at
      for byte in field.value {
        unsafe at.pointee = byte
        unsafe at += 1
      }
      unsafe fields[index] = nghttp2_nv(
        name: name, value: value, namelen: field.name.utf8.count, valuelen: field.value.count,
        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
    }
  }

  deinit {
    unsafe fields.deallocate()
    unsafe text.deallocate()
  }
}
