/// The events that are counted and temporarily rejected if they are too frequent. The raw values are the names in
/// metrics.
///
/// An account is identified by its email address or phone number, known or not, so that a rejection never reveals
/// whether it exists. A network is an IPv4 address or an IPv6 /64 prefix. A caller is the calling service.
package enum ThrottleKind: String, Sendable, CaseIterable {
  case passwordFailuresPerAccount = "password_failures_per_account"
  /// Replaces the account's count on a device on which the account's user has signed in. An attacker who blocks the
  /// password for other clients does not block it there (check 105).
  case passwordFailuresPerDevice = "password_failures_per_device"
  case passwordFailuresPerNetwork = "password_failures_per_network"
  case passwordFailuresPerCaller = "password_failures_per_caller"
  case codeFailuresPerAccount = "code_failures_per_account"
  /// All such devices together, like `sendsOnKnownDevices`. With one count per device, a user could add devices to get
  /// unlimited attempts, and unlimited messages to the account's phone number.
  case codeFailuresOnKnownDevices = "code_failures_on_known_devices"
  case codeFailuresPerNetwork = "code_failures_per_network"
  case codeFailuresPerCaller = "code_failures_per_caller"
  case signUpsPerNetwork = "sign_ups_per_network"
  case signUpsPerCaller = "sign_ups_per_caller"
  /// A flow needs no account, and each one leaves a pending row.
  case flowStartsPerNetwork = "flow_starts_per_network"
  case flowStartsPerCaller = "flow_starts_per_caller"
  case sendsPerRecipient = "sends_per_recipient"
  case sendsOnKnownDevices = "sends_on_known_devices"
  /// Resets have counts of their own, so that requests for sign-in links do not use them up.
  case resetsPerRecipient = "resets_per_recipient"
  case resetsOnKnownDevices = "resets_on_known_devices"
  case sendsPerNetwork = "sends_per_network"
  case sendsPerCaller = "sends_per_caller"
  /// Changes that create a session and raise the account's version. An attacker with a stolen session must not keep the
  /// account changing while its user tries to sign in or to reset the password.
  ///
  /// Calls that remove such an attacker are not counted: a new password, Unlink, ending sessions. Changes confirmed by
  /// a second factor, an emailed link or a code are not counted either, because those have their own counts.
  case changesPerAccount = "changes_per_account"
  /// New passwords set by a session. A reset by email is not counted, so that an attacker's changes cannot lock out the
  /// owner.
  case passwordChangesPerAccount = "password_changes_per_account"
  /// Notices of one kind to one account. Past the limit a notice is dropped; the call that caused it succeeds.
  case noticesPerAccount = "notices_per_account"
}

extension ThrottleKind {
  /// Whether the count covers all users of one calling service.
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

/// The limit of a throttle and the length of its blocks.
package struct ThrottleRule: Hashable, Sendable {
  /// The count within the window that blocks the key. 0: nothing is counted.
  package var countMax: Int
  /// The time from the first counted event until the count restarts.
  package var windowMillis: Int64
  /// The length of the first block. Each following block lasts twice as long, up to `blockMillisMax`. 0: every block
  /// ends with the window.
  package var blockMillis: Int64
  package var blockMillisMax: Int64
  /// Replaces `countMax` after the key was blocked, until a reset or a window without a block.
  package var countAgainMax: Int

  /// The same rule with this many times the count, for a network of several hosts.
  package func times(_ share: Int) -> ThrottleRule {
    var rule = self
    rule.countMax *= share
    rule.countAgainMax *= share
    return rule
  }

  /// Allows `countMax` events per window.
  package init(_ countMax: Int, inMillis windowMillis: Int64) {
    self.countMax = countMax
    self.windowMillis = windowMillis
    blockMillis = 0
    blockMillisMax = 0
    countAgainMax = countMax
  }

  /// Allows `countMax` events without a reset, then blocks for growing times.
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

/// One event to count under one key.
package struct ThrottleCount: Hashable, Sendable {
  /// A keyed digest of the kind and the counted subject.
  package var key: Digest
  package var kind: ThrottleKind
  package var rule: ThrottleRule
  package var at: Timestamp
  /// Whether the event must not happen while the key is blocked, such as a message to send or an answer to a guess.
  package var refusesBlocked: Bool

  /// Whether the observer is notified when a caller's count reaches half of its limit. If an event has several counts,
  /// only one of them does so.
  package var warnsAtHalf: Bool

  package init(
    key: Digest, kind: ThrottleKind, rule: ThrottleRule, at: Timestamp, refusesBlocked: Bool, warnsAtHalf: Bool = true
  ) {
    self.key = key
    self.kind = kind
    self.rule = rule
    self.at = at
    self.refusesBlocked = refusesBlocked
    self.warnsAtHalf = warnsAtHalf
  }
}

/// The count of a key.
package struct ThrottleRecord: Hashable, Sendable {
  package var key: Digest
  /// The count since the window began, or since the last block.
  package var count: Int
  package var since: Timestamp
  /// The number of blocks of the key so far.
  package var blocks: Int
  package var blockedUntil: Timestamp?
  /// The time from which the row has no effect.
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

  /// The end of the current block. nil: the key is not blocked. A clock that ran ahead blocks nothing once it is
  /// corrected.
  package func block(at now: Timestamp) -> Timestamp? {
    guard let blockedUntil, now < blockedUntil, !since.isAhead(of: now) else { return nil }
    return blockedUntil
  }

  /// The count that applies under this rule.
  package func count(at now: Timestamp, _ rule: ThrottleRule) -> Int {
    let isOver = now >= expiresAt || since.isAhead(of: now) || now >= since.adding(millis: rule.windowMillis)
    return isOver ? 0 : count
  }

  /// Whether this count has just used up half of a caller's limit. True once per window.
  package func isAlarm(after count: ThrottleCount) -> Bool {
    count.warnsAtHalf && count.kind.isPerCaller && count.rule.countMax > 1 && self.count == count.rule.countMax / 2
  }

  /// Returns the row after one more event.
  ///
  /// Defined here and not in a backend, so that all backends count alike. The backend must keep other transactions from
  /// writing the row between its read and its write.
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
