import Store

/// What signing in does to an account that exists.
extension AccountEdit {
  /// The writes of a sign-in: where only its time is new, a note that lets parallel sign-ins of one person pass each
  /// other.
  var signInWrites: [Write] {
    var account = edited.account
    account.lastSignInAt = before.lastSignInAt
    let addsNothing = hanging.allSatisfy { if case .updateIdentity = $0 { true } else { false } }
    guard account == before, addsNothing, let lastSignInAt = edited.account.lastSignInAt else { return writes }
    return [.touchAccount(id: before.id, version: before.version, lastSignInAt: lastSignInAt)] + hanging
  }

  /// S1: the identity's own profile follows its provider, as far as that says anything: Apple tells the name at the
  /// first consent only, and GitHub the address to who asked for it. The account's name and photo are its person's, and
  /// only filled where they are empty.
  mutating func refresh(_ assertion: Assertion) {
    guard let index = edited.identities.firstIndex(where: { $0.key == assertion.identity }) else { return }
    let old = edited.identities[index]
    var new = IdentityRecord(assertion: assertion, accountID: old.accountID, linkedAt: old.linkedAt)
    if new.displayName.isEmpty { new.displayName = old.displayName }
    if new.photoURL.isEmpty { new.photoURL = old.photoURL }
    if new.email == nil { (new.email, new.tier) = (old.email, old.tier) }
    let (name, photo) = (assertion.displayName, assertion.photoURL)
    if edited.account.displayName.isEmpty, !name.isEmpty { edited.account.displayName = name }
    if edited.account.photoURL.isEmpty, !photo.isEmpty { edited.account.photoURL = photo }
    guard new != old else { return }
    edited.identities[index] = new
    hanging.append(.updateIdentity(new))
  }

  /// S1: an empty address is filled, an unproved one is proved. By 3.5 a first proof without a session of the account
  /// must not keep ways in that came before it; so it is taken only where this identity is the one way in there is.
  mutating func fillAddress(_ email: String, of assertion: Assertion) {
    if edited.account.email == nil {
      edited.account.email = email
      edited.account.emailSource = assertion.identity.providerID
    }
    let account = edited.account
    let isOnlyWayIn =
      account.passwordHash == nil && !account.emailLink && account.phoneNumber == nil && !account.customToken
      && edited.identities.count == 1
    guard account.email == email, !account.emailProved, assertion.tier >= .verified, isOnlyWayIn else { return }
    // No `emailProvedAt`: beside what proves the address there is nothing that could be in doubt.
    edited.account.emailProof = .assertion
    edited.account.emailProofProviderID = assertion.identity.providerID
  }

  /// Reclaim: removes everything unverified, and returns the providers that it removed. Custom claims stay: only
  /// administrators set them, in an import or by SetCustomClaims; those of custom tokens are the session's.
  mutating func dropUnproved(now: Timestamp) -> [String] {
    let account = edited.account
    let gone = account.passwordHash != nil ? [WaysIn.password] : account.emailLink ? [WaysIn.emailLink] : []
    removePassword()
    removeEmailLink()
    edited.account.displayName = ""
    edited.account.photoURL = ""
    edited.account.tokensValidAfter = now
    // Whoever brought the address, it is the next assertion that stands for it.
    edited.account.email = nil
    edited.account.emailSource = nil
    return gone
  }

  /// What the event of a reclaim states in addition to the removed providers.
  var keptByReclaim: [String: String] { edited.account.customClaimsJSON.isEmpty ? [:] : ["kept": "custom_claims"] }

  /// Claim: the address, and the password or mailed link that it names.
  mutating func detachAddress() {
    removePassword()
    removeEmailLink()
    removeAddress()
  }
}
