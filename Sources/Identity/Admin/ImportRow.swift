package import Store

/// An account of another service, as that service describes it. Every text is within its limit, and email addresses are
/// normalised.
package struct ImportRow: Hashable, Sendable {
  package struct Identity: Hashable, Sendable {
    package var key: IdentityKey
    package var email: String?
    package var displayName: String
    package var photoURL: String
    package var passkey: Passkey?

    package init(key: IdentityKey, email: String?, displayName: String, photoURL: String) {
      self.key = key
      self.email = email
      self.displayName = displayName
      self.photoURL = photoURL
    }
  }

  package struct PhoneFactor: Hashable, Sendable {
    /// nil: a new one is made.
    package var id: String?
    package var phoneNumber: String
    package var displayName: String
    package var enrolledAt: Timestamp?

    package init(id: String?, phoneNumber: String, displayName: String, enrolledAt: Timestamp?) {
      self.id = id
      self.phoneNumber = phoneNumber
      self.displayName = displayName
      self.enrolledAt = enrolledAt
    }
  }

  package struct PasskeyFactor: Hashable, Sendable {
    /// nil: a new one is made.
    package var id: String?
    package var passkey: Passkey
    package var displayName: String
    package var enrolledAt: Timestamp?

    package init(id: String?, passkey: Passkey, displayName: String, enrolledAt: Timestamp?) {
      self.id = id
      self.passkey = passkey
      self.displayName = displayName
      self.enrolledAt = enrolledAt
    }
  }

  /// nil: a new one is made.
  package var id: String?
  package var email: String?
  /// Whether the former service states that it verified the email address.
  package var emailVerified = false
  package var phoneNumber: String?
  package var displayName = ""
  package var photoURL = ""
  package var disabled = false
  /// In the text form that the `Passwords` port verifies.
  package var passwordHash: String?
  package var createdAt: Timestamp?
  package var lastSignInAt: Timestamp?
  package var customClaimsJSON = ""
  package var identities: [Identity] = []
  package var phoneFactors: [PhoneFactor] = []
  package var passkeyFactors: [PasskeyFactor] = []

  package init() {}
}

/// Result of one row.
package enum ImportVerdict: Hashable, Sendable {
  case imported
  /// The account exists as the row describes it: an earlier run imported it.
  case unchanged
  case refused(Failure)
}

// MARK: duplicates in a batch

/// Identifiers that the rows of a batch have used so far. Of two rows with the same identifier, the first is imported.
struct ImportClaims {
  private var ids: Set<String> = []
  private var emails: Set<String> = []
  private var numbers: Set<String> = []
  private var identities: Set<IdentityKey> = []

  /// Claims the identifiers of a row. Returns why an earlier row conflicts with it, or nil.
  mutating func claim(_ row: ImportRow) -> Failure? {
    let keys = row.identities.map(\.key)
    if let id = row.id, ids.contains(id) { return .importTwice("account_id") }
    if let email = row.email, emails.contains(email) {
      return Failure(.emailAlreadyInUse, field: "email", hint: "An earlier row has this email address.")
    }
    if let number = row.phoneNumber, numbers.contains(number) { return .importTwice("phone_number") }
    if keys.contains(where: identities.contains) || Set(keys).count < keys.count { return .importTwice("providers") }
    if let id = row.id { ids.insert(id) }
    if let email = row.email { emails.insert(email) }
    if let number = row.phoneNumber { numbers.insert(number) }
    identities.formUnion(keys)
    return nil
  }
}

extension Failure {
  fileprivate static func importTwice(_ field: String) -> Failure {
    let reason = field == "account_id" ? Failure.Reason.invalidField : .providerAlreadyLinked
    return Failure(reason, field: field, hint: "An earlier row has the same value.")
  }
}
