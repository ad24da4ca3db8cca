internal import Crypto
internal import Identity
internal import Store

/// Secrets of the domain, each derived from the master key by its purpose (an HMAC label). The operator therefore keeps
/// only one file, and no key has two purposes.
struct DerivedKeys: Cryptography {
  private let sealing: SealingKeys
  private let refresh: HMACKey
  private let refreshTag: HMACKey
  private let throttle: HMACKey
  private let naming: HMACKey
  let idempotency: [UInt8]

  init(masterKey: Secret) throws(CryptoError) {
    func derived(_ purpose: String) -> [UInt8] { hmacSHA256(key: masterKey, Array("latchkey \(purpose) 1".utf8)) }
    sealing = try SealingKeys([Secret(copying: derived("sealing"))])
    refresh = HMACKey(Secret(copying: derived("refresh")))
    refreshTag = HMACKey(Secret(copying: derived("refresh tag")))
    throttle = HMACKey(Secret(copying: derived("throttle")))
    naming = HMACKey(Secret(copying: derived("naming")))
    idempotency = derived("idempotency")
  }

  func sha256(_ bytes: [UInt8]) -> Digest { Digest(Crypto.sha256(bytes)) }

  func successor(of token: [UInt8], family: String) -> [UInt8] {
    refresh.code(of: token + family.utf8)
  }

  func refreshTag(of token: [UInt8], family: String) -> [UInt8] {
    refreshTag.code(of: token + family.utf8)
  }

  func throttleKey(_ bytes: [UInt8]) -> Digest { Digest(throttle.code(of: bytes)) }
  func keyedDigest(_ bytes: [UInt8], purpose: String) -> Digest {
    // No purpose contains NUL, so no purpose is a prefix of another.
    Digest(naming.code(of: Array(purpose.utf8) + [0] + bytes))
  }

  func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] { Crypto.hmacSHA1(key: Secret(copying: key), bytes) }

  func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool { constantTimeEquals(left, right) }

  func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8] { sealing.seal(plaintext, context: context) }

  func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? { try? sealing.open(sealed, context: context) }

  func seal(_ secret: Secret, context: [UInt8]) -> [UInt8] { sealing.seal(secret, context: context) }

  func openSecret(_ sealed: [UInt8], context: [UInt8]) throws -> Secret {
    try sealing.openSecret(sealed, context: context)
  }
}
