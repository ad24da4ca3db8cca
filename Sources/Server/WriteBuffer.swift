/// Room for what is to be written. A connection whose socket takes all of it gives it back, and the next writes there:
/// one buffer serves a reactor as long as no socket is full.
struct WriteBuffer {
  private var bytes: [UInt8] = []

  mutating func take() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }

  /// What a large answer has made larger than `bytesMax` is not kept.
  mutating func giveBack(_ buffer: [UInt8], bytesMax: Int) {
    bytes = buffer.capacity <= bytesMax ? buffer : []
  }
}
