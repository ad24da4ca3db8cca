internal import CNghttp2

/// Frames whose headers are read, but which nghttp2 has not received yet. The state of the connection when nghttp2
/// reaches them decides whether some of them are faults.
struct UnfedFrames {
  /// DATA frames on streams that may have closed, each with its offset in the bytes read.
  private var doubtful: [(start: Int, head: FrameHeads.Head)] = []
  /// Whether one of the frames resets a stream.
  private var resetIsAhead = false
  /// The highest stream ID of these frames. Opening it closes the IDs that it skips.
  private var idAhead: Int32 = 0
  /// Number of CONTINUATION frames of the header block that is being received.
  private var continuations = 0

  /// Records a frame header. Returns the abuse that it counts as, if any.
  mutating func met(_ head: FrameHeads.Head, continuationsMax: Int) -> Budget.Kind? {
    switch UInt32(head.kind) {
    case NGHTTP2_HEADERS.rawValue:
      continuations = 0
      idAhead = max(idAhead, head.stream)
      return nil
    case NGHTTP2_CONTINUATION.rawValue:
      continuations += 1
      return continuations > continuationsMax ? .continuation : nil
    case NGHTTP2_DATA.rawValue where head.length > 0: return nil
    case NGHTTP2_RST_STREAM.rawValue:
      resetIsAhead = true
      return .controlFrame
    default: return .controlFrame
    }
  }

  /// Whether a stream that is open, or not open yet, may have closed when nghttp2 reaches the frame.
  func mayClose(_ id: Int32, isOpen: Bool) -> Bool { resetIsAhead || (!isOpen && id < idAhead) }

  mutating func doubt(_ head: FrameHeads.Head, start: Int) { doubtful.append((start, head)) }

  mutating func takeDoubtful() -> [(start: Int, head: FrameHeads.Head)] {
    resetIsAhead = false
    idAhead = 0
    defer { doubtful = [] }
    return doubtful
  }
}
