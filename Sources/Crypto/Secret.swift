internal import COpenSSL

/// Key bytes in memory of their own, wiped when the last owner lets go. Its description shows nothing, it cannot be
/// compared or encoded, and outside this module the bytes are reachable only where they are asked for by name.
@safe
package final class Secret: Sendable {
  package let count: Int
  private nonisolated(unsafe) let memory: UnsafeMutablePointer<UInt8>

  private init(count: Int) {
    self.count = count
    unsafe memory = .allocate(capacity: max(count, 1))
  }

  deinit {
    unsafe OPENSSL_cleanse(memory, count)
    unsafe memory.deallocate()
  }

  /// Takes a copy; whoever read the bytes from a file or the environment still holds the original.
  package convenience init(copying bytes: [UInt8]) {
    self.init(count: bytes.count)
    for (index, byte) in bytes.enumerated() { unsafe memory[index] = byte }
  }

  /// `fill` writes all `count` bytes.
  static func filled(
    count: Int, by fill: (UnsafeMutablePointer<UInt8>) throws(CryptoError) -> Void
  ) throws(CryptoError) -> Secret {
    let secret = Secret(count: count)
    unsafe secret.memory.initialize(repeating: 0, count: count)
    try unsafe fill(secret.memory)
    return secret
  }

  /// The text of a secret that is shared with somebody, to be sent to them; a copy that nobody wipes. Keys have none.
  package var revealed: String {
    unsafe String(decoding: UnsafeBufferPointer(start: memory, count: count), as: UTF8.self)
  }

  /// The pointer is good for the length of the call.
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
    unsafe body(UnsafePointer(memory), count)
  }
}

extension Secret: CustomStringConvertible, CustomReflectable {
  package var description: String { "Secret(\(count) bytes)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
