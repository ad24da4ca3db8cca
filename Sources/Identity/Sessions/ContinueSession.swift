import Store

extension Environment {
  /// A session for the same login as `old`, with a new id and a new refresh token: after what it may do has changed
  /// (check 99). Nothing was proved anew, so `auth_time` stays, and the absolute end never moves away; a factor that is
  /// passed now brings both ends nearer (check 92). The device stays that of the login as well: whoever stole a session
  /// must not make devices known with it, whose guesses would be counted apart (check 105).
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

  /// The session of the call under its own id (SEMANTICS.md, section 8): a change that leaves the login as it was.
  ///
  /// The answer carries a refresh token that is derived from the present one. The present one stays valid until the new
  /// one is used, so a lost answer costs nothing. The writes also guard that the session is open.
  func keepSession(_ session: SessionRecord, now: Timestamp) -> KeptSession {
    var session = session
    let digest = session.refreshDigest
    if let parent = session.parentDigest {
      let handedOut = RefreshToken.repeated(after: parent, sessionID: session.id, cryptography)
      if handedOut.digest(cryptography) == digest {
        return KeptSession(
          opened: OpenedSession(record: session, refreshToken: handedOut.text(cryptography)),
          writes: [.guardSession(id: session.id, at: now)], isRotated: false)
      }
    }
    let next = RefreshToken.repeated(after: digest, sessionID: session.id, cryptography)
    session.refreshDigest = next.digest(cryptography)
    session.idleExpiresAt = now.adding(
      millis: policy.sessionLimits(secondFactor: session.secondFactor).idleMillis)
    let rotation = Write.rotateSession(
      id: session.id, from: digest, to: session.refreshDigest, at: now, idleExpiresAt: session.idleExpiresAt)
    return KeptSession(
      opened: OpenedSession(record: session, refreshToken: next.text(cryptography)), writes: [rotation],
      isRotated: true)
  }
}

/// A session that goes on under its id.
struct KeptSession: Sendable {
  var opened: OpenedSession
  var writes: [Write]
  /// Whether the writes move it to the token of the answer, which else it has already.
  var isRotated: Bool
}
