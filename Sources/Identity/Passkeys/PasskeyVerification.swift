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
    guard let identity, let passkey = Passkey(of: identity) else {
      throw Failure.invalidPasskey("unknown_credential")
    }
    do {
      let use = try verify(presented, response.credentialJSON, passkey, answering: challenge)
      if passkey.isSuspicious(use) { try await report(identity, call) }
      let assertion = Assertion(
        identity: identity.key, username: passkey.relyingPartyID, passkey: passkey.used(use, at: clock.now()).packed)
      var verified = VerifiedCredential(assertion: assertion)
      verified.passkeyFactor = .passkey(backupEligible: passkey.backupEligible, userVerified: use.userVerified)
      return verified
    } catch let failure as Failure {
      throw failure.concerning(identity.accountID)
    }
  }

  /// Verifies an assertion by one passkey.
  func verify(
    _ presented: PresentedPasskey, _ json: String, _ passkey: Passkey, answering challenge: PasskeyChallenge
  ) throws -> PasskeyUse {
    guard passkey.relyingPartyID == challenge.relyingPartyID else { throw Failure.invalidPasskey("relying_party") }
    // Step 6 of WebAuthn 7.2: a passkey that the options did not name states its user.
    guard presented.userHandle.map({ $0 == passkey.userHandle }) ?? challenge.identified else {
      throw Failure.invalidPasskey("user_handle")
    }
    let use = try passkeys.verifyAssertion(json, by: passkey, answering: challenge)
    guard use.backupEligible == passkey.backupEligible else { throw Failure.invalidPasskey("backup_eligibility") }
    return use
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
    let details = ["passkey_id": identity.key.subject, "rejected": isRejected ? "true" : "false"]
    let note = AuditNote(.passkeyCloneSuspected, accountID: identity.accountID, details: details)
    _ = try await commit(Change([audit(note, call: call, now: clock.now())]), CommitDecision())
    if isRejected { throw Failure.invalidPasskey("sign_count") }
  }
}

extension Passkey {
  /// Whether another authenticator may have a copy of the key (WebAuthn 6.1.1).
  func isSuspicious(_ use: PasskeyUse) -> Bool {
    (signCount != 0 || use.signCount != 0) && use.signCount <= signCount
  }

  func used(_ use: PasskeyUse, at now: Timestamp) -> Passkey {
    var used = self
    used.signCount = max(signCount, use.signCount)
    used.backedUp = use.backedUp
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
