import Store

// Each record with the columns that it is read from, in the same order.

extension AccountRecord {
  static let columns = """
    a.id, a.version, a.email, a.email_verification, a.email_verification_provider_id, a.email_source, a.phone_number, \
    a.display_name, a.photo_url, a.custom_claims, a.password_hash, a.password_set_at, a.email_link, a.custom_token, \
    a.anonymous, a.disabled, a.made_by_administrator, a.tokens_valid_after, a.created_at, a.last_sign_in_at, \
    a.email_verified_at, a.phone_number_set_at
    """

  init(_ row: QueryResult) throws(RequestError) {
    self.init(id: row.text(), createdAt: Timestamp(millis: 0))
    version = try row.int64()
    email = row.optionalText()
    emailProof = try row.optionalName()
    emailProofProviderID = row.optionalText()
    emailSource = row.optionalText()
    phoneNumber = row.optionalText()
    displayName = row.text()
    photoURL = row.text()
    customClaimsJSON = row.text()
    passwordHash = row.optionalText()
    passwordSetAt = try row.optionalTimestamp()
    emailLink = try row.bool()
    customToken = try row.bool()
    anonymous = try row.bool()
    disabled = try row.bool()
    madeByAdministrator = try row.bool()
    tokensValidAfter = try row.optionalTimestamp()
    createdAt = try row.timestamp()
    lastSignInAt = try row.optionalTimestamp()
    emailVerifiedAt = try row.optionalTimestamp()
    phoneNumberSetAt = try row.optionalTimestamp()
  }
}

extension SignInMethodsRecord {
  /// One row for each identity of an account, or one row if it has none.
  static let columns = """
    a.password_hash IS NOT NULL, a.email_link, a.email_verification IS NOT NULL, a.phone_number IS NOT NULL, \
    CASE WHEN a.phone_number IS NULL THEN false ELSE coalesce(( \
      SELECT bool_and(kind = 'phone') FROM factors WHERE account_id = a.id AND kind <> 'recovery_code'), false) END, \
    i.provider_id
    """

  /// nil: there is no row.
  init?(rows row: QueryResult) throws(RequestError) {
    guard row.step() else { return nil }
    self.init(
      hasPassword: try row.bool(), emailLink: try row.bool(), emailVerified: try row.bool(),
      hasPhoneNumber: try row.bool(), hasOnlyPhoneFactors: try row.bool())
    if let providerID = row.optionalText() { providerIDs.append(providerID) }
    while row.step() {
      for _ in 0..<5 { _ = try row.bool() }
      providerIDs.append(row.text())
    }
  }
}

/// A dependent of an account. Rows of three tables have one shape, so that one statement reads them all.
enum DependentRow {
  case identity(IdentityRecord)
  case factor(FactorRecord)
  case unlink(UnlinkRecord)

  private static let identityPart: Int64 = 1
  private static let factorPart: Int64 = 2
  private static let unlinkPart: Int64 = 3

  /// Selects the dependents of the accounts whose ids match this condition, each kind in time order.
  static func select(ofAccounts condition: String) -> String {
    """
    SELECT account_id, \(identityPart)::bigint AS part, provider_id AS a, subject AS b, email AS c, display_name AS d,
      photo_url AS e, username AS f, tier AS n, linked_at AS moment, NULL::bytea AS secret
    FROM identities WHERE account_id \(condition)
    UNION ALL
    SELECT account_id, \(factorPart)::bigint, id, kind, phone_number, display_name, NULL, NULL, 0::bigint,
      enrolled_at, sealed_secret
    FROM factors WHERE account_id \(condition)
    UNION ALL
    SELECT account_id, \(unlinkPart)::bigint, provider_id, subject, NULL, NULL, NULL, NULL, 0::bigint,
      unlinked_at, NULL
    FROM unlinks WHERE account_id \(condition)
    ORDER BY part, moment, a, b
    """
  }

  init(_ row: QueryResult) throws(RequestError) {
    let accountID = row.text()
    let part = try row.int64()
    let (a, b, c) = (row.text(), row.text(), row.optionalText())
    let (d, e, f) = (row.text(), row.text(), row.text())
    let tier = try row.tier()
    let moment = try row.timestamp()
    let secret = row.bytes()
    switch part {
    case DependentRow.identityPart:
      let assertion = Assertion(
        identity: IdentityKey(providerID: a, subject: b), email: c, tier: tier, displayName: d, photoURL: e,
        username: f)
      self = .identity(IdentityRecord(assertion: assertion, accountID: accountID, linkedAt: moment))
    case DependentRow.factorPart:
      guard let kind = FactorKind(rawValue: b) else { throw .corrupt("'\(b)' is not a FactorKind") }
      self = .factor(
        FactorRecord(
          id: a, accountID: accountID, kind: kind, displayName: d, phoneNumber: c, sealedSecret: secret,
          enrolledAt: moment))
    case DependentRow.unlinkPart:
      self = .unlink(UnlinkRecord(accountID: accountID, key: IdentityKey(providerID: a, subject: b), at: moment))
    default: throw .corrupt("\(part) is not a kind of dependent")
    }
  }

  var accountID: String {
    switch self {
    case .identity(let identity): identity.accountID
    case .factor(let factor): factor.accountID
    case .unlink(let unlink): unlink.accountID
    }
  }
}

extension AccountState {
  mutating func add(_ row: DependentRow) {
    switch row {
    case .identity(let identity): identities.append(identity)
    case .factor(let factor): factors.append(factor)
    case .unlink(let unlink): unlinks.append(unlink)
    }
  }
}

extension SessionRecord {
  static let columns = """
    id, account_id, caller, refresh_digest, auth_time, sign_in_provider_id, methods, second_factor, audience, \
    created_at, idle_expires_at, expires_at, parent_digest, rotated_at, last_used_at, closed_at, closed_reason, \
    ip_address, user_agent, device_id, claims_json, second_factor_id, began_with
    """

  init(_ row: QueryResult) throws(RequestError) {
    self.init(
      id: row.text(), accountID: row.text(), caller: CallerName(row.text()), refreshDigest: try row.digest(),
      authTime: try row.timestamp(), signInProviderID: row.text(),
      methods: SessionRecord.methods(fromLines: row.text()), secondFactor: row.optionalText(), audience: row.text(),
      createdAt: try row.timestamp(), idleExpiresAt: try row.timestamp(), expiresAt: try row.timestamp())
    parentDigest = try row.optionalDigest()
    rotatedAt = try row.optionalTimestamp()
    lastUsedAt = try row.timestamp()
    closedAt = try row.optionalTimestamp()
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

  init(_ row: QueryResult) throws(RequestError) {
    self.init(
      digest: try row.digest(), purpose: try row.name(), identity: row.identityKey(), email: row.optionalText(),
      tier: try row.tier(), accountID: row.text(), caller: CallerName(row.text()), binding: try row.optionalDigest(),
      attemptID: row.text(), sealed: row.bytes(), createdAt: try row.timestamp(), expiresAt: try row.timestamp(),
      attemptsLeft: try row.int())
    version = try row.int64()
    completedAt = try row.optionalTimestamp()
    completedAccountID = row.optionalText()
    completedSessionID = row.optionalText()
    network = try row.optionalDigest()
  }
}

extension IdempotencyRecord {
  static let columns = "key, request, outcome, account_id, session_id, created_at, expires_at"

  init(_ row: QueryResult) throws(RequestError) {
    self.init(
      key: try row.digest(), request: try row.digest(), outcome: row.text(), accountID: row.text(),
      sessionID: row.optionalText(), createdAt: try row.timestamp(), expiresAt: try row.timestamp())
  }
}

extension AuditRecord {
  static let columns = "position, id, at, account_id, event, caller, details"

  init(_ row: QueryResult) throws(RequestError) {
    let position = try row.int64()
    self.init(
      id: row.text(), at: try row.timestamp(), accountID: row.text(), event: row.text(),
      caller: CallerName(row.text()), detailsJSON: row.text())
    self.position = position
  }
}

extension ThrottleRecord {
  static let columns = "key, count, since, blocks, blocked_until, expires_at"

  init(_ row: QueryResult) throws(RequestError) {
    self.init(
      key: try row.digest(), count: try row.int(), since: try row.timestamp(), blocks: try row.int(),
      blockedUntil: try row.optionalTimestamp(), expiresAt: try row.timestamp())
  }
}

extension DeliveryRecord {
  static let columns = """
    id, channel, kind, sealed, created_at, expires_at, attempts, next_attempt_at, buried_at, buried_reason, kept_until,
    priority, merge_key
    """

  init(_ row: QueryResult) throws(RequestError) {
    self.init(
      id: row.text(), channel: try row.name(), kind: row.text(), sealed: row.bytes(), createdAt: try row.timestamp(),
      expiresAt: try row.timestamp())
    attempts = try row.int()
    nextAttemptAt = try row.timestamp()
    buriedAt = try row.optionalTimestamp()
    buriedReason = row.optionalText()
    keptUntil = try row.optionalTimestamp()
    priority = DeliveryPriority(rawValue: try row.int()) ?? .code
    mergeKey = try row.optionalDigest()
  }
}

extension SigningKeyRecord {
  static let columns = "key_id, algorithm, sealed_private_key, published_at, active_from, retired_at"

  init(_ row: QueryResult) throws(RequestError) {
    self.init(
      keyID: row.text(), algorithm: row.text(), sealedPrivateKey: row.bytes(), publishedAt: try row.timestamp(),
      activeFrom: try row.timestamp(), retiredAt: try row.optionalTimestamp())
  }
}

extension ClosedAccountRecord {
  static let columns = "id, survivor_id, moved_provider_ids, closed_at"

  init(_ row: QueryResult) throws(RequestError) {
    self.init(
      id: row.text(), survivorID: row.text(), movedProviderIDs: row.text().split(separator: ",").map(String.init),
      closedAt: try row.timestamp())
  }
}

extension IdleAccount {
  static let columns = """
    a.id, a.version, (SELECT max(last_used_at) FROM sessions WHERE account_id = a.id)
    """

  init(_ row: QueryResult) throws(RequestError) {
    self.init(id: row.text(), version: try row.int64(), lastUsedAt: try row.optionalTimestamp())
  }
}

extension ImportKeyRecord {
  static let columns = "id, sealed_key, created_at"

  init(_ row: QueryResult) throws(RequestError) {
    self.init(id: row.text(), sealedKey: row.bytes(), createdAt: try row.timestamp())
  }
}

extension QueryResult {
  fileprivate func identityKey() -> IdentityKey { IdentityKey(providerID: text(), subject: text()) }

  fileprivate func tier() throws(RequestError) -> TrustTier {
    let number = try int()
    guard let tier = TrustTier(rawValue: number) else { throw .corrupt("\(number) is not a tier") }
    return tier
  }

  fileprivate func name<Kind: RawRepresentable<String>>() throws(RequestError) -> Kind {
    let text = text()
    guard let value = Kind(rawValue: text) else { throw .corrupt("'\(text)' is not a \(Kind.self)") }
    return value
  }

  fileprivate func optionalName<Kind: RawRepresentable<String>>() throws(RequestError) -> Kind? {
    guard let text = optionalText() else { return nil }
    guard let value = Kind(rawValue: text) else { throw .corrupt("'\(text)' is not a \(Kind.self)") }
    return value
  }
}
