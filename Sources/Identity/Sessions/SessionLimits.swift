package import Store

/// How long a session lives: without a use, and in all.
package struct SessionLifetime: Hashable, Sendable {
  package var idleMillis: Int64
  package var absoluteMillis: Int64
}

extension Policy {
  /// Who showed more has more to lose: a session that passed a second factor ends sooner, never later (check 92).
  package func sessionLimits(secondFactor: String?) -> SessionLifetime {
    guard secondFactor != nil else {
      return SessionLifetime(idleMillis: sessionIdleMillis, absoluteMillis: sessionAbsoluteMillis)
    }
    return SessionLifetime(
      idleMillis: min(sessionIdleMillis, secondFactorSessionIdleMillis),
      absoluteMillis: min(sessionAbsoluteMillis, secondFactorSessionAbsoluteMillis))
  }

  /// A client refreshes when its ID token ends, which must be some time before its session has lain idle for too long.
  package func idTokenLifetimeMillis(of session: SessionRecord) -> Int64 {
    guard session.secondFactor != nil else { return idTokenLifetimeMillis }
    return min(idTokenLifetimeMillis, sessionLimits(secondFactor: session.secondFactor).idleMillis / 2)
  }
}
