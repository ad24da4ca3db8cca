internal import Configuration
internal import Crypto
internal import Encodings
internal import Identity
internal import Observability
internal import Reactor
internal import Store
internal import Synchronization
internal import Tokens

/// The signing keys at one time. Readings are numbered in the order in which they began.
struct KeyReading: Sendable {
  let number: Int
  let records: [SigningKeyRecord]
}

/// The stored signing keys, and the changes of them.
final class KeyTable: Sendable {
  /// Each lost race means that another server has changed the keys.
  private static let decisionsMax = 16

  private let store: any Store
  let keys: DerivedKeys
  private let algorithm: SignatureAlgorithm
  let policy: KeyPolicy
  private let events: SigningKeyEvents
  let log: Log
  private let readings = Atomic<Int>(0)

  init(
    _ store: any Store, _ keys: DerivedKeys, algorithm: SignatureAlgorithm, _ policy: KeyPolicy,
    _ events: SigningKeyEvents, log: Log
  ) {
    self.store = store
    self.keys = keys
    self.algorithm = algorithm
    self.policy = policy
    self.events = events
    self.log = log
  }

  func read() async throws -> KeyReading {
    let number = readings.add(1, ordering: .sequentiallyConsistent).newValue
    var query = Query()
    query.signingKeys = true
    return KeyReading(number: number, records: try await store.load(query).signingKeys)
  }

  /// Performs due rotations, and returns the resulting keys with the ID of a key that it published. The first start of
  /// a store creates its first key. If another replica was faster, its result counts.
  /// - Parameter call: nil: no administrator requested the rotation.
  func settle(
    _ occasion: KeyRotation.Occasion, call: CallFacts? = nil
  ) async throws -> (reading: KeyReading, published: String?) {
    var published: String?
    for _ in 0..<KeyTable.decisionsMax {
      let reading = try await read()
      let now = Timestamp(millis: wallMillis())
      // Before any write: with the wrong master key this server would retire the key of all other replicas.
      let foreign = try SigningKeys.refuseUnknowns(reading.records, keys, now: now)
      let rotation = KeyRotation.decide(
        reading.records, foreign: foreign, algorithm: algorithm.rawValue, occasion, policy, now: now)
      let successor = try rotation.successorFrom.map {
        try SigningKeys.make(keys, algorithm, now: now, activeFrom: $0)
      }
      guard var change = rotation.change(successor) else { return (reading, published) }
      // The first key of a store replaces none.
      if let successor, !reading.records.isEmpty {
        change.writes.append(
          events.rotated(to: successor.keyID, signsFrom: successor.activeFrom, call: call, now: now))
      }
      guard try await commit(change, call?.commitDecision ?? CommitDecision()) else { continue }
      if let successor {
        if rotation.fillsGap { log.warning("all signing keys start in the future: a clock is or was ahead") }
        log.info("signing key published", ["key": successor.keyID, "signs_from": rfc3339(successor.activeFrom.millis)])
        published = successor.keyID
      }
      if rotation.removesRetiredBy != nil { log.info("retired signing keys removed") }
    }
    throw StoreError.unavailable("the signing keys keep changing")
  }

  /// Removes a key, and returns the ID of the key that takes over.
  func revoke(_ keyID: String, _ call: CallFacts) async throws -> String? {
    for _ in 0..<KeyTable.decisionsMax {
      let records = try await read().records
      let now = Timestamp(millis: wallMillis())
      let foreign = Set(SigningKeys.unusable(records, keys).keys)
      guard let revocation = KeyRevocation.decide(records, foreign: foreign, keyID: keyID, policy, now: now) else {
        throw Failure(
          .signingKeyNotFound, field: "key_id", hint: "List the keys. A key that was revoked is not among them.")
      }
      let (created, successorID) = try successor(revocation.successor, now: now)
      var change = revocation.change(records, created: created)
      change.writes.append(events.revoked(keyID, successorKeyID: successorID, call: call, now: now))
      guard try await commit(change, call.commitDecision) else { continue }
      var fields = ["key": keyID, "caller": call.caller.text, "successor": successorID ?? ""]
      if !call.actor.isEmpty { fields["actor"] = call.actor }
      log.warning("signing key revoked", fields)
      return successorID
    }
    throw StoreError.unavailable("the signing keys keep changing")
  }

  private func successor(
    _ successor: KeyRevocation.Successor, now: Timestamp
  ) throws -> (created: SigningKeyRecord?, keyID: String?) {
    switch successor {
    case .needless: return (nil, nil)
    case .promoted(let keyID, _): return (nil, keyID)
    case .created(let activeFrom):
      let key = try SigningKeys.make(keys, algorithm, now: now, activeFrom: activeFrom)
      return (key, key.keyID)
    }
  }

  private func commit(_ change: Change, _ commitDecision: CommitDecision) async throws -> Bool {
    switch try await store.commit(change, commitDecision: commitDecision) {
    case .committed: true
    case .cancelled: throw Failure(.cancelled)
    case .conflict, .stale, .limited, .throttled: false
    }
  }
}
