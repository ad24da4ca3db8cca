internal import CLinux

/// nil: it is not set, or empty, by which shells unset what they cannot.
package func environmentVariable(_ name: String) -> String? {
  guard let value = unsafe lk_environment(name).map({ unsafe String(cString: $0) }), !value.isEmpty else { return nil }
  return value
}

package func isTerminal(_ descriptor: Int32) -> Bool { lk_is_terminal(descriptor) }

package enum SecretReading: Sendable {
  case line(String)
  case noTerminal
  /// Ctrl-C, the end of input, more than fits, or what is no UTF-8.
  case givenUp
}

/// Asks on the terminal for what must not be seen there.
package func readSecret(prompt: String, bytesMax: Int) -> SecretReading {
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytesMax) { line in
    let count = unsafe lk_read_secret(prompt, line.baseAddress, Int32(clamping: bytesMax))
    if count == -ENXIO { return .noTerminal }
    guard count >= 0 else { return .givenUp }
    let bytes = unsafe line[..<Int(count)].map { UInt8(bitPattern: $0) }
    return String(validating: bytes, as: UTF8.self).map(SecretReading.line) ?? .givenUp
  }
}

/// What is left on standard input, as it was handed to the process: /dev/stdin would be opened anew, which a socket
/// cannot be, nor a pipe that another user has made. EFBIG where it is longer.
package func wholeStandardInput(bytesMax: Int) throws(SystemError) -> [UInt8] {
  try readRest(of: 0, bytesMax: bytesMax, call: "read standard input")
}
