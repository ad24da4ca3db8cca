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
  static func make(
    _ keys: DerivedKeys, _ algorithm: SignatureAlgorithm, now: Timestamp, activeFrom: Timestamp
  ) throws -> SigningKeyRecord {
    let kind: KeyKind = switch algorithm {
    case .edDSA: .ed25519
    case .rs256: .rsa
    default: .p256
    }
    var (privateKey, key): (PrivateKey, SigningKey)
    repeat {
      privateKey = try PrivateKey.generate(kind)
      key = try SigningKey(
        privateKey, algorithm: algorithm, publishedAt: now.seconds, activeFrom: activeFrom.seconds, retiredAt: nil)
      // One key ID in 64 starts with a hyphen. A command would take it for an option.
    } while key.keyID.hasPrefix("-")
    return SigningKeyRecord(
      keyID: key.keyID, algorithm: algorithm.rawValue,
      sealedPrivateKey: keys.seal(try privateKey.pkcs8(), context: SigningKeyRecord.context(ofKey: key.keyID)),
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

  /// Returns the keys as administrators see them. Only the latest of several active keys signs, as in the ring.
  static func statuses(
    _ records: [SigningKeyRecord], foreign: Set<String>, now: Timestamp
  ) -> [SigningKeyStatus] {
    let signing = records.filter { !foreign.contains($0.keyID) && $0.isActive(at: now) }
      .max { $0.activeFrom < $1.activeFrom }
    return records.map { record in
      let state: SigningKeyStatus.State =
        if foreign.contains(record.keyID) { .unusable }
        else if record.keyID == signing?.keyID { .signing }
        else if record.activeFrom > now { .waiting }
        else { .retired }
      // A successor of a revoked key starts earlier than it was published, for replicas whose clocks are behind.
      let from = max(record.publishedAt, record.activeFrom)
      return SigningKeyStatus(
        keyID: record.keyID, algorithm: record.algorithm, state: state, publishedAt: record.publishedAt,
        activeFrom: from, retiredAt: record.retiredAt, ageMillis: from <= now ? now.millis - from.millis : nil)
    }
  }

  /// Returns the IDs of keys that this server cannot use. Throws if no usable key signs now: then this server's master
  /// key is wrong, not that of the other servers.
  static func refuseUnknowns(
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
  static func unusable(_ records: [SigningKeyRecord], _ keys: DerivedKeys) -> [String: any Error] {
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
      return (
        algorithm,
        try keys.openSecret(record.sealedPrivateKey, context: SigningKeyRecord.context(ofKey: record.keyID)))
    } catch {
      let id = MasterKeyID(bytes: record.sealedPrivateKey)
      let ours = keys.masterKeyIDs.map(\.text).joined(separator: ", ")
      throw ConfigurationError(
        setting: "secrets.master_key_files",
        why: keys.masterKeyIDs.contains(id)
          ? "signing key \(record.keyID) of this store does not open under master key \(id)"
          : "signing key \(record.keyID) of this store is sealed under master key \(id), not \(ours)")
    }
  }
}
