package import Store

/// What a call does that may be done only so often.
package enum ThrottledMatter: Sendable {
  /// Of an address.
  case passwordFailures
  /// Of an address, a number or an account, whatever the code is for; second factors included.
  case codeFailures
  /// That nobody vouches for.
  case signUps
  /// Mails and messages, to an address or a number.
  case sends

  /// Of the subject, its network and its caller; nil: not counted by it.
  fileprivate var kinds: (subject: ThrottleKind?, network: ThrottleKind, caller: ThrottleKind) {
    switch self {
    case .passwordFailures:
      (.passwordFailuresPerAccount, .passwordFailuresPerNetwork, .passwordFailuresPerCaller)
    case .codeFailures: (.codeFailuresPerAccount, .codeFailuresPerNetwork, .codeFailuresPerCaller)
    case .signUps: (nil, .signUpsPerNetwork, .signUpsPerCaller)
    case .sends: (.sendsPerRecipient, .sendsPerNetwork, .sendsPerCaller)
    }
  }
}

/// Everything that one attempt is counted by. Used in this order:
///
///   let throttle = environment.throttle(.passwordFailures, of: email, call: call)
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
  /// Empty where the matter asks for none, or the caller names none.
  private let deviceID: String
  fileprivate let refusesBlocked: Bool

  fileprivate init(_ counters: [Counter], deviceID: String, refusesBlocked: Bool) {
    self.counters = counters.filter { $0.rule.countMax > 0 }
    self.deviceID = deviceID
    self.refusesBlocked = refusesBlocked
  }

  package func look(into query: inout Query) {
    query.throttles += counters.map(\.key)
    if !deviceID.isEmpty { query.deviceID = deviceID }
  }

  /// Refuses what is blocked. A refusal depends on nothing but what was counted, and on a device only where its session
  /// is known: it is the same for an address that nobody has.
  package func admit(_ facts: Facts, now: Timestamp) throws(Failure) -> AdmittedAttempt {
    let other = facts.deviceIsKnown ? ThrottleKind.passwordFailuresPerAccount : .passwordFailuresPerDevice
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
      case .passwordFailuresPerAccount, .passwordFailuresPerDevice, .codeFailuresPerAccount:
        known.contains(counter.key) ? .resetThrottle(counter.key, counter.kind, at: now) : nil
      default: nil
      }
    }
  }
}

extension Environment {
  /// - Parameter subject: the address or number in its normal form, or the account's id; unused for sign-ups.
  package func throttle(_ matter: ThrottledMatter, of subject: String = "", call: CallFacts) -> Throttle {
    let kinds = matter.kinds
    var counters: [Throttle.Counter] = []
    func count(_ kind: ThrottleKind, _ parts: String...) {
      counters.append(Throttle.Counter(kind: kind, key: throttleKey(kind, parts), rule: policy.throttles[kind]))
    }
    if let kind = kinds.subject { count(kind, subject) }
    var deviceID = ""
    if case .passwordFailures = matter, !call.deviceID.isEmpty {
      deviceID = call.deviceID
      count(.passwordFailuresPerDevice, subject, deviceID)
    }
    if let network = Network(call.ipAddress) { count(kinds.network, network.text) }
    count(kinds.caller, call.caller.text)
    let refusesBlocked = switch matter {
    case .passwordFailures, .codeFailures: false
    case .signUps, .sends: true
    }
    return Throttle(counters, deviceID: deviceID, refusesBlocked: refusesBlocked)
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
