package enum PendingPurpose: String, Sendable, CaseIterable {
  case link
  case secondFactor = "second_factor"
  case credentialInUse = "credential_in_use"
  /// The state of a flow through a provider's pages.
  case flow
  /// A second factor whose enrollment the user has not confirmed yet.
  case enrollment
  // Codes that were sent: to a phone, or as an emailed link.
  case phoneCode = "phone_code"
  case emailLink = "email_link"
  /// A code for an account that does not exist yet.
  case signUp = "sign_up"
  case verifyEmail = "verify_email"
  case resetPassword = "reset_password"
  case changeEmail = "change_email"
  /// The revert link for a change of address, emailed to the old address.
  case revertEmail = "revert_email"
  // Challenges that an authenticator must sign.
  case passkeyRegistration = "passkey_registration"
  case passkeySignIn = "passkey_sign_in"
  /// Six digits that were sent by email.
  case emailCode = "email_code"

  /// The codes that survive a new password, because the owner of the mailbox requested them. A code of six digits for a
  /// session ends with the session.
  package static let ofTheMailbox: [Self] = [.revertEmail, .resetPassword, .emailLink, .verifyEmail, .emailCode]

  /// Whether such a row holds the assertion of a verified credential.
  package var holdsAssertion: Bool { [.link, .secondFactor, .credentialInUse].contains(self) }
}

/// One pending assertion, flow, code or enrollment: a row of the pending-credential table.
package struct PendingRecord: Hashable, Sendable {
  /// SHA-256 of the pending token. Only the client has the token itself.
  package var digest: Digest
  package var version: Int64 = 1
  package var purpose: PendingPurpose
  package var identity: IdentityKey
  package var email: String?
  package var tier: TrustTier
  /// The account found: the one with the same address, or the owner of the identity. Empty for a flow, which has found
  /// no account. Such rows count towards the limits of the caller and the purpose, not of an account.
  package var accountID: String
  package var caller: CallerName
  package var binding: Digest?
  /// Random per attempt, so that the proofs of one attempt cannot complete another.
  package var attemptID: String
  /// The assertion and the request of the call, encrypted with AES-256-GCM under a key that is not in the database.
  package var sealed: [UInt8]
  package var createdAt: Timestamp
  package var expiresAt: Timestamp
  package var attemptsLeft: Int
  /// Set by the only successful completion, so that a repeated one returns the same result.
  package var completedAt: Timestamp?
  package var completedAccountID: String?
  package var completedSessionID: String?
  /// A keyed digest of the widest network of the client that made the request. nil: the caller named no network
  /// address. If the caller's quota is full, the network that uses most of it makes room.
  package var network: Digest?

  package init(
    digest: Digest, purpose: PendingPurpose, identity: IdentityKey, email: String?, tier: TrustTier, accountID: String,
    caller: CallerName, binding: Digest?, attemptID: String, sealed: [UInt8], createdAt: Timestamp,
    expiresAt: Timestamp, attemptsLeft: Int
  ) {
    self.digest = digest
    self.purpose = purpose
    self.identity = identity
    self.email = email
    self.tier = tier
    self.accountID = accountID
    self.caller = caller
    self.binding = binding
    self.attemptID = attemptID
    self.sealed = sealed
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.attemptsLeft = attemptsLeft
  }
}

extension PendingRecord {
  /// Returns whether the row has expired at `now`.
  ///
  /// A row that a clock running ahead has dated in the future counts as expired too. Verification and revert links,
  /// which live for days, are exempt: without the revert link, an attacker would keep the address.
  package func isExpired(at now: Timestamp) -> Bool {
    let outlivesCorrection = purpose == .verifyEmail || purpose == .revertEmail
    return now >= expiresAt || (createdAt.isAhead(of: now) && !outlivesCorrection)
  }
}
