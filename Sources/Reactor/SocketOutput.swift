/// Bytes for a socket, with the part that the socket has accepted.
package struct SocketOutput: Sendable {
  package var bytes: [UInt8] = []
  /// Number of accepted bytes at the start of `bytes`.
  package private(set) var offset = 0
  /// Number of accepted bytes since the connection opened.
  package private(set) var acceptedBytes = 0

  package init() {}

  package var unsent: ArraySlice<UInt8> { bytes[offset...] }
  package var unsentBytes: Int { bytes.count - offset }

  package mutating func accepted(_ count: Int) {
    offset += count
    acceptedBytes += count
  }

  /// Removes all bytes. Keeps the buffer unless it grew beyond `bytesMax`.
  package mutating func clear(keepingUpTo bytesMax: Int = .max) {
    bytes.removeAll(keepingCapacity: bytes.capacity <= bytesMax)
    offset = 0
  }

  /// Removes the buffer and returns it.
  package mutating func takeBuffer() -> [UInt8] {
    defer {
      bytes = []
      offset = 0
    }
    return bytes
  }
}
