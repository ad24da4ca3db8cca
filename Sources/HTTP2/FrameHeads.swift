/// The heads of the frames that come in, read beside nghttp2, which keeps silent about all that it ignores: frames of
/// unknown types, and whatever comes on streams that have closed.
struct FrameHeads {
  struct Head {
    var length: Int
    var kind: UInt8
    var flags: UInt8
    var stream: Int32
  }

  private static let prefaceBytes = 24
  private static let headBytes = 9
  private static let endHeaders: UInt8 = 0x4
  private static let (headers, continuation): (UInt8, UInt8) = (0x1, 0x9)

  /// Bytes of the preface, or of a payload, that are still to come.
  private var bytesLeft = prefaceBytes
  /// Length, type and flags of a head, as far as it has come.
  private var head: UInt64 = 0
  /// The stream's id behind them, as far as it has come.
  private var stream: UInt32 = 0
  private var headBytesRead = 0
  /// A header block goes on in CONTINUATION frames.
  private var blockIsOpen = false
  /// The preface has a SETTINGS frame behind it (RFC 9113 3.4).
  private var isGreeted = false

  /// Since when a greeting, a header block or a frame has begun of which the rest is missing.
  private(set) var begunMillis: Int64?

  init(nowMillis: Int64) { begunMillis = nowMillis }

  /// Passes each head to `body` as soon as it is whole, with where it begins (below 0: in what was read before).
  mutating func read(_ bytes: UnsafeRawBufferPointer, nowMillis: Int64, _ body: (Head, Int) -> Void) {
    var at = 0
    var wasWhole = begunMillis == nil
    while at < bytes.count {
      if bytesLeft > 0 {
        let skipped = min(bytesLeft, bytes.count - at)
        bytesLeft -= skipped
        at += skipped
      } else {
        unsafe at += readHead(bytes, from: at)
        guard headBytesRead == FrameHeads.headBytes else { continue }
        body(begin(), at - FrameHeads.headBytes)
      }
      if isWhole { wasWhole = true }
    }
    if isWhole {
      begunMillis = nil
    } else if wasWhole {
      begunMillis = nowMillis
    }
  }

  private var isWhole: Bool { bytesLeft == 0 && headBytesRead == 0 && !blockIsOpen && isGreeted }

  /// Returns how many bytes it took.
  private mutating func readHead(_ bytes: UnsafeRawBufferPointer, from at: Int) -> Int {
    if headBytesRead == 0, bytes.count - at >= FrameHeads.headBytes {
      head = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)) >> 24
      stream = unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: at + 5, as: UInt32.self))
      headBytesRead = FrameHeads.headBytes
      return FrameHeads.headBytes
    }
    if headBytesRead < FrameHeads.headBytes - 4 {
      head = unsafe head << 8 | UInt64(bytes[at])
    } else {
      stream = unsafe stream << 8 | UInt32(bytes[at])
    }
    headBytesRead += 1
    return 1
  }

  private mutating func begin() -> Head {
    let read = Head(
      length: Int(head >> 16), kind: UInt8(truncatingIfNeeded: head >> 8), flags: UInt8(truncatingIfNeeded: head),
      // The first bit is reserved.
      stream: Int32(truncatingIfNeeded: stream & 0x7fff_ffff))
    if read.kind == FrameHeads.headers || read.kind == FrameHeads.continuation {
      blockIsOpen = read.flags & FrameHeads.endHeaders == 0
    }
    (head, stream, headBytesRead, bytesLeft, isGreeted) = (0, 0, 0, read.length, true)
    return read
  }
}
