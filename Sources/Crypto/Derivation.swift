internal import CCrypt
internal import COpenSSL
internal import CSodium

// Algorithms of password hashes that other services made. This service hashes nothing with them: it rehashes an
// imported password as soon as it sees the plaintext.

/// Digest functions of imported password hashes. MD5 and SHA-1 are here for those alone, so `HashFunction` does not
/// have them.
package enum ForeignDigest: String, Sendable, CaseIterable {
  case md5, sha1, sha256, sha512

  package var byteCount: Int {
    switch self {
    case .md5: 16
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }

  package func digest(_ bytes: [UInt8]) -> [UInt8] {
    unsafe digested(bytes, by: implementation, byteCount: byteCount)
  }

  package func code(key: Secret, of bytes: [UInt8]) -> [UInt8] {
    unsafe hmac(implementation, byteCount: byteCount, key: key, bytes)
  }

  var implementation: OpaquePointer {
    switch self {
    case .md5: unsafe Foreign.md5
    case .sha1: unsafe Algorithms.sha1
    case .sha256: unsafe Algorithms.sha256
    case .sha512: unsafe Algorithms.sha512
    }
  }
}

/// Throws `outOfMemory` for a failed derivation. Its caller has bounded the parameters, so nothing else can fail.
private func checkMemory(_ failure: UInt) throws(CryptoError) {
  guard failure == 0 else { throw .outOfMemory }
}

/// Derives a key with scrypt (RFC 7914). `n` is a power of two above 1. Memory: 128 × `n` × `blockSize` bytes, which
/// the caller has bounded.
package func scrypt(
  _ password: [UInt8], salt: [UInt8], n: Int, blockSize: Int, parallelization: Int, byteCount: Int
) throws(CryptoError) -> [UInt8] {
  var out = [UInt8](repeating: 0, count: byteCount)
  // OpenSSL counts some kilobytes in addition to the blocks.
  let memoryMax = 128 * blockSize * (n + parallelization + 2) + 65_536
  try checkMemory(
    unsafe lk_scrypt(
      password, password.count, salt, salt.count, UInt64(n), UInt64(blockSize), UInt64(parallelization),
      UInt64(memoryMax), &out, byteCount))
  return out
}

/// Derives a key with PBKDF2 and HMAC (RFC 8018).
package func pbkdf2(
  _ digest: ForeignDigest, _ password: [UInt8], salt: [UInt8], iterations: Int, byteCount: Int
) throws(CryptoError) -> [UInt8] {
  var out = [UInt8](repeating: 0, count: byteCount)
  try checkMemory(
    unsafe lk_pbkdf2(
      digest.implementation, password, password.count, salt, salt.count, Int32(clamping: iterations), &out, byteCount))
  return out
}

/// Encrypts with AES-256 in counter mode, counting from zero. `key` has 32 bytes and serves one message.
package func aes256CTR(key: [UInt8], _ plain: Secret) throws(CryptoError) -> [UInt8] {
  precondition(key.count == 32, "the key of AES-256 has 32 bytes")
  var out = [UInt8](repeating: 0, count: plain.count)
  let failure = unsafe plain.withPointer { bytes, count in
    unsafe lk_aes_256_ctr(Foreign.aes256CTR, key, bytes, count, &out)
  }
  try checkMemory(failure)
  return out
}

package enum Bcrypt {
  package static let hashByteCount = Int(LK_BCRYPT_BYTES)
  /// The bytes of a password that bcrypt reads. It ignores the rest.
  package static let passwordBytesMax = 72

  /// Returns whether the hash is that of the password.
  ///
  /// A password longer than `passwordBytesMax` never matches, at the same cost. Comparing only its beginning would
  /// accept an attacker who knows that part.
  package static func matches(_ password: [UInt8], _ hash: String) throws(CryptoError) -> Bool {
    guard let made = try made(of: Array(password.prefix(passwordBytesMax)), hash) else { return false }
    return constantTimeEquals(Array(made.utf8), Array(hash.utf8)) && password.count <= passwordBytesMax
  }

  /// Returns the hash of a password under the salt and cost at the start of `setting`; nil if that is not a bcrypt
  /// text. Throws only `outOfMemory`.
  package static func made(of password: [UInt8], _ setting: String) throws(CryptoError) -> String? {
    var out = [CChar](repeating: 0, count: hashByteCount + 1)
    let text = password.map { CChar(bitPattern: $0) } + [0]
    let failure = unsafe lk_bcrypt(text, setting, &out)
    guard failure != LK_BCRYPT_NO_MEMORY else { throw .outOfMemory }
    guard failure == 0 else { return nil }
    return String(decoding: out.prefix(hashByteCount).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Returns whether a PHC string of version 19 is the password's Argon2i hash (RFC 9106). False also for any other
/// string. Throws only `outOfMemory`.
package func argon2iMatches(_ password: [UInt8], _ phc: String) throws(CryptoError) -> Bool {
  precondition(sodiumIsReady, "libsodium does not start")
  return try argon2Matches(unsafe lk_argon2i_verify(phc, password, password.count))
}

/// Implementations that are looked up once, like `Algorithms`, and only if something was imported.
private enum Foreign {
  nonisolated(unsafe) static let md5 = unsafe Algorithms.required(EVP_MD_fetch(nil, "MD5", nil))
  nonisolated(unsafe) static let aes256CTR = unsafe Algorithms.required(EVP_CIPHER_fetch(nil, "AES-256-CTR", nil))
}
