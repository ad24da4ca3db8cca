internal import Crypto
package import Store

/// Turns idempotency keys into what may be stored: keyed digests, because a plain hash of a key, or of a request with a
/// password in it, could be guessed at by who reads the table.
package struct IdempotencyKeys: Sendable {
  private let secret: HMACKey

  /// - Parameter secret: the same on every replica, and not in the database.
  package init(secret: [UInt8]) { self.secret = HMACKey(Secret(copying: secret)) }

  /// The key under which one caller's call of one method is recorded.
  ///
  /// - Parameter guest: The names of the user's browser and device, for a call that presents no credential.
  package func key(caller: CallerName, method: String, key: String, guest: [String] = []) -> Digest {
    digest(([caller.text, method, key] + guest).map { Array($0.utf8) })
  }

  /// What tells a repeat from another request under the same key.
  package func request(_ message: [UInt8]) -> Digest { digest([message]) }

  /// Each part behind its length, so that no two lists of parts meet.
  private func digest(_ parts: [[UInt8]]) -> Digest {
    var input: [UInt8] = []
    for part in parts {
      let count = UInt64(part.count)
      input += (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } + part
    }
    return Digest(secret.code(of: input))
  }
}
