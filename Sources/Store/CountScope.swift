/// What backends count in `pending_counts`, under the names that stand there: a limit, or a gauge, costs one look so.
package enum CountScope: String, Sendable {
  /// Pending rows of an account that wait for its person, and those that strangers brought, by the account's id.
  case account
  case stranger
  /// Pending rows of one caller for one purpose, by `PendingRecord.quota`.
  case caller
  /// Pending rows of all callers for one purpose, by its name.
  case purpose
  /// All pending rows, under no name. A gauge without a limit.
  case total
  /// Messages that wait to be sent, and those that were given up, under no name.
  case waiting = "delivery"
  case buried = "buried_delivery"
}

extension PendingRecord {
  /// Where it is counted among its account's.
  package var accountScope: CountScope { .ofAccount(purpose, tier) }

  /// The name of its caller's places. Each purpose has places of its own, so that none can use up those of another:
  /// a flow needs no credential, and only a verified first factor leads to a second one.
  package var quota: String { "\(purpose.rawValue) \(caller.text)" }
}

extension CountScope {
  /// Whoever brought a stranger's row merely says to have the address of the account found; for every other row its
  /// bearer proved the address, or a way in. The two are counted apart, so that no stranger can fill the places of the
  /// account's person. nil: a purpose or tier that this version does not know.
  package static func ofAccount(_ purpose: PendingPurpose?, _ tier: TrustTier?) -> CountScope {
    purpose == .link && tier == .unverified ? .stranger : .account
  }
}
