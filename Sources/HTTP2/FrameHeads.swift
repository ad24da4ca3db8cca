internal import CNghttp2

/// Follows the heads of frames (RFC 9113 4.1) through what a client sends, however it comes in pieces.
struct FrameHeads {
  struct Head {
    static let bytes = 9
    var kind: UInt8 = 0
    var stream: Int32 = 0
  }

  /// Bytes before the next head: of a payload, or of the preface that a client begins with (3.4).
  private var bytesLeft = 24
  private var payloadBytes = 0
  private var head = Head()
  private var seen = 0

  /// The next head that is whole; `offset` is where it ends.
  mutating func next(in bytes: UnsafeRawBufferPointer, from offset: inout Int) -> Head? {
    let skipped = min(bytesLeft, bytes.count - offset)
    bytesLeft -= skipped
    offset += skipped
    while offset < bytes.count {
      let byte = unsafe bytes[offset]
      offset += 1
      switch seen {
      case 0, 1, 2: payloadBytes = payloadBytes << 8 | Int(byte)
      case 3: head.kind = byte
      case 4: break
      default: head.stream = head.stream << 8 | Int32(byte)
      }
      seen += 1
      guard seen < Head.bytes else { return take() }
    }
    return nil
  }

  private mutating func take() -> Head {
    // The first bit of the id is reserved.
    let taken = Head(kind: head.kind, stream: head.stream & .max)
    (bytesLeft, payloadBytes, seen, head) = (payloadBytes, 0, 0, Head())
    return taken
  }
}
