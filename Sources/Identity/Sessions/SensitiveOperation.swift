/// Operations that require a recent login (section 6). Link has its own window, `Policy.linkRecentLoginMillis`.
package enum SensitiveOperation: String, Sendable, CaseIterable {
  case changePassword = "password"
  case changeEmail = "email"
  case delete
  case unlink
  case merge
  /// Enrolment and withdrawal of a second factor.
  case changeFactors = "factor"
  case createSessionCookie = "session_cookie"
}

extension Policy {
  package func recentLoginMillis(for operation: SensitiveOperation) -> Int64 {
    recentLoginWindowsMillis[operation] ?? recentLoginMillis
  }
}
