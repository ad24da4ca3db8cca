/// What backends count in `pending_counts`, under the names that stand there: a limit, or a gauge, costs one look so.
package enum CountScope: String, Sendable {
  /// Pending rows of an account that wait for its person, and those that strangers brought, by the account's id.
  case account
  case stranger
  /// Pending rows by their caller's name.
  case caller
  /// All pending rows, under no name.
  case total
  /// Messages that wait to be sent, and those that were given up, under no name.
  case waiting = "delivery"
  case buried = "buried_delivery"
}

extension PendingRecord {
  /// Where it is counted among its account's.
  package var accountScope: CountScope { .ofAccount(purpose, tier) }
}

extension CountScope {
  /// Whoever brought a stranger's row merely says to have the address of the account found; for every other row its
  /// bearer proved the address, or a way in. The two are counted apart, so that no stranger can fill the places of the
  /// account's person. nil: a purpose or tier that this version does not know.
  package static func ofAccount(_ purpose: PendingPurpose?, _ tier: TrustTier?) -> CountScope {
    purpose == .link && tier == .unverified ? .stranger : .account
  }
}
