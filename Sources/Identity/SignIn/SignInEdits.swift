import Store

/// Changes that a sign-in makes to an existing account.
extension AccountEdit {
  /// The writes of a sign-in. If only its time changes, `AccountWrite.touch` lets parallel sign-ins of a user commit
  /// without conflict.
  var signInWrites: [Write] {
    var account = edited.account
    account.lastSignInAt = before.lastSignInAt
    let addsNothing = dependent.allSatisfy {
      if case .identity(.update(let identity)) = $0 { !identity.countsSignatures } else { false }
    }
    guard account == before, addsNothing, let lastSignInAt = edited.account.lastSignInAt else { return writes }
    return [.account(.touch(id: before.id, version: before.version, lastSignInAt: lastSignInAt))] + dependent
  }

  /// Updates the identity's profile with the fields that the provider returned (S1).
  ///
  /// Apple returns the name at the first consent only, and GitHub returns the email address only on request. The
  /// account's name and photo belong to its user and are set only while empty.
  /// - Parameter factorPassed: the account's second factor was passed in the same call (P11).
  mutating func refresh(_ assertion: Assertion, factorPassed: Bool) {
    guard let index = edited.identities.firstIndex(where: { $0.key == assertion.identity }) else { return }
    let old = edited.identities[index]
    var new = news(of: old, assertion, factorPassed: factorPassed)
    new.transferSubject = old.transferSubject
    guard new != old else { return }
    edited.identities[index] = new
    dependent.append(.identity(.update(new)))
  }

  /// Replaces the subject of the identity that the provider names (X6). Its place and the time of its link stay.
  ///
  /// Returns whether the provider asserts another email address than before.
  mutating func transfer(to assertion: Assertion) -> Bool {
    let index = edited.identities.firstIndex {
      $0.key.providerID == assertion.identity.providerID && $0.transferSubject == assertion.transferSubject
    }
    guard let index else { return false }
    let old = edited.identities[index]
    // Only Apple's identities are transferred, and a second factor matters for passkeys.
    let new = news(of: old, assertion, factorPassed: false)
    edited.identities[index] = new
    dependent += [.identity(.delete(old.key, accountID: old.accountID)), .identity(.insert(new))]
    return new.email != old.email
  }

  /// Returns an identity as the assertion describes it, with what the provider left out this time. Fills in the name
  /// and the photo of the account.
  private mutating func news(
    of old: IdentityRecord, _ assertion: Assertion, factorPassed: Bool
  ) -> IdentityRecord {
    var new = IdentityRecord(assertion: assertion, accountID: old.accountID, linkedAt: old.linkedAt)
    if new.displayName.isEmpty { new.displayName = old.displayName }
    if new.photoURL.isEmpty { new.photoURL = old.photoURL }
    if new.email == nil { (new.email, new.tier) = (old.email, old.tier) }
    if assertion.passkey != nil {
      new.passkey = Passkey.later(old.passkey, new.passkey, trustingVerification: factorPassed)
    }
    let (name, photo) = (assertion.displayName, assertion.photoURL)
    if edited.account.displayName.isEmpty, !name.isEmpty { edited.account.displayName = name }
    if edited.account.photoURL.isEmpty, !photo.isEmpty { edited.account.photoURL = photo }
    return new
  }

  /// Sets a missing email address, and marks an unverified one as verified (S1).
  ///
  /// By section 3.5, a first proof without a session of the account must not keep earlier sign-in methods. So it counts
  /// only if this identity is the account's only sign-in method.
  mutating func fillAddress(_ email: String, of assertion: Assertion) {
    if edited.account.email == nil {
      edited.account.emailAddress = EmailAddress(email, source: assertion.identity.providerID)
    }
    let account = edited.account
    let isOnlyMethod =
      account.passwordHash == nil && !account.emailLink && account.phoneNumber == nil && !account.customToken
      && edited.identities.count == 1
    guard account.email == email, !account.emailVerified, assertion.tier >= .verified, isOnlyMethod else { return }
    // No `emailVerifiedAt`: the account has no other sign-in method that could be in doubt.
    edited.account.emailAddress?.verification = .assertion(providerID: assertion.identity.providerID)
  }

  /// Removes everything unverified for a reclaim, and returns the removed providers.
  ///
  /// Custom claims stay, because only administrators set them, by an import or SetCustomClaims. The claims of custom
  /// tokens belong to the session.
  mutating func dropUnverified(now: Timestamp) -> [String] {
    let account = edited.account
    var gone =
      account.passwordHash != nil ? [SignInMethods.password] : account.emailLink ? [SignInMethods.emailLink] : []
    if edited.hasPasskeys { gone.append(SignInMethods.passkey) }
    for passkey in edited.passkeys { remove(passkey: passkey) }
    removePassword()
    removeEmailLink()
    edited.account.displayName = ""
    edited.account.photoURL = ""
    edited.account.tokensValidAfter = now
    // The next assertion becomes the source of the email address.
    edited.account.emailAddress = nil
    return gone
  }

  /// Details of a reclaim event in addition to the removed providers.
  var keptByReclaim: [String: String] { edited.account.customClaimsJSON.isEmpty ? [:] : ["kept": "custom_claims"] }

  /// Removes the email address for a claim, with the password or sign-in link that depends on it.
  mutating func detachAddress() {
    removePassword()
    removeEmailLink()
    removeAddress()
  }
}
