/// One user's record.
///
/// `version` rises with every change of the account or its dependents (identities, factors), and guards each of them. A
/// decision taken on an older version is `stale` and is taken again.
package struct AccountRecord: Hashable, Sendable {
  package var id: String
  package var version: Int64 = 1
  package var emailAddress: EmailAddress?
  /// When the account's unverified address became verified. nil: there was no such time, for example because the
  /// address was verified from the start.
  ///
  /// Before this time, the owner of the mailbox may not have known of the account. A password reset therefore removes
  /// the sign-in methods that are older. The time concerns those methods, so it outlives a change of the address.
  package var emailVerifiedAt: Timestamp?
  /// E.164. Unique over all accounts where present.
  package var phoneNumber: String?
  package var phoneNumberSetAt: Timestamp?
  package var displayName = ""
  package var photoURL = ""
  /// A JSON object, or empty.
  package var customClaimsJSON = ""
  /// PHC string; nil: the account has no password.
  package var passwordHash: String?
  package var passwordSetAt: Timestamp?
  /// Whether the user can sign in with an emailed link.
  package var emailLink = false
  /// Whether the account was ever signed in to with a custom token. The issuer of that token can issue another one at
  /// any time.
  package var customToken = false
  package var anonymous = false
  package var disabled = false
  package var madeByAdministrator = false
  /// Custom tokens issued before this time are rejected.
  package var tokensValidAfter: Timestamp?
  package var createdAt: Timestamp
  package var lastSignInAt: Timestamp?

  package init(id: String, createdAt: Timestamp) {
    self.id = id
    self.createdAt = createdAt
  }

  package var email: String? { emailAddress?.text }
  package var emailVerified: Bool { emailAddress?.verification != nil }
}

/// A linked provider identity.
package struct IdentityRecord: Hashable, Sendable {
  package var key: IdentityKey
  package var accountID: String
  /// The email address last asserted. `tier` is its trust at that time.
  package var email: String?
  package var tier: TrustTier
  package var displayName: String
  package var photoURL: String
  package var username: String
  package var linkedAt: Timestamp
  /// The key of a passkey with what belongs to it, as a packed message. nil: the identity is of a provider.
  package var passkey: [UInt8]?
  /// By what the provider identifies the user while an application moves to another team. An administrator sets it.
  /// Unique for each provider. nil: none.
  package var transferSubject: String?

  package init(assertion: Assertion, accountID: String, linkedAt: Timestamp) {
    key = assertion.identity
    self.accountID = accountID
    email = assertion.email
    tier = assertion.tier
    displayName = assertion.displayName
    photoURL = assertion.photoURL
    username = assertion.username
    passkey = assertion.passkey
    self.linkedAt = linkedAt
  }
}

package enum FactorKind: String, Sendable, CaseIterable {
  case totp
  case phone
  case recoveryCode = "recovery_code"
  case passkey

  /// What the factor adds to the methods of a session: values of `amr` (RFC 8176, which has none for recovery codes).
  package var methods: [String] {
    switch self {
    case .totp: ["otp", "mfa"]
    case .phone: ["sms", "mfa"]
    case .recoveryCode: ["recovery_code", "mfa"]
    // Whether the key is in hardware or software is not recorded for factors.
    case .passkey: ["pop", "mfa"]
    }
  }
}

/// An enrolled second factor.
package struct FactorRecord: Hashable, Sendable {
  package var id: String
  package var accountID: String
  package var kind: FactorKind
  package var displayName: String
  package var phoneNumber: String?
  /// TOTP factor: its secret and the last step used. Recovery codes: the digests of the unused ones. Passkey: its key.
  package var sealedSecret: [UInt8]
  package var enrolledAt: Timestamp

  package init(
    id: String, accountID: String, kind: FactorKind, displayName: String = "", phoneNumber: String? = nil,
    sealedSecret: [UInt8] = [], enrolledAt: Timestamp
  ) {
    self.id = id
    self.accountID = accountID
    self.kind = kind
    self.displayName = displayName
    self.phoneNumber = phoneNumber
    self.sealedSecret = sealedSecret
    self.enrolledAt = enrolledAt
  }
}

/// An identity that was unlinked, by any user or administrator. The record keeps `auto_link` from linking it again.
package struct UnlinkRecord: Hashable, Sendable {
  package var accountID: String
  package var key: IdentityKey
  package var at: Timestamp

  package init(accountID: String, key: IdentityKey, at: Timestamp) {
    self.accountID = accountID
    self.key = key
    self.at = at
  }
}

/// One opened session. Its tokens are valid while the row is open.
package struct SessionRecord: Hashable, Sendable {
  package var id: String
  package var accountID: String
  package var caller: CallerName
  /// SHA-256 of the current refresh token.
  package var refreshDigest: Digest
  /// SHA-256 of the previous refresh token, which stays valid for a few seconds after `rotatedAt`.
  package var parentDigest: Digest?
  package var rotatedAt: Timestamp?
  package var authTime: Timestamp
  /// The sign-in method used last: at the sign-in, or in a later link.
  package var signInProviderID: String
  /// The sign-in method used at the sign-in. Never changes.
  package var beganWith: String
  package var methods: [String]
  /// The kind of the second factor that the user passed, and the id of that factor.
  package var secondFactor: String?
  package var secondFactorID: String?
  package var audience: String
  /// The session claims of the custom token that opened the session: a JSON object, or empty.
  package var claimsJSON = ""
  package var createdAt: Timestamp
  package var lastUsedAt: Timestamp
  package var idleExpiresAt: Timestamp
  package var expiresAt: Timestamp
  /// nil: the session is open, or past its time.
  package var closed: SessionEnd?
  package var ipAddress = ""
  package var userAgent = ""
  package var deviceID = ""

  package init(
    id: String, accountID: String, caller: CallerName, refreshDigest: Digest, authTime: Timestamp,
    signInProviderID: String, methods: [String], secondFactor: String? = nil, audience: String, createdAt: Timestamp,
    idleExpiresAt: Timestamp, expiresAt: Timestamp
  ) {
    self.id = id
    self.accountID = accountID
    self.caller = caller
    self.refreshDigest = refreshDigest
    self.authTime = authTime
    self.signInProviderID = signInProviderID
    beganWith = signInProviderID
    self.methods = methods
    self.secondFactor = secondFactor
    self.audience = audience
    self.createdAt = createdAt
    lastUsedAt = createdAt
    self.idleExpiresAt = idleExpiresAt
    self.expiresAt = expiresAt
  }

  package func isOpen(at now: Timestamp) -> Bool { closed == nil && now < idleExpiresAt && now < expiresAt }
}

// The stored form of a session.
extension SessionRecord {
  /// The earliest of the session's close, idle and absolute end.
  package var endsAt: Timestamp { closed?.at ?? min(idleExpiresAt, expiresAt) }

  /// The method names (RFC 8176), one per line. The names are ours and hold no line end. An empty list therefore
  /// differs from an empty name.
  package var methodLines: String { SessionRecord.lines(methods) }

  package static func lines(_ methods: [String]) -> String { methods.map { $0 + "\n" }.joined() }

  package static func methods(fromLines lines: String) -> [String] {
    lines.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
      .map { String(Substring($0)) }
  }
}

/// What remains of a removed account.
///
/// The id is not assigned again, unless an administrator frees it. If a merge closed the account, the record also names
/// the account that received its contents.
package struct ClosedAccountRecord: Hashable, Sendable {
  package var id: String
  /// Empty: the account was not merged.
  package var survivorID: String
  package var movedProviderIDs: [String]
  package var closedAt: Timestamp
  /// When an administrator freed the id. A new account may have it, with a cut-off of tokens at this time or later.
  package var forgottenAt: Timestamp?

  package init(id: String, survivorID: String = "", movedProviderIDs: [String] = [], closedAt: Timestamp) {
    self.id = id
    self.survivorID = survivorID
    self.movedProviderIDs = movedProviderIDs
    self.closedAt = closedAt
  }
}

/// The result of a call under an idempotency key. It contains tokens only in sealed form, and no digest that an
/// attacker could guess.
package struct IdempotencyRecord: Hashable, Sendable {
  /// HMAC of caller, method and key.
  package var key: Digest
  /// HMAC of the request.
  package var request: Digest
  package var outcome: String
  package var accountID: String
  package var sessionID: String?
  package var createdAt: Timestamp
  package var expiresAt: Timestamp

  package init(
    key: Digest, request: Digest, outcome: String, accountID: String, sessionID: String?, createdAt: Timestamp,
    expiresAt: Timestamp
  ) {
    self.key = key
    self.request = request
    self.outcome = outcome
    self.accountID = accountID
    self.sessionID = sessionID
    self.createdAt = createdAt
    self.expiresAt = expiresAt
  }
}

/// A security-relevant change, written in the transaction of that change.
///
/// Watchers receive the same record as an event, so there is no second copy to keep consistent.
package struct AuditRecord: Hashable, Sendable {
  /// The position among all audit rows. The store assigns it when it writes the row; it is 0 before.
  ///
  /// A row that becomes visible later never has a smaller position than a visible one, or a watcher would miss it. A
  /// backend with one writer simply counts. A backend with many writers must number the rows in one place after their
  /// commit. A sequence would not do: transactions draw its values in another order than they commit in.
  package var position: Int64 = 0
  /// Random, time-ordered.
  package var id: String
  package var at: Timestamp
  package var accountID: String
  /// A stable name such as `ACCOUNT_CREATED` or `RECLAIMED`.
  package var event: String
  package var caller: CallerName
  /// A JSON object without secrets.
  package var detailsJSON: String

  package init(
    id: String, at: Timestamp, accountID: String, event: String, caller: CallerName, detailsJSON: String = "{}"
  ) {
    self.id = id
    self.at = at
    self.accountID = accountID
    self.event = event
    self.caller = caller
    self.detailsJSON = detailsJSON
  }
}

/// A key that signs our tokens. The private part is sealed.
package struct SigningKeyRecord: Hashable, Sendable {
  package var keyID: String
  package var algorithm: String
  package var sealedPrivateKey: [UInt8]
  package var publishedAt: Timestamp
  package var activeFrom: Timestamp
  package var retiredAt: Timestamp?

  package init(
    keyID: String, algorithm: String, sealedPrivateKey: [UInt8], publishedAt: Timestamp, activeFrom: Timestamp,
    retiredAt: Timestamp? = nil
  ) {
    self.keyID = keyID
    self.algorithm = algorithm
    self.sealedPrivateKey = sealedPrivateKey
    self.publishedAt = publishedAt
    self.activeFrom = activeFrom
    self.retiredAt = retiredAt
  }
}

/// A key that a former service used to hash passwords. Sealed. Imported hashes refer to it by its id.
package struct ImportKeyRecord: Hashable, Sendable {
  package var id: String
  package var sealedKey: [UInt8]
  package var createdAt: Timestamp

  package init(id: String, sealedKey: [UInt8], createdAt: Timestamp) {
    self.id = id
    self.sealedKey = sealedKey
    self.createdAt = createdAt
  }
}
