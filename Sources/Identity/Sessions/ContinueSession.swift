import Store

extension Environment {
  /// A session for the same login as `old`, with a new id and a new refresh token: after what it may do has changed
  /// (check 99). Nothing was proved anew, so neither `auth_time` nor the absolute end moves.
  func continueSession(_ old: SessionRecord, call: CallFacts, now: Timestamp) -> OpenedSession {
    let first = FirstFactor(signInProviderID: old.signInProviderID, methods: old.methods, claimsJSON: old.claimsJSON)
    var opened = openSession(
      accountID: old.accountID, by: first, secondFactor: old.secondFactor, call: call, now: now)
    opened.record.authTime = old.authTime
    opened.record.expiresAt = old.expiresAt
    return opened
  }
}
