package import Store

/// How a master key is used, and when the operator can remove it.
package struct MasterKeyStatus: Hashable, Sendable {
  package enum State: String, Sendable, CaseIterable {
    /// The first key of this server.
    case seals
    /// This server has the key, and another one seals with it.
    case sealsElsewhere = "seals_elsewhere"
    /// This server has the key. Rows are still sealed under it.
    case opens
    /// This server has the key. Only digests and tokens may still need it, until `neededUntil`.
    case agesOut = "ages_out"
    /// This server has the key. Nothing needs it any more.
    case removable
    /// This server has the key, but no server has sealed with it yet.
    case unused
    /// This server does not have the key, but rows are sealed under it.
    case missing
    /// This server does not have the key, and no row needs it.
    case removed
  }

  package var id: MasterKeyID
  package var state: State
  package var record: MasterKeyRecord?
  /// The number of rows that are sealed under the key.
  package var rows: [SealedTable: Int]
  /// The number of open sessions whose refresh token may have a tag of this key.
  package var refreshTokens = 0
  /// The time from which no digest and no token needs the key. nil: rows need it, or a server seals with it.
  package var neededUntil: Timestamp?

  package init(id: MasterKeyID, state: State, record: MasterKeyRecord? = nil, rows: [SealedTable: Int] = [:]) {
    self.id = id
    self.state = state
    self.record = record
    self.rows = rows
  }

  package var rowCount: Int { rows.values.reduce(0, +) }
}

/// The intervals at which servers confirm and observe master keys.
package enum MasterKeyTimes {
  /// The interval at which each server confirms its keys.
  package static let noteMillis: Int64 = 20_000
  /// How long no server has confirmed a key as the first one, until its rows are sealed again. Otherwise two servers
  /// with the keys in different order would seal the same rows forever.
  package static let quietMillis: Int64 = 60_000
  /// The latest time after its last confirmation at which a server sealed with a key, in the time of another server.
  package static let uncertainMillis = noteMillis + Timestamp.clockSkewMillis
}

extension MasterKeyStatus {
  /// What is known about one key.
  package struct Facts: Hashable, Sendable {
    package var id: MasterKeyID
    /// The position in the configuration of this server. nil: this server does not have the key.
    package var position: Int?
    package var record: MasterKeyRecord?
    package var rows: [SealedTable: Int] = [:]
    package var refreshTokens = RefreshTokenAges()

    package init(id: MasterKeyID, position: Int?, record: MasterKeyRecord?) {
      self.id = id
      self.position = position
      self.record = record
    }
  }

  package static func decide(_ facts: Facts, _ policy: Policy, now: Timestamp) -> MasterKeyStatus {
    var status = MasterKeyStatus(id: facts.id, state: .seals, record: facts.record, rows: facts.rows)
    guard let position = facts.position else {
      status.state = status.rowCount > 0 ? .missing : .removed
      return status
    }
    if position == 0 { return status }
    guard let sealedAt = facts.record?.sealedAt else {
      status.state = status.rowCount > 0 ? .opens : .unused
      return status
    }
    if now < sealedAt.adding(millis: MasterKeyTimes.quietMillis) {
      status.state = .sealsElsewhere
      return status
    }
    status.refreshTokens = facts.refreshTokens.count
    guard status.rowCount == 0 else {
      status.state = .opens
      return status
    }
    let digestsEnd = sealedAt.adding(millis: MasterKeyTimes.uncertainMillis + policy.keyedDigestMillisMax)
    let end = max(digestsEnd, facts.refreshTokens.lastEnd ?? digestsEnd)
    status.neededUntil = end
    status.state = now < end ? .agesOut : .removable
    return status
  }
}

extension Policy {
  /// How long a digest under a master key may be looked up after it was written: the longest of a throttle, an
  /// idempotency record, and an answer with a pending token.
  package var keyedDigestMillisMax: Int64 {
    let remembered = ThrottleKind.allCases.map { kind in
      let rule = throttles[kind]
      return rule.countMax == 0 ? 0 : rule.windowMillis + (rule.blockMillis == 0 ? 0 : rule.blockMillisMax)
    }
    return max(idempotencyLifetimeMillis, pendingLifetimeMillis, remembered.max() ?? 0)
  }
}
