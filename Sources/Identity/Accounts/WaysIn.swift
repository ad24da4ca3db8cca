package import Store

/// The usable first factors of an account. Never a second factor, a recovery code, an identity of a disabled provider,
/// or a mailed link to an address that nobody proved: who holds only those cannot get in.
package struct WaysIn: Hashable, Sendable {
  package static let password = "password"
  package static let emailLink = "emailLink"
  package static let phone = "phone"

  /// Sign-in methods in the order to offer them: what the person chose here first, then providers as they were linked.
  package private(set) var methods: [String] = []

  package init(_ state: AccountState, _ policy: Policy) { self.init(state.waysIn, policy) }

  init(_ record: WaysInRecord, _ policy: Policy) {
    if policy.passwordEnabled, record.hasPassword { methods.append(WaysIn.password) }
    if policy.emailLinkEnabled, record.emailLink, record.emailProved { methods.append(WaysIn.emailLink) }
    // One telephone is not two factors (`refusal(ofFirstFactor:)`).
    if policy.phoneEnabled, record.hasPhoneNumber, !record.hasOnlyPhoneFactors { methods.append(WaysIn.phone) }
    for providerID in record.providerIDs {
      if policy.enabledProviderIDs.contains(providerID), !methods.contains(providerID) { methods.append(providerID) }
    }
  }

  /// Into an account without a way in, such as one that nobody could sign in to yet (S12): a link to its own address,
  /// where the operator allows links.
  init(mailedLinkUnder policy: Policy) {
    if policy.emailLinkEnabled { methods = [WaysIn.emailLink] }
  }

  /// Sign-in links belong to the provider of the password, since both name the account by its email address. Without a
  /// password they are a provider of their own: no client must ask for a password that does not exist.
  package var providerIDs: [String] {
    methods.contains(WaysIn.password) ? methods.filter { $0 != WaysIn.emailLink } : methods
  }

  package var isEmpty: Bool { methods.isEmpty }

  package func only(_ kept: Set<String>) -> WaysIn {
    var rest = self
    rest.methods.removeAll { !kept.contains($0) }
    return rest
  }

  package func without(_ excluded: Set<String>) -> WaysIn {
    var rest = self
    rest.methods.removeAll(where: excluded.contains)
    return rest
  }
}

extension AccountState {
  /// Nobody can sign in to it (S12): an administrator made it and nobody could yet, or took its last way in and left
  /// the proved address. A custom token is a way in, though none that could be offered: whoever holds the address must
  /// not get what is somebody's already.
  ///
  /// Ways in that are merely switched off count too, since who has them is back once they are switched on: beside an
  /// address that nobody proved a stranger (checks 5 and 83), in an account that no administrator made its person.
  func isUnentered(_ policy: Policy) -> Bool {
    guard !account.customToken, account.madeByAdministrator || account.emailProved else { return false }
    if account.madeByAdministrator, account.emailProved { return WaysIn(self, policy).isEmpty }
    return identities.isEmpty && account.phoneNumber == nil && account.passwordHash == nil && !account.emailLink
  }

  /// Nothing but its address leads to the account, by a password or a mailed link: who has the mailbox may have it
  /// (section 3.3). Who minted a custom token for it knows its old holder, and would go on letting that one in.
  var holdsOnlyAddress: Bool {
    identities.isEmpty && account.phoneNumber == nil && factors.isEmpty && !account.customToken
  }

  package func identity(of providerID: String) -> IdentityRecord? {
    identities.first { $0.key.providerID == providerID }
  }

  package func holds(_ key: IdentityKey) -> Bool {
    switch key.providerID {
    case WaysIn.phone: account.phoneNumber == key.subject
    case WaysIn.emailLink: account.emailLink && account.emailProved && account.email == key.subject
    default: identities.contains { $0.key == key }
    }
  }

  /// A link to a proved address proves its account, whether or not it was ever signed in to by one.
  func proves(_ key: IdentityKey) -> Bool {
    guard key.providerID == WaysIn.emailLink else { return holds(key) }
    return account.emailProved && account.email == key.subject
  }

  /// Of one provider, and of telephones, an account has one at a time; a telephone's number can be exchanged (L3).
  func holdsOther(than key: IdentityKey) -> Bool {
    switch key.providerID {
    case WaysIn.phone: account.phoneNumber.map { $0 != key.subject } ?? false
    default: identity(of: key.providerID).map { $0.key != key } ?? false
    }
  }
}
