/// A first-in, first-out queue of bytes.
struct ByteQueue {
  private var bytes: [UInt8] = []
  /// Number of taken bytes at the front. Moving the rest after each part would cost more than keeping the taken bytes
  /// for a while.
  private var offset = 0

  /// Number of bytes that are not taken yet.
  var count: Int { bytes.count - offset }
  /// Number of bytes in memory, taken or not.
  var keptCount: Int { bytes.count }

  mutating func append(_ more: [UInt8]) {
    guard count > 0 else { return (bytes, offset) = (more, 0) }
    dropTaken()
    bytes += more
  }

  mutating func append(_ more: UnsafeBufferPointer<UInt8>) {
    dropTaken()
    unsafe bytes.append(contentsOf: more)
  }

  /// Frees the taken bytes if they are more than half. A peer that always leaves one byte would otherwise make the
  /// queue keep everything. So would a peer that always sends before the last byte is taken. Each move copies fewer
  /// bytes than it frees.
  private mutating func dropTaken() {
    guard offset > bytes.count / 2 else { return }
    bytes.removeFirst(offset)
    offset = 0
  }

  mutating func takeAll() -> [UInt8] {
    defer { removeAll() }
    return offset == 0 ? bytes : Array(bytes[offset...])
  }

  mutating func take(most: Int) -> [UInt8] {
    guard count > most else { return takeAll() }
    defer { offset += most }
    return Array(bytes[offset..<offset + most])
  }

  mutating func take(into buffer: UnsafeMutablePointer<UInt8>, count taken: Int) {
    unsafe bytes.withUnsafeBufferPointer { unsafe buffer.update(from: $0.baseAddress! + offset, count: taken) }
    offset += taken
  }

  mutating func removeAll() { (bytes, offset) = ([], 0) }
}
