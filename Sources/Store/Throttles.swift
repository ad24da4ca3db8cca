/// What is counted, and refused for a while where it comes too often. The names are those of metrics.
///
/// An account is named by its address or number, known or not, so that a refusal never tells whether it exists. A
/// network is an IPv4 address or 64 bits of an IPv6 one. A caller is the calling service.
package enum ThrottleKind: String, Sendable, CaseIterable {
  case passwordFailuresPerAccount = "password_failures_per_account"
  /// Of a device that the account's person has signed in on, instead of the account's count: whoever blocks the
  /// password for strangers does not block it there (check 105).
  case passwordFailuresPerDevice = "password_failures_per_device"
  case passwordFailuresPerNetwork = "password_failures_per_network"
  case passwordFailuresPerCaller = "password_failures_per_caller"
  case codeFailuresPerAccount = "code_failures_per_account"
  /// Of all such devices together, as `sendsOnKnownDevices`: by a count for each, a person who signs in on ever more of
  /// them would have its number sent as many messages as it likes, and would never run out of tries.
  case codeFailuresOnKnownDevices = "code_failures_on_known_devices"
  case codeFailuresPerNetwork = "code_failures_per_network"
  case codeFailuresPerCaller = "code_failures_per_caller"
  case signUpsPerNetwork = "sign_ups_per_network"
  case signUpsPerCaller = "sign_ups_per_caller"
  /// A flow needs no account, and each leaves a pending row.
  case flowStartsPerNetwork = "flow_starts_per_network"
  case flowStartsPerCaller = "flow_starts_per_caller"
  case sendsPerRecipient = "sends_per_recipient"
  case sendsOnKnownDevices = "sends_on_known_devices"
  /// Resets have counts of their own, so that requests for sign-in links do not use them up.
  case resetsPerRecipient = "resets_per_recipient"
  case resetsOnKnownDevices = "resets_on_known_devices"
  case sendsPerNetwork = "sends_per_network"
  case sendsPerCaller = "sends_per_caller"
  /// Each makes a session, and raises the version of the account: whoever holds a stolen session must not keep the
  /// account changing for as long as its person tries to sign in or to reset the password. What a person drives such a
  /// thief out by is not counted here: a new password, Unlink and the end of sessions. Nor is what a second factor was
  /// shown for, or a mailed link or code completes, since those are counted themselves.
  case changesPerAccount = "changes_per_account"
  /// New passwords that a session sets. A reset by email is not counted, so that an attacker's changes cannot keep out
  /// the owner.
  case passwordChangesPerAccount = "password_changes_per_account"
  /// Notices of one kind to one account. Past the limit a notice is dropped; the call that caused it succeeds.
  case noticesPerAccount = "notices_per_account"
}

extension ThrottleKind {
  /// Whether it counts all users of one calling service together.
  package var isPerCaller: Bool {
    switch self {
    case .passwordFailuresPerCaller, .codeFailuresPerCaller, .signUpsPerCaller, .flowStartsPerCaller, .sendsPerCaller:
      true
    case .passwordFailuresPerAccount, .passwordFailuresPerDevice, .passwordFailuresPerNetwork, .codeFailuresPerAccount,
      .codeFailuresOnKnownDevices, .codeFailuresPerNetwork, .signUpsPerNetwork, .flowStartsPerNetwork,
      .sendsPerRecipient, .sendsOnKnownDevices, .resetsPerRecipient, .resetsOnKnownDevices, .sendsPerNetwork,
      .changesPerAccount, .passwordChangesPerAccount, .noticesPerAccount:
      false
    }
  }
}

/// How often is too often, and what follows.
package struct ThrottleRule: Hashable, Sendable {
  /// So many within the window block the key. 0: nothing is counted.
  package var countMax: Int
  /// From the first that counts to where the count begins again.
  package var windowMillis: Int64
  /// How long the first block lasts; each that follows lasts twice as long as the one before it, up to
  /// `blockMillisMax`. 0: every block ends with the window.
  package var blockMillis: Int64
  package var blockMillisMax: Int64
  /// In place of `countMax` once the key has been blocked, until a reset or a window without a block.
  package var countAgainMax: Int

  /// The same rule with this many times the count, for a network of several hosts.
  package func times(_ share: Int) -> ThrottleRule {
    var rule = self
    rule.countMax *= share
    rule.countAgainMax *= share
    return rule
  }

  /// At most so many in a window.
  package init(_ countMax: Int, inMillis windowMillis: Int64) {
    self.countMax = countMax
    self.windowMillis = windowMillis
    blockMillis = 0
    blockMillisMax = 0
    countAgainMax = countMax
  }

  /// At most so many without a reset, then blocks that grow.
  package init(
    _ countMax: Int, inMillis windowMillis: Int64, blockMillis: Int64, blockMillisMax: Int64, countAgainMax: Int
  ) {
    self.countMax = countMax
    self.windowMillis = windowMillis
    self.blockMillis = blockMillis
    self.blockMillisMax = blockMillisMax
    self.countAgainMax = countAgainMax
  }
}

/// One thing to be counted under one key.
package struct ThrottleCount: Hashable, Sendable {
  /// A keyed digest of the kind and what it counts.
  package var key: Digest
  package var kind: ThrottleKind
  package var rule: ThrottleRule
  package var at: Timestamp
  /// What is counted is not to happen while the key is blocked, such as a message to be sent or an answer to a guess.
  package var refusesBlocked: Bool

  package init(key: Digest, kind: ThrottleKind, rule: ThrottleRule, at: Timestamp, refusesBlocked: Bool) {
    self.key = key
    self.kind = kind
    self.rule = rule
    self.at = at
    self.refusesBlocked = refusesBlocked
  }
}

/// What was counted under a key.
package struct ThrottleRecord: Hashable, Sendable {
  package var key: Digest
  /// Since the window began, or since the last block.
  package var count: Int
  package var since: Timestamp
  /// How often the key was blocked until now.
  package var blocks: Int
  package var blockedUntil: Timestamp?
  /// From here on the row says nothing that still counts.
  package var expiresAt: Timestamp

  package init(
    key: Digest, count: Int = 0, since: Timestamp, blocks: Int = 0, blockedUntil: Timestamp? = nil,
    expiresAt: Timestamp
  ) {
    self.key = key
    self.count = count
    self.since = since
    self.blocks = blocks
    self.blockedUntil = blockedUntil
    self.expiresAt = expiresAt
  }

  /// Until when; nil: it is not. A clock that ran ahead blocks nothing once it is corrected.
  package func block(at now: Timestamp) -> Timestamp? {
    guard let blockedUntil, now < blockedUntil, !since.isAhead(of: now) else { return nil }
    return blockedUntil
  }

  /// What still counts under this rule.
  package func count(at now: Timestamp, _ rule: ThrottleRule) -> Int {
    let isOver = now >= expiresAt || since.isAhead(of: now) || now >= since.adding(millis: rule.windowMillis)
    return isOver ? 0 : count
  }

  /// Whether this is the row after the one that uses up half of a caller's limit: once in a window.
  package func isAlarm(after count: ThrottleCount) -> Bool {
    count.kind.isPerCaller && count.rule.countMax > 1 && self.count == count.rule.countMax / 2
  }

  /// The row after one more. Here and not in a backend, so that all of them count alike; a backend sees to it that
  /// nobody writes the row between its reading and its writing.
  package static func counting(_ count: ThrottleCount, after old: ThrottleRecord?) -> ThrottleRecord {
    let (rule, now) = (count.rule, count.at)
    var record = ThrottleRecord(key: count.key, since: now, expiresAt: now)
    if let old, now < old.expiresAt, !old.since.isAhead(of: now) { record = old }
    if record.block(at: now) == nil {
      record.blockedUntil = nil
      if now >= record.since.adding(millis: rule.windowMillis) { (record.count, record.since) = (0, now) }
    }
    record.count += 1
    if record.count >= (record.blocks == 0 ? rule.countMax : rule.countAgainMax) {
      let end = now.adding(millis: rule.blockLength(after: record, at: now))
      record.blockedUntil = max(end, record.blockedUntil ?? end)
      record.blocks += 1
      (record.count, record.since) = (0, now)
    }
    let remembered = record.blockedUntil ?? record.since
    record.expiresAt = rule.blockMillis == 0 && record.blockedUntil != nil
      ? remembered : remembered.adding(millis: rule.windowMillis)
    return record
  }
}

extension ThrottleRule {
  fileprivate func blockLength(after record: ThrottleRecord, at now: Timestamp) -> Int64 {
    guard blockMillis > 0 else { return max(1, record.since.millis + windowMillis - now.millis) }
    var length = blockMillis
    for _ in 0..<record.blocks where length < blockMillisMax { length *= 2 }
    return min(length, blockMillisMax)
  }
}
