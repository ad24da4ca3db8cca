package import Store

/// Lifetimes of a session: without use, and in total.
package struct SessionLifetime: Hashable, Sendable {
  package var idleMillis: Int64
  package var absoluteMillis: Int64
}

extension Policy {
  /// Returns the lifetimes of a session. One that passed a second factor may do more, so it ends sooner, never later
  /// (check 92).
  package func sessionLimits(secondFactor: String?) -> SessionLifetime {
    guard secondFactor != nil else {
      return SessionLifetime(idleMillis: sessionIdleMillis, absoluteMillis: sessionAbsoluteMillis)
    }
    return SessionLifetime(
      idleMillis: min(sessionIdleMillis, secondFactorSessionIdleMillis),
      absoluteMillis: min(sessionAbsoluteMillis, secondFactorSessionAbsoluteMillis))
  }

  /// Returns the lifetime of an ID token in milliseconds.
  ///
  /// A client refreshes when its ID token expires, which must be well before its session has been unused for too long.
  package func idTokenLifetimeMillis(of session: SessionRecord) -> Int64 {
    guard session.secondFactor != nil else { return idTokenLifetimeMillis }
    return min(idTokenLifetimeMillis, sessionLimits(secondFactor: session.secondFactor).idleMillis / 2)
  }
}
