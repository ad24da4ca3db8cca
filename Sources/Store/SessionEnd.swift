/// Why a session was closed. Stores keep the raw value.
package enum SessionClosedReason: String, Sendable, CaseIterable {
  /// A later session of the same user continues it.
  case continued
  /// The user signed out.
  case signedOut = "signed_out"
  /// The user or an administrator ended it from elsewhere, alone or with all sessions of the account.
  case revoked
  /// A refresh token that was used before was presented again.
  case refreshReplayed = "refresh_replayed"
  /// An administrator disabled the account.
  case disabled
  /// The anonymous account became permanent (check 99).
  case becamePermanent = "became_permanent"
  case passwordChanged = "password_changed"
  case passwordReset = "password_reset"
  case emailChanged = "email_changed"
  case emailReverted = "email_reverted"
  case factorEnrolled = "factor_enrolled"
  /// An administrator removed the second factors.
  case factorsRemoved = "factors_removed"
  /// The session began with a phone number that another one replaced.
  case numberReplaced = "number_replaced"
  /// The session began with a sign-in method that was unlinked.
  case unlinked
  case merged
  /// The owner of the email address took over the account.
  case reclaimed
  /// The owner of the email address took it from the account.
  case addressClaimed = "address_claimed"
}

/// The end of a closed session.
package struct SessionEnd: Hashable, Sendable {
  package var at: Timestamp
  package var reason: SessionClosedReason

  package init(at: Timestamp, reason: SessionClosedReason) {
    self.at = at
    self.reason = reason
  }
}
