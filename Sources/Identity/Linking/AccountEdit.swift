import Store

/// An edit of the sign-in methods of one account: the account after the edit, and the writes that make it so.
///
/// Every edit raises the account's version exactly once. The version that the decision was taken on guards the edit. Of
/// two concurrent edits, one is decided again. Two parallel unlinks can therefore never both count on the sign-in
/// method that the other removes.
struct AccountEdit: Hashable, Sendable {
  let before: AccountRecord
  var edited: AccountState
  var dependent: [Write] = []

  init(_ state: AccountState) {
    before = state.account
    edited = state
  }

  var state: AccountState {
    var after = edited
    after.account.version += 1
    return after
  }

  var writes: [Write] {
    let account = edited.account
    let guarding = account == before
      ? Write.account(.raise(id: account.id, version: account.version)) : .account(.update(account))
    return [guarding] + dependent
  }
}

extension AccountEdit {
  /// Ends the sessions of an anonymous account that becomes permanent (check 99).
  ///
  /// An attacker may have opened the anonymous session, handed it to this user and kept a copy.
  func endOfGuestSessions(at now: Timestamp) -> [Write] {
    guard before.anonymous, !edited.account.anonymous else { return [] }
    return [
      .session(.closeBegun(
        accountID: before.id, beganWith: FirstFactor.anonymous.signInProviderID, except: nil, at: now,
        reason: .becamePermanent))
    ]
  }
}

// MARK: adding and noting

extension AccountEdit {
  /// Links an assertion by the user's own choice (rows L5 to L7 and L9). Also forgets an earlier unlink of the
  /// identity.
  mutating func link(_ assertion: Assertion, policy: Policy, now: Timestamp) {
    switch assertion.identity.providerID {
    case SignInMethods.phone: setPhoneNumber(assertion.identity.subject, now: now)
    case SignInMethods.emailLink: addEmailLink(assertion.identity.subject, now: now)
    default: linkIdentity(assertion, policy: policy, now: now)
    }
  }

  private mutating func linkIdentity(_ assertion: Assertion, policy: Policy, now: Timestamp) {
    let account = edited.account
    add(IdentityRecord(assertion: assertion, accountID: account.id, linkedAt: now))
    // The name of a passkey is not that of its user.
    guard assertion.passkey == nil else { return }
    if account.displayName.isEmpty { edited.account.displayName = assertion.displayName }
    if account.photoURL.isEmpty { edited.account.photoURL = assertion.photoURL }
    if policy.oneAccountPerEmail, let email = assertion.email { take(email, of: assertion, now: now) }
  }

  /// Adds an identity, without what its assertion states about the account. Forgets an earlier unlink of it.
  mutating func add(_ identity: IdentityRecord) {
    edited.identities.append(identity)
    dependent.append(.identity(.insert(identity)))
    if edited.unlinks.contains(where: { $0.key == identity.key }) {
      edited.unlinks.removeAll { $0.key == identity.key }
      dependent.append(.unlink(.forget(accountID: identity.accountID, identity.key)))
    }
    edited.account.anonymous = false
  }

  /// Takes or verifies the asserted email address (L5 to L7). No other account has it.
  ///
  /// If the account takes the address or already has it, a unique key or the version enforces this when the link is
  /// written. Any other address needs a guard.
  private mutating func take(_ email: String, of assertion: Assertion, now: Timestamp) {
    let providerID = assertion.identity.providerID
    if edited.account.email == nil {
      edited.account.emailAddress = EmailAddress(email, source: providerID)
    }
    guard edited.account.email == email else { return dependent.append(.account(.requireFreeEmail(email))) }
    guard !edited.account.emailVerified, assertion.tier >= .verified else { return }
    edited.account.emailAddress?.verification = .assertion(providerID: providerID)
    noteVerification(at: now)
  }

  mutating func setPhoneNumber(_ number: String, now: Timestamp) {
    edited.account.phoneNumber = number
    edited.account.phoneNumberSetAt = now
    edited.account.anonymous = false
  }

  /// Adds sign-in by link, which verifies the mailbox. Ignores an email address other than the account's own.
  mutating func addEmailLink(_ email: String, now: Timestamp) {
    if edited.account.email == nil {
      edited.account.emailAddress = EmailAddress(email, source: SignInMethods.password)
    }
    guard edited.account.email == email else { return }
    edited.account.emailLink = true
    edited.account.anonymous = false
    verify(by: .emailLink, now: now)
  }

  /// Marks the email address as verified. Keeps an earlier verification.
  mutating func verify(by verification: EmailVerification, now: Timestamp) {
    guard !edited.account.emailVerified else { return }
    edited.account.emailAddress?.verification = verification
    noteVerification(at: now)
  }

  /// Notes when the email address was verified. Notes nothing for an address that came verified: the owner of its
  /// mailbox brought it.
  mutating func noteVerification(at now: Timestamp) {
    guard !before.emailVerified, before.email == edited.account.email else { return }
    edited.account.emailVerifiedAt = now
  }

  /// Notes a sign-in by a custom token. Its issuer can mint another one, so the account is no longer anonymous.
  mutating func noteCustomToken() {
    edited.account.customToken = true
    edited.account.anonymous = false
  }

  mutating func noteSignIn(at now: Timestamp, upgradedHash: String?) {
    edited.account.lastSignInAt = now
    if let upgradedHash { edited.account.passwordHash = upgradedHash }
  }

  /// Sets a password (L8). Keeps the verification of an email address that the account already has.
  mutating func setPassword(hash: String, email: String, now: Timestamp) {
    if edited.account.email == nil {
      edited.account.emailAddress = EmailAddress(email, source: SignInMethods.password)
    }
    edited.account.passwordHash = hash
    edited.account.passwordSetAt = now
    edited.account.anonymous = false
  }
}

// MARK: taking away

extension AccountEdit {
  /// Removes the password. The email address stays, because it still reaches the user.
  mutating func removePassword() {
    edited.account.passwordHash = nil
    edited.account.passwordSetAt = nil
  }

  mutating func removeEmailLink() { edited.account.emailLink = false }

  mutating func removePhoneNumber() {
    edited.account.phoneNumber = nil
    edited.account.phoneNumberSetAt = nil
  }

  /// - Parameter keepsAddress: whether the email address stays, even if it came from this identity alone.
  mutating func unlink(_ identity: IdentityRecord, keepsAddress: Bool, policy: Policy, now: Timestamp) {
    edited.identities.removeAll { $0.key == identity.key }
    dependent.append(.identity(.delete(identity.key, accountID: identity.accountID)))
    let unlink = UnlinkRecord(accountID: identity.accountID, key: identity.key, at: now)
    edited.unlinks.append(unlink)
    dependent.append(.unlink(.remember(unlink)))
    settleAddress(after: identity, keepsAddress: keepsAddress, policy: policy)
  }

  /// Settles the email address after an unlink (section 5).
  ///
  /// An address that came from the unlinked identity alone goes with it and is free for others (check 81). It stays
  /// with its verification if another identity has it, an email verified it, or a password or sign-in link uses it. It
  /// then gets a new source, with which a later unlink may remove it.
  private mutating func settleAddress(after unlinked: IdentityRecord, keepsAddress: Bool, policy: Policy) {
    let account = edited.account
    let providerID = unlinked.key.providerID
    guard let address = account.emailAddress, address.source == providerID else { return }
    // The source may be another identity of the provider, whose address is another one by now.
    if unlinked.email != address.text, edited.identity(of: providerID) != nil { return }
    let others = edited.identities.filter { $0.email == address.text }
    let prover = others.first { $0.tier >= .verified }
    let isAsserted = address.verification?.providerID != nil
    let verifiedByMail = account.emailVerified && !isAsserted
    let isName = account.passwordHash != nil || (policy.mailboxEnabled && account.emailLink)
    guard others.isEmpty, !verifiedByMail, !isName else {
      edited.account.emailAddress?.source =
        (prover ?? others.first)?.key.providerID ?? (isName ? SignInMethods.password : nil)
      if isAsserted, let prover {
        edited.account.emailAddress?.verification = .assertion(providerID: prover.key.providerID)
      }
      return
    }
    if !keepsAddress { removeAddress() }
  }

  mutating func removeAddress() {
    edited.account.emailAddress = nil
    edited.account.emailVerifiedAt = nil
  }
}
