/// One person's record. `version` rises with every change of the account or of what hangs on it (identities, factors),
/// and guards each of them: a decision taken on an older version is `stale` and is taken again.
package struct AccountRecord: Hashable, Sendable {
  package var id: String
  package var version: Int64 = 1
  /// Normalised. Unique over all accounts where present.
  package var email: String?
  /// nil: nobody has proved the address.
  package var emailProof: EmailProof?
  /// When an address that the account had held unproved was proved: until then its mailbox's owner may have known
  /// nothing of the account, so that a reset drops ways in that are older. nil: there was no such time, as for an
  /// address that came with its proof.
  package var emailProvedAt: Timestamp?
  /// The provider whose assertion proved it, where `emailProof` is `.assertion`.
  package var emailProofProviderID: String?
  /// Who brought the address: a provider id, or "password". Decides whether an unlink takes the address along.
  package var emailSource: String?
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
  /// Whether this account signs in by a mailed link.
  package var emailLink = false
  /// Whether it was ever signed in to by a custom token: who vouched for it then can do so again at any time.
  package var customToken = false
  package var anonymous = false
  package var disabled = false
  package var madeByAdministrator = false
  /// Custom tokens issued before this moment are refused.
  package var tokensValidAfter: Timestamp?
  package var createdAt: Timestamp
  package var lastSignInAt: Timestamp?

  package init(id: String, createdAt: Timestamp) {
    self.id = id
    self.createdAt = createdAt
  }

  package var emailProved: Bool { emailProof != nil }
}

/// A linked way of signing in at a provider.
package struct IdentityRecord: Hashable, Sendable {
  package var key: IdentityKey
  package var accountID: String
  /// The address last asserted, with its tier then.
  package var email: String?
  package var tier: TrustTier
  package var displayName: String
  package var photoURL: String
  package var username: String
  package var linkedAt: Timestamp

  package init(assertion: Assertion, accountID: String, linkedAt: Timestamp) {
    key = assertion.identity
    self.accountID = accountID
    email = assertion.email
    tier = assertion.tier
    displayName = assertion.displayName
    photoURL = assertion.photoURL
    username = assertion.username
    self.linkedAt = linkedAt
  }
}

package enum FactorKind: String, Sendable, CaseIterable {
  case totp
  case phone
  case recoveryCode = "recovery_code"
}

/// An enrolled second factor.
package struct FactorRecord: Hashable, Sendable {
  package var id: String
  package var accountID: String
  package var kind: FactorKind
  package var displayName: String
  package var phoneNumber: String?
  /// Of a TOTP factor its secret and the last step used, of recovery codes the digests of those that are left.
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

/// An identity that was unlinked, by whomever, so that `auto_link` does not undo it.
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

/// One opened session. A token is good while its row is open.
package struct SessionRecord: Hashable, Sendable {
  package var id: String
  package var accountID: String
  package var caller: CallerName
  /// SHA-256 of the refresh token that is good now.
  package var refreshDigest: Digest
  /// SHA-256 of the one before it; good for a few seconds after `rotatedAt`.
  package var parentDigest: Digest?
  package var rotatedAt: Timestamp?
  package var authTime: Timestamp
  /// What was shown last: at the sign-in, or in a link since.
  package var signInProviderID: String
  /// What was shown at the sign-in, and stays so.
  package var beganWith: String
  package var methods: [String]
  /// The kind of the second factor that it showed, and which one of the account's that was.
  package var secondFactor: String?
  package var secondFactorID: String?
  package var audience: String
  /// What the custom token that opened it says of this session: a JSON object, or empty.
  package var claimsJSON = ""
  package var createdAt: Timestamp
  package var lastUsedAt: Timestamp
  package var idleExpiresAt: Timestamp
  package var expiresAt: Timestamp
  package var closedAt: Timestamp?
  package var closedReason: String?
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

  package func isOpen(at now: Timestamp) -> Bool { closedAt == nil && now < idleExpiresAt && now < expiresAt }
}

// How a backend keeps it.
extension SessionRecord {
  /// When it is over whatever the reason: closed, idle or at its absolute end.
  package var endsAt: Timestamp { closedAt ?? min(idleExpiresAt, expiresAt) }

  /// Method names (RFC 8176) are ours and hold no line end: one line each, so that no list and an empty name differ.
  package var methodLines: String { SessionRecord.lines(methods) }

  package static func lines(_ methods: [String]) -> String { methods.map { $0 + "\n" }.joined() }

  package static func methods(fromLines lines: String) -> [String] {
    lines.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
      .map { String(Substring($0)) }
  }
}

/// What is left of an account that was removed: its id, which is never given again, and where a merge closed it, who
/// has what it had.
package struct ClosedAccountRecord: Hashable, Sendable {
  package var id: String
  /// Empty: nobody has.
  package var survivorID: String
  package var movedProviderIDs: [String]
  package var closedAt: Timestamp

  package init(id: String, survivorID: String = "", movedProviderIDs: [String] = [], closedAt: Timestamp) {
    self.id = id
    self.survivorID = survivorID
    self.movedProviderIDs = movedProviderIDs
    self.closedAt = closedAt
  }
}

package enum PendingPurpose: String, Sendable, CaseIterable {
  case link
  case secondFactor = "second_factor"
  case credentialInUse = "credential_in_use"
  /// The state of a flow through a provider's pages.
  case flow
  /// A second factor that its person has not proved to have yet.
  case enrollment
  // Codes that were sent: to a telephone, or as a mailed link.
  case phoneCode = "phone_code"
  case emailLink = "email_link"
  /// Of an account that is yet to be made.
  case signUp = "sign_up"
  case verifyEmail = "verify_email"
  case resetPassword = "reset_password"
  case changeEmail = "change_email"
  /// The way back from a change of address, mailed to the old one.
  case revertEmail = "revert_email"

  /// Whether it is the assertion of somebody's credential that waits in such a row.
  package var holdsAssertion: Bool { [.link, .secondFactor, .credentialInUse].contains(self) }
}

/// One held assertion, flow, code or enrolment: the row of the pending-credential table.
package struct PendingRecord: Hashable, Sendable {
  /// SHA-256 of the handle; the handle itself is only ever with the client.
  package var digest: Digest
  package var version: Int64 = 1
  package var purpose: PendingPurpose
  package var identity: IdentityKey
  package var email: String?
  package var tier: TrustTier
  /// The account found: the one whose address met, or that owns the identity. Empty for a flow, which has found none;
  /// such rows are counted by caller and purpose, and by no account.
  package var accountID: String
  package var caller: CallerName
  package var binding: Digest?
  /// Random per attempt, so that proofs of one attempt cannot complete another.
  package var attemptID: String
  /// The assertion and what the call asked for, AES-256-GCM under a key that is not in the database.
  package var sealed: [UInt8]
  package var createdAt: Timestamp
  package var expiresAt: Timestamp
  package var attemptsLeft: Int
  /// Set by the one successful completion, so that a repeated one answers the same.
  package var completedAt: Timestamp?
  package var completedAccountID: String?
  package var completedSessionID: String?
  /// A keyed digest of the widest network of the client that asked for it. Nil: the caller named no address. When the
  /// caller's places are full, the network that has most of them makes room.
  package var network: Digest?

  package init(
    digest: Digest, purpose: PendingPurpose, identity: IdentityKey, email: String?, tier: TrustTier, accountID: String,
    caller: CallerName, binding: Digest?, attemptID: String, sealed: [UInt8], createdAt: Timestamp,
    expiresAt: Timestamp, attemptsLeft: Int
  ) {
    self.digest = digest
    self.purpose = purpose
    self.identity = identity
    self.email = email
    self.tier = tier
    self.accountID = accountID
    self.caller = caller
    self.binding = binding
    self.attemptID = attemptID
    self.sealed = sealed
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.attemptsLeft = attemptsLeft
  }
}

extension PendingRecord {
  /// What waits for minutes does not outlive a correction of the clock that dated it. The proof of an address and the
  /// way back wait for days, and stay: without the way back, a thief would keep the address.
  package func isExpired(at now: Timestamp) -> Bool {
    let outlivesCorrection = purpose == .verifyEmail || purpose == .revertEmail
    return now >= expiresAt || (createdAt.isAhead(of: now) && !outlivesCorrection)
  }
}

/// What a call under an idempotency key did. No token but under a seal, and no digest that could be guessed at.
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
/// It is the event that watchers are told as well, so that there is no second copy to keep in step.
package struct AuditRecord: Hashable, Sendable {
  /// Where it stands among all of them; given by the store when it is written, 0 before.
  ///
  /// No row that becomes visible later stands before one that is visible already, or a watcher would pass it over. One
  /// writer simply counts. A backend with many has to number the rows after they were committed, in one place, since a
  /// sequence that each transaction draws from is drawn in another order than the transactions end in.
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

/// A key that signs our tokens; the private part is sealed.
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

/// A key that a former service hashed passwords with: imported hashes name it by its id; sealed.
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
