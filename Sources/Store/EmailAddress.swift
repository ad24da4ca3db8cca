/// How an email address was verified.
package enum EmailVerification: Hashable, Sendable {
  /// This provider asserted it at tier verified or authoritative.
  case assertion(providerID: String)
  /// The user followed a sign-in or sign-up link.
  case emailLink
  /// The user confirmed an emailed code inside a session of the account.
  case confirmation
  /// The user reset the password through the mailbox.
  case reset
  /// An administrator marked the address as verified.
  case administrator
}

// The stored form of a verification: two columns.
extension EmailVerification {
  package var kind: EmailVerificationKind {
    switch self {
    case .assertion: .assertion
    case .emailLink: .emailLink
    case .confirmation: .confirmation
    case .reset: .reset
    case .administrator: .administrator
    }
  }

  package var providerID: String? {
    guard case .assertion(let providerID) = self else { return nil }
    return providerID
  }

  /// Returns nil for an assertion without its provider.
  package init?(_ kind: EmailVerificationKind, providerID: String?) {
    switch kind {
    case .assertion:
      guard let providerID else { return nil }
      self = .assertion(providerID: providerID)
    case .emailLink: self = .emailLink
    case .confirmation: self = .confirmation
    case .reset: self = .reset
    case .administrator: self = .administrator
    }
  }
}

/// A verification without its provider. Stores keep the raw value.
package enum EmailVerificationKind: String, Sendable, CaseIterable {
  case assertion
  case emailLink = "email_link"
  case confirmation
  case reset
  case administrator

  /// An SQL condition: an assertion has its provider.
  package static let providerCheck = """
    email_verification IS NULL OR email_verification <> '\(assertion.rawValue)' \
    OR email_verification_provider_id IS NOT NULL
    """
}

/// The email address of an account.
package struct EmailAddress: Hashable, Sendable {
  /// Normalised. Unique over all accounts.
  package var text: String
  /// A provider id, or "password"; nil: none of the account's sign-in methods. Decides whether an unlink removes the
  /// address too.
  package var source: String?
  /// nil: the address is unverified.
  package var verification: EmailVerification?

  package init(_ text: String, source: String? = nil, verification: EmailVerification? = nil) {
    self.text = text
    self.source = source
    self.verification = verification
  }
}
