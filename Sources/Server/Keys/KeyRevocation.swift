internal import Configuration
internal import Store

/// Decision about a key that must stop being valid immediately. It depends only on the records and on which of them the
/// master key can open.
struct KeyRevocation: Hashable, Sendable {
  enum Successor: Hashable, Sendable {
    /// Another key signs, now and later.
    case needless
    /// The key that waits signs immediately. Verifiers may have it already.
    case promoted(keyID: String, activeFrom: Timestamp)
    /// A new key signs from then on.
    case created(activeFrom: Timestamp)
  }

  let keyID: String
  var successor = Successor.needless
  /// IDs of keys that sign until the successor does, longer than planned.
  var prolonged: [String] = []

  /// Decides what follows from the removal of a key; `nil` if there is no such key.
  /// - Parameter foreign: IDs of keys that this server cannot open.
  static func decide(
    _ records: [SigningKeyRecord], foreign: Set<String> = [], keyID: String, _ policy: KeyPolicy, now: Timestamp
  ) -> KeyRevocation? {
    guard records.contains(where: { $0.keyID == keyID }) else { return nil }
    var revocation = KeyRevocation(keyID: keyID)
    let left = records.filter { $0.keyID != keyID && !foreign.contains($0.keyID) }
    let signing = left.filter { $0.isActive(at: now) }
    // As in a rotation: a key that starts later is one of a clock that was ahead.
    let horizon = now.adding(millis: Int64(KeyPolicy.publishLeadSecondsMax) * 1_000 + policy.skewMillis)
    let lasting = left.filter { $0.retiredAt == nil && $0.activeFrom <= horizon }
    if signing.isEmpty {
      // Earlier by the largest difference of clocks, so that the key signs on every replica that reads it.
      let from = now.adding(millis: -policy.skewMillis)
      if let waiting = lasting.min(by: { $0.activeFrom < $1.activeFrom }) {
        revocation.successor = .promoted(keyID: waiting.keyID, activeFrom: from)
      } else {
        revocation.successor = .created(activeFrom: from)
      }
    } else if lasting.isEmpty {
      // The key that was to take over is gone. Its replacement needs the whole lead, and its predecessors bridge it.
      let from = now.adding(millis: policy.publishLeadMillis)
      revocation.successor = .created(activeFrom: from)
      revocation.prolonged = signing.filter { $0.retiredAt.map { $0 < from } ?? false }.map(\.keyID)
    }
    return revocation
  }

  /// Returns the change of the store.
  /// - Parameter records: those of the decision. The change is stale if one of them has changed.
  /// - Parameter created: the new key, if there is one.
  func change(_ records: [SigningKeyRecord], created: SigningKeyRecord?) -> Change {
    var writes = records.map { Write.signingKey(.confirm($0)) }
    writes.append(.signingKey(.revoke(keyID: keyID)))
    switch successor {
    case .needless: break
    case .promoted(let keyID, let activeFrom):
      let retiredAt = records.first { $0.keyID == keyID }?.retiredAt
      writes.append(.signingKey(.reschedule(keyID: keyID, activeFrom: activeFrom, retiredAt: retiredAt)))
    case .created(let from):
      for record in records where prolonged.contains(record.keyID) {
        writes.append(
          .signingKey(.reschedule(keyID: record.keyID, activeFrom: record.activeFrom, retiredAt: from)))
      }
      if let created { writes.append(.signingKey(.insert(created))) }
    }
    return Change(writes)
  }
}
