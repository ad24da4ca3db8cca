import Store

extension Environment {
  /// Opens a session for the same login as `old`, with a new id and a new refresh token, after its rights changed
  /// (check 99).
  ///
  /// The user did not authenticate again, so `auth_time` stays, and the absolute end never moves later. A factor that
  /// is passed now shortens both lifetimes (check 92). The device stays that of the login. Otherwise an attacker with a
  /// stolen session could register devices, whose guesses are counted separately (check 105).
  func continueSession(
    _ old: SessionRecord, passing factor: FactorRecord? = nil, call: CallFacts, now: Timestamp
  ) -> OpenedSession {
    let first = FirstFactor(signInProviderID: old.signInProviderID, methods: old.methods, claimsJSON: old.claimsJSON)
    var opened = openSession(accountID: old.accountID, by: first, call: call, now: now)
    opened.record.beganWith = old.beganWith
    opened.record.secondFactor = old.secondFactor
    opened.record.secondFactorID = old.secondFactorID
    opened.record.authTime = old.authTime
    opened.record.deviceID = old.deviceID
    if let factor { opened.record.pass(factor) }
    let limits = policy.sessionLimits(secondFactor: opened.record.secondFactor)
    opened.record.idleExpiresAt = now.adding(millis: limits.idleMillis)
    opened.record.expiresAt = min(old.expiresAt, now.adding(millis: limits.absoluteMillis))
    return opened
  }

  /// Continues the session of the call under its id, after a change that leaves the login as it was (SEMANTICS.md,
  /// section 8).
  ///
  /// The answer carries a refresh token that is derived from the present one. The present one stays valid until the new
  /// one is used, so a lost answer costs nothing. The writes also guard that the session is open.
  func keepSession(_ session: SessionRecord, now: Timestamp) -> KeptSession {
    var session = session
    let digest = session.refreshDigest
    if let handedOut = RefreshToken.repeated(in: session, cryptography) {
      return KeptSession(
        opened: OpenedSession(record: session, refreshToken: handedOut.text(cryptography)),
        // A concurrent refresh spends the token that this answer carries. The call then decides again.
        writes: [.session(.requireOpen(id: session.id, refreshDigest: digest, at: now))], isRotated: false)
    }
    let next = RefreshToken.repeated(after: digest, sessionID: session.id, cryptography)
    session.refreshDigest = next.digest(cryptography)
    session.idleExpiresAt = now.adding(
      millis: policy.sessionLimits(secondFactor: session.secondFactor).idleMillis)
    let rotation = Write.session(.rotate(
      id: session.id, from: digest, to: session.refreshDigest, at: now, idleExpiresAt: session.idleExpiresAt))
    return KeptSession(
      opened: OpenedSession(record: session, refreshToken: next.text(cryptography)), writes: [rotation],
      isRotated: true)
  }
}

/// A session that continues under its id.
struct KeptSession: Sendable {
  var opened: OpenedSession
  var writes: [Write]
  /// Whether the writes move the session to the token of the answer. If false, it already has that token.
  var isRotated: Bool
}
