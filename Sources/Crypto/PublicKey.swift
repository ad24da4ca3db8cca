internal import COpenSSL

/// The numbers of a public key as in a JWK (RFC 7518 6, RFC 8037 2), big-endian.
package enum PublicKeyComponents: Equatable, Sendable {
  case rsa(modulus: [UInt8], exponent: [UInt8])
  case ec(Curve, x: [UInt8], y: [UInt8])
  case ed25519([UInt8])
}

/// A validated key that can only verify.
package final class PublicKey: Sendable {
  package static let rsaBits = 2048...8192
  /// Every exponent in use is 65537 or smaller. An exponent as long as the modulus makes each check a thousand times
  /// slower, which a hostile key set could exploit.
  private static let rsaExponentByteCountMax = 4

  package let kind: KeyKind
  private let handle: KeyHandle
  private let contexts: [SignatureContext]

  /// Validates a key. Rejects points off their curve, and RSA keys outside 2048 to 8192 bits, without an odd exponent
  /// >= 3, or with the ROCA fingerprint.
  package init(_ components: PublicKeyComponents) throws(CryptoError) {
    let pointer: OpaquePointer?
    switch components {
    case .rsa(let modulus, let exponent):
      let modulus = Array(modulus.drop { $0 == 0 })
      let exponent = Array(exponent.drop { $0 == 0 })
      try Self.checkRSA(modulus, exponent)
      unsafe pointer = unsafe lk_rsa_public_key(modulus, modulus.count, exponent, exponent.count)
      kind = .rsa
    case .ec(let curve, let x, let y):
      unsafe pointer = try unsafe Self.point(curve, x, y)
      kind = .ec(curve)
    case .ed25519(let bytes):
      guard bytes.count == 32 else { throw .unusableKey(.malformed) }
      unsafe pointer = unsafe lk_ed25519_public_key(bytes, bytes.count)
      kind = .ed25519
    }
    guard let pointer = unsafe pointer else { throw .unusableKey(.malformed) }
    handle = unsafe KeyHandle(pointer)
    // Ed25519 hashes the message itself and needs no context.
    contexts = try kind == .ed25519 ? [] : SignatureContext.all(handle, kind.algorithms, .verifying)
  }

  private static func checkRSA(_ modulus: [UInt8], _ exponent: [UInt8]) throws(CryptoError) {
    guard let first = modulus.first, let last = modulus.last, last & 1 == 1 else { throw .unusableKey(.malformed) }
    guard rsaBits.contains(modulus.count * 8 - first.leadingZeroBitCount) else { throw .unusableKey(.modulusSize) }
    guard let low = exponent.last, low & 1 == 1, exponent.count <= rsaExponentByteCountMax,
      exponent.count > 1 || low >= 3
    else { throw .unusableKey(.exponent) }
    guard !ROCA.isFingerprint(of: modulus) else { throw .unusableKey(.roca) }
  }

  private static func point(_ curve: Curve, _ x: [UInt8], _ y: [UInt8]) throws(CryptoError) -> OpaquePointer? {
    // RFC 7518 6.2.1.2: a coordinate has exactly as many octets as the curve requires.
    guard x.count == curve.coordinateByteCount, y.count == x.count else { throw .unusableKey(.malformed) }
    let uncompressed: [UInt8] = [4] + x + y
    guard let pointer = unsafe lk_ec_public_key(curve.group, uncompressed, uncompressed.count) else {
      throw .unusableKey(.notOnCurve)
    }
    return unsafe pointer
  }

  /// Returns whether the signature is valid. False for another key, message or algorithm, and for a malformed
  /// signature.
  package func verify(signature: [UInt8], of message: [UInt8], _ algorithm: SignatureAlgorithm) -> Bool {
    guard kind.algorithms.contains(algorithm) else { return false }
    if kind == .ed25519 {
      return unsafe lk_ed25519_verify(handle.pointer, message, message.count, signature, signature.count) == 0
    }
    guard let context = contexts.first(where: { $0.algorithm == algorithm }) else { return false }
    guard case .ec(let curve) = kind else { return context.verify(signature, of: message) }
    let width = curve.coordinateByteCount
    guard signature.count == 2 * width else { return false }
    var der = [UInt8](repeating: 0, count: Int(LK_SIGNATURE_BYTES_MAX))
    var count = der.count
    guard unsafe lk_ecdsa_raw_to_der(signature, width, &der, &count) == 0 else { return false }
    der.removeLast(der.count - count)
    return context.verify(der, of: message)
  }
}
