/// What a connection waits for on its socket: the events that epoll reports, the direction that TLS needs first, and
/// whether the connection is muted.
package struct SocketInterest: Hashable, Sendable {
  private var watchesRead: Bool
  private var watchesWrite: Bool
  /// TLS can read only after the socket accepts bytes.
  private var readWantsWrite = false
  /// TLS can write only after bytes arrive.
  private var writeWantsRead = false
  /// The connection is not read until its queued output is sent.
  package private(set) var isMuted = false
  /// Time when reading last resumed, in milliseconds.
  package private(set) var unmutedMillis: Int64 = 0

  /// - Parameters: the events that epoll reports at first.
  package init(read: Bool, write: Bool) {
    watchesRead = read
    watchesWrite = write
  }

  // MARK: Readiness

  /// Whether an event of the socket lets the connection read.
  package func mayRead(readable: Bool, writable: Bool) -> Bool { readable || (writable && readWantsWrite) }

  /// Whether an event of the socket lets the connection write.
  package func mayWrite(readable: Bool, writable: Bool) -> Bool { writable || (readable && writeWantsRead) }

  package mutating func beginReading() { readWantsWrite = false }

  package mutating func needWriteToRead() { readWantsWrite = true }

  package mutating func beginWriting() { writeWantsRead = false }

  package mutating func needReadToWrite() { writeWantsRead = true }

  // MARK: Backpressure

  package mutating func mute() { isMuted = true }

  /// Resumes reading. Returns whether the connection was muted.
  package mutating func unmute(nowMillis: Int64) -> Bool {
    guard isMuted else { return false }
    isMuted = false
    unmutedMillis = nowMillis
    return true
  }

  // MARK: Events of epoll

  /// Records the events that the connection needs. Returns whether epoll must change.
  package mutating func watch(read: Bool, write: Bool) -> Bool {
    guard read != watchesRead || write != watchesWrite else { return false }
    watchesRead = read
    watchesWrite = write
    return true
  }

  /// Whether the connection waits for the socket to accept bytes after its output is sent.
  package func waitsToWrite(hasOutput: Bool) -> Bool { readWantsWrite || hasOutput }
}
