import Store

// Each record with the columns that it is read from, in the same order.

/// An account's own row, with the number of its dependents.
struct AccountRow {
  static let columns = """
    a.number, a.id, a.version, a.email, a.email_verification, a.email_verification_provider_id, a.email_source, \
    a.phone_number, \
    a.display_name, a.photo_url, a.custom_claims, a.password_hash, a.password_set_at, a.email_link, a.custom_token, \
    a.anonymous, a.disabled, a.made_by_administrator, a.tokens_valid_after, a.created_at, \
    a.last_sign_in_at, (SELECT max(signed_in_at) FROM sessions WHERE account_id = a.id), \
    a.email_verified_at, a.phone_number_set_at, a.identity_count, a.factor_count, a.unlink_count
    """
  let number: Int64
  let account: AccountRecord
  let identityCount: Int
  let factorCount: Int
  let unlinkCount: Int

  init(_ row: Statement) throws(SQLiteError) {
    number = row.int64()
    var account = AccountRecord(id: row.text(), createdAt: Timestamp(millis: 0))
    account.version = row.int64()
    account.email = row.optionalText()
    account.emailProof = try row.optionalName()
    account.emailProofProviderID = row.optionalText()
    account.emailSource = row.optionalText()
    account.phoneNumber = row.optionalText()
    account.displayName = row.text()
    account.photoURL = row.text()
    account.customClaimsJSON = row.text()
    account.passwordHash = row.optionalText()
    account.passwordSetAt = row.optionalTimestamp()
    account.emailLink = row.bool()
    account.customToken = row.bool()
    account.anonymous = row.bool()
    account.disabled = row.bool()
    account.madeByAdministrator = row.bool()
    account.tokensValidAfter = row.optionalTimestamp()
    account.createdAt = row.timestamp()
    let (noted, toldBySessions) = (row.optionalTimestamp(), row.optionalTimestamp())
    account.lastSignInAt = [noted, toldBySessions].compactMap(\.self).max()
    account.emailVerifiedAt = row.optionalTimestamp()
    account.phoneNumberSetAt = row.optionalTimestamp()
    self.account = account
    identityCount = row.int()
    factorCount = row.int()
    unlinkCount = row.int()
  }
}

/// One identity of an account with the account's own sign-in methods, or only those if it has no identity.
struct SignInMethodsRow {
  static let columns = """
    a.password_hash IS NOT NULL, a.email_link, a.email_verification IS NOT NULL, a.phone_number IS NOT NULL, \
    CASE WHEN a.phone_number IS NULL OR a.factor_count = 0 THEN 0 ELSE coalesce(( \
      SELECT min(kind = 'phone') FROM factors WHERE account_number = a.number AND kind <> 'recovery_code'), 0) END, \
    i.provider_id, i.linked_at
    """
  let record: SignInMethodsRecord
  let providerID: String?
  let linkedAt: Int64

  init(_ row: Statement) throws(SQLiteError) {
    record = SignInMethodsRecord(
      hasPassword: row.bool(), emailLink: row.bool(), emailVerified: row.bool(), hasPhoneNumber: row.bool(),
      hasOnlyPhoneFactors: row.bool())
    providerID = row.optionalText()
    linkedAt = row.int64()
  }
}

extension IdentityRecord {
  static let columns = """
    provider_id, subject, email, tier, display_name, photo_url, username, linked_at
    """

  init(_ row: Statement, of accountID: String) throws(SQLiteError) {
    let assertion = Assertion(
      identity: row.identityKey(), email: row.optionalText(), tier: try row.tier(), displayName: row.text(),
      photoURL: row.text(), username: row.text())
    self.init(assertion: assertion, accountID: accountID, linkedAt: row.timestamp())
  }
}

extension FactorRecord {
  static let columns = "id, kind, display_name, phone_number, sealed_secret, enrolled_at"

  init(_ row: Statement, of accountID: String) throws(SQLiteError) {
    self.init(
      id: row.text(), accountID: accountID, kind: try row.name(), displayName: row.text(),
      phoneNumber: row.optionalText(), sealedSecret: row.bytes(), enrolledAt: row.timestamp())
  }
}

extension UnlinkRecord {
  static let columns = "provider_id, subject, unlinked_at"

  init(_ row: Statement, of accountID: String) {
    self.init(accountID: accountID, key: row.identityKey(), at: row.timestamp())
  }
}

extension SessionRecord {
  static let columns = """
    id, account_id, caller, refresh_digest, auth_time, sign_in_provider_id, methods, second_factor, audience, \
    created_at, idle_expires_at, expires_at, parent_digest, rotated_at, last_used_at, closed_at, closed_reason, \
    ip_address, user_agent, device_id, claims_json, second_factor_id, began_with
    """

  init(_ row: Statement) throws(SQLiteError) {
    self.init(
      id: row.text(), accountID: row.text(), caller: CallerName(row.text()), refreshDigest: try row.digest(),
      authTime: row.timestamp(), signInProviderID: row.text(), methods: SessionRecord.methods(fromLines: row.text()),
      secondFactor: row.optionalText(), audience: row.text(), createdAt: row.timestamp(),
      idleExpiresAt: row.timestamp(), expiresAt: row.timestamp())
    parentDigest = try row.optionalDigest()
    rotatedAt = row.optionalTimestamp()
    lastUsedAt = row.timestamp()
    closedAt = row.optionalTimestamp()
    closedReason = row.optionalText()
    ipAddress = row.text()
    userAgent = row.text()
    deviceID = row.text()
    claimsJSON = row.text()
    secondFactorID = row.optionalText()
    beganWith = row.text()
  }
}

extension PendingRecord {
  static let columns = """
    digest, purpose, provider_id, subject, email, tier, account_id, caller, binding, attempt_id, sealed, created_at, \
    expires_at, attempts_left, version, completed_at, completed_account_id, completed_session_id, network
    """

  init(_ row: Statement) throws(SQLiteError) {
    self.init(
      digest: try row.digest(), purpose: try row.name(), identity: row.identityKey(), email: row.optionalText(),
      tier: try row.tier(), accountID: row.text(), caller: CallerName(row.text()), binding: try row.optionalDigest(),
      attemptID: row.text(), sealed: row.bytes(), createdAt: row.timestamp(), expiresAt: row.timestamp(),
      attemptsLeft: row.int())
    version = row.int64()
    completedAt = row.optionalTimestamp()
    completedAccountID = row.optionalText()
    completedSessionID = row.optionalText()
    network = try row.optionalDigest()
  }
}

extension IdempotencyRecord {
  static let columns = "key, request, outcome, account_id, session_id, created_at, expires_at"

  init(_ row: Statement) throws(SQLiteError) {
    self.init(
      key: try row.digest(), request: try row.digest(), outcome: row.text(), accountID: row.text(),
      sessionID: row.optionalText(), createdAt: row.timestamp(), expiresAt: row.timestamp())
  }
}

extension AuditRecord {
  static let columns = "position, id, at, account_id, event, caller, details"

  init(_ row: Statement) throws(SQLiteError) {
    let position = row.int64()
    self.init(
      id: row.text(), at: row.timestamp(), accountID: row.text(), event: row.text(), caller: CallerName(row.text()),
      detailsJSON: row.text())
    self.position = position
  }
}

extension ThrottleRecord {
  static let columns = "key, count, since, blocks, blocked_until, expires_at"

  init(_ row: Statement) throws(SQLiteError) {
    self.init(
      key: try row.digest(), count: row.int(), since: row.timestamp(), blocks: row.int(),
      blockedUntil: row.optionalTimestamp(), expiresAt: row.timestamp())
  }
}

extension DeliveryRecord {
  static let columns = """
    id, channel, kind, sealed, created_at, expires_at, attempts, next_attempt_at, buried_at, buried_reason, kept_until,
    priority, merge_key
    """

  init(_ row: Statement) throws(SQLiteError) {
    self.init(
      id: row.text(), channel: try row.name(), kind: row.text(), sealed: row.bytes(), createdAt: row.timestamp(),
      expiresAt: row.timestamp())
    attempts = row.int()
    nextAttemptAt = row.timestamp()
    buriedAt = row.optionalTimestamp()
    buriedReason = row.optionalText()
    keptUntil = row.optionalTimestamp()
    priority = DeliveryPriority(rawValue: row.int()) ?? .code
    mergeKey = try row.optionalDigest()
  }
}

extension SigningKeyRecord {
  static let columns = "key_id, algorithm, sealed_private_key, published_at, active_from, retired_at"

  init(_ row: Statement) throws(SQLiteError) {
    self.init(
      keyID: row.text(), algorithm: row.text(), sealedPrivateKey: row.bytes(), publishedAt: row.timestamp(),
      activeFrom: row.timestamp(), retiredAt: row.optionalTimestamp())
  }
}

extension ClosedAccountRecord {
  static let columns = "id, survivor_id, moved_provider_ids, closed_at"

  init(_ row: Statement) {
    self.init(
      id: row.text(), survivorID: row.text(), movedProviderIDs: row.text().split(separator: ",").map(String.init),
      closedAt: row.timestamp())
  }
}

extension IdleAccount {
  static let columns = """
    a.id, a.version, (SELECT max(last_used_at) FROM sessions WHERE account_id = a.id)
    """

  init(_ row: Statement) { self.init(id: row.text(), version: row.int64(), lastUsedAt: row.optionalTimestamp()) }
}

extension ImportKeyRecord {
  static let columns = "id, sealed_key, created_at"

  init(_ row: Statement) { self.init(id: row.text(), sealedKey: row.bytes(), createdAt: row.timestamp()) }
}

extension Statement {
  fileprivate func identityKey() -> IdentityKey { IdentityKey(providerID: text(), subject: text()) }

  fileprivate func tier() throws(SQLiteError) -> TrustTier {
    let number = int()
    guard let tier = TrustTier(rawValue: number) else { throw .corrupt("\(number) is not a tier") }
    return tier
  }

  fileprivate func name<Kind: RawRepresentable<String>>() throws(SQLiteError) -> Kind {
    let text = text()
    guard let value = Kind(rawValue: text) else { throw .corrupt("'\(text)' is not a \(Kind.self)") }
    return value
  }

  fileprivate func optionalName<Kind: RawRepresentable<String>>() throws(SQLiteError) -> Kind? {
    guard let text = optionalText() else { return nil }
    guard let value = Kind(rawValue: text) else { throw .corrupt("'\(text)' is not a \(Kind.self)") }
    return value
  }
}
