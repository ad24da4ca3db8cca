/// The look-ups one call needs, made together on one snapshot. Each field that is set fills its namesake in `Facts`.
package struct Query: Hashable, Sendable {
  /// The record under this idempotency key.
  package var idempotency: Digest?
  /// This session, and its account as `sessionAccount`.
  package var sessionID: String?
  package var accountID: String?
  /// The owner of this identity.
  package var identity: IdentityKey?
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
  /// Whether a single-use token with this digest was spent.
  package var spentToken: Digest?
  package var signingKeys = false

  package init() {}
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
  /// Of the identities, in the order they were linked; one that has two at a provider names it twice.
  package var providerIDs: [String]

  package init(
    hasPassword: Bool = false, emailLink: Bool = false, emailProved: Bool = false, hasPhoneNumber: Bool = false,
    providerIDs: [String] = []
  ) {
    self.hasPassword = hasPassword
    self.emailLink = emailLink
    self.emailProved = emailProved
    self.hasPhoneNumber = hasPhoneNumber
    self.providerIDs = providerIDs
  }
}

extension AccountState {
  package var waysIn: WaysInRecord {
    WaysInRecord(
      hasPassword: account.passwordHash != nil, emailLink: account.emailLink, emailProved: account.emailProved,
      hasPhoneNumber: account.phoneNumber != nil, providerIDs: identities.map(\.key.providerID))
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
  package var tokenSpent = false
  package var signingKeys: [SigningKeyRecord] = []

  package init() {}
}

/// Keeps a record outside of the struct that names it: most facts of a call are nil, and those that are not are handed
/// from the backend to the decision as one pointer.
@propertyWrapper package struct Held<Record: Hashable & Sendable>: Hashable, Sendable {
  private final class Place: Sendable {
    let record: Record
    init(_ record: Record) { self.record = record }
  }

  private var place: Place?

  package init(wrappedValue: Record?) { place = wrappedValue.map(Place.init) }

  package var wrappedValue: Record? {
    get { place?.record }
    set { place = newValue.map(Place.init) }
  }

  package static func == (left: Held, right: Held) -> Bool { left.wrappedValue == right.wrappedValue }

  package func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}
