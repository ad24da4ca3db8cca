package import Store

/// Usable first factors of an account.
///
/// They exclude second factors, recovery codes, identities of disabled providers, and links and codes to an unverified
/// email address. A user who has only those cannot sign in.
package struct SignInMethods: Hashable, Sendable {
  package static let password = "password"
  /// Links and codes by email. Both prove the same mailbox, so they are one linked provider.
  package static let emailLink = "emailLink"
  /// The second name of that method, for clients that ask for a code.
  package static let emailCode = "emailCode"
  package static let phone = "phone"
  package static let passkey = "passkey"

  /// Sign-in methods in the order to offer them: the methods that the user set here, then providers in the order of
  /// linking.
  package private(set) var methods: [String] = []

  package init(_ state: AccountState, _ policy: Policy) {
    var record = state.methods
    if state.hasPasskeys, !state.hasUsablePasskey(policy) {
      record.providerIDs.removeAll { $0 == SignInMethods.passkey }
    }
    self.init(record, policy)
  }

  init(_ record: SignInMethodsRecord, _ policy: Policy) {
    if policy.passwordEnabled, record.hasPassword { methods.append(SignInMethods.password) }
    if record.emailLink, record.emailVerified { addMailbox(policy) }
    // One phone is not two factors (`refusal(ofFirstFactor:)`).
    if policy.phoneEnabled, record.hasPhoneNumber, !record.hasOnlyPhoneFactors { methods.append(SignInMethods.phone) }
    for providerID in record.providerIDs {
      let isEnabled =
        policy.enabledProviderIDs.contains(providerID) || providerID == SignInMethods.passkey && policy.passkeyEnabled
      if isEnabled, !methods.contains(providerID) { methods.append(providerID) }
    }
  }

  /// Returns the methods of an account that has none, such as one that no user could sign in to yet (S12).
  ///
  /// The only method is a link or a code to the account's own email address, as the operator allows.
  init(mailboxUnder policy: Policy) { addMailbox(policy) }

  /// Returns the methods with which the owner of an address can complete a conflict. A link or a code to a verified
  /// address always signs in, also if the operator has disabled every other method of the account.
  func orMailbox(of account: AccountRecord, _ policy: Policy) -> SignInMethods {
    isEmpty && account.emailVerified ? SignInMethods(mailboxUnder: policy) : self
  }

  private mutating func addMailbox(_ policy: Policy) {
    if policy.emailLinkEnabled { methods.append(SignInMethods.emailLink) }
    if policy.emailCodes != .off { methods.append(SignInMethods.emailCode) }
  }

  /// Links and codes by email belong to the provider of the password, since all name the account by its email address.
  /// Without a password they are a provider of their own: no client must ask for a password that does not exist.
  package var providerIDs: [String] {
    if methods.contains(SignInMethods.password) { return methods.filter { !SignInMethods.mailbox.contains($0) } }
    guard let code = methods.firstIndex(of: SignInMethods.emailCode) else { return methods }
    var providerIDs = methods
    if methods.contains(SignInMethods.emailLink) {
      providerIDs.remove(at: code)
    } else {
      providerIDs[code] = SignInMethods.emailLink
    }
    return providerIDs
  }

  /// The methods that the holder of the mailbox has.
  static let mailbox: Set = [emailLink, emailCode]

  package var isEmpty: Bool { methods.isEmpty }

  package func only(_ kept: Set<String>) -> SignInMethods {
    var rest = self
    rest.methods.removeAll { !kept.contains($0) }
    return rest
  }

  package func without(_ excluded: Set<String>) -> SignInMethods {
    var rest = self
    rest.methods.removeAll(where: excluded.contains)
    return rest
  }
}

extension AccountState {
  /// Returns whether no user can sign in to the account (S12).
  ///
  /// An administrator made the account and no user could sign in yet. Or an administrator removed its last sign-in
  /// method and left the verified email address. A custom token is a sign-in method, although the server cannot offer
  /// it. The owner of the address must not get an account that another user already has.
  ///
  /// Disabled methods count too, because their holder returns when the operator enables them. With an unverified
  /// address, that holder may be an attacker (checks 5 and 83). In an account that no administrator made, it is the
  /// account's own user. Only an account that an administrator made with a verified address may have disabled methods.
  func isUnentered(_ policy: Policy) -> Bool {
    guard !account.customToken, account.madeByAdministrator || account.emailVerified else { return false }
    if account.madeByAdministrator, account.emailVerified { return SignInMethods(self, policy).isEmpty }
    return identities.isEmpty && account.phoneNumber == nil && account.passwordHash == nil && !account.emailLink
  }

  /// Whether nothing leads to the account but its email address, by a password or a sign-in link, and passkeys. Like a
  /// password, a passkey proves nothing about the mailbox.
  ///
  /// The owner of the mailbox may then have the account (section 3.3). Accounts with a custom token are excluded: its
  /// issuer knows the old holder and would continue to admit that user.
  var holdsOnlyAddress: Bool {
    identities.allSatisfy(\.isPasskey) && account.phoneNumber == nil && factors.isEmpty && !account.customToken
  }

  package func identity(of providerID: String) -> IdentityRecord? {
    identities.first { $0.key.providerID == providerID }
  }

  /// Returns the identity of a provider that an unlink means, or nil if there is none.
  ///
  /// - Parameter subject: which one, if there may be several; empty: the only one.
  func identity(of providerID: String, subject: String) throws(Failure) -> IdentityRecord? {
    let all = identities.filter { $0.key.providerID == providerID }
    if !subject.isEmpty { return all.first { $0.key.subject == subject } }
    guard all.count > 1 else { return all.first }
    throw Failure(
      .invalidField, field: "subject", hint: "The account has several identities of this provider. Set subject.")
  }

  package func holds(_ key: IdentityKey) -> Bool {
    switch key.providerID {
    case SignInMethods.phone: account.phoneNumber == key.subject
    case SignInMethods.emailLink: account.emailLink && account.emailVerified && account.email == key.subject
    default: identities.contains { $0.key == key }
    }
  }

  /// Returns whether `key` proves this account. A link to the verified email address does, even if the account never
  /// used one.
  func proves(_ key: IdentityKey) -> Bool {
    guard key.providerID == SignInMethods.emailLink else { return holds(key) }
    return account.emailVerified && account.email == key.subject
  }

  /// Returns whether the account has as many identities of the provider as it may have. One phone number and one email
  /// address are the maximum of those.
  func isFull(for key: IdentityKey, _ policy: Policy) -> Bool {
    guard holdsOther(than: key) else { return false }
    let count = identities.count { $0.key.providerID == key.providerID }
    return count == 0 || count >= policy.identitiesPerProviderMax
  }

  /// Returns whether the account has another subject of the same provider, or another phone number.
  ///
  /// An account has one of each at a time, except passkeys. A phone number can be replaced (L3).
  func holdsOther(than key: IdentityKey) -> Bool {
    switch key.providerID {
    case SignInMethods.phone: account.phoneNumber.map { $0 != key.subject } ?? false
    case SignInMethods.passkey: false
    default: identity(of: key.providerID).map { $0.key != key } ?? false
    }
  }
}
