/// Shared output buffer of a reactor. A connection whose socket accepts all output returns the buffer for the next one.
/// One buffer therefore serves a reactor while no socket is full.
struct WriteBuffer {
  private var bytes: [UInt8] = []

  mutating func take() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }

  /// Returns the buffer. Frees it if a large response grew it beyond `bytesMax`.
  mutating func giveBack(_ buffer: [UInt8], bytesMax: Int) {
    bytes = buffer.capacity <= bytesMax ? buffer : []
  }
}
