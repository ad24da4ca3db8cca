internal import CCrypt
internal import COpenSSL
internal import CSodium

// What hashes of passwords are made of that another service made. Nothing of ours is hashed by any of it: a password
// that came so is hashed anew as soon as it is seen.

/// MD5 and SHA-1 are here for imported hashes alone, so `HashFunction` does not have them.
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
    var out = [UInt8](repeating: 0, count: byteCount)
    let failure = unsafe lk_digest(implementation, bytes, bytes.count, &out)
    precondition(failure == 0, "no digest: OpenSSL error \(failure)")
    return out
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

/// Of derivations whose parameters their callers have bounded: what is left to fail is the memory.
private func checkMemory(_ failure: UInt) throws(CryptoError) {
  guard failure == 0 else { throw .outOfMemory }
}

/// RFC 7914. `n` is a power of two above 1. Takes 128 × `n` × `blockSize` bytes, which the caller has bounded.
package func scrypt(
  _ password: [UInt8], salt: [UInt8], n: Int, blockSize: Int, parallelization: Int, byteCount: Int
) throws(CryptoError) -> [UInt8] {
  var out = [UInt8](repeating: 0, count: byteCount)
  // OpenSSL counts some kilobytes beside the blocks.
  let memoryMax = 128 * blockSize * (n + parallelization + 2) + 65_536
  try checkMemory(
    unsafe lk_scrypt(
      password, password.count, salt, salt.count, UInt64(n), UInt64(blockSize), UInt64(parallelization),
      UInt64(memoryMax), &out, byteCount))
  return out
}

/// RFC 8018, with HMAC.
package func pbkdf2(
  _ digest: ForeignDigest, _ password: [UInt8], salt: [UInt8], iterations: Int, byteCount: Int
) throws(CryptoError) -> [UInt8] {
  var out = [UInt8](repeating: 0, count: byteCount)
  try checkMemory(
    unsafe lk_pbkdf2(
      digest.implementation, password, password.count, salt, salt.count, Int32(clamping: iterations), &out, byteCount))
  return out
}

/// AES-256 in counter mode from zero on: for a key that serves one message. `key` has 32 bytes.
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
  /// Of a password: bcrypt looks at no more of it.
  package static let passwordBytesMax = 72

  /// Whether the hash is that of the password. One that is longer than bcrypt looks at matches nothing, and costs the
  /// same: to compare its beginning only would let in whoever knows that much.
  package static func matches(_ password: [UInt8], _ hash: String) throws(CryptoError) -> Bool {
    guard let made = try made(of: Array(password.prefix(passwordBytesMax)), hash) else { return false }
    return constantTimeEquals(Array(made.utf8), Array(hash.utf8)) && password.count <= passwordBytesMax
  }

  /// The hash of a password under the salt and cost that `setting` begins with; nil: it is no bcrypt text. Throws only
  /// when the memory is not to be had.
  package static func made(of password: [UInt8], _ setting: String) throws(CryptoError) -> String? {
    var out = [CChar](repeating: 0, count: hashByteCount + 1)
    let text = password.map { CChar(bitPattern: $0) } + [0]
    let failure = unsafe lk_bcrypt(text, setting, &out)
    guard failure != LK_BCRYPT_NO_MEMORY else { throw .outOfMemory }
    guard failure == 0 else { return nil }
    return String(decoding: out.prefix(hashByteCount).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Argon2i (RFC 9106) in a PHC string of version 19. False as well for a string that is none. Throws only when the
/// memory is not to be had.
package func argon2iMatches(_ password: [UInt8], _ phc: String) throws(CryptoError) -> Bool {
  precondition(sodiumIsReady, "libsodium does not start")
  return try argon2Matches(unsafe lk_argon2i_verify(phc, password, password.count))
}

/// Looked up once, as those of `Algorithms` are, and only where something was imported.
private enum Foreign {
  nonisolated(unsafe) static let md5 = unsafe Algorithms.required(EVP_MD_fetch(nil, "MD5", nil))
  nonisolated(unsafe) static let aes256CTR = unsafe Algorithms.required(EVP_CIPHER_fetch(nil, "AES-256-CTR", nil))
}
