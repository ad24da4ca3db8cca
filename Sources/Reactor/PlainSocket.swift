internal import CLinux

/// What a step on a socket without TLS came to.
package enum SocketStep: Hashable, Sendable {
  /// This many bytes were moved.
  case done(Int)
  /// Nothing can be moved now.
  case wait
  /// The peer sends no more, or is gone.
  case closed
}

/// Appends at most `bytesMax` bytes that have come on a non-blocking socket.
package func receive(from descriptor: Int32, into bytes: inout [UInt8], bytesMax: Int) -> SocketStep {
  let before = bytes.count
  bytes += [UInt8](repeating: 0, count: bytesMax)
  let count = unsafe bytes.withUnsafeMutableBytes { unsafe lk_read(descriptor, $0.baseAddress! + before, bytesMax) }
  bytes.removeLast(bytesMax - max(0, Int(count)))
  return step(count)
}

/// Writes a prefix of `bytes` to a non-blocking socket.
package func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> SocketStep {
  step(unsafe bytes.withUnsafeBytes { unsafe lk_send(descriptor, $0.baseAddress, $0.count) })
}

/// Says that no more is sent; what the peer still sends can be read.
package func endSending(to descriptor: Int32) { _ = lk_shutdown_write(descriptor) }

/// Whether the peer has still to take something that was sent, and is there: its kernel answers even where its program
/// does not read.
package func isTaking(_ descriptor: Int32) -> Bool {
  // Some six seconds where answers usually come at once.
  let unansweredMax = 5
  return lk_unacknowledged(descriptor) > 0 && lk_unanswered(descriptor) < unansweredMax
}

private func step(_ result: Int64) -> SocketStep {
  if result > 0 { return .done(Int(result)) }
  return result == Int64(-EAGAIN) ? .wait : .closed
}
