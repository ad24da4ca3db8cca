internal import CNghttp2

/// One request and its answer, as bytes.
@safe package final class Stream {
  package let id: Int32
  /// The request's fields, pseudo fields included, in their order.
  package internal(set) var headers = HeaderBlock()
  /// What has come of the body.
  private var body = ByteQueue()
  /// The header block is whole.
  package internal(set) var headersComplete = false
  /// The block was larger than the limit, or had too many fields; nothing of it is kept.
  package var headersTooLarge: Bool { headers.isTooLarge }
  /// The client said that no more comes.
  package internal(set) var ended = false
  /// With the code that closed it.
  package internal(set) var closedWith: ErrorCode?
  /// Something of the above is new since the connection looked.
  var isTouched = false
  var emptyDataFrames = 0
  /// By the client.
  var isReset = false

  /// The call that lives on this stream; whoever drives the connection puts it here.
  package var call: AnyObject?

  /// The head of the answer was submitted.
  package internal(set) var answered = false
  /// The answer is complete, if not yet sent: what the client still sends is of no use.
  var finished = false
  private var out = ByteQueue()
  /// All that the client ever took.
  private var takenBytes = 0
  private var untaken = Untaken()
  private var trailers: PreparedHeaders?
  private var trailersSubmitted = false

  init(id: Int32) { self.id = id }

  package var isClosed: Bool { closedWith != nil }

  /// Bytes queued that the client has not taken: what back-pressure looks at.
  package var unsentBytes: Int { out.count }

  /// The head was read: its fields need not be kept for as long as the call takes.
  package func dropHeaders() { headers = HeaderBlock() }

  /// Body bytes that nobody has taken yet.
  package var untakenBodyBytes: Int { body.count }

  func received(_ bytes: UnsafeBufferPointer<UInt8>) { unsafe body.append(bytes) }

  /// Takes what has come of the body so far.
  package func takeBody() -> [UInt8] { body.takeAll() }

  /// Takes a part of it.
  package func takeBody(most: Int) -> [UInt8] { body.take(most: most) }

  func queue(_ bytes: [UInt8]) {
    if out.count == 0 { untaken = Untaken() }
    out.append(bytes)
  }

  func finish(_ trailers: PreparedHeaders) {
    self.trailers = trailers
    finished = true
  }

  /// Trailers leave behind the data only, and that needs room in the client's windows even where nothing is left of it.
  var owesTrailers: Bool { trailers != nil && !trailersSubmitted && !isClosed }

  /// Nothing more leaves; returns how many bytes that concerns.
  func dropUnsent() -> Int {
    defer {
      out.removeAll()
      trailersSubmitted = true
    }
    return unsentBytes
  }

  /// When the client's time for what it leaves untaken is over; nil: nothing waits for it.
  func untakenDueMillis(_ limits: Untaken.Limits, nowMillis: Int64) -> Int64? {
    untaken.look(leftBytes: unsentBytes + (owesTrailers ? 1 : 0), takenBytes: takenBytes, nowMillis: nowMillis)
    return untaken.dueMillis(limits)
  }

  /// nghttp2 asks for at most `count` bytes of the body. At its end the trailers are submitted from here, as
  /// nghttp2 wants it: after the end of data is known and before the frame is made.
  func read(
    into buffer: UnsafeMutablePointer<UInt8>, count: Int, flags: UnsafeMutablePointer<UInt32>, session: OpaquePointer?
  ) -> Int {
    let bytes = min(count, unsentBytes)
    if bytes > 0 {
      unsafe out.take(into: buffer, count: bytes)
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

/// The fields of a request in one buffer, each behind the lengths of its name and its value (4 bytes each).
package struct HeaderBlock {
  private static let lengthBytes = 4
  /// A usual request fits.
  private static let usualBytes = 512
  /// Zeros behind the `byteCount` that are in use: to write into room that is there is cheaper than to append.
  private var bytes: [UInt8] = []
  private var byteCount = 0
  package private(set) var count = 0
  /// As RFC 9113 6.5.2 counts: name + value + 32 for each field. Goes on where the block itself takes no more.
  private(set) var listBytes = 0
  /// All that came, taken or not.
  private(set) var fieldsMet = 0
  private(set) var isTooLarge = false

  /// Name and value of each field, in order.
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

  /// Of an answer that another follows (RFC 9110 15.2).
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

  /// Past a limit the block is emptied and takes no more.
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

/// A header list in the form nghttp2 takes. Prepared once for the lists that every call sends, so that an answer
/// allocates nothing for them.
@safe package final class PreparedHeaders: Sendable {
  /// Written once, before anyone else sees the list.
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
