internal import CLinux

/// The result of a step on a socket without TLS.
package enum SocketStep: Hashable, Sendable {
  /// The number of bytes moved.
  case done(Int)
  /// No bytes can be moved now.
  case wait
  /// The peer sends no more data, or is gone.
  case closed
}

/// Appends at most `bytesMax` received bytes from a non-blocking socket.
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

/// Ends sending on a socket. The peer's remaining data can still be read.
package func endSending(to descriptor: Int32) { _ = lk_shutdown_write(descriptor) }

/// Returns whether the peer is alive and has unacknowledged data. Its kernel acknowledges even if its program does not
/// read.
package func isTaking(_ descriptor: Int32) -> Bool {
  // About six seconds if acknowledgements usually arrive immediately.
  let unansweredMax = 5
  return lk_unacknowledged(descriptor) > 0 && lk_unanswered(descriptor) < unansweredMax
}

private func step(_ result: Int64) -> SocketStep {
  if result > 0 { return .done(Int(result)) }
  return result == Int64(-EAGAIN) ? .wait : .closed
}
