package import Crypto
internal import Encodings
internal import Identity
internal import Reactor
internal import Store
internal import Tokens

/// The keys that sign our tokens, as the store keeps them: sealed, each bound to its id.
enum SigningKeys {
  /// Does what is due and answers with the keys as they are then; the first start of a store makes its first key. Where
  /// another replica was faster, what it did is what counts.
  static func settle(
    _ store: any Store, _ vault: Vault, _ algorithm: SignatureAlgorithm, _ occasion: KeyRotation.Occasion,
    _ policy: KeyPolicy, _ log: Log
  ) async throws -> [SigningKeyRecord] {
    var query = Query()
    query.signingKeys = true
    for _ in 0..<4 {
      let records = try await store.load(query).signingKeys
      let now = Timestamp(millis: wallMillis())
      // Before anything is written: with the wrong master key this server would retire what all others sign with.
      let foreign = try refuseStrangers(records, vault, now: now)
      let rotation = KeyRotation.decide(
        records, foreign: foreign, algorithm: algorithm.rawValue, occasion, policy, now: now)
      let successor = try rotation.successorFrom.map { try make(vault, algorithm, now: now, activeFrom: $0) }
      guard let change = rotation.change(successor) else { return records }
      guard case .committed = try await store.commit(change, fate: Fate()) else { continue }
      if let successor {
        if rotation.fillsGap { log.warning("the signing keys lie in the future: a clock is or was ahead") }
        log.info("signing key published", ["key": successor.keyID, "signs_from": rfc3339(successor.activeFrom.millis)])
      }
      if rotation.removesRetiredBy != nil { log.info("retired signing keys removed") }
    }
    throw StoreError.unavailable("the signing keys keep changing")
  }

  private static func make(
    _ vault: Vault, _ algorithm: SignatureAlgorithm, now: Timestamp, activeFrom: Timestamp
  ) throws -> SigningKeyRecord {
    let kind: KeyKind = switch algorithm {
    case .edDSA: .ed25519
    case .rs256: .rsa
    default: .p256
    }
    let privateKey = try PrivateKey.generate(kind)
    let key = try SigningKey(
      privateKey, algorithm: algorithm, publishedAt: now.seconds, activeFrom: activeFrom.seconds, retiredAt: nil)
    return SigningKeyRecord(
      keyID: key.keyID, algorithm: algorithm.rawValue,
      sealedPrivateKey: vault.seal(try privateKey.pkcs8(), context: context(key.keyID)),
      publishedAt: now, activeFrom: activeFrom)
  }

  /// Of the keys that can be used here. The others are left out and told of.
  static func ring(
    _ records: [SigningKeyRecord], _ vault: Vault, _ policy: KeyPolicy, _ log: Log? = nil
  ) throws -> KeyRing {
    let faults = unusable(records, vault)
    for (keyID, fault) in faults.sorted(by: { $0.key < $1.key }) {
      log?.error("a signing key is left out", ["key": keyID, "why": "\(fault)"])
    }
    let keys = try records.filter { faults[$0.keyID] == nil }.map { record in
      let (algorithm, secret) = try opened(record, vault)
      // What is in the store is published, also where a clock that was ahead has put it off: verifiers must have it
      // before it signs.
      let publishedAt = min(record.publishedAt.seconds, wallMillis() / 1_000)
      return try SigningKey(
        try PrivateKey(pkcs8: secret), algorithm: algorithm, publishedAt: publishedAt,
        activeFrom: record.activeFrom.seconds, retiredAt: record.retiredAt?.seconds)
    }
    return KeyRing(keys, tokenLifetimeSecondsMax: policy.keptMillis / 1_000)
  }

  /// The ids of keys that cannot be used here. Throws where nothing else signs at this moment: this server is then the
  /// stranger, and not who made them.
  private static func refuseStrangers(
    _ records: [SigningKeyRecord], _ vault: Vault, now: Timestamp
  ) throws -> Set<String> {
    let faults = unusable(records, vault)
    let signing = records.filter { $0.isActive(at: now) }
    let needed = signing.isEmpty ? records : signing
    if let first = needed.first, let fault = faults[first.keyID], needed.allSatisfy({ faults[$0.keyID] != nil }) {
      throw fault
    }
    return Set(faults.keys)
  }

  /// Why keys cannot be used here, by their ids.
  private static func unusable(_ records: [SigningKeyRecord], _ vault: Vault) -> [String: any Error] {
    var faults: [String: any Error] = [:]
    for record in records {
      do { _ = try opened(record, vault) } catch { faults[record.keyID] = error }
    }
    return faults
  }

  private static func opened(
    _ record: SigningKeyRecord, _ vault: Vault
  ) throws -> (algorithm: SignatureAlgorithm, secret: Secret) {
    guard let algorithm = SignatureAlgorithm(rawValue: record.algorithm) else {
      throw StoreError.corrupt("signing key \(record.keyID) has the algorithm \(record.algorithm)")
    }
    do {
      return (algorithm, try vault.openSecret(record.sealedPrivateKey, context: context(record.keyID)))
    } catch {
      throw ConfigurationError(
        setting: "secrets.master_key_file", why: "signing key \(record.keyID) of this store was made with another one")
    }
  }

  private static func context(_ keyID: String) -> [UInt8] { Array("signing key \(keyID)".utf8) }
}

/// The one secret an operator keeps: 64 hex digits in a file that only the server reads.
package enum MasterKey {
  static func read(_ path: String) throws(ConfigurationError) -> Secret {
    let setting = "secrets.master_key_file"
    let bytes = try readFile(path, of: setting, bytesMax: 4_096)
    guard let key = key(in: bytes) else {
      throw ConfigurationError(setting: setting, why: "\(path) must hold 64 hex digits and nothing else")
    }
    return key
  }

  package static func key(in file: [UInt8]) -> Secret? {
    let text = String(decoding: file, as: UTF8.self).filter { !$0.isWhitespace }
    guard let key = Hexadecimal.decode(text), key.count == 32 else { return nil }
    return Secret(copying: key)
  }
}
