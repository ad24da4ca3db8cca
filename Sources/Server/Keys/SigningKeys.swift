internal import Configuration
internal import Crypto
internal import Encodings
internal import Identity
internal import Observability
internal import Reactor
internal import Store
internal import Tokens

/// The keys that sign this service's tokens. The store contains them sealed, each bound to its ID.
enum SigningKeys {
  /// Performs due rotations and returns the resulting keys. The first start of a store creates its first key. If
  /// another replica was faster, its result counts.
  static func settle(
    _ store: any Store, _ keys: DerivedKeys, _ algorithm: SignatureAlgorithm, _ occasion: KeyRotation.Occasion,
    _ policy: KeyPolicy, _ log: Log
  ) async throws -> [SigningKeyRecord] {
    var query = Query()
    query.signingKeys = true
    for _ in 0..<4 {
      let records = try await store.load(query).signingKeys
      let now = Timestamp(millis: wallMillis())
      // Before any write: with the wrong master key this server would retire the key of all other replicas.
      let foreign = try refuseUnknowns(records, keys, now: now)
      let rotation = KeyRotation.decide(
        records, foreign: foreign, algorithm: algorithm.rawValue, occasion, policy, now: now)
      let successor = try rotation.successorFrom.map { try make(keys, algorithm, now: now, activeFrom: $0) }
      guard let change = rotation.change(successor) else { return records }
      guard case .committed = try await store.commit(change, commitDecision: CommitDecision()) else { continue }
      if let successor {
        if rotation.fillsGap { log.warning("all signing keys start in the future: a clock is or was ahead") }
        log.info("signing key published", ["key": successor.keyID, "signs_from": rfc3339(successor.activeFrom.millis)])
      }
      if rotation.removesRetiredBy != nil { log.info("retired signing keys removed") }
    }
    throw StoreError.unavailable("the signing keys keep changing")
  }

  private static func make(
    _ keys: DerivedKeys, _ algorithm: SignatureAlgorithm, now: Timestamp, activeFrom: Timestamp
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
      sealedPrivateKey: keys.seal(try privateKey.pkcs8(), context: context(key.keyID)),
      publishedAt: now, activeFrom: activeFrom)
  }

  /// Creates the ring of all usable keys. Skips and logs the others.
  static func ring(
    _ records: [SigningKeyRecord], _ keys: DerivedKeys, _ policy: KeyPolicy, _ log: Log? = nil
  ) throws -> KeyRing {
    let faults = unusable(records, keys)
    for (keyID, fault) in faults.sorted(by: { $0.key < $1.key }) {
      log?.error("skipped an unusable signing key", ["key": keyID, "why": "\(fault)"])
    }
    let keys = try records.filter { faults[$0.keyID] == nil }.map { record in
      let (algorithm, secret) = try opened(record, keys)
      // Every stored key is published immediately, even if a clock was ahead: verifiers must have it before it signs.
      let publishedAt = min(record.publishedAt.seconds, wallMillis() / 1_000)
      return try SigningKey(
        try PrivateKey(pkcs8: secret), algorithm: algorithm, publishedAt: publishedAt,
        activeFrom: record.activeFrom.seconds, retiredAt: record.retiredAt?.seconds)
    }
    return KeyRing(keys, tokenLifetimeSecondsMax: policy.keptMillis / 1_000)
  }

  /// Returns the IDs of keys that this server cannot use. Throws if no usable key signs now: then this server's master
  /// key is wrong, not that of the other servers.
  private static func refuseUnknowns(
    _ records: [SigningKeyRecord], _ keys: DerivedKeys, now: Timestamp
  ) throws -> Set<String> {
    let faults = unusable(records, keys)
    let signing = records.filter { $0.isActive(at: now) }
    let needed = signing.isEmpty ? records : signing
    if let first = needed.first, let fault = faults[first.keyID], needed.allSatisfy({ faults[$0.keyID] != nil }) {
      throw fault
    }
    return Set(faults.keys)
  }

  /// Returns the errors of unusable keys, by key ID.
  private static func unusable(_ records: [SigningKeyRecord], _ keys: DerivedKeys) -> [String: any Error] {
    var faults: [String: any Error] = [:]
    for record in records {
      do { _ = try opened(record, keys) } catch { faults[record.keyID] = error }
    }
    return faults
  }

  private static func opened(
    _ record: SigningKeyRecord, _ keys: DerivedKeys
  ) throws -> (algorithm: SignatureAlgorithm, secret: Secret) {
    guard let algorithm = SignatureAlgorithm(rawValue: record.algorithm) else {
      throw StoreError.corrupt("signing key \(record.keyID) has the unknown algorithm \(record.algorithm)")
    }
    do {
      return (algorithm, try keys.openSecret(record.sealedPrivateKey, context: context(record.keyID)))
    } catch {
      throw ConfigurationError(
        setting: "secrets.master_key_file",
        why: "signing key \(record.keyID) of this store was created with another master key")
    }
  }

  private static func context(_ keyID: String) -> [UInt8] { Array("signing key \(keyID)".utf8) }
}
