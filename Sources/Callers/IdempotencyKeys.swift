internal import Crypto
package import Store

/// Converts idempotency keys to keyed digests for storage.
///
/// An attacker who reads the table could guess the input of a plain hash: a key, or a request with a password.
package struct IdempotencyKeys: Sendable {
  private let secret: HMACKey
  /// The same under the other master keys. Their digests are recorded and looked up too.
  package let others: [IdempotencyKeys]

  /// - Parameter secret: identical on every replica, and not in the database.
  package init(secret: [UInt8], others: [[UInt8]] = []) {
    self.secret = HMACKey(Secret(copying: secret))
    self.others = others.map { IdempotencyKeys(secret: $0) }
  }

  /// Returns the digest under which one caller's call of one method is recorded.
  ///
  /// - Parameter guest: names of the user's browser and device, for a call that presents no credential.
  package func key(caller: CallerName, method: String, key: String, guest: [String] = []) -> Digest {
    digest(([caller.text, method, key] + guest).map { Array($0.utf8) })
  }

  /// Returns the digest that distinguishes a repeat from another request under the same key.
  package func request(_ message: [UInt8]) -> Digest { digest([message]) }

  /// Prefixes each part with its length, so that no two lists of parts have the same input.
  private func digest(_ parts: [[UInt8]]) -> Digest {
    var input: [UInt8] = []
    for part in parts {
      let count = UInt64(part.count)
      input += (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } + part
    }
    return Digest(secret.code(of: input))
  }
}
