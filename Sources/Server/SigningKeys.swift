package import Crypto
internal import Identity
internal import Reactor
internal import Store
internal import Tokens

/// The keys that sign our tokens, as the store keeps them: sealed, each bound to its id.
enum SigningKeys {
  /// Loads the ring; the first start of a store makes its first key. Of two starts at once one key wins, and both use
  /// it.
  static func load(
    _ store: any Store, _ vault: Vault, algorithm: SignatureAlgorithm, policy: Policy
  ) async throws -> KeyRing {
    var query = Query()
    query.signingKeys = true
    for _ in 0..<3 {
      let records = try await store.load(query).signingKeys
      if records.contains(where: { $0.retiredAt == nil && $0.algorithm == algorithm.rawValue }) {
        return try ring(records, vault, policy)
      }
      _ = try await store.commit(Change([.insertSigningKey(try make(vault, algorithm))]), fate: Fate())
    }
    throw StoreError.unavailable("no signing key could be stored")
  }

  private static func make(_ vault: Vault, _ algorithm: SignatureAlgorithm) throws -> SigningKeyRecord {
    let kind: KeyKind = switch algorithm {
    case .edDSA: .ed25519
    case .rs256: .rsa
    default: .p256
    }
    let privateKey = try PrivateKey.generate(kind)
    let now = wallMillis()
    let key = try SigningKey(
      privateKey, algorithm: algorithm, publishedAt: now / 1_000, activeFrom: now / 1_000, retiredAt: nil)
    return SigningKeyRecord(
      keyID: key.keyID, algorithm: algorithm.rawValue,
      sealedPrivateKey: vault.seal(try privateKey.pkcs8(), context: context(key.keyID)),
      publishedAt: Timestamp(millis: now), activeFrom: Timestamp(millis: now))
  }

  private static func ring(_ records: [SigningKeyRecord], _ vault: Vault, _ policy: Policy) throws -> KeyRing {
    let keys = try records.map { record in
      guard let algorithm = SignatureAlgorithm(rawValue: record.algorithm) else {
        throw StoreError.corrupt("signing key \(record.keyID) has the algorithm \(record.algorithm)")
      }
      let secret: Secret
      do {
        secret = try vault.openSecret(record.sealedPrivateKey, context: context(record.keyID))
      } catch {
        throw ConfigurationError(
          setting: "secrets.master_key_file", why: "it is not the key that this store was made with")
      }
      return try SigningKey(
        try PrivateKey(pkcs8: secret), algorithm: algorithm, publishedAt: record.publishedAt.seconds,
        activeFrom: record.activeFrom.seconds, retiredAt: record.retiredAt?.seconds)
    }
    return KeyRing(keys, tokenLifetimeSecondsMax: policy.idTokenLifetimeMillis / 1_000)
  }

  private static func context(_ keyID: String) -> [UInt8] { Array("signing key \(keyID)".utf8) }
}

/// The one secret an operator keeps: 64 hex digits in a file that only the server reads.
package enum MasterKey {
  static func read(_ path: String) throws(ConfigurationError) -> Secret {
    let setting = "secrets.master_key_file"
    guard let bytes = readFile(path, bytesMax: 4_096) else {
      throw ConfigurationError(setting: setting, why: "\(path) cannot be read")
    }
    guard let key = key(in: bytes) else {
      throw ConfigurationError(setting: setting, why: "\(path) must hold 64 hex digits and nothing else")
    }
    return key
  }

  package static func key(in file: [UInt8]) -> Secret? {
    let text = String(decoding: file, as: UTF8.self).filter { !$0.isWhitespace }
    guard let key = Hex.decode(text), key.count == 32 else { return nil }
    return Secret(copying: key)
  }
}
