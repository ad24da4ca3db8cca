internal import COpenSSL

/// Key bytes in their own memory, which is wiped when the last owner releases them. The description shows no bytes, and
/// a secret cannot be compared or encoded. Outside this module only `revealed` returns the bytes.
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

  /// Copies the bytes. The caller still holds the original, for example from a file or the environment.
  package convenience init(copying bytes: [UInt8]) {
    self.init(count: bytes.count)
    for (index, byte) in bytes.enumerated() { unsafe memory[index] = byte }
  }

  /// Creates a secret. `fill` writes all `count` bytes.
  static func filled(
    count: Int, by fill: (UnsafeMutablePointer<UInt8>) throws(CryptoError) -> Void
  ) throws(CryptoError) -> Secret {
    let secret = Secret(count: count)
    unsafe secret.memory.initialize(repeating: 0, count: count)
    try unsafe fill(secret.memory)
    return secret
  }

  /// The text of a secret that is shared with another party, to send to it. This copy is not wiped. Keys have no text.
  package var revealed: String {
    unsafe String(decoding: UnsafeBufferPointer(start: memory, count: count), as: UTF8.self)
  }

  /// Calls `body` with a pointer that is valid during the call.
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
    unsafe body(UnsafePointer(memory), count)
  }
}

extension Secret: CustomStringConvertible, CustomReflectable {
  package var description: String { "Secret(\(count) bytes)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
