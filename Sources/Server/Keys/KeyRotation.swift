internal import Configuration
internal import Store

/// Decision about the signing keys. It depends only on their records and on which of them the master key can open, so
/// that all replicas decide alike.
struct KeyRotation: Hashable, Sendable {
  enum Occasion: Sendable {
    /// The server starts; the configured algorithm may differ from that of the current key.
    case start
    case look
    /// The operator requested a new key.
    case demand
  }

  private static let clockDifferenceMillis: Int64 = 1_000

  /// Time from which a new key signs; `nil` if none is created.
  var successorFrom: Timestamp?
  /// IDs of keys that stop signing at that time.
  var retired: [String] = []
  /// Keys retired by this time are removed, since no valid token needs them.
  var removesRetiredBy: Timestamp?
  /// The new key fills a gap until existing keys start. A replica whose clock was ahead created those too late.
  var fillsGap = false

  /// Decides which keys to create, retire and remove.
  /// - Parameter foreign: IDs of keys that this server cannot open.
  static func decide(
    _ records: [SigningKeyRecord], foreign: Set<String> = [], algorithm: String, _ occasion: Occasion,
    _ policy: KeyPolicy, now: Timestamp
  ) -> KeyRotation {
    var rotation = KeyRotation()
    // The first key of another replica is not a gap, even if that replica's clock is slightly ahead.
    let soon = now.adding(millis: KeyRotation.clockDifferenceMillis)
    let isSigning = records.contains { !foreign.contains($0.keyID) && $0.isActive(at: soon) }
    let needless = now.adding(millis: -policy.keptMillis)
    // With a wrong clock, the current key of all replicas may look expired. Nothing is removed unless a key signs here.
    if isSigning, records.contains(where: { $0.retiredAt.map { $0 <= needless } ?? false }) {
      rotation.removesRetiredBy = needless
    }
    // The change that retires a key also publishes its successor, so one key always remains.
    let current = records.filter { $0.retiredAt == nil }
    guard !current.isEmpty else {
      rotation.successorFrom = now
      return rotation
    }
    let ours = current.filter { !foreign.contains($0.keyID) }
    guard !ours.isEmpty else {
      // A server with another master key replaced our last key. Replace its keys with one that this server can use.
      let end = records.filter { !foreign.contains($0.keyID) }.compactMap(\.retiredAt).max()
      rotation.successorFrom = max(now, end ?? now)
      rotation.retired = current.map(\.keyID)
      return rotation
    }
    let horizon = now.adding(millis: Int64(KeyPolicy.publishLeadSecondsMax) * 1_000 + policy.skewMillis)
    guard isSigning, let last = ours.filter({ $0.activeFrom <= horizon }).max(by: { $0.activeFrom < $1.activeFrom })
    else {
      // The later keys stay until the next rotation retires them. A replica whose clock is ahead signs with them, and
      // would immediately replace a new key as too old.
      rotation.successorFrom = isSigning ? now.adding(millis: policy.publishLeadMillis) : now
      rotation.fillsGap = true
      return rotation
    }
    let isOld = policy.rotateMillis.map { last.activeFrom.adding(millis: $0) <= now } ?? false
    let isOfAnotherKind = occasion == .start && last.algorithm != algorithm
    // A request creates a new key, unless one is already published and starts within the lead time.
    let lead = now.adding(millis: policy.publishLeadMillis + policy.skewMillis)
    let isDemanded = occasion == .demand && !(last.activeFrom > now && last.activeFrom <= lead)
    guard isOld || isOfAnotherKind || isDemanded else { return rotation }
    rotation.successorFrom = now.adding(millis: policy.publishLeadMillis)
    rotation.retired = current.map(\.keyID)
    return rotation
  }

  /// Returns the change of the store; `nil` if there is nothing to do.
  /// - Parameter successor: the new key, if any.
  func change(_ successor: SigningKeyRecord?) -> Change? {
    var writes: [Write] = []
    if let successor, let successorFrom {
      // If replicas rotate at the same time, only one retires the key. The first keys of a store retire none, so this
      // guard admits one. Each replica may fill a gap, since several signing keys are harmless.
      if retired.isEmpty, !fillsGap { writes.append(.signingKey(.requireNone)) }
      writes += retired.map { .signingKey(.retire(keyID: $0, at: successorFrom)) }
      writes.append(.signingKey(.insert(successor)))
    }
    if let removesRetiredBy { writes.append(.signingKey(.delete(retiredBy: removesRetiredBy))) }
    return writes.isEmpty ? nil : Change(writes)
  }
}

extension SigningKeyRecord {
  func isActive(at now: Timestamp) -> Bool { activeFrom <= now && retiredAt.map { now < $0 } ?? true }
}
