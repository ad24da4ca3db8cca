internal import COpenSSL

/// A signature algorithm by its JOSE name (RFC 7518 3.1, RFC 8037 3.1, RFC 9864 2.2). Symmetric algorithms and "none"
/// have no case, so no header can request them.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
  case es256 = "ES256"
  case es384 = "ES384"
  case es512 = "ES512"
  case edDSA = "EdDSA"
  /// The same signature as EdDSA, under a name that includes the curve.
  case ed25519 = "Ed25519"
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case ps384 = "PS384"
  case ps512 = "PS512"

  /// The hash function of the signature. For Ed25519 it is the internal one, which `at_hash` also uses.
  package var hash: HashFunction {
    switch self {
    case .es256, .rs256, .ps256: .sha256
    case .es384, .rs384, .ps384: .sha384
    case .es512, .rs512, .ps512, .edDSA, .ed25519: .sha512
    }
  }

  var isPSS: Bool { self == .ps256 || self == .ps384 || self == .ps512 }
}

/// The curves of FIPS 186 by their JWK names (RFC 7518 6.2.1.1).
package enum Curve: String, Sendable, CaseIterable {
  case p256 = "P-256"
  case p384 = "P-384"
  case p521 = "P-521"

  package var coordinateByteCount: Int {
    switch self {
    case .p256: 32
    case .p384: 48
    case .p521: 66
    }
  }

  /// The name in OpenSSL.
  var group: String {
    switch self {
    case .p256: "prime256v1"
    case .p384: "secp384r1"
    case .p521: "secp521r1"
    }
  }

  var algorithm: SignatureAlgorithm {
    switch self {
    case .p256: .es256
    case .p384: .es384
    case .p521: .es512
    }
  }
}

package enum KeyKind: Hashable, Sendable, CaseIterable {
  case ec(Curve)
  case ed25519, rsa

  package static let p256 = KeyKind.ec(.p256)
  package static let allCases = Curve.allCases.map(KeyKind.ec) + [.ed25519, .rsa]

  package var algorithms: [SignatureAlgorithm] {
    switch self {
    case .ec(let curve): [curve.algorithm]
    case .ed25519: [.edDSA, .ed25519]
    case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
    }
  }
}

/// The owner of one `EVP_PKEY`. OpenSSL guards a key's internal caches, so many threads may use one key if each call
/// has its own context.
@safe
struct KeyHandle: ~Copyable, Sendable {
  nonisolated(unsafe) let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    unsafe self.pointer = unsafe pointer
  }

  deinit {
    unsafe EVP_PKEY_free(pointer)
  }

  /// The kind of the key; nil for any other type or curve.
  var kind: KeyKind? {
    if unsafe lk_key_is(pointer, "RSA") == 1 { return .rsa }
    if unsafe lk_key_is(pointer, "ED25519") == 1 { return .ed25519 }
    guard unsafe lk_key_is(pointer, "EC") == 1 else { return nil }
    return Curve.allCases.first { unsafe lk_ec_group_is(pointer, $0.group) == 1 }.map(KeyKind.ec)
  }

  func number(_ name: String, byteCount: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    try check(unsafe lk_key_number(pointer, name, &bytes, byteCount))
    return bytes
  }
}

/// A context prepared for one key, one algorithm and one use. It is only copied, so any thread may use it. The shim
/// states why it exists. OpenSSL's reference count keeps the key alive.
@safe
final class SignatureContext: Sendable {
  enum Use { case signing, verifying }

  let algorithm: SignatureAlgorithm
  private nonisolated(unsafe) let template: OpaquePointer

  init(_ key: borrowing KeyHandle, _ algorithm: SignatureAlgorithm, _ use: Use) throws(CryptoError) {
    let context = unsafe lk_signature_template(
      key.pointer, algorithm.hash.implementation, use == .signing ? 1 : 0, algorithm.isPSS ? 1 : 0)
    guard let context = unsafe context else { throw .unusableKey(.malformed) }
    self.algorithm = algorithm
    unsafe template = unsafe context
  }

  deinit {
    unsafe EVP_PKEY_CTX_free(template)
  }

  static func all(
    _ key: borrowing KeyHandle, _ algorithms: [SignatureAlgorithm], _ use: Use
  ) throws(CryptoError) -> [SignatureContext] {
    var contexts: [SignatureContext] = []
    for algorithm in algorithms { contexts.append(try SignatureContext(key, algorithm, use)) }
    return contexts
  }

  func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
    let digest = algorithm.hash.digest(message)
    var signature = [UInt8](repeating: 0, count: Int(LK_SIGNATURE_BYTES_MAX))
    var count = signature.count
    try check(unsafe lk_sign_digest(template, digest, digest.count, &signature, &count))
    signature.removeLast(signature.count - count)
    return signature
  }

  func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    let digest = algorithm.hash.digest(message)
    return unsafe lk_verify_digest(template, digest, digest.count, signature, signature.count) == 0
  }
}
