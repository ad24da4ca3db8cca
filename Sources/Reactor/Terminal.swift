internal import CLinux

/// Returns the value of an environment variable. Returns nil if it is unset, or empty: some tools can only set a
/// variable to an empty value.
package func environmentVariable(_ name: String) -> String? {
  guard let value = unsafe lk_environment(name).map({ unsafe String(cString: $0) }), !value.isEmpty else { return nil }
  return value
}

package func isTerminal(_ descriptor: Int32) -> Bool { lk_is_terminal(descriptor) }

package enum SecretReading: Sendable {
  case line(String)
  case noTerminal
  /// The input ended early (Ctrl-C or end of input), is too long, or is not UTF-8.
  case givenUp
}

/// Reads a secret from the terminal without showing it.
package func readSecret(prompt: String, bytesMax: Int) -> SecretReading {
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytesMax) { line in
    let count = unsafe lk_read_secret(prompt, line.baseAddress, Int32(clamping: bytesMax))
    if count == -ENXIO { return .noTerminal }
    guard count >= 0 else { return .givenUp }
    let bytes = unsafe line[..<Int(count)].map { UInt8(bitPattern: $0) }
    return String(validating: bytes, as: UTF8.self).map(SecretReading.line) ?? .givenUp
  }
}

/// Reads the rest of standard input from its existing descriptor. Opening `/dev/stdin` fails for a socket, and for a
/// pipe that another user has created. Throws EFBIG if the input exceeds `bytesMax`.
package func wholeStandardInput(bytesMax: Int) throws(SystemError) -> [UInt8] {
  try readRest(of: 0, bytesMax: bytesMax, call: "read standard input")
}
