import Store

/// Ways in that are added to or taken from one account: the account as it will be, and the writes that make it so.
///
/// Every edit raises the account's version exactly once and is guarded by the version that the decision was taken on,
/// so that of two edits at once one is decided again: two parallel unlinks can never both count the other's way in.
struct AccountEdit: Hashable, Sendable {
  let before: AccountRecord
  var edited: AccountState
  var hanging: [Write] = []

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
      ? Write.guardAccount(id: account.id, version: account.version) : .updateAccount(account)
    return [guarding] + hanging
  }
}

extension AccountEdit {
  /// Check 99: a guest's session was opened for whoever came, and may have been handed to this person by somebody who
  /// kept a copy. It is none of the account's that has a person now.
  func endOfGuestSessions(at now: Timestamp) -> [Write] {
    guard before.anonymous, !edited.account.anonymous else { return [] }
    return [
      .closeSessionsOf(
        accountID: before.id, beganWith: FirstFactor.anonymous.signInProviderID, except: nil, at: now,
        reason: SessionRecord.guestEndedReason)
    ]
  }
}

// MARK: adding and noting

extension AccountEdit {
  /// Rows L5 to L7 and L9. Linking by the person's own choice also settles an unlink remembered earlier.
  mutating func link(_ assertion: Assertion, policy: Policy, now: Timestamp) {
    switch assertion.identity.providerID {
    case WaysIn.phone: setPhoneNumber(assertion.identity.subject, now: now)
    case WaysIn.emailLink: addEmailLink(assertion.identity.subject, now: now)
    default: linkIdentity(assertion, policy: policy, now: now)
    }
  }

  private mutating func linkIdentity(_ assertion: Assertion, policy: Policy, now: Timestamp) {
    let account = edited.account
    let record = IdentityRecord(assertion: assertion, accountID: account.id, linkedAt: now)
    edited.identities.append(record)
    hanging.append(.insertIdentity(record))
    if edited.unlinks.contains(where: { $0.key == record.key }) {
      edited.unlinks.removeAll { $0.key == record.key }
      hanging.append(.forgetUnlink(accountID: account.id, record.key))
    }
    edited.account.anonymous = false
    if account.displayName.isEmpty { edited.account.displayName = assertion.displayName }
    if account.photoURL.isEmpty { edited.account.photoURL = assertion.photoURL }
    if policy.oneAccountPerEmail, let email = assertion.email { take(email, of: assertion, now: now) }
  }

  /// L5 to L7: nobody else has the address. Where the account takes it, or has it already, a unique key or the version
  /// sees to that when the link is written.
  private mutating func take(_ email: String, of assertion: Assertion, now: Timestamp) {
    let providerID = assertion.identity.providerID
    if edited.account.email == nil {
      edited.account.email = email
      edited.account.emailSource = providerID
    }
    guard edited.account.email == email else { return hanging.append(.guardFreeEmail(email)) }
    guard !edited.account.emailProved, assertion.tier >= .verified else { return }
    edited.account.emailProof = .assertion
    noteProof(at: now)
    edited.account.emailProofProviderID = providerID
  }

  mutating func setPhoneNumber(_ number: String, now: Timestamp) {
    edited.account.phoneNumber = number
    edited.account.phoneNumberSetAt = now
    edited.account.anonymous = false
  }

  /// The link proved the mailbox. An address that is another than the account's own is left alone.
  mutating func addEmailLink(_ email: String, now: Timestamp) {
    if edited.account.email == nil {
      edited.account.email = email
      edited.account.emailSource = WaysIn.password
    }
    guard edited.account.email == email else { return }
    edited.account.emailLink = true
    edited.account.anonymous = false
    prove(by: .emailLink, now: now)
  }

  /// An earlier proof is kept.
  mutating func prove(by proof: EmailProof, now: Timestamp) {
    guard !edited.account.emailProved else { return }
    edited.account.emailProof = proof
    noteProof(at: now)
  }

  /// Of an address that came with its proof nothing is noted: who has the mailbox brought it.
  mutating func noteProof(at now: Timestamp) {
    guard !before.emailProved, before.email == edited.account.email else { return }
    edited.account.emailProvedAt = now
  }

  /// A token can be minted again: this is no guest who has no other way in.
  mutating func noteCustomToken() {
    edited.account.customToken = true
    edited.account.anonymous = false
  }

  mutating func noteSignIn(at now: Timestamp, upgradedHash: String?) {
    edited.account.lastSignInAt = now
    if let upgradedHash { edited.account.passwordHash = upgradedHash }
  }

  /// L8. The proof of an address that the account has already is kept.
  mutating func setPassword(hash: String, email: String, now: Timestamp) {
    if edited.account.email == nil {
      edited.account.email = email
      edited.account.emailSource = WaysIn.password
    }
    edited.account.passwordHash = hash
    edited.account.passwordSetAt = now
    edited.account.anonymous = false
  }
}

// MARK: taking away

extension AccountEdit {
  /// The address stays: it is still how the person can be reached.
  mutating func removePassword() {
    edited.account.passwordHash = nil
    edited.account.passwordSetAt = nil
  }

  mutating func removeEmailLink() { edited.account.emailLink = false }

  mutating func removePhoneNumber() {
    edited.account.phoneNumber = nil
    edited.account.phoneNumberSetAt = nil
  }

  /// - Parameter keepsAddress: also where it came from this identity alone.
  mutating func unlink(_ identity: IdentityRecord, keepsAddress: Bool, policy: Policy, now: Timestamp) {
    edited.identities.removeAll { $0.key == identity.key }
    hanging.append(.deleteIdentity(identity.key, accountID: identity.accountID))
    let unlink = UnlinkRecord(accountID: identity.accountID, key: identity.key, at: now)
    edited.unlinks.append(unlink)
    hanging.append(.rememberUnlink(unlink))
    settleAddress(after: identity.key.providerID, keepsAddress: keepsAddress, policy: policy)
  }

  /// Section 5: an address that came from the unlinked identity alone goes with it and is free for others (check 81),
  /// unless something else proves it or a password or mailed link uses it as its name; then it stays with its proof and
  /// is from now on somebody else's to take along.
  private mutating func settleAddress(after providerID: String, keepsAddress: Bool, policy: Policy) {
    let account = edited.account
    guard let email = account.email, account.emailSource == providerID else { return }
    let others = edited.identities.filter { $0.email == email }
    let prover = others.first { $0.tier >= .verified }
    let provedByMail = account.emailProved && account.emailProof != .assertion
    let isName = account.passwordHash != nil || (policy.emailLinkEnabled && account.emailLink)
    guard others.isEmpty, !provedByMail, !isName else {
      edited.account.emailSource = (prover ?? others.first)?.key.providerID ?? (isName ? WaysIn.password : nil)
      if account.emailProof == .assertion, let prover {
        edited.account.emailProofProviderID = prover.key.providerID
      }
      return
    }
    if !keepsAddress { removeAddress() }
  }

  mutating func removeAddress() {
    edited.account.email = nil
    edited.account.emailProof = nil
    edited.account.emailProvedAt = nil
    edited.account.emailProofProviderID = nil
    edited.account.emailSource = nil
  }
}
