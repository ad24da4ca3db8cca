internal import CNghttp2

/// One request and its answer, as bytes.
@safe package final class Stream {
  package let id: Int32
  /// The request's fields, pseudo fields included, in their order.
  package internal(set) var headers = HeaderBlock()
  /// Body bytes that nobody has taken yet.
  package internal(set) var body: [UInt8] = []
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
  private var out: [UInt8] = []
  private var outOffset = 0
  /// All that the client ever took.
  private var takenBytes = 0
  private var untaken = Untaken()
  private var trailers: PreparedHeaders?

  init(id: Int32) { self.id = id }

  package var isClosed: Bool { closedWith != nil }

  /// Bytes queued that the client has not taken: what back-pressure looks at.
  package var unsentBytes: Int { out.count - outOffset }

  /// The head was read: its fields need not be kept for as long as the call takes.
  package func dropHeaders() { headers = HeaderBlock() }

  /// Takes what has come of the body so far.
  package func takeBody() -> [UInt8] {
    defer { body = [] }
    return body
  }

  /// Takes a part of it.
  package func takeBody(most: Int) -> [UInt8] {
    guard body.count > most else { return takeBody() }
    defer { body.removeFirst(most) }
    return Array(body[..<most])
  }

  func queue(_ bytes: [UInt8]) {
    if outOffset == out.count {
      out = bytes
      outOffset = 0
      untaken = Untaken()
    } else {
      out += bytes
    }
  }

  func finish(_ trailers: PreparedHeaders) {
    self.trailers = trailers
    finished = true
  }

  /// Nothing more leaves; returns how many bytes that concerns.
  func dropUnsent() -> Int {
    defer { (out, outOffset) = ([], 0) }
    return unsentBytes
  }

  /// When the client's time for what it leaves untaken is over; nil: nothing waits for it.
  func untakenDueMillis(_ limits: Untaken.Limits, nowMillis: Int64) -> Int64? {
    untaken.look(leftBytes: unsentBytes, takenBytes: takenBytes, nowMillis: nowMillis)
    return untaken.dueMillis(limits)
  }

  /// nghttp2 asks for at most `count` bytes of the body. At its end the trailers are submitted from here, as
  /// nghttp2 wants it: after the end of data is known and before the frame is made.
  func read(
    into buffer: UnsafeMutablePointer<UInt8>, count: Int, flags: UnsafeMutablePointer<UInt32>, session: OpaquePointer?
  ) -> Int {
    let bytes = min(count, unsentBytes)
    if bytes > 0 {
      unsafe out.withUnsafeBufferPointer { source in
        unsafe buffer.update(from: source.baseAddress! + outOffset, count: bytes)
      }
      outOffset += bytes
      takenBytes += bytes
    }
    guard unsentBytes == 0 else { return bytes }
    guard let trailers else { return bytes > 0 ? bytes : Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    unsafe flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) | UInt32(NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue)
    let result = unsafe nghttp2_submit_trailer(session, id, trailers.fields, trailers.count)
    return result == 0 ? bytes : Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
  }
}

/// The fields of a request in one buffer, each behind the lengths of its name and its value (4 bytes each).
package struct HeaderBlock {
  private static let lengthBytes = 4
  private var bytes: [UInt8] = []
  package private(set) var count = 0
  /// As RFC 9113 6.5.2 counts: name + value + 32 for each field. Goes on where the block itself takes no more.
  private(set) var listBytes = 0
  /// All that came, taken or not.
  private(set) var fieldsMet = 0
  private(set) var isTooLarge = false

  /// Name and value of each field, in order.
  package func forEach(_ body: (_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Void) {
    var at = 0
    while at < bytes.count {
      let name = at + 2 * HeaderBlock.lengthBytes
      let value = name + length(at)
      let end = value + length(at + HeaderBlock.lengthBytes)
      body(bytes[name..<value], bytes[value..<end])
      at = end
    }
  }

  /// Of an answer that another follows (RFC 9110 15.2).
  var isInterim: Bool {
    var interim = false
    forEach { name, value in
      if name.elementsEqual(":status".utf8) { interim = value.first == UInt8(ascii: "1") }
    }
    return interim
  }

  /// Past a limit the block is emptied and takes no more.
  mutating func append(
    name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, within limits: SessionLimits
  ) {
    meet(nameBytes: name.count, valueBytes: value.count)
    guard !isTooLarge else { return }
    guard listBytes <= limits.headerListBytesMax, count < limits.headerFieldsMax else {
      return refuse()
    }
    // A usual request fits: no growth while it is collected.
    if count == 0 { bytes.reserveCapacity(400) }
    count += 1
    append(length: name.count)
    append(length: value.count)
    unsafe bytes.append(contentsOf: name)
    unsafe bytes.append(contentsOf: value)
  }

  /// A field that nghttp2 ignores costs as much as any (CVE-2019-9516).
  mutating func ignore(nameBytes: Int, valueBytes: Int, within limits: SessionLimits) {
    meet(nameBytes: nameBytes, valueBytes: valueBytes)
    if listBytes > limits.headerListBytesMax { refuse() }
  }

  private mutating func meet(nameBytes: Int, valueBytes: Int) {
    listBytes += nameBytes + valueBytes + 32
    fieldsMet += 1
  }

  private mutating func refuse() {
    bytes = []
    count = 0
    isTooLarge = true
  }

  private mutating func append(length: Int) {
    unsafe withUnsafeBytes(of: UInt32(length)) { unsafe bytes.append(contentsOf: $0) }
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
