/// What may still come on streams that are no more. nghttp2 could tell, but would keep a quarter of a KiB for each of
/// the last two hundred streams of a connection; as it is told not to, it ignores such frames in silence.
struct ClosedStreams {
  private(set) var lastID: Int32 = -1
  /// Ids that the client passed over: closed for good (RFC 9113 5.1.1). An honest client passes over none.
  private var passedOver = IDRanges(countMax: 16)
  /// Streams that we ended while the client was sending: for a while it cannot know (5.4.2).
  private var resetHere: IDRanges
  private let windowBytes: Int
  /// DATA that may still come on them: a window each, since nobody opens it any more.
  private var lateBytesLeft = 0

  /// - Parameters:
  ///   - streamsMax: how many a client may have open, and so how many can be reset behind its back.
  ///   - windowBytes: how much of one stream it may have under way.
  init(streamsMax: Int, windowBytes: Int) {
    resetHere = IDRanges(countMax: 2 * streamsMax)
    self.windowBytes = windowBytes
  }

  mutating func opened(_ id: Int32) {
    if id > lastID + 2 { passedOver.insert(lastID + 2...id - 2) }
    lastID = id
  }

  /// A stream was refused or reset by us, while more of it may be under way.
  mutating func reset(_ id: Int32) {
    resetHere.insert(id...id)
    lateBytesLeft += windowBytes
  }

  /// What is wrong with HEADERS whose stream is not open.
  func faultOfHeaders(_ id: Int32) -> Fault? {
    if passedOver.contains(id) { return Fault(code: .protocolError, debugData: "stream_id_going_back") }
    return resetHere.contains(id) ? nil : ClosedStreams.frameOnClosedStream
  }

  /// Whether DATA of so many bytes, padding included, may still come on a stream that is not open; then it has.
  mutating func takeLate(_ id: Int32, bytes: Int) -> Bool {
    guard bytes <= lateBytesLeft, resetHere.contains(id) else { return false }
    lateBytesLeft -= bytes
    return true
  }

  static let frameOnClosedStream = Fault(code: .streamClosed, debugData: "frame_on_closed_stream")
}

/// Ids of streams of a client, all of them odd. Bounded: the oldest are forgotten.
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
