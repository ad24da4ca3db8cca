/// The scopes that backends count in `pending_counts`; the raw values are the stored names. A limit or a gauge thus
/// costs one lookup.
package enum CountScope: String, Sendable, CaseIterable {
  /// The pending rows of an account by its id: those of its user, and those of unverified clients.
  case account
  case unknown
  /// Pending rows of one caller for one purpose, by `PendingRecord.quota`.
  case caller
  /// Pending rows of all callers for one purpose, by its name.
  case purpose
  /// All pending rows, under an empty name. A gauge without a limit.
  case total
  /// Waiting messages and given-up messages, under an empty name.
  case waiting = "delivery"
  case buried = "buried_delivery"
}

extension PendingRecord {
  /// The scope in which the row counts towards its account.
  package var accountScope: CountScope { .ofAccount(purpose, tier) }

  /// The name of the caller's quota for this purpose.
  ///
  /// Each purpose has its own quota, so that no purpose can exhaust another's. A flow needs no credential, while only a
  /// verified first factor leads to a second one.
  package var quota: String { "\(purpose.rawValue) \(caller.text)" }
}

extension CountScope {
  /// Returns the scope of a pending row within its account.
  ///
  /// The client behind an `unknown` row only claims the account's address. For every other row, the client has proven
  /// the address or a sign-in method. Separate counts keep an unverified client from exhausting the quota of the
  /// account's user.
  ///
  /// nil stands for a purpose or tier that this version does not know.
  package static func ofAccount(_ purpose: PendingPurpose?, _ tier: TrustTier?) -> CountScope {
    purpose == .link && tier == .unverified ? .unknown : .account
  }
}
