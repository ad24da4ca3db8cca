/// The lookups of one call, made together on one snapshot. Each field that is set fills its namesake in `Facts`.
///
/// A backend may cache accounts if `lastSignInMayLag` is set. They are as true as the snapshot but may date from
/// shortly before the call. A decision on such an account must guard its version.
package struct Query: Hashable, Sendable {
  /// The record under this idempotency key. Of several, the one that expires last.
  package var idempotency: Digest?
  /// Further digests of the same idempotency key, from before a rotation of the master key.
  package var otherIdempotency: [Digest] = []
  /// This session, and its account as `sessionAccount`.
  package var sessionID: String?
  /// This account. If it was removed, `closedAccount` describes what remains of it.
  package var accountID: String?
  /// The owner of this identity.
  package var identity: IdentityKey?
  /// The owner of the identity with this provider and `transferSubject`. Held, because few calls have it.
  @Held package var transfer: IdentityKey?
  /// With `identity` or `sessionID`: the caller does not use `lastSignInAt`, which may then predate later sign-ins. All
  /// other fields of the account are current.
  package var lastSignInMayLag = false
  /// The owner of this top-level email address.
  package var email: String?
  package var phoneNumber: String?
  /// This pending row, and the account it was created for as `pendingAccount`.
  package var pending: Digest?
  /// A second row: the one that a pending call was about to complete.
  package var alsoPending: Digest?
  /// The pending row of a code, in addition to `pending`. Its account is not looked up.
  package var code: Digest?
  /// Whether a single-use token with this digest was spent.
  package var spentToken: Digest?
  package var signingKeys = false
  /// The counts under these keys.
  package var throttles: [Digest] = []
  /// Whether the owner has a session on the device of this name. A session that was closed for any reason other than
  /// the user's own sign-out does not count. The owner is that of `email`, else of `phoneNumber`, else of the session.
  package var deviceID: String?
  /// With `deviceID`: the account that must own the session, in place of any other owner found.
  package var deviceOwnerID: String?
  /// The messages that are due.
  package var deliveries: DueDeliveries?
  /// The sessions of an account that are open at a given time, as `openSessions` and `openSessionCount`.
  package var openSessions: OpenSessionsQuery?
  /// A second session, and its account as `otherSessionAccount`.
  package var otherSessionID: String?
  package var idleAnonymous: IdleQuery?
  /// A page of all accounts, ordered by id.
  package var page: PageOrder?
  /// The key of imported password hashes with this id.
  package var importKeyID: String?
  package var events: EventRange?
  package var masterKeys: MasterKeyQuery?
  /// A page of an account's rows of one kind. Held, because few calls have it.
  @Held package var rows: AccountRowsQuery?
  /// What an administrator needs to help a user. Held, because few calls have it.
  @Held package var support: SupportQuery?

  package init() {}
}

/// A page of what is kept about an account apart from its own records.
package struct AccountRowsQuery: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// In the order of their ids, open and ended.
    case sessions
    /// In the order of their digests.
    case pendings
    /// Failed attempts, in the order of their keys.
    case failures
    /// In the order of their ids: messages that wait or were given up, and those that were sent.
    case deliveries
    case sentMessages = "sent_messages"
    /// The newest first.
    case events
  }

  /// What orders the rows of a kind. Rows that come or go between two pages then move no other row to another page.
  package enum Place: Hashable, Sendable {
    case id(String)
    /// The digest of a pending row, or the key of a failure.
    case digest(Digest)
    case position(Int64)
  }

  package var kind: Kind
  package var accountID: String
  /// The last row of the page before. The rows behind it follow.
  package var after: Place
  package var rowsMax: Int

  /// - Parameter after: nil: the first page.
  package init(_ kind: Kind, of accountID: String, after: Place?, rowsMax: Int) {
    self.kind = kind
    self.accountID = accountID
    self.after = after ?? kind.start
    self.rowsMax = rowsMax
  }
}

extension AccountRowsQuery.Kind {
  /// A place before all rows.
  fileprivate var start: AccountRowsQuery.Place {
    switch self {
    case .sessions, .deliveries, .sentMessages: .id("")
    case .pendings, .failures: .digest(Digest([UInt8](repeating: 0, count: 32)))
    case .events: .position(.max)
    }
  }
}

package enum AccountRows: Hashable, Sendable {
  case sessions([SessionRecord])
  case pendings([PendingRecord])
  case failures([FailureRecord])
  case deliveries([DeliveryRecord])
  case sentMessages([SentMessageRecord])
  case events([AuditRecord])
}

package struct OpenSessionsQuery: Hashable, Sendable {
  package var accountID: String
  package var at: Timestamp
  /// The largest number of sessions to return, newest first. All are counted.
  package var most: Int

  package init(accountID: String, at: Timestamp, most: Int) {
    self.accountID = accountID
    self.at = at
    self.most = most
  }
}

/// Anonymous accounts that are not known to have been used since a given time, longest unused first.
///
/// An account counts as unused since its creation or its latest `AccountWrite.noteIdle`.
package struct IdleQuery: Hashable, Sendable {
  package var before: Timestamp
  package var accountsMax: Int

  package init(before: Timestamp, accountsMax: Int) {
    self.before = before
    self.accountsMax = accountsMax
  }
}

/// A page of accounts after an id. Accounts that are added or removed between calls move no other account to another
/// page.
package struct PageOrder: Hashable, Sendable {
  /// nil: starts with the first account.
  package var afterID: String?
  package var accountsMax: Int

  package init(afterID: String?, accountsMax: Int) {
    self.afterID = afterID
    self.accountsMax = accountsMax
  }
}

/// A possibly idle anonymous account, with the last use of any of its sessions.
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

/// A range of audit rows, ordered by position.
package struct EventRange: Hashable, Sendable {
  /// The position before the first.
  package var after: Int64
  package var rowsMax: Int

  package init(after: Int64, rowsMax: Int) {
    self.after = after
    self.rowsMax = rowsMax
  }
}

/// An account with its dependent records.
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

/// The lookup of the sign-in methods of an email address's owner.
///
/// It is separate from `Query`, because it is the most frequent lookup and needs no other facts. A backend may cache
/// its results. A cached result is as true as the snapshot.
package struct SignInMethodsQuery: Hashable, Sendable {
  /// A top-level email address.
  package var email: String
  /// If no account owns the address, also considers linked identities with that address at tier verified or above. The
  /// oldest link decides.
  package var includesLinkedEmail: Bool

  package init(email: String, includesLinkedEmail: Bool = false) {
    self.email = email
    self.includesLinkedEmail = includesLinkedEmail
  }
}

/// The sign-in methods of an account.
package struct SignInMethodsRecord: Hashable, Sendable {
  package var hasPassword: Bool
  package var emailLink: Bool
  package var emailVerified: Bool
  package var hasPhoneNumber: Bool
  /// The account has a phone number, and text messages are its only second factor.
  package var hasOnlyPhoneFactors: Bool
  /// The providers of the identities, in linking order. A provider with two identities appears twice.
  package var providerIDs: [String]

  package init(
    hasPassword: Bool = false, emailLink: Bool = false, emailVerified: Bool = false, hasPhoneNumber: Bool = false,
    hasOnlyPhoneFactors: Bool = false, providerIDs: [String] = []
  ) {
    self.hasPassword = hasPassword
    self.emailLink = emailLink
    self.emailVerified = emailVerified
    self.hasPhoneNumber = hasPhoneNumber
    self.hasOnlyPhoneFactors = hasOnlyPhoneFactors
    self.providerIDs = providerIDs
  }
}

extension AccountState {
  package var methods: SignInMethodsRecord {
    SignInMethodsRecord(
      hasPassword: account.passwordHash != nil, emailLink: account.emailLink, emailVerified: account.emailVerified,
      hasPhoneNumber: account.phoneNumber != nil,
      hasOnlyPhoneFactors: account.phoneNumber != nil && hasOnlyPhoneFactors,
      providerIDs: identities.map(\.key.providerID))
  }

  /// Recovery codes replace a factor but are not a factor.
  package var hasSecondFactor: Bool { factors.contains { $0.kind != .recoveryCode } }

  package var hasOnlyPhoneFactors: Bool {
    hasSecondFactor && factors.allSatisfy { $0.kind == .phone || $0.kind == .recoveryCode }
  }
}

/// The result of a `Query`. nil: nothing was found, or nothing was requested.
package struct Facts: Hashable, Sendable {
  @Held package var idempotency: IdempotencyRecord?
  @Held package var session: SessionRecord?
  @Held package var sessionAccount: AccountState?
  @Held package var account: AccountState?
  @Held package var identityOwner: AccountState?
  @Held package var transferOwner: AccountState?
  @Held package var emailOwner: AccountState?
  @Held package var phoneOwner: AccountState?
  @Held package var pending: PendingRecord?
  @Held package var pendingAccount: AccountState?
  @Held package var alsoPending: PendingRecord?
  @Held package var code: PendingRecord?
  package var tokenSpent = false
  package var signingKeys: [SigningKeyRecord] = []
  /// The existing records, in the order of the keys.
  package var throttles: [ThrottleRecord] = []
  package var deviceIsKnown = false
  @Held package var deliveries: DeliveryQueue?
  /// Newest first.
  package var openSessions: [SessionRecord] = []
  package var openSessionCount = 0
  @Held package var closedAccount: ClosedAccountRecord?
  @Held package var otherSession: SessionRecord?
  @Held package var otherSessionAccount: AccountState?
  package var idleAnonymous: [IdleAccount] = []
  package var page: [AccountState] = []
  @Held package var importKey: ImportKeyRecord?
  package var events: [AuditRecord] = []
  /// With `events`: the position of the newest audit row, or 0 if there never was one.
  package var lastEvent: Int64 = 0
  @Held package var masterKeys: MasterKeyFacts?
  @Held package var rows: AccountRows?
  @Held package var support: SupportFacts?

  package init() {}
}

extension Facts {
  /// Keeps a record that was found under another digest, unless the one that is kept expires later.
  package mutating func keepIdempotency(_ found: IdempotencyRecord?) {
    guard let found else { return }
    if let kept = idempotency, kept.expiresAt >= found.expiresAt { return }
    idempotency = found
  }
}
