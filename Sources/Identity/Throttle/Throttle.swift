package import Store
import Text

/// An action of a call that is rate-limited.
package enum ThrottledMatter: Sendable {
  /// Wrong passwords for an email address.
  case passwordFailures
  /// Wrong codes for an email address, phone number or account. All purposes count, including second factors.
  case codeFailures
  /// Sign-ups without an identity or code that verifies the user.
  case signUps
  /// Flows that a client starts without a session.
  case flowStarts
  /// Flows that a verified session starts. The caller's limit never rejects these.
  case sessionFlowStarts
  /// Emails and text messages to a recipient, or the second-factor codes of an account.
  case sends
  /// Password resets by email to an address.
  case resets
  /// Changes of an account by any of its sessions.
  case changes
  /// New passwords that a session of the account sets.
  case passwordChanges

  /// The counters of the subject, the network and the caller. nil: not counted.
  ///
  /// `device` replaces `subject` on known devices of its owner. It counts each device, or all of them together.
  fileprivate var kinds:
    (subject: ThrottleKind?, device: ThrottleKind?, network: ThrottleKind?, caller: ThrottleKind?)
  {
    switch self {
    case .passwordFailures:
      (
        .passwordFailuresPerAccount, .passwordFailuresPerDevice, .passwordFailuresPerNetwork,
        .passwordFailuresPerCaller
      )
    case .codeFailures:
      (.codeFailuresPerAccount, .codeFailuresOnKnownDevices, .codeFailuresPerNetwork, .codeFailuresPerCaller)
    case .signUps: (nil, nil, .signUpsPerNetwork, .signUpsPerCaller)
    case .flowStarts: (nil, nil, .flowStartsPerNetwork, .flowStartsPerCaller)
    case .sessionFlowStarts: (nil, nil, .flowStartsPerNetwork, nil)
    case .sends: (.sendsPerRecipient, .sendsOnKnownDevices, .sendsPerNetwork, .sendsPerCaller)
    case .resets: (.resetsPerRecipient, .resetsOnKnownDevices, .sendsPerNetwork, .sendsPerCaller)
    case .changes: (.changesPerAccount, nil, nil, nil)
    case .passwordChanges: (.passwordChangesPerAccount, nil, nil, nil)
    }
  }
}

/// All counters of one attempt. Use it in this order:
///
///   let throttle = environment.throttle(.passwordFailures, of: email, byDevice: true, call: call)
///   throttle.look(into: &query)                               // with the look-up that the call makes anyway
///   let admitted = try throttle.admit(facts, now: now)        // before any work: TOO_MANY_ATTEMPTS, with RetryInfo
///   ...
///   Change(... + admitted.count(at: now))                     // a failure, or a message to send
///   Change(... + admitted.reset(at: now))                     // a success; empty if nothing was counted
package struct Throttle: Sendable {
  /// One row. With several master keys, each subject has a row under each of them.
  fileprivate struct Counter: Sendable {
    var kind: ThrottleKind
    /// The number of the subject within the throttle, equal for its rows.
    var subject: Int
    var key: Digest
    var rule: ThrottleRule
    var warnsAtHalf = true
  }

  fileprivate var counters: [Counter]
  private let matter: ThrottledMatter
  /// nil: devices have no count of their own, or the caller sent no device id.
  private let deviceID: String?
  /// nil: the device must belong to the account that the query finds.
  fileprivate var deviceOwnerID: String?
  /// Whether a session or a verified first factor makes the attempt.
  private let isVerified: Bool

  fileprivate init(_ counters: [Counter], _ matter: ThrottledMatter, deviceID: String?, isVerified: Bool) {
    self.counters = counters.filter { $0.rule.countMax > 0 }
    self.matter = matter
    self.deviceID = deviceID
    self.isVerified = isVerified
  }

  /// Adds the counters to the query.
  ///
  /// If devices count, the query must find the subject's owner by email address, phone number or session, unless the
  /// subject is an account.
  package func look(into query: inout Query) {
    query.throttles += counters.map(\.key)
    guard let deviceID else { return }
    query.deviceID = deviceID
    query.deviceOwnerID = deviceOwnerID
  }

  /// Rejects a blocked attempt.
  ///
  /// A rejection depends only on the counts, and on a device only if its session is known. So it is the same for an
  /// email address without an account.
  ///
  /// A caller's limit covers all its users, but does not apply to known devices and verified sessions: no attacker can
  /// pose as those users. Past the limit, every network has `ThrottleRules.pastCallerLimitMax` attempts in a window.
  package func admit(_ facts: Facts, now: Timestamp) throws(Failure) -> AdmittedAttempt {
    let isKnown = isKnownDevice(facts)
    let other = isKnown ? matter.kinds.subject : matter.kinds.device
    var fitting = self
    fitting.counters.removeAll { $0.kind == other }
    if isKnown || isVerifiedUser(facts) { fitting.counters.removeAll(where: \.kind.isPerCaller) }
    for counter in fitting.counters {
      let record = facts.throttles.first { $0.key == counter.key }
      guard let until = record?.block(at: now) else { continue }
      guard counter.kind.isPerCaller, fitting.isQuietNetwork(facts, now) else {
        throw Failure(throttled: counter.kind, until: until, now: now).concerning(facts)
      }
      fitting.counters.removeAll { $0.key == counter.key }
    }
    let known = Set(facts.throttles.map(\.key))
    return AdmittedAttempt(throttle: fitting, known: known)
  }

  /// Returns an attempt that no count blocks, because it proves control over the subject. Its success lifts a block.
  package func proven(_ facts: Facts) -> AdmittedAttempt {
    AdmittedAttempt(throttle: self, known: Set(facts.throttles.map(\.key)), liftsBlock: true)
  }

  /// Whether the widest network of the client has few attempts in this window. False if no network is known.
  private func isQuietNetwork(_ facts: Facts, _ now: Timestamp) -> Bool {
    guard let widest = counters.last(where: { $0.kind == matter.kinds.network }) else { return false }
    return counters.allSatisfy { counter in
      guard counter.kind == widest.kind, counter.subject == widest.subject else { return true }
      let record = facts.throttles.first { $0.key == counter.key }
      return record.map { $0.count(at: now, counter.rule) } ?? 0 < ThrottleRules.pastCallerLimitMax
    }
  }

  /// Whether a verified user makes the attempt. An anonymous user has verified nothing.
  private func isVerifiedUser(_ facts: Facts) -> Bool {
    isVerified && !(facts.sessionAccount?.account.anonymous ?? false)
  }
}

/// An attempt that may proceed.
package struct AdmittedAttempt: Sendable {
  fileprivate let throttle: Throttle
  fileprivate let known: Set<Digest>
  fileprivate var liftsBlock = false

  /// Returns the writes that count the attempt, after a failure or together with its effect.
  package func count(at now: Timestamp) -> [Write] {
    throttle.counters.map { counter in
      .throttle(.count(
        ThrottleCount(
          key: counter.key, kind: counter.kind, rule: counter.rule, at: now,
          refusesBlocked: throttle.refusesBlocked && !counter.kind.isPerCaller,
          warnsAtHalf: counter.warnsAtHalf)))
    }
  }

  /// Returns the writes after a success. They reset the counts of the account, which limit consecutive failures.
  ///
  /// The counts of the network and the caller stay: an attacker must not reset them by signing in to their own.
  package func reset(at now: Timestamp) -> [Write] {
    throttle.counters.compactMap { counter in
      switch counter.kind {
      case .passwordFailuresPerAccount, .passwordFailuresPerDevice, .codeFailuresPerAccount,
        .codeFailuresOnKnownDevices:
        known.contains(counter.key)
          ? .throttle(.reset(counter.key, counter.kind, at: now, liftsBlock: liftsBlock)) : nil
      default: nil
      }
    }
  }
}

extension Throttle {
  /// Whether a known device makes the attempt.
  ///
  /// An attacker who signs up with another user's email address has known devices for it. So devices have no separate
  /// limit of emails until the address is verified.
  private func isKnownDevice(_ facts: Facts) -> Bool {
    guard deviceID != nil, facts.deviceIsKnown else { return false }
    switch matter {
    case .sends, .resets: return facts.emailOwner?.account.emailVerified ?? true
    // The same for a code by email. The devices of a known account are its user's.
    case .codeFailures: return deviceOwnerID != nil || (facts.emailOwner?.account.emailVerified ?? true)
    case .passwordFailures, .signUps, .flowStarts, .sessionFlowStarts, .changes, .passwordChanges: return true
    }
  }

  /// Whether a count fails while its key is blocked.
  ///
  /// If a block began during the attempt, a wrong password gets the same answer as the right one. Wrong digits always
  /// use up an attempt of their row.
  fileprivate var refusesBlocked: Bool {
    switch matter {
    case .codeFailures: false
    case .passwordFailures, .signUps, .flowStarts, .sessionFlowStarts, .sends, .resets, .changes, .passwordChanges: true
    }
  }
}

extension Environment {
  /// Returns the throttle of an attempt.
  /// - Parameters:
  ///   - subject: the normalised email address or phone number, or the account id; unused for sign-ups.
  ///   - byDevice: whether known devices of the subject's owner are counted separately. Must be false if another user
  ///     may make the call, because that user's devices would count as known too.
  ///   - isVerified: whether a session or a verified first factor makes the attempt.
  package func throttle(
    _ matter: ThrottledMatter, of subject: String = "", byDevice: Bool = false, isVerified: Bool = false,
    call: CallFacts
  ) -> Throttle {
    let kinds = matter.kinds
    var counters: [Throttle.Counter] = []
    func count(_ kind: ThrottleKind, _ parts: String..., share: Int = 1) {
      let rule = policy.throttles[kind].times(share)
      let subject = counters.count
      for masterKey in 0..<cryptography.masterKeyCount {
        let key = throttleKey(kind, parts, masterKey: masterKey)
        counters.append(Throttle.Counter(kind: kind, subject: subject, key: key, rule: rule))
      }
    }
    if let kind = kinds.subject { count(kind, subject) }
    let deviceID = byDevice && !call.deviceID.isEmpty ? call.deviceID : nil
    switch (kinds.device, deviceID) {
    case (.passwordFailuresPerDevice?, let deviceID?): count(.passwordFailuresPerDevice, subject, deviceID)
    case (let kind?, _?): count(kind, subject)
    default: break
    }
    if let kind = kinds.network {
      for (network, share) in Network.counting(call.ipAddress) { count(kind, network.text, share: share) }
    }
    if let kind = kinds.caller { counters += self.counters(ofCaller: kind, call.caller, subject: counters.count) }
    return Throttle(counters, matter, deviceID: deviceID, isVerified: isVerified)
  }

  /// The rows of one part, under each master key.
  private func counters(ofCaller kind: ThrottleKind, _ caller: CallerName, subject: Int) -> [Throttle.Counter] {
    let rule = policy.throttles[kind]
    let count = ThrottleParts.count(rule)
    let part = ThrottleParts.pick(of: count, randomness)
    // The first part has the key of an undivided count.
    let names = part == 0 ? [caller.text] : [caller.text, "\(part)"]
    return (0..<cryptography.masterKeyCount).map { masterKey in
      let key = throttleKey(kind, names, masterKey: masterKey)
      return Throttle.Counter(
        kind: kind, subject: subject, key: key, rule: rule.divided(by: count),
        warnsAtHalf: part == 0 && masterKey == 0)
    }
  }

  /// Returns the throttle for an account whose session or first factor is verified. Its known devices count separately.
  ///
  /// Only the account's own devices count as known. The query may find another account, such as the owner of an email
  /// address that a provider asserts.
  package func throttle(_ matter: ThrottledMatter, ofAccount accountID: String, call: CallFacts) -> Throttle {
    var throttle = self.throttle(matter, of: accountID, byDevice: true, isVerified: true, call: call)
    throttle.deviceOwnerID = accountID
    return throttle
  }

  /// Returns the key of a counter. Each part follows its length, so different lists of parts never collide.
  func throttleKey(_ kind: ThrottleKind, _ parts: [String], masterKey: Int) -> Digest {
    var input = Array(kind.rawValue.utf8)
    for part in parts { input += Array(" \(part.utf8.count) \(part)".utf8) }
    return cryptography.throttleKey(input, masterKey: masterKey)
  }

  /// Returns the writes that lift the password blocks of an email address, after proof of control over the mailbox. A
  /// device that stays known has its own count.
  func liftPasswordBlocks(of email: String, call: CallFacts, now: Timestamp) -> [Write] {
    var counts = [(ThrottleKind.passwordFailuresPerAccount, [email])]
    if !call.deviceID.isEmpty { counts.append((.passwordFailuresPerDevice, [email, call.deviceID])) }
    return counts.flatMap { kind, parts in
      (0..<cryptography.masterKeyCount).map { masterKey in
        .throttle(.reset(throttleKey(kind, parts, masterKey: masterKey), kind, at: now, liftsBlock: true))
      }
    }
  }

  /// Counts a failure that has no other writes, even if the client no longer waits for the answer.
  package func count(_ admitted: AdmittedAttempt) async throws {
    _ = try await commit(Change(admitted.count(at: clock.now())), CommitDecision())
  }
}

extension Failure {
  package init(throttled kind: ThrottleKind, until: Timestamp, now: Timestamp) {
    self.init(
      .tooManyAttempts, hint: "Too many attempts; try again later.",
      retryAfterMillis: max(1, until.millis - now.millis), debug: "throttled: \(kind.rawValue)")
    throttle = kind
  }
}
