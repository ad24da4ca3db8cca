internal import Store

/// When our signing keys follow each other.
package struct KeyPolicy: Hashable, Sendable {
  /// A key that has signed for so long is followed by another; nil: only where somebody asks for it.
  package var rotateMillis: Int64? = 90 * 86_400_000
  /// From the publication of a key to its first signature.
  package var publishLeadMillis: Int64 = 3_600_000
  /// The longest life of any token that a key signs.
  package var tokenLifetimeMaxMillis: Int64 = 3_600_000
  /// How far apart the clocks of replicas may be: a slow one goes on signing with a key that the others have retired.
  package var skewMillis: Int64 = 60_000

  package init() {}

  /// A key that is further away than this was put there by a clock that was ahead.
  static let publishLeadSecondsMax = 604_800

  /// How often each replica reads the keys again: every one knows a key long before any of them signs with it.
  var readMillis: Int64 { min(60_000, publishLeadMillis / 4) }

  /// How long a verifier may keep the published set. One that fetched it from the replica that heard of a new key last
  /// asks again within `readMillis` and this, three quarters of the lead at most.
  var cacheMillis: Int64 { publishLeadMillis / 2 }

  /// How long a key is needed after it was retired: until the last token that it signed has expired.
  var keptMillis: Int64 { tokenLifetimeMaxMillis + skewMillis }
}

/// What is to be done about the signing keys, decided by their records and by which of them the master key opens, so
/// that all replicas decide alike.
struct KeyRotation: Hashable, Sendable {
  enum Occasion: Sendable {
    /// The configuration was just read, which may name another algorithm than that of the key that signs.
    case start
    case look
    /// Somebody asked for a new key.
    case demand
  }

  private static let clockDifferenceMillis: Int64 = 1_000

  /// A key is to be made that signs from this moment on.
  var successorFrom: Timestamp?
  /// Keys that stop signing at that moment.
  var retired: [String] = []
  /// Keys that were retired by this moment are needed by no token any more.
  var removesRetiredBy: Timestamp?
  /// The key that is to be made signs until those do that are there: by a clock that was ahead they begin too late.
  var fillsGap = false

  /// - Parameter foreign: the ids of keys that cannot be used here.
  static func decide(
    _ records: [SigningKeyRecord], foreign: Set<String> = [], algorithm: String, _ occasion: Occasion,
    _ policy: KeyPolicy, now: Timestamp
  ) -> KeyRotation {
    var rotation = KeyRotation()
    // The key of a replica that has just made the first is no gap, though its clock may be a little ahead.
    let soon = now.adding(millis: KeyRotation.clockDifferenceMillis)
    let isSigning = records.contains { !foreign.contains($0.keyID) && $0.isActive(at: soon) }
    let needless = now.adding(millis: -policy.keptMillis)
    // By a clock that is wrong the one that all others sign with is needless: nothing is removed while none signs here.
    if isSigning, records.contains(where: { $0.retiredAt.map { $0 <= needless } ?? false }) {
      rotation.removesRetiredBy = needless
    }
    // Whoever retires a key publishes the one that follows it in the same change, so that one is always left.
    let current = records.filter { $0.retiredAt == nil }
    guard !current.isEmpty else {
      rotation.successorFrom = now
      return rotation
    }
    let ours = current.filter { !foreign.contains($0.keyID) }
    guard !ours.isEmpty else {
      // A server with another master key has replaced the last one of ours: one that we can use takes its place.
      let end = records.filter { !foreign.contains($0.keyID) }.compactMap(\.retiredAt).max()
      rotation.successorFrom = max(now, end ?? now)
      rotation.retired = current.map(\.keyID)
      return rotation
    }
    let horizon = now.adding(millis: Int64(KeyPolicy.publishLeadSecondsMax) * 1_000 + policy.skewMillis)
    guard isSigning, let last = ours.filter({ $0.activeFrom <= horizon }).max(by: { $0.activeFrom < $1.activeFrom })
    else {
      // The later ones stay, and the next rotation retires them: a replica whose clock is ahead signs with them, and
      // would replace a key that took their place as too old at once.
      rotation.successorFrom = isSigning ? now.adding(millis: policy.publishLeadMillis) : now
      rotation.fillsGap = true
      return rotation
    }
    let isOld = policy.rotateMillis.map { last.activeFrom.adding(millis: $0) <= now } ?? false
    let isOfAnotherKind = occasion == .start && last.algorithm != algorithm
    // Who asks for a new key gets it by then, unless one is on its way.
    let lead = now.adding(millis: policy.publishLeadMillis + policy.skewMillis)
    let isDemanded = occasion == .demand && !(last.activeFrom > now && last.activeFrom <= lead)
    guard isOld || isOfAnotherKind || isDemanded else { return rotation }
    rotation.successorFrom = now.adding(millis: policy.publishLeadMillis)
    rotation.retired = current.map(\.keyID)
    return rotation
  }

  /// nil: there is nothing to do.
  /// - Parameter successor: the key that is to be made, where one is.
  func change(_ successor: SigningKeyRecord?) -> Change? {
    var writes: [Write] = []
    if let successor, let successorFrom {
      // Of replicas that rotate at once one retires the key; those that make the first have none to retire. Of those
      // that fill a gap at once each may: several keys that sign do no harm.
      if retired.isEmpty, !fillsGap { writes.append(.guardNoSigningKey) }
      writes += retired.map { .retireSigningKey(keyID: $0, at: successorFrom) }
      writes.append(.insertSigningKey(successor))
    }
    if let removesRetiredBy { writes.append(.deleteSigningKeys(retiredBy: removesRetiredBy)) }
    return writes.isEmpty ? nil : Change(writes)
  }
}

extension SigningKeyRecord {
  func isActive(at now: Timestamp) -> Bool { activeFrom <= now && retiredAt.map { now < $0 } ?? true }
}
