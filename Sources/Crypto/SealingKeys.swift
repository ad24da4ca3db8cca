internal import COpenSSL

/// Authenticated encryption of values in the database, under keys that are stored elsewhere: AES-256-GCM (NIST SP
/// 800-38D).
///
/// A sealed value is `key id (4) | nonce (12) | ciphertext | tag (16)`, in bytes. The first key seals and every key
/// opens. To rotate a key, put a new one in front. Ids are derived from the keys: operators need not number them, and a
/// key has the same id on every replica. The context (table, row, purpose) is authenticated with the value, so a sealed
/// value does not open in another row.
///
/// Nonces are random, which limits a key to 2^32 values (SP 800-38D 8.3). Rotate the key well before that.
package struct SealingKeys: Sendable {
  package static let keyByteCount = 32
  package static let overheadByteCount = idByteCount + nonceByteCount + tagByteCount
  /// The number of bytes with which a sealed value names its key.
  package static let idByteCount = 4

  private static let nonceByteCount = 12
  private static let tagByteCount = Int(LK_GCM_TAG_BYTES)

  private struct Key {
    let id: [UInt8]
    let secret: Secret

    init(_ secret: Secret) {
      id = Array(hmacSHA256(key: secret, Array("latchkey sealing key id".utf8)).prefix(SealingKeys.idByteCount))
      self.secret = secret
    }
  }

  private let sealing: Key
  private let opening: [Key]

  /// - Parameter secrets: the newest key first.
  package init(_ secrets: [Secret]) throws(CryptoError) {
    let keys = secrets.map(Key.init)
    guard let first = keys.first, keys.allSatisfy({ $0.secret.count == Self.keyByteCount }),
      Set(keys.map(\.id)).count == keys.count
    else { throw .unusableSealingKeys }
    sealing = first
    opening = keys
  }

  /// The ids of the keys, in their order.
  package var ids: [[UInt8]] { opening.map(\.id) }

  package func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8] {
    unsafe seal(plaintext, plaintext.count, context)
  }

  package func open(_ sealed: [UInt8], context: [UInt8]) throws(CryptoError) -> [UInt8] {
    let count = try plaintextCount(sealed)
    var plaintext = [UInt8](repeating: 0, count: count + 1)
    try unsafe open(sealed, count, context, into: &plaintext)
    plaintext.removeLast()
    return plaintext
  }

  /// Seals a secret. Its bytes reach the cipher without a copy outside wiped memory.
  package func seal(_ secret: Secret, context: [UInt8]) -> [UInt8] {
    unsafe secret.withPointer { bytes, count in unsafe seal(bytes, count, context) }
  }

  package func openSecret(_ sealed: [UInt8], context: [UInt8]) throws(CryptoError) -> Secret {
    let count = try plaintextCount(sealed)
    return try unsafe Secret.filled(count: count) { out throws(CryptoError) in
      try unsafe open(sealed, count, context, into: out)
    }
  }

  private func seal(_ plain: UnsafePointer<UInt8>, _ count: Int, _ context: [UInt8]) -> [UInt8] {
    let nonce = Random.bytes(Self.nonceByteCount)
    var body = [UInt8](repeating: 0, count: count + Self.tagByteCount)
    let failure = unsafe sealing.secret.withPointer { key, _ in
      unsafe lk_seal(Algorithms.aes256GCM, key, nonce, context, context.count, plain, count, &body)
    }
    precondition(failure == 0, "cannot seal: OpenSSL error \(failure)")
    return sealing.id + nonce + body
  }

  private func plaintextCount(_ sealed: [UInt8]) throws(CryptoError) -> Int {
    guard sealed.count >= Self.overheadByteCount else { throw .notSealedByUs }
    return sealed.count - Self.overheadByteCount
  }

  private func open(
    _ sealed: [UInt8], _ count: Int, _ context: [UInt8], into out: UnsafeMutablePointer<UInt8>
  ) throws(CryptoError) {
    guard let key = opening.first(where: { sealed.starts(with: $0.id) }) else { throw .notSealedByUs }
    let failure = unsafe sealed.withUnsafeBufferPointer { bytes in
      let nonce = unsafe bytes.baseAddress! + Self.idByteCount
      return unsafe key.secret.withPointer { keyBytes, _ in
        unsafe lk_open(
          Algorithms.aes256GCM, keyBytes, nonce, context, context.count, nonce + Self.nonceByteCount, count, out)
      }
    }
    guard failure == 0 else {
      unsafe OPENSSL_cleanse(out, count)
      throw .notSealedByUs
    }
  }
}
