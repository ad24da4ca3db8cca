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
}
