internal import COpenSSL

/// A key pair that signs. It leaves this object only as a `Secret`, to be sealed.
package final class PrivateKey: Sendable {
  package static let rsaBits = 2048

  package let kind: KeyKind
  package let components: PublicKeyComponents
  private let handle: KeyHandle
  private let signer: Signer

  private enum Signer {
    case ecdsa(SignatureContext, Curve)
    case rsa([SignatureContext])
    case ed25519
  }

  private init(_ pointer: OpaquePointer) throws(CryptoError) {
    handle = unsafe KeyHandle(pointer)
    guard let kind = handle.kind else { throw .unusableKey(.unsupportedType) }
    self.kind = kind
    components = try Self.components(handle, kind)
    signer =
      switch kind {
      case .ec(let curve): .ecdsa(try SignatureContext(handle, curve.algorithm, .signing), curve)
      case .rsa: .rsa(try SignatureContext.all(handle, kind.algorithms, .signing))
      case .ed25519: .ed25519
      }
  }

  /// Generates a key pair. RSA takes about 0.1 s: do not call this on a reactor thread.
  package static func generate(_ kind: KeyKind) throws(CryptoError) -> PrivateKey {
    let pointer =
      switch kind {
      case .ec(let curve): unsafe lk_generate_ec(curve.group)
      case .ed25519: unsafe lk_generate_ed25519()
      case .rsa: unsafe lk_generate_rsa(rsaBits)
      }
    guard let pointer = unsafe pointer else { throw .outOfMemory }
    return try unsafe PrivateKey(pointer)
  }

  /// Reads PKCS#8 (RFC 5958) in DER. The public half must pass the same checks as another service's key.
  package convenience init(pkcs8: Secret) throws(CryptoError) {
    let pointer = unsafe pkcs8.withPointer { bytes, count in
      unsafe lk_private_key_from_pkcs8(bytes, count)
    }
    guard let pointer = unsafe pointer else { throw .unusableKey(.malformed) }
    try unsafe self.init(pointer)
    _ = try PublicKey(components)
  }

  /// Reads a PEM file (RFC 7468): PKCS#8, which providers issue, or OpenSSL's older forms. An encrypted key is
  /// rejected, because the server cannot ask for its passphrase.
  package convenience init(pem: Secret) throws(CryptoError) {
    let pointer = unsafe pem.withPointer { bytes, count in unsafe lk_private_key_from_pem(bytes, count) }
    guard let pointer = unsafe pointer else { throw .unusableKey(.malformed) }
    try unsafe self.init(pointer)
    _ = try PublicKey(components)
  }

  package func pkcs8() throws(CryptoError) -> Secret {
    var count = 0
    guard let bytes = unsafe lk_private_key_to_pkcs8(handle.pointer, &count) else { throw .outOfMemory }
    defer { unsafe lk_wipe_and_free(bytes, count) }
    return try unsafe Secret.filled(count: count) { out in unsafe out.update(from: bytes, count: count) }
  }

  package func publicKey() throws(CryptoError) -> PublicKey {
    try PublicKey(components)
  }

  /// Signs a message. ECDSA signatures have the raw form of RFC 7518 3.4. RSA takes about ten times as long as ECDSA,
  /// on the calling thread.
  package func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
    switch signer {
    case .ecdsa(let context, let curve) where context.algorithm == algorithm:
      let width = curve.coordinateByteCount
      let der = try context.sign(message)
      var signature = [UInt8](repeating: 0, count: 2 * width)
      try check(unsafe lk_ecdsa_der_to_raw(der, der.count, width, &signature))
      return signature
    case .rsa(let contexts):
      guard let context = contexts.first(where: { $0.algorithm == algorithm }) else { throw .wrongAlgorithm }
      return try context.sign(message)
    case .ed25519 where kind.algorithms.contains(algorithm):
      var signature = [UInt8](repeating: 0, count: 64)
      try check(unsafe lk_ed25519_sign(handle.pointer, message, message.count, &signature, signature.count))
      return signature
    case .ecdsa, .ed25519: throw .wrongAlgorithm
    }
  }

  private static func components(
    _ handle: borrowing KeyHandle, _ kind: KeyKind
  ) throws(CryptoError) -> PublicKeyComponents {
    switch kind {
    case .rsa:
      let modulusByteCount = Int(unsafe lk_key_bits(handle.pointer) + 7) / 8
      let exponent = try handle.number(OSSL_PKEY_PARAM_RSA_E, byteCount: modulusByteCount)
      return .rsa(
        modulus: try handle.number(OSSL_PKEY_PARAM_RSA_N, byteCount: modulusByteCount),
        exponent: Array(exponent.drop { $0 == 0 }))
    case .ec(let curve):
      return .ec(
        curve,
        x: try handle.number(OSSL_PKEY_PARAM_EC_PUB_X, byteCount: curve.coordinateByteCount),
        y: try handle.number(OSSL_PKEY_PARAM_EC_PUB_Y, byteCount: curve.coordinateByteCount))
    case .ed25519:
      var bytes = [UInt8](repeating: 0, count: 32)
      try check(unsafe lk_ed25519_public_bytes(handle.pointer, &bytes, bytes.count))
      return .ed25519(bytes)
    }
  }
}
