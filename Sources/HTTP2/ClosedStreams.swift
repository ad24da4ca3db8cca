/// Frames that may still arrive on closed streams. nghttp2 could track them, but needs 256 bytes for each of a
/// connection's last 200 streams. That tracking is disabled, so nghttp2 ignores such frames silently.
struct ClosedStreams {
  private(set) var lastID: Int32 = -1
  /// IDs that the client skipped. Skipping closes them permanently (RFC 9113 5.1.1). A well-behaved client skips none.
  private var passedOver = IDRanges(countMax: 16)
  /// Streams that the server ended while the client was sending. The client learns of the end with a delay (5.4.2).
  private var resetHere: IDRanges
  private let windowBytes: Int
  /// Bytes of DATA that may still arrive on these streams: one window each, because the server returns no more window.
  private var lateBytesLeft = 0

  /// - Parameters:
  ///   - streamsMax: Maximum number of open streams, and so of streams that the server can reset before the client
  ///     knows.
  ///   - windowBytes: Maximum number of bytes in flight on one stream.
  init(streamsMax: Int, windowBytes: Int) {
    resetHere = IDRanges(countMax: 2 * streamsMax)
    self.windowBytes = windowBytes
  }

  mutating func opened(_ id: Int32) {
    if id > lastID + 2 { passedOver.insert(lastID + 2...id - 2) }
    lastID = id
  }

  /// Records a stream that the server refused or reset while more of it may be in flight.
  mutating func reset(_ id: Int32) {
    resetHere.insert(id...id)
    lateBytesLeft += windowBytes
  }

  /// Returns the fault of HEADERS on a stream that is not open, or nil if they may still arrive.
  func faultOfHeaders(_ id: Int32) -> Fault? {
    if passedOver.contains(id) { return Fault(code: .protocolError, debugData: "stream_id_going_back") }
    return resetHere.contains(id) ? nil : ClosedStreams.frameOnClosedStream
  }

  /// Returns whether DATA may still arrive on a stream that is not open, and subtracts its size if so. `bytes` includes
  /// padding.
  mutating func takeLate(_ id: Int32, bytes: Int) -> Bool {
    guard bytes <= lateBytesLeft, resetHere.contains(id) else { return false }
    lateBytesLeft -= bytes
    return true
  }

  static let frameOnClosedStream = Fault(code: .streamClosed, debugData: "frame_on_closed_stream")
}

/// Stream IDs of a client, all of them odd. The set is bounded and drops the oldest range first.
private struct IDRanges {
  private let countMax: Int
  private var ranges: [ClosedRange<Int32>] = []

  init(countMax: Int) { self.countMax = countMax }

  mutating func insert(_ range: ClosedRange<Int32>) {
    if let last = ranges.last, last.upperBound + 2 == range.lowerBound {
      ranges[ranges.count - 1] = last.lowerBound...range.upperBound
      return
    }
    if ranges.count == countMax { ranges.removeFirst() }
    ranges.append(range)
  }

  func contains(_ id: Int32) -> Bool { ranges.contains { $0.contains(id) } }
}
