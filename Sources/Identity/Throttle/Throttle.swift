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
  /// Mails and messages, to an address or a number; or the codes of one account's second factors.
  case sends
  /// Of an account, by whoever holds a session of it.
  case changes

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
    case .sends: (.sendsPerRecipient, .sendsOnKnownDevices, .sendsPerNetwork, .sendsPerCaller)
    case .changes: (.changesPerAccount, nil, nil, nil)
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

  fileprivate init(_ counters: [Counter], _ matter: ThrottledMatter, deviceID: String?) {
    self.counters = counters.filter { $0.rule.countMax > 0 }
    self.matter = matter
    self.deviceID = deviceID
  }

  /// Where devices count, the query must find the subject's owner, by the address or number or by a session, unless the
  /// subject is an account.
  package func look(into query: inout Query) {
    query.throttles += counters.map(\.key)
    guard let deviceID else { return }
    query.deviceID = deviceID
    query.deviceOwnerID = deviceOwnerID
  }

  /// Refuses what is blocked. A refusal depends on nothing but what was counted, and on a device only where its session
  /// is known: it is the same for an address that nobody has.
  package func admit(_ facts: Facts, now: Timestamp) throws(Failure) -> AdmittedAttempt {
    let other = isKnownDevice(facts) ? matter.kinds.subject : matter.kinds.device
    var fitting = self
    fitting.counters.removeAll { $0.kind == other }
    for counter in fitting.counters {
      if let until = facts.throttles.first(where: { $0.key == counter.key })?.block(at: now) {
        throw Failure(throttled: counter.kind, until: until, now: now)
      }
    }
    let known = Set(facts.throttles.map(\.key))
    return AdmittedAttempt(throttle: fitting, known: known)
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
          key: counter.key, kind: counter.kind, rule: counter.rule, at: now, refusesBlocked: throttle.refusesBlocked))
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
    if case .sends = matter, let owner = facts.emailOwner { return owner.account.emailProved }
    return true
  }

  /// A wrong password that a block has overtaken is answered like a right one. Wrong digits have a row whose tries they
  /// use up in any case.
  fileprivate var refusesBlocked: Bool {
    switch matter {
    case .codeFailures: false
    case .passwordFailures, .signUps, .sends, .changes: true
    }
  }
}

extension Environment {
  /// - Parameters:
  ///   - subject: the address or number in its normal form, or the account's id; unused for sign-ups.
  ///   - byDevice: whether known devices of the subject's owner are counted apart. Never where the call is somebody
  ///     else's to make, whose own devices would be known as well.
  package func throttle(
    _ matter: ThrottledMatter, of subject: String = "", byDevice: Bool = false, call: CallFacts
  ) -> Throttle {
    let kinds = matter.kinds
    var counters: [Throttle.Counter] = []
    func count(_ kind: ThrottleKind, _ parts: String...) {
      counters.append(Throttle.Counter(kind: kind, key: throttleKey(kind, parts), rule: policy.throttles[kind]))
    }
    if let kind = kinds.subject { count(kind, subject) }
    let deviceID = byDevice && !call.deviceID.isEmpty ? call.deviceID : nil
    switch (kinds.device, deviceID) {
    case (.passwordFailuresPerDevice?, let deviceID?): count(.passwordFailuresPerDevice, subject, deviceID)
    case (let kind?, _?): count(kind, subject)
    default: break
    }
    if let kind = kinds.network, let network = Network(call.ipAddress) { count(kind, network.text) }
    if let kind = kinds.caller { count(kind, call.caller.text) }
    return Throttle(counters, matter, deviceID: deviceID)
  }

  /// Of an account, whose known devices are counted apart. They have to be its own: what else the query finds may be
  /// another's, such as the owner of an address that a provider says.
  package func throttle(_ matter: ThrottledMatter, ofAccount accountID: String, call: CallFacts) -> Throttle {
    var throttle = self.throttle(matter, of: accountID, byDevice: true, call: call)
    throttle.deviceOwnerID = accountID
    return throttle
  }

  /// Each part behind its length, so that no two lists of parts meet.
  private func throttleKey(_ kind: ThrottleKind, _ parts: [String]) -> Digest {
    var input = Array(kind.rawValue.utf8)
    for part in parts { input += Array(" \(part.utf8.count) \(part)".utf8) }
    return cryptography.throttleKey(input)
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
