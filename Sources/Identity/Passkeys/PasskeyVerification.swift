import Encodings
import Store

/// Verification of what an authenticator answered (step 4).
///
/// The challenge is spent before the response is verified, so of two calls with the same response only one continues
/// (P2). After a failure, the user starts again.
extension Environment {
  /// Verifies a registration.
  /// - Parameter account: the account of the session that makes the call; empty: a sign-up.
  func verifyRegistration(
    _ response: PasskeyResponse, account: String = "", _ call: CallFacts
  ) async throws -> VerifiedCredential {
    guard case .registration(let id) = response.ceremony else {
      throw Failure(
        .invalidField, field: "credential.passkey.registration_id", hint: "Send a registration, not a sign-in.")
    }
    let purpose = account.isEmpty ? FlowPurpose.signIn : .link
    let (challenge, _) = try await spend(id, .passkeyRegistration, ending: purpose, account: account, Query(), call)
    let now = clock.now()
    let passkey = try passkeys.verifyRegistration(response.credentialJSON, answering: challenge)
    try await requireNew(passkey.credentialID, now)
    let assertion = Assertion(
      identity: identityKey(of: passkey.credentialID), displayName: response.name, username: passkey.relyingPartyID,
      passkey: passkey.packed)
    var verified = VerifiedCredential(assertion: assertion, singleUse: singleUse(of: passkey.credentialID, now: now))
    verified.passkeyFactor = .passkey(
      backupEligible: passkey.backupEligible, userVerified: passkey.userVerified)
    return verified
  }

  /// Verifies an assertion (P10).
  /// - Parameter account: the account of the session that makes the call; empty: a sign-in.
  func verifyAssertion(
    _ response: PasskeyResponse, ending purpose: FlowPurpose, account: String = "", _ call: CallFacts
  ) async throws -> VerifiedCredential {
    guard case .signIn(let id) = response.ceremony else {
      throw Failure(
        .invalidField, field: "credential.passkey.sign_in_id", hint: "Send a sign-in, not a registration.")
    }
    guard policy.passkeyEnabled else { throw Failure.passkeyNotEnabled }
    let presented = try passkeys.parseAssertion(response.credentialJSON)
    var query = Query()
    query.identity = identityKey(of: presented.credentialID)
    let (challenge, facts) = try await spend(id, .passkeySignIn, ending: purpose, account: account, query, call)
    let identity = facts.identityOwner?.identities.first { $0.key == query.identity }
    do {
      let (passkey, use) = try verify(
        presented, response.credentialJSON, identity.flatMap { Passkey(of: $0) }, answering: challenge)
      guard let identity, challenge.email.isEmpty || facts.identityOwner?.account.email == challenge.email else {
        throw Failure.invalidPasskey("unknown_credential")
      }
      if passkey.isSuspicious(use) { try await report(identity, call) }
      let assertion = Assertion(
        identity: identity.key, username: passkey.relyingPartyID, passkey: passkey.used(use, at: clock.now()).packed)
      var verified = VerifiedCredential(assertion: assertion)
      // Without a verification that counts, a thief may have set the PIN of the authenticator.
      verified.passkeyFactor = .passkey(
        backupEligible: passkey.backupEligible, userVerified: use.userVerified && passkey.userVerified)
      return verified
    } catch let failure as Failure {
      throw identity.map { failure.concerning($0.accountID) } ?? failure
    }
  }

  /// Verifies an assertion by one passkey (WebAuthn 7.2).
  ///
  /// What does not depend on the passkey comes first, then the signature. So without the key, the failure is the same
  /// as for a passkey of no account, and takes as long (P10).
  /// - Parameter known: nil: no account has the passkey.
  func verify(
    _ presented: PresentedPasskey, _ json: String, _ known: Passkey?, answering challenge: PasskeyChallenge
  ) throws -> (Passkey, PasskeyUse) {
    let use = try passkeys.verifyAssertion(
      json, by: known ?? .standIn(at: challenge.relyingPartyID), answering: challenge)
    // Also if the signature is right: the private key of the stand-in is known.
    guard let passkey = known else { throw Failure.invalidPasskey("signature") }
    guard passkey.relyingPartyID == challenge.relyingPartyID else { throw Failure.invalidPasskey("relying_party") }
    // Step 6: a passkey that the options did not name states its user.
    guard presented.userHandle.map({ $0 == passkey.userHandle }) ?? challenge.identified else {
      throw Failure.invalidPasskey("user_handle")
    }
    // Step 19.
    guard use.backupEligible == passkey.backupEligible else { throw Failure.invalidPasskey("backup_eligibility") }
    return (passkey, use)
  }

  /// Fails if a credential id was registered before (P6), before anything else depends on the account. An id that
  /// answers for an unknown address (P9) counts as registered: otherwise a registration would tell the two apart.
  private func requireNew(_ credentialID: [UInt8], _ now: Timestamp) async throws {
    var query = Query()
    query.identity = identityKey(of: credentialID)
    query.spentToken = singleUse(of: credentialID, now: now).digest
    let facts = try await load(query)
    if isMadeUp(credentialID) || facts.tokenSpent || facts.identityOwner != nil { throw Failure.passkeyExists }
  }

  private func spend(
    _ id: String, _ pending: PendingPurpose, ending purpose: FlowPurpose, account: String, _ asked: Query,
    _ call: CallFacts
  ) async throws -> (challenge: PasskeyChallenge, facts: Facts) {
    guard policy.passkeyEnabled else { throw Failure.passkeyNotEnabled }
    var query = asked
    do { query.pending = try pendingDigest(id) } catch { throw Failure.challengeMismatch("malformed id") }
    return try await decideAndCommit(query, try await first(query), call: call, commitDecision: CommitDecision()) {
      facts, now in
      let (row, challenge) = try openChallenge(facts.pending, pending, call: call, now: now)
      guard challenge.purpose == purpose, challenge.accountID == account else {
        return .refuse(.challengeMismatch("started for another purpose or account"))
      }
      let spent = Write.pending(.complete(row.digest, version: row.version, at: now, accountID: "", sessionID: ""))
      return .commit(Change([spent]), (challenge, facts))
    }
  }

  /// Reports a sign count that did not rise, and rejects the use if the policy demands it (P12).
  private func report(_ identity: IdentityRecord, _ call: CallFacts) async throws {
    let isRejected = policy.passkeySignCount == .reject
    let note = AuditNote.cloneSuspected(
      of: identity.accountID, ["passkey_id": identity.key.subject], isRejected: isRejected)
    _ = try await commit(Change([audit(note, call: call, now: clock.now())]), CommitDecision())
    if isRejected { throw Failure.invalidPasskey("sign_count") }
  }
}

extension AuditNote {
  static func cloneSuspected(of accountID: String, _ details: [String: String], isRejected: Bool) -> AuditNote {
    AuditNote(
      .passkeyCloneSuspected, accountID: accountID,
      details: details.merging(["rejected": isRejected ? "true" : "false"]) { $1 })
  }
}

extension Passkey {
  /// Takes the place of a passkey that no account has, so that its verification takes as long.
  static func standIn(at relyingPartyID: String) -> Passkey {
    Passkey(
      relyingPartyID: relyingPartyID, credentialID: [0], userHandle: [0], publicKey: standInKey, algorithm: -7)
  }

  /// The base point of P-256 (SEC 2, 2.4.2).
  private static let standInKey =
    Hexadecimal.decode(
      "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
        + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5") ?? []

  /// Whether another authenticator may have a copy of the key (WebAuthn 6.1.1).
  func isSuspicious(_ use: PasskeyUse) -> Bool {
    (signCount != 0 || use.signCount != 0) && use.signCount <= signCount
  }

  func used(_ use: PasskeyUse, at now: Timestamp) -> Passkey {
    var used = self
    used.signCount = max(signCount, use.signCount)
    used.backedUp = use.backedUp
    // Stored only after another second factor.
    used.userVerified = userVerified || use.userVerified
    used.lastUsedAt = now
    return used
  }
}

extension PendingAssertion {
  /// Returns the second factor that the passkey of the call passes at the same time (P11). nil: none is required.
  func ownFactor(of state: AccountState) -> FactorRecord? {
    guard firstFactor.verifiesUser, state.hasSecondFactor else { return nil }
    return state.passkeys.first { $0.key == assertion.identity }.map { FactorRecord(passing: $0) }
  }
}

extension FactorRecord {
  /// A passkey that signed in, in the place of a factor.
  init(passing passkey: IdentityRecord) {
    self.init(
      id: passkey.key.subject, accountID: passkey.accountID, kind: .passkey, displayName: passkey.displayName,
      enrolledAt: passkey.linkedAt)
  }
}

extension Failure {
  static let passkeyNotEnabled = notEnabled(SignInMethods.passkey, field: "credential.passkey")
}
