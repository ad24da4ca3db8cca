package import Store
import Text

/// What a call does that may be done only so often.
package enum ThrottledMatter: Sendable {
  /// Of an address.
  case passwordFailures
  /// Of an address, a number or an account, whatever the code is for; second factors included.
  case codeFailures
  /// That nobody vouches for.
  case signUps
  /// Flows that a client starts without a session.
  case flowStarts
  /// Flows that a verified session starts. The caller's limit never rejects these.
  case sessionFlowStarts
  /// Mails and messages, to an address or a number; or the codes of one account's second factors.
  case sends
  /// Resets of passwords, by email to an address.
  case resets
  /// Of an account, by whoever holds a session of it.
  case changes
  /// New passwords that a session of the account sets.
  case passwordChanges

  /// Of the subject, or of a known device of its owner, or of all of them, in its stead, and of the network and the
  /// caller; nil: not counted by it.
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

/// Everything that one attempt is counted by. Used in this order:
///
///   let throttle = environment.throttle(.passwordFailures, of: email, byDevice: true, call: call)
///   throttle.look(into: &query)                               // with the look-up that the call makes anyway
///   let admitted = try throttle.admit(facts, now: now)        // before any work: TOO_MANY_ATTEMPTS, with RetryInfo
///   ...
///   Change(... + admitted.count(at: now))                     // a failure, or a message that is to be sent
///   Change(... + admitted.reset(at: now))                     // a success; empty where nothing was counted
package struct Throttle: Sendable {
  fileprivate struct Counter: Sendable {
    var kind: ThrottleKind
    var key: Digest
    var rule: ThrottleRule
  }

  fileprivate var counters: [Counter]
  private let matter: ThrottledMatter
  /// nil where no device counts, or the caller names none.
  private let deviceID: String?
  /// nil: the device is that of whom the query finds.
  fileprivate var deviceOwnerID: String?
  /// Whether a session or a verified first factor makes the attempt.
  private let isVerified: Bool

  fileprivate init(_ counters: [Counter], _ matter: ThrottledMatter, deviceID: String?, isVerified: Bool) {
    self.counters = counters.filter { $0.rule.countMax > 0 }
    self.matter = matter
    self.deviceID = deviceID
    self.isVerified = isVerified
  }

  /// Where devices count, the query must find the subject's owner, by the address or number or by a session, unless the
  /// subject is an account.
  package func look(into query: inout Query) {
    query.throttles += counters.map(\.key)
    guard let deviceID else { return }
    query.deviceID = deviceID
    query.deviceOwnerID = deviceOwnerID
  }

  /// Rejects what is blocked. A rejection depends on nothing but what was counted, and on a device only where its
  /// session is known: it is the same for an address without an account.
  ///
  /// A caller's limit is about all its users, so it must not stop those whom no attacker can pose as: it does not apply
  /// to known devices and verified sessions. Once it is used up, other networks are slowed down to
  /// `ThrottleRules.pastCallerLimitMax` attempts in a window.
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
        throw Failure(throttled: counter.kind, until: until, now: now)
      }
      fitting.counters.removeAll { $0.key == counter.key }
    }
    let known = Set(facts.throttles.map(\.key))
    return AdmittedAttempt(throttle: fitting, known: known)
  }

  /// Whether the widest network of the client has few attempts in this window. False where none is known.
  private func isQuietNetwork(_ facts: Facts, _ now: Timestamp) -> Bool {
    guard let widest = counters.last(where: { $0.kind == matter.kinds.network }) else { return false }
    let record = facts.throttles.first { $0.key == widest.key }
    return record.map { $0.count(at: now, widest.rule) } ?? 0 < ThrottleRules.pastCallerLimitMax
  }

  /// A guest has verified nothing.
  private func isVerifiedUser(_ facts: Facts) -> Bool {
    isVerified && !(facts.sessionAccount?.account.anonymous ?? false)
  }
}

/// An attempt that may go on.
package struct AdmittedAttempt: Sendable {
  fileprivate let throttle: Throttle
  fileprivate let known: Set<Digest>

  /// The writes that count it: once it has failed, or beside what it does.
  package func count(at now: Timestamp) -> [Write] {
    throttle.counters.map { counter in
      .countThrottle(
        ThrottleCount(
          key: counter.key, kind: counter.kind, rule: counter.rule, at: now,
          refusesBlocked: throttle.refusesBlocked && !counter.kind.isPerCaller))
    }
  }

  /// The writes that follow a success: only failures in a row count against an account. What a network or a caller has
  /// failed at stays counted, since one right guess, at an account of one's own, must not pay for all the others.
  package func reset(at now: Timestamp) -> [Write] {
    throttle.counters.compactMap { counter in
      switch counter.kind {
      case .passwordFailuresPerAccount, .passwordFailuresPerDevice, .codeFailuresPerAccount,
        .codeFailuresOnKnownDevices:
        known.contains(counter.key) ? .resetThrottle(counter.key, counter.kind, at: now) : nil
      default: nil
      }
    }
  }
}

extension Throttle {
  /// Whoever signs up with a stranger's address has devices on it: none gets mails of its own until it is proved.
  private func isKnownDevice(_ facts: Facts) -> Bool {
    guard deviceID != nil, facts.deviceIsKnown else { return false }
    switch matter {
    case .sends, .resets: return facts.emailOwner?.account.emailProved ?? true
    case .passwordFailures, .codeFailures, .signUps, .flowStarts, .sessionFlowStarts, .changes, .passwordChanges:
      return true
    }
  }

  /// A wrong password that a block has overtaken is answered like a right one. Wrong digits have a row whose tries they
  /// use up in any case.
  fileprivate var refusesBlocked: Bool {
    switch matter {
    case .codeFailures: false
    case .passwordFailures, .signUps, .flowStarts, .sessionFlowStarts, .sends, .resets, .changes, .passwordChanges: true
    }
  }
}

extension Environment {
  /// - Parameters:
  ///   - subject: the address or number in its normal form, or the account's id; unused for sign-ups.
  ///   - byDevice: whether known devices of the subject's owner are counted apart. Never where the call is somebody
  ///     else's to make, whose own devices would be known as well.
  ///   - isVerified: whether a session or a verified first factor makes the attempt.
  package func throttle(
    _ matter: ThrottledMatter, of subject: String = "", byDevice: Bool = false, isVerified: Bool = false,
    call: CallFacts
  ) -> Throttle {
    let kinds = matter.kinds
    var counters: [Throttle.Counter] = []
    func count(_ kind: ThrottleKind, _ parts: String..., share: Int = 1) {
      let rule = policy.throttles[kind].times(share)
      counters.append(Throttle.Counter(kind: kind, key: throttleKey(kind, parts), rule: rule))
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
    if let kind = kinds.caller { count(kind, call.caller.text) }
    return Throttle(counters, matter, deviceID: deviceID, isVerified: isVerified)
  }

  /// For an account whose session or first factor was verified, and whose known devices have counts of their own. They
  /// have to be its own: the query may find another account, such as the owner of an address that a provider asserts.
  package func throttle(_ matter: ThrottledMatter, ofAccount accountID: String, call: CallFacts) -> Throttle {
    var throttle = self.throttle(matter, of: accountID, byDevice: true, isVerified: true, call: call)
    throttle.deviceOwnerID = accountID
    return throttle
  }

  /// Each part behind its length, so that no two lists of parts meet.
  func throttleKey(_ kind: ThrottleKind, _ parts: [String]) -> Digest {
    var input = Array(kind.rawValue.utf8)
    for part in parts { input += Array(" \(part.utf8.count) \(part)".utf8) }
    return cryptography.throttleKey(input)
  }

  /// Lifts the blocks of the password of this address: its user has shown that the mailbox is theirs. A device that is
  /// still known after that has a count of its own.
  func liftPasswordBlocks(of email: String, call: CallFacts, now: Timestamp) -> [Write] {
    var counts = [(ThrottleKind.passwordFailuresPerAccount, [email])]
    if !call.deviceID.isEmpty { counts.append((.passwordFailuresPerDevice, [email, call.deviceID])) }
    return counts.map { kind, parts in
      .resetThrottle(throttleKey(kind, parts), kind, at: now, liftsBlock: true)
    }
  }

  /// Counts a failure that has no change of its own, also where nobody waits for it any more.
  package func count(_ admitted: AdmittedAttempt) async throws {
    _ = try await commit(Change(admitted.count(at: clock.now())), Fate())
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
