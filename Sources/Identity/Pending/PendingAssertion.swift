package import Sealed
package import Store

/// The sealed content of a pending row: the verified assertion and the request of its call.
///
/// The seal prevents changes between assertion and completion. The provider's own tokens are not included.
package struct PendingAssertion: Hashable, Sendable {
  /// The action of the completion. The raw values are the numbers in sealed rows.
  package enum Intent: Int32, Sendable, CaseIterable {
    /// Rows of purpose `link` and `credential_in_use`. The purpose determines the action.
    case present = 1
    // Rows of purpose `second_factor`: the pending call, which is decided again after the factor passes.
    case signIn
    case link
    case reauthenticate
  }

  package var intent = Intent.present
  /// For a password: provider id "password", with the account id or email address as the subject.
  @Boxed package var assertion: Assertion
  package var firstFactor: FirstFactor
  /// The provider's token, which the completion spends. Until then presenting it again has no further effect.
  package var singleUse: SingleUse?
  /// The session of the call. Link and Reauthenticate only.
  package var sessionID: String?
  /// The password hash to set, by Link or as the upgrade of an older hash.
  package var passwordHash: String?
  /// Another pending row, which the call completes.
  package var completing: Digest?
  package var existingOnly = false
  package var claimAddress = false
  /// The code that was sent for this call, if its second factor is a phone.
  @Held package var sentCode: SentCode?
  /// The challenge for this call, if its second factor is a passkey.
  @Held package var passkeyChallenge: PasskeyChallenge?

  package init(_ assertion: Assertion, firstFactor: FirstFactor, singleUse: SingleUse? = nil) {
    self.init(Boxed(wrappedValue: assertion), firstFactor: firstFactor, singleUse: singleUse)
  }

  init(_ assertion: Boxed<Assertion>, firstFactor: FirstFactor, singleUse: SingleUse? = nil) {
    _assertion = assertion
    self.firstFactor = firstFactor
    self.singleUse = singleUse
  }
}

// MARK: sealed form

extension PendingAssertion: SealedContent {
  package init(_ message: Sealed.PendingAssertion) throws {
    let assertion = Assertion(
      identity: IdentityKey(providerID: try message.providerID.required(), subject: message.subject),
      email: message.email.presence,
      tier: try message.tier.flatMap { .init(rawValue: Int($0.rawValue) - 1) }.required(),
      displayName: message.displayName, photoURL: message.photoURL, username: message.username,
      profileJSON: message.profileJSON, passkey: message.passkey.isEmpty ? nil : message.passkey,
      transferSubject: message.transferSubject)
    self.init(
      assertion,
      firstFactor: FirstFactor(
        signInProviderID: try message.signInProviderID.required(), methods: message.methods,
        claimsJSON: message.claimsJSON),
      singleUse: try message.singleUse.map { try SingleUse($0) })
    intent = try Intent(rawValue: message.intent?.rawValue ?? 0).required()
    sessionID = message.sessionID.presence
    passwordHash = message.passwordHash.presence
    completing = message.completing.isEmpty ? nil : try Digest(sealed: message.completing)
    existingOnly = message.existingOnly
    claimAddress = message.claimAddress
    sentCode = try message.sentCode.map { try SentCode($0) }
    passkeyChallenge = try message.passkeyChallenge.map { try PasskeyChallenge($0) }
  }

  package var message: Sealed.PendingAssertion {
    Sealed.PendingAssertion(
      intent: Sealed.PendingAssertion.Intent(rawValue: intent.rawValue), providerID: assertion.identity.providerID,
      subject: assertion.identity.subject, email: assertion.email ?? "",
      tier: Sealed.TrustTier(rawValue: Int32(assertion.tier.rawValue) + 1), displayName: assertion.displayName,
      photoURL: assertion.photoURL, username: assertion.username, profileJSON: assertion.profileJSON,
      signInProviderID: firstFactor.signInProviderID, methods: firstFactor.methods, claimsJSON: firstFactor.claimsJSON,
      singleUse: singleUse?.message, sessionID: sessionID ?? "", passwordHash: passwordHash ?? "",
      completing: completing?.bytes ?? [], existingOnly: existingOnly, claimAddress: claimAddress,
      sentCode: sentCode?.message, passkey: assertion.passkey ?? [],
      passkeyChallenge: passkeyChallenge?.message, transferSubject: assertion.transferSubject)
  }
}

extension SingleUse {
  fileprivate init(_ message: Sealed.PendingAssertion.SingleUse) throws {
    self.init(
      digest: try Digest(sealed: message.digest),
      expiresAt: Timestamp(millis: try message.expiresAtMillis.required()))
  }

  fileprivate var message: Sealed.PendingAssertion.SingleUse {
    Sealed.PendingAssertion.SingleUse(digest: digest.bytes, expiresAtMillis: expiresAt.millis)
  }
}
