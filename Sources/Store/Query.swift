/// The look-ups one call needs, made together on one snapshot. Each field that is set fills its namesake in `Facts`.
///
/// What a backend keeps in memory (`waysIn`, and an account whose last sign-in may lag) is as true as the snapshot, but
/// may be of a moment of the call before it: whoever decides on that account guards its version.
package struct Query: Hashable, Sendable {
  /// The record under this idempotency key.
  package var idempotency: Digest?
  /// This session, and its account as `sessionAccount`.
  package var sessionID: String?
  /// This account; where it was removed, what is left of it as `closedAccount`.
  package var accountID: String?
  /// The owner of this identity.
  package var identity: IdentityKey?
  /// With `identity` or `sessionID`: the caller does not look at the account's `lastSignInAt`, so that it may be told
  /// one from before later sign-ins. All else of the account is as ever.
  package var lastSignInMayLag = false
  /// The owner of this top-level address.
  package var email: String?
  /// How the owner of this top-level address can sign in.
  package var waysIn: String?
  /// With `waysIn`: where nobody owns it, those of an account that holds a linked identity with that address at tier
  /// verified or above (the oldest link, where there are several).
  package var includesLinkedEmail = false
  package var phoneNumber: String?
  /// This pending row, and the account it was held for as `pendingAccount`.
  package var pending: Digest?
  /// A second row: the one that a held call was about to complete.
  package var alsoPending: Digest?
  /// The pending row of a code, beside another one; its account is not looked up.
  package var code: Digest?
  /// Whether a single-use token with this digest was spent.
  package var spentToken: Digest?
  package var signingKeys = false
  /// What was counted under these keys.
  package var throttles: [Digest] = []
  /// Whether the owner of `email`, else of `phoneNumber`, else of the session has a session on the device of this name
  /// that was not ended for a reason other than its person's.
  package var deviceID: String?
  /// With `deviceID`: it has to be this account's, whoever else is found.
  package var deviceOwnerID: String?
  /// The messages to send.
  package var deliveries: DueDeliveries?
  /// The sessions of an account that are open at a moment, as `openSessions` and `openSessionCount`.
  package var openSessions: OpenSessionsQuery?
  /// A second session, and its account as `otherSessionAccount`.
  package var otherSessionID: String?
  package var idleAnonymous: IdleQuery?
  /// Some of all accounts, in the order of their ids.
  package var page: PageOrder?
  /// The key of imported password hashes under this id.
  package var importKeyID: String?
  package var events: EventRange?

  package init() {}
}

package struct OpenSessionsQuery: Hashable, Sendable {
  package var accountID: String
  package var at: Timestamp
  /// How many are wanted, the latest first; all are counted.
  package var most: Int

  package init(accountID: String, at: Timestamp, most: Int) {
    self.accountID = accountID
    self.at = at
    self.most = most
  }
}

/// Anonymous accounts that were not used since before a moment, as far as was looked, longest unused first. An account
/// counts as unused since it was made or `Write.noteIdle` was last said of it.
package struct IdleQuery: Hashable, Sendable {
  package var before: Timestamp
  package var accountsMax: Int

  package init(before: Timestamp, accountsMax: Int) {
    self.before = before
    self.accountsMax = accountsMax
  }
}

/// A page goes on behind an id, so that accounts which come and go meanwhile move no other to another page.
package struct PageOrder: Hashable, Sendable {
  /// nil: from the first account on.
  package var afterID: String?
  package var accountsMax: Int

  package init(afterID: String?, accountsMax: Int) {
    self.afterID = afterID
    self.accountsMax = accountsMax
  }
}

/// An anonymous account to look at, with the last use of any of its sessions.
package struct IdleAccount: Hashable, Sendable {
  package var id: String
  package var version: Int64
  package var lastUsedAt: Timestamp?

  package init(id: String, version: Int64, lastUsedAt: Timestamp?) {
    self.id = id
    self.version = version
    self.lastUsedAt = lastUsedAt
  }
}

/// Audit rows in the order of their positions.
package struct EventRange: Hashable, Sendable {
  /// The position before the first.
  package var after: Int64
  package var rowsMax: Int

  package init(after: Int64, rowsMax: Int) {
    self.after = after
    self.rowsMax = rowsMax
  }
}

/// An account with what hangs on it.
package struct AccountState: Hashable, Sendable {
  package var account: AccountRecord
  /// In the order they were linked.
  package var identities: [IdentityRecord]
  /// In the order they were enrolled.
  package var factors: [FactorRecord]
  package var unlinks: [UnlinkRecord]

  package init(
    account: AccountRecord, identities: [IdentityRecord] = [], factors: [FactorRecord] = [],
    unlinks: [UnlinkRecord] = []
  ) {
    self.account = account
    self.identities = identities
    self.factors = factors
    self.unlinks = unlinks
  }
}

/// Of an account, only what says how its person can sign in: the question asked most often reads no more than this.
package struct WaysInRecord: Hashable, Sendable {
  package var hasPassword: Bool
  package var emailLink: Bool
  package var emailProved: Bool
  package var hasPhoneNumber: Bool
  /// It has one, and text messages are its only second factor.
  package var hasOnlyPhoneFactors: Bool
  /// Of the identities, in the order they were linked; one that has two at a provider names it twice.
  package var providerIDs: [String]

  package init(
    hasPassword: Bool = false, emailLink: Bool = false, emailProved: Bool = false, hasPhoneNumber: Bool = false,
    hasOnlyPhoneFactors: Bool = false, providerIDs: [String] = []
  ) {
    self.hasPassword = hasPassword
    self.emailLink = emailLink
    self.emailProved = emailProved
    self.hasPhoneNumber = hasPhoneNumber
    self.hasOnlyPhoneFactors = hasOnlyPhoneFactors
    self.providerIDs = providerIDs
  }
}

extension AccountState {
  package var waysIn: WaysInRecord {
    WaysInRecord(
      hasPassword: account.passwordHash != nil, emailLink: account.emailLink, emailProved: account.emailProved,
      hasPhoneNumber: account.phoneNumber != nil,
      hasOnlyPhoneFactors: account.phoneNumber != nil && hasOnlyPhoneFactors,
      providerIDs: identities.map(\.key.providerID))
  }

  /// Recovery codes stand in for a factor and are none.
  package var hasSecondFactor: Bool { factors.contains { $0.kind != .recoveryCode } }

  package var hasOnlyPhoneFactors: Bool {
    hasSecondFactor && factors.allSatisfy { $0.kind == .phone || $0.kind == .recoveryCode }
  }
}

/// What a `Query` found; nil where there is nothing, or nothing was asked.
package struct Facts: Hashable, Sendable {
  @Held package var idempotency: IdempotencyRecord?
  @Held package var session: SessionRecord?
  @Held package var sessionAccount: AccountState?
  @Held package var account: AccountState?
  @Held package var identityOwner: AccountState?
  @Held package var emailOwner: AccountState?
  @Held package var waysIn: WaysInRecord?
  @Held package var phoneOwner: AccountState?
  @Held package var pending: PendingRecord?
  @Held package var pendingAccount: AccountState?
  @Held package var alsoPending: PendingRecord?
  @Held package var code: PendingRecord?
  package var tokenSpent = false
  package var signingKeys: [SigningKeyRecord] = []
  /// Those that there are, in the order of the keys.
  package var throttles: [ThrottleRecord] = []
  package var deviceIsKnown = false
  @Held package var deliveries: DeliveryQueue?
  /// Those that began last first.
  package var openSessions: [SessionRecord] = []
  package var openSessionCount = 0
  @Held package var closedAccount: ClosedAccountRecord?
  @Held package var otherSession: SessionRecord?
  @Held package var otherSessionAccount: AccountState?
  package var idleAnonymous: [IdleAccount] = []
  package var page: [AccountState] = []
  @Held package var importKey: ImportKeyRecord?
  package var events: [AuditRecord] = []
  /// With `events`: the position of the newest of all, and 0 where there never was any.
  package var lastEvent: Int64 = 0

  package init() {}
}
