/// Reads the headers of received frames in parallel with nghttp2. nghttp2 does not report frames that it ignores:
/// unknown types, and all frames on closed streams.
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

  /// Number of bytes still missing from the preface or from a payload.
  private var bytesLeft = prefaceBytes
  /// Length, type and flags of a frame header, as far as received.
  private var head: UInt64 = 0
  /// The stream ID that follows them, as far as received.
  private var stream: UInt32 = 0
  private var headBytesRead = 0
  /// Whether a header block continues in CONTINUATION frames.
  private var blockIsOpen = false
  /// Whether a frame followed the preface. It must be SETTINGS (RFC 9113 3.4).
  private var isGreeted = false

  /// When an incomplete preface, header block or frame began. nil: none is incomplete.
  private(set) var begunMillis: Int64?

  init(nowMillis: Int64) { begunMillis = nowMillis }

  /// Passes each complete frame header to `body`, with its offset in `bytes`. A negative offset is in earlier bytes.
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

  /// Reads a part of a frame header. Returns the number of bytes it took.
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
      // The first bit is reserved (RFC 9113 4.1).
      stream: Int32(truncatingIfNeeded: stream & 0x7fff_ffff))
    if read.kind == FrameHeads.headers || read.kind == FrameHeads.continuation {
      blockIsOpen = read.flags & FrameHeads.endHeaders == 0
    }
    (head, stream, headBytesRead, bytesLeft, isGreeted) = (0, 0, 0, read.length, true)
    return read
  }
}
