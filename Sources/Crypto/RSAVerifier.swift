internal import COpenSSL

/// Checks RSA signatures of PKCS #1 v1.5 under one key, which OpenSSL only reads: any thread may use it.
@safe
final class RSAVerifier: Sendable {
  private nonisolated(unsafe) static let method = unsafe lk_rsa_method()

  private nonisolated(unsafe) let key: OpaquePointer

  /// The numbers are checked before.
  init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
    guard let method = unsafe Self.method,
      let key = unsafe lk_rsa_verifier_new(method, modulus, modulus.count, exponent, exponent.count)
    else { throw .outOfMemory }
    unsafe self.key = unsafe key
  }

  deinit {
    unsafe lk_rsa_verifier_free(key)
  }

  func verify(_ signature: [UInt8], of message: [UInt8], _ hash: HashFunction) -> Bool {
    let digest = hash.digest(message)
    return unsafe lk_rsa_verify(key, hash.implementation, digest, digest.count, signature, signature.count) == 0
  }
}
