// Crypto: random bytes, digests, sealing, password hashing, key pairs with their signatures, and wiped secrets.
//
// Owns: everything of libcrypto, libsodium and libxcrypt.
// Does not own: formats (JOSE is Tokens), the TLS handshake (TLS), or where keys and hashes are stored.
// Nothing here suspends or does I/O. Password hashing is slow by design, so callers run it on worker threads.
// Read next: Secret.swift, then SealingKeys.swift, PasswordHasher.swift, PrivateKey.swift and PublicKey.swift.

internal import COpenSSL
internal import CSodium

package enum CryptoError: Error, Equatable, Sendable {
  /// The bytes are not a key, or the policy of this module does not allow the key.
  case unusableKey(KeyDefect)
  /// Unknown sealing key, another context, or changed bytes. Distinguishing these would help an attacker.
  case notSealedByUs
  /// The key cannot make or verify signatures of this algorithm.
  case wrongAlgorithm
  /// Two sealing keys are identical, or there is none.
  case unusableSealingKeys
  /// libsodium cannot compute a password hash with these parameters.
  case unusableHashParameters
  case outOfMemory
  /// The library failed internally. `code` is OpenSSL's packed error, for the log.
  case library(code: UInt)
}

package enum KeyDefect: String, Sendable {
  case malformed = "MALFORMED"
  case unsupportedType = "UNSUPPORTED_TYPE"
  case modulusSize = "MODULUS_SIZE"
  case exponent = "EXPONENT"
  case notOnCurve = "NOT_ON_CURVE"
  /// A factorable RSA key (CVE-2017-15361).
  case roca = "ROCA"
}

package enum Random {
  /// Returns bytes from the operating system's generator, through OpenSSL.
  ///
  /// A failure ends the process: without randomness nothing that it does is safe.
  package static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let failure = unsafe lk_random(&bytes, count)
    precondition(failure == 0, "no randomness: OpenSSL error \(failure)")
    return bytes
  }
}

package enum HashFunction: Sendable {
  case sha256, sha384, sha512

  package var byteCount: Int {
    switch self {
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    }
  }

  package func digest(_ bytes: [UInt8]) -> [UInt8] {
    unsafe digested(bytes, by: implementation, byteCount: byteCount)
  }

  var implementation: OpaquePointer {
    switch self {
    case .sha256: unsafe Algorithms.sha256
    case .sha384: unsafe Algorithms.sha384
    case .sha512: unsafe Algorithms.sha512
    }
  }
}

func digested(_ bytes: [UInt8], by implementation: OpaquePointer, byteCount: Int) -> [UInt8] {
  var out = [UInt8](repeating: 0, count: byteCount)
  let failure = unsafe lk_digest(implementation, bytes, bytes.count, &out)
  precondition(failure == 0, "no digest: OpenSSL error \(failure)")
  return out
}

package func sha256(_ bytes: [UInt8]) -> [UInt8] {
  HashFunction.sha256.digest(bytes)
}

/// SHA-1, only to find a password in a list of such digests.
package func sha1(_ bytes: [UInt8]) -> [UInt8] { unsafe digested(bytes, by: Algorithms.sha1, byteCount: 20) }

/// HMAC-SHA-256 under one key, which is prepared once. It is only read afterwards, so any thread may use it.
@safe package final class HMACKey: Sendable {
  /// libsodium's state for the key. Each code starts from a copy.
  private nonisolated(unsafe) let keyed = UnsafeMutablePointer<crypto_auth_hmacsha256_state>.allocate(capacity: 1)

  package init(_ secret: Secret) {
    _ = unsafe secret.withPointer { unsafe crypto_auth_hmacsha256_init(keyed, $0, $1) }
  }

  deinit {
    unsafe sodium_memzero(keyed, MemoryLayout<crypto_auth_hmacsha256_state>.size)
    unsafe keyed.deallocate()
  }

  package func code(of bytes: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: HashFunction.sha256.byteCount)
    var state = unsafe keyed.pointee
    unsafe crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
    unsafe crypto_auth_hmacsha256_final(&state, &out)
    unsafe sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
    return out
  }
}

/// Computes HMAC-SHA-256 with a key that is used once.
package func hmacSHA256(key: Secret, _ bytes: [UInt8]) -> [UInt8] { HMACKey(key).code(of: bytes) }

/// Computes HMAC-SHA-1, for OAuth 1.0a signatures and one-time passwords.
///
/// OAuth 1.0a has no newer method with a shared secret (RFC 5849, 3.4.2). Authenticator apps have no other algorithm in
/// common (RFC 4226). SHA-1 is unbroken as a MAC but broken as a digest, so `HashFunction` does not have it.
package func hmacSHA1(key: Secret, _ bytes: [UInt8]) -> [UInt8] {
  unsafe hmac(Algorithms.sha1, byteCount: 20, key: key, bytes)
}

func hmac(_ digest: OpaquePointer, byteCount: Int, key: Secret, _ bytes: [UInt8]) -> [UInt8] {
  var out = [UInt8](repeating: 0, count: byteCount)
  let failure = unsafe key.withPointer { unsafe lk_hmac(digest, $0, $1, bytes, bytes.count, &out) }
  precondition(failure == 0, "no HMAC: OpenSSL error \(failure)")
  return out
}

/// Returns whether two byte strings are equal, in a time that depends only on their lengths.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  guard left.count == right.count else { return false }
  return unsafe CRYPTO_memcmp(left, right, left.count) == 0
}

/// Implementations that are looked up once and live as long as the process. In OpenSSL 3, each lookup by name takes
/// locks and parses property queries.
enum Algorithms {
  nonisolated(unsafe) static let sha1 = unsafe required(EVP_MD_fetch(nil, "SHA1", nil))
  nonisolated(unsafe) static let sha256 = unsafe required(EVP_MD_fetch(nil, "SHA256", nil))
  nonisolated(unsafe) static let sha384 = unsafe required(EVP_MD_fetch(nil, "SHA384", nil))
  nonisolated(unsafe) static let sha512 = unsafe required(EVP_MD_fetch(nil, "SHA512", nil))
  nonisolated(unsafe) static let aes256GCM = unsafe required(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))

  static func required(_ implementation: OpaquePointer?) -> OpaquePointer {
    guard let implementation = unsafe implementation else {
      preconditionFailure("libcrypto lacks an algorithm that every build of it has")
    }
    return unsafe implementation
  }
}

/// Throws if a shim call reports a failure.
func check(_ failure: UInt) throws(CryptoError) {
  guard failure == 0 else { throw .library(code: failure) }
}
