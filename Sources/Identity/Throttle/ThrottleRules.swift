package import Store

/// The limit of each kind of attempt.
///
/// The limits allow typing errors and offices behind one IP address, but no guessing.
package struct ThrottleRules: Hashable, Sendable {
  private static let minute: Int64 = 60_000
  private static let hour: Int64 = 60 * minute
  private static let day: Int64 = 24 * hour

  /// Attempts that one network may still make in a window after its caller's limit is used up.
  ///
  /// The number is too low for an attack, which needs very many attempts. It is sufficient for the users of a network
  /// that takes no part in the attack.
  static let pastCallerLimitMax = 5

  private var rules: [ThrottleKind: ThrottleRule] = [:]

  package init() {}

  package subscript(kind: ThrottleKind) -> ThrottleRule {
    get { rules[kind] ?? ThrottleRules.standard(kind) }
    set { rules[kind] = newValue == ThrottleRules.standard(kind) ? nil : newValue }
  }

  private static func standard(_ kind: ThrottleKind) -> ThrottleRule {
    switch kind {
    case .passwordFailuresPerAccount, .passwordFailuresPerDevice:
      // NIST SP 800-63B-4, 3.2.2: at most 100 consecutive failures.
      ThrottleRule(
        100, inMillis: 30 * day, blockMillis: 15 * minute, blockMillisMax: day, countAgainMax: 10)
    case .codeFailuresPerAccount, .codeFailuresOnKnownDevices:
      ThrottleRule(30, inMillis: day, blockMillis: 15 * minute, blockMillisMax: day, countAgainMax: 10)
    case .passwordFailuresPerNetwork, .codeFailuresPerNetwork: ThrottleRule(300, inMillis: 10 * minute)
    case .passwordFailuresPerCaller, .codeFailuresPerCaller: ThrottleRule(30_000, inMillis: 10 * minute)
    case .signUpsPerNetwork: ThrottleRule(100, inMillis: hour)
    case .signUpsPerCaller: ThrottleRule(100_000, inMillis: hour)
    case .flowStartsPerNetwork: ThrottleRule(300, inMillis: 10 * minute)
    case .flowStartsPerCaller: ThrottleRule(30_000, inMillis: 10 * minute)
    case .sendsPerRecipient, .sendsOnKnownDevices, .resetsPerRecipient, .resetsOnKnownDevices:
      ThrottleRule(10, inMillis: hour)
    case .sendsPerNetwork: ThrottleRule(100, inMillis: hour)
    case .sendsPerCaller: ThrottleRule(10_000, inMillis: hour)
    case .changesPerAccount: ThrottleRule(100, inMillis: 10 * minute)
    case .passwordChangesPerAccount: ThrottleRule(10, inMillis: 10 * minute)
    case .noticesPerAccount: ThrottleRule(20, inMillis: hour)
    }
  }
}
