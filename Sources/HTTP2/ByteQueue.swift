/// Bytes that come at the end and are taken from the front.
struct ByteQueue {
  private var bytes: [UInt8] = []
  /// How many of them were taken: to move the rest for each part would cost more than to keep them for a while.
  private var offset = 0

  /// Those that were not taken.
  var count: Int { bytes.count - offset }
  /// Those that lie here, taken or not.
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

  /// A peer that always leaves one byte, or always sends before the last is taken, must not have us keep all that ever
  /// was here. What is left is moved only where that is less than what it makes room for.
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
