package import Sealed
package import Store

/// A challenge that an authenticator must sign, with what it is for. Sealed in its row.
package struct PasskeyChallenge: Hashable, Sendable {
  static let bytes = 32
  static let userHandleBytes = 64

  package var purpose: FlowPurpose
  /// The account of the session that started the ceremony; empty: none.
  package var accountID: String
  package var relyingPartyID: String
  package var challenge: [UInt8]
  /// Registrations only.
  package var userHandle: [UInt8]
  /// Second factors only: the passkey that must answer; `new` for an enrolment.
  package var factorID: String
  /// Whether the options name the passkeys that may answer.
  package var identified: Bool
  /// The address that a sign-in named, whose account must have the passkey. Empty: none.
  package var email: String
  /// The end of a challenge whose row lasts longer, because a second factor may be asked for several times.
  package var expiresAt: Timestamp?

  static let newFactor = "new"

  package init(
    purpose: FlowPurpose, accountID: String = "", relyingPartyID: String, challenge: [UInt8],
    userHandle: [UInt8] = [], factorID: String = "", identified: Bool = false, email: String = "",
    expiresAt: Timestamp? = nil
  ) {
    self.purpose = purpose
    self.accountID = accountID
    self.relyingPartyID = relyingPartyID
    self.challenge = challenge
    self.userHandle = userHandle
    self.factorID = factorID
    self.identified = identified
    self.email = email
    self.expiresAt = expiresAt
  }

  /// Whether the passkey only follows another factor, so that possession alone counts.
  package var isForFactor: Bool { !factorID.isEmpty }
}

extension Environment {
  func newChallenge(
    _ purpose: FlowPurpose, of accountID: String = "", at relyingPartyID: String
  ) -> PasskeyChallenge {
    PasskeyChallenge(
      purpose: purpose, accountID: accountID, relyingPartyID: relyingPartyID,
      challenge: randomness.bytes(PasskeyChallenge.bytes))
  }

  func newUserHandle() -> [UInt8] { randomness.bytes(PasskeyChallenge.userHandleBytes) }

  /// Creates the row of a challenge.
  func hold(
    _ challenge: PasskeyChallenge, purpose: PendingPurpose, call: CallFacts, now: Timestamp
  ) -> NewPending {
    var pending = newPending(
      challenge.packed, purpose: purpose, identity: IdentityKey(providerID: SignInMethods.passkey, subject: ""),
      accountID: challenge.accountID, lifetimeMillis: policy.passkeyChallengeLifetimeMillis, call: call, now: now)
    pending.record.attemptsLeft = 1
    return pending
  }

  /// Opens the row of a challenge. Every mismatch fails with the same public text, as in `openPending`.
  func openChallenge(
    _ record: PendingRecord?, _ purpose: PendingPurpose, call: CallFacts, now: Timestamp
  ) throws(Failure) -> (row: PendingRecord, challenge: PasskeyChallenge) {
    guard let record else { throw Failure.challengeMismatch("unknown ceremony") }
    guard record.caller == call.caller else { throw Failure.challengeMismatch("another caller's ceremony") }
    guard record.binding == call.binding else { throw Failure.challengeMismatch("ceremony of another binding") }
    guard record.purpose == purpose else {
      throw Failure.challengeMismatch("token for purpose \(record.purpose.rawValue)")
    }
    guard !record.isExpired(at: now) else {
      throw Failure(.pendingCredentialExpired, field: "credential", hint: "Start again; the challenge has expired.")
    }
    guard record.completedAt == nil, record.attemptsLeft > 0 else {
      throw Failure(.pendingCredentialUsed, field: "credential", hint: "Start again; a challenge is valid once.")
    }
    let challenge = try openContent(
      record.sealed, context: PendingTable.context(of: record), PasskeyChallenge.init(packed:),
      or: Failure.challengeMismatch)
    return (record, challenge)
  }
}

extension Failure {
  static func challengeMismatch(_ debug: String) -> Failure {
    Failure(
      .pendingCredentialMismatch, field: "credential",
      hint: "Start again, with the same caller, binding, purpose and account.", debug: debug)
  }
}

// MARK: sealed form

extension PasskeyChallenge: SealedContent {
  package init(_ message: Sealed.PasskeyChallenge) throws {
    self.init(
      purpose: try FlowPurpose(message.purpose).required(), accountID: message.accountID,
      relyingPartyID: try message.rpID.required(), challenge: try message.challenge.required(),
      userHandle: message.userHandle, factorID: message.factorID, identified: message.identified, email: message.email,
      expiresAt: message.expiresAtMillis.map(Timestamp.init(millis:)))
  }

  package var message: Sealed.PasskeyChallenge {
    Sealed.PasskeyChallenge(
      purpose: purpose.message, accountID: accountID, rpID: relyingPartyID, challenge: challenge,
      userHandle: userHandle, factorID: factorID, identified: identified, email: email,
      expiresAtMillis: expiresAt?.millis)
  }
}
