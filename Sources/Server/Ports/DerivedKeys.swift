internal import Crypto
internal import Identity
internal import Store

/// Secrets of the domain, each derived from a master key by its purpose (an HMAC label). The operator therefore keeps
/// only master keys, and no key has two purposes.
struct DerivedKeys: Cryptography {
  /// The keys that a single master key yields.
  private struct Keys {
    let refresh: HMACKey
    let refreshTag: HMACKey
    let throttle: HMACKey
    let sealing: Secret
    let idempotency: [UInt8]

    init(_ masterKey: Secret) {
      refresh = HMACKey(Secret(copying: derived(masterKey, "refresh")))
      refreshTag = HMACKey(Secret(copying: derived(masterKey, "refresh tag")))
      throttle = HMACKey(Secret(copying: derived(masterKey, "throttle")))
      sealing = Secret(copying: derived(masterKey, "sealing"))
      idempotency = derived(masterKey, "idempotency")
    }
  }

  private let sealing: SealingKeys
  private let naming: HMACKey
  private let keys: [Keys]
  let masterKeyIDs: [MasterKeyID]

  /// - Parameter masterKeys: the key that seals first. Throws if there is none, or two are equal.
  init(masterKeys: [Secret]) throws(CryptoError) {
    keys = masterKeys.map(Keys.init)
    sealing = try SealingKeys(keys.map(\.sealing))
    naming = HMACKey(Secret(copying: derived(masterKeys[0], "naming")))
    masterKeyIDs = sealing.ids.map { MasterKeyID(bytes: $0) }
  }

  var masterKeyCount: Int { keys.count }

  /// The secrets of idempotency digests, in the order of the master keys.
  var idempotency: [[UInt8]] { keys.map(\.idempotency) }

  func sha256(_ bytes: [UInt8]) -> Digest { Digest(Crypto.sha256(bytes)) }

  func successor(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] {
    keys[masterKey].refresh.code(of: token + family.utf8)
  }

  func refreshTag(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] {
    keys[masterKey].refreshTag.code(of: token + family.utf8)
  }

  func throttleKey(_ bytes: [UInt8], masterKey: Int) -> Digest { Digest(keys[masterKey].throttle.code(of: bytes)) }

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

private func derived(_ masterKey: Secret, _ purpose: String) -> [UInt8] {
  hmacSHA256(key: masterKey, Array("latchkey \(purpose) 1".utf8))
}
