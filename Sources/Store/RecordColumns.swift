// The columns of every stored record. To add a column: add it here, to both schemas, and to the record itself.

private let beginning = Timestamp(millis: 0)
private let noDigest = Digest([UInt8](repeating: 0, count: 32))
private let noIdentity = IdentityKey(providerID: "", subject: "")
private let noCaller = CallerName("")

extension AccountRecord: StoredRecord {
  package static let table = StoredTable.accounts
  package static let columns = describe()
  package static let blank = AccountRecord(id: "", createdAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("id", &id)
    visitor.column("version", &version)
    var (text, source) = (emailAddress?.text, emailAddress?.source)
    var (kind, providerID) = (emailAddress?.verification?.kind, emailAddress?.verification?.providerID)
    visitor.column("email", &text)
    visitor.column("email_verification", &kind)
    visitor.column("email_verification_provider_id", &providerID)
    visitor.column("email_verified_at", &emailVerifiedAt)
    visitor.column("email_source", &source)
    let verification = kind.flatMap { EmailVerification($0, providerID: providerID) }
    if kind != nil, verification == nil {
      visitor.reject("email_verification_provider_id", "an assertion without its provider")
    }
    emailAddress = text.map { EmailAddress($0, source: source, verification: verification) }
    visitor.column("phone_number", &phoneNumber)
    visitor.column("phone_number_set_at", &phoneNumberSetAt)
    visitor.column("display_name", &displayName)
    visitor.column("photo_url", &photoURL)
    visitor.column("custom_claims", &customClaimsJSON)
    visitor.column("password_hash", &passwordHash)
    visitor.column("password_set_at", &passwordSetAt)
    visitor.column("email_link", &emailLink)
    visitor.column("custom_token", &customToken)
    visitor.column("anonymous", &anonymous)
    visitor.column("disabled", &disabled)
    visitor.column("made_by_administrator", &madeByAdministrator)
    visitor.column("tokens_valid_after", &tokensValidAfter)
    visitor.column("created_at", &createdAt)
    visitor.column("last_sign_in_at", &lastSignInAt)
  }
}

extension ClosedAccountRecord: StoredRecord {
  package static let table = StoredTable.closedAccounts
  package static let columns = describe()
  package static let blank = ClosedAccountRecord(id: "", closedAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("id", &id)
    visitor.column("survivor_id", &survivorID)
    let joined = movedProviderIDs.joined(separator: ",")
    var list = joined
    visitor.column("moved_provider_ids", &list)
    if list != joined { movedProviderIDs = list.split(separator: ",").map(String.init) }
    visitor.column("closed_at", &closedAt)
    visitor.column("forgotten_at", &forgottenAt)
  }
}

extension IdentityRecord: StoredRecord {
  package static let table = StoredTable.identities
  package static let columns = describe()
  package static let blank = IdentityRecord(
    assertion: Assertion(identity: noIdentity), accountID: "", linkedAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.owner("account_id", &accountID)
    visitor.column("provider_id", &key.providerID)
    visitor.column("subject", &key.subject)
    visitor.column("email", &email)
    visitor.column("tier", &tier)
    visitor.column("display_name", &displayName)
    visitor.column("photo_url", &photoURL)
    visitor.column("username", &username)
    visitor.column("linked_at", &linkedAt)
    visitor.column("passkey", &passkey)
    visitor.column("transfer_subject", &transferSubject)
  }
}

extension FactorRecord: StoredRecord {
  package static let table = StoredTable.factors
  package static let columns = describe()
  package static let blank = FactorRecord(id: "", accountID: "", kind: .totp, enrolledAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.owner("account_id", &accountID)
    visitor.column("id", &id)
    visitor.column("kind", &kind)
    visitor.column("display_name", &displayName)
    visitor.column("phone_number", &phoneNumber)
    visitor.column("sealed_secret", &sealedSecret)
    visitor.column("enrolled_at", &enrolledAt)
  }
}

extension UnlinkRecord: StoredRecord {
  package static let table = StoredTable.unlinks
  package static let columns = describe()
  package static let blank = UnlinkRecord(accountID: "", key: noIdentity, at: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.owner("account_id", &accountID)
    visitor.column("provider_id", &key.providerID)
    visitor.column("subject", &key.subject)
    visitor.column("unlinked_at", &at)
  }
}

extension SessionRecord: StoredRecord {
  package static let table = StoredTable.sessions
  package static let columns = describe()
  package static let blank = SessionRecord(
    id: "", accountID: "", caller: noCaller, refreshDigest: noDigest, authTime: beginning, signInProviderID: "",
    methods: [], audience: "", createdAt: beginning, idleExpiresAt: beginning, expiresAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("id", &id)
    visitor.column("account_id", &accountID)
    visitor.column("caller", &caller)
    visitor.column("refresh_digest", &refreshDigest)
    visitor.column("parent_digest", &parentDigest)
    visitor.column("rotated_at", &rotatedAt)
    visitor.column("auth_time", &authTime)
    visitor.column("sign_in_provider_id", &signInProviderID)
    visitor.column("began_with", &beganWith)
    let lines = methodLines
    var stored = lines
    visitor.column("methods", &stored)
    // A writer leaves the text as it is. Parsing it again would allocate memory.
    if stored != lines { methods = SessionRecord.methods(fromLines: stored) }
    visitor.column("second_factor", &secondFactor)
    visitor.column("second_factor_id", &secondFactorID)
    visitor.column("audience", &audience)
    visitor.column("claims_json", &claimsJSON)
    visitor.column("created_at", &createdAt)
    visitor.column("last_used_at", &lastUsedAt)
    visitor.column("idle_expires_at", &idleExpiresAt)
    visitor.column("expires_at", &expiresAt)
    var (closedAt, reason) = (closed?.at, closed?.reason)
    visitor.column("closed_at", &closedAt)
    visitor.column("closed_reason", &reason)
    closed = if let closedAt, let reason { SessionEnd(at: closedAt, reason: reason) } else { nil }
    if closedAt != nil, reason == nil { visitor.reject("closed_reason", "a closed session has no reason") }
    visitor.column("ip_address", &ipAddress)
    visitor.column("user_agent", &userAgent)
    visitor.column("device_id", &deviceID)
  }
}

extension PendingRecord: StoredRecord {
  package static let table = StoredTable.pendings
  package static let columns = describe()
  package static let blank = PendingRecord(
    digest: noDigest, purpose: .link, identity: noIdentity, email: nil, tier: .unverified, accountID: "",
    caller: noCaller, binding: nil, attemptID: "", sealed: [], createdAt: beginning, expiresAt: beginning,
    attemptsLeft: 0)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("digest", &digest)
    visitor.column("version", &version)
    visitor.column("purpose", &purpose)
    visitor.column("provider_id", &identity.providerID)
    visitor.column("subject", &identity.subject)
    visitor.column("email", &email)
    visitor.column("tier", &tier)
    visitor.column("account_id", &accountID)
    visitor.column("caller", &caller)
    visitor.column("binding", &binding)
    visitor.column("attempt_id", &attemptID)
    visitor.column("sealed", &sealed)
    visitor.column("created_at", &createdAt)
    visitor.column("expires_at", &expiresAt)
    visitor.column("attempts_left", &attemptsLeft)
    visitor.column("completed_at", &completedAt)
    visitor.column("completed_account_id", &completedAccountID)
    visitor.column("completed_session_id", &completedSessionID)
    visitor.column("network", &network)
  }
}

extension DeliveryRecord: StoredRecord {
  package static let table = StoredTable.deliveries
  package static let columns = describe()
  package static let blank = DeliveryRecord(
    id: "", channel: .mail, kind: "", sealed: [], createdAt: beginning, expiresAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("id", &id)
    visitor.column("channel", &channel)
    visitor.column("kind", &kind)
    visitor.column("priority", &priority)
    visitor.column("merge_key", &mergeKey)
    visitor.column("sealed", &sealed)
    visitor.column("created_at", &createdAt)
    visitor.column("expires_at", &expiresAt)
    visitor.column("attempts", &attempts)
    visitor.column("next_attempt_at", &nextAttemptAt)
    visitor.column("buried_at", &buriedAt)
    visitor.column("buried_reason", &buriedReason)
    visitor.column("kept_until", &keptUntil)
    visitor.column("account_id", &accountID)
    visitor.column("masked_recipient", &maskedRecipient)
    visitor.column("last_error", &lastError)
  }
}

extension SentMessageRecord: StoredRecord {
  package static let table = StoredTable.sentMessages
  package static let columns = describe()
  package static let blank = SentMessageRecord(
    id: "", accountID: "", channel: .mail, kind: "", maskedRecipient: "", createdAt: beginning, attempts: 0,
    sentAt: beginning, keptUntil: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("id", &id)
    visitor.column("account_id", &accountID)
    visitor.column("channel", &channel)
    visitor.column("kind", &kind)
    visitor.column("masked_recipient", &maskedRecipient)
    visitor.column("created_at", &createdAt)
    visitor.column("attempts", &attempts)
    visitor.column("sent_at", &sentAt)
    visitor.column("kept_until", &keptUntil)
  }
}

extension FailureRecord: StoredRecord {
  package static let table = StoredTable.failures
  package static let columns = describe()
  package static let blank = FailureRecord(
    key: noDigest, accountID: "", reason: "", firstAt: beginning, lastAt: beginning, keptUntil: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("key", &key)
    visitor.column("account_id", &accountID)
    visitor.column("subject", &subject)
    visitor.column("reason", &reason)
    visitor.column("call", &call)
    visitor.column("method", &method)
    visitor.column("limit_name", &limit)
    visitor.column("caller", &caller)
    visitor.column("network", &network)
    visitor.column("device", &device)
    visitor.column("count", &count)
    visitor.column("first_at", &firstAt)
    visitor.column("last_at", &lastAt)
    visitor.column("kept_until", &keptUntil)
  }
}

extension IdempotencyRecord: StoredRecord {
  package static let table = StoredTable.idempotency
  package static let columns = describe()
  package static let blank = IdempotencyRecord(
    key: noDigest, request: noDigest, outcome: "", accountID: "", sessionID: nil, createdAt: beginning,
    expiresAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("key", &key)
    visitor.column("request", &request)
    visitor.column("outcome", &outcome)
    visitor.column("account_id", &accountID)
    visitor.column("session_id", &sessionID)
    visitor.column("created_at", &createdAt)
    visitor.column("expires_at", &expiresAt)
  }
}

extension ThrottleRecord: StoredRecord {
  package static let table = StoredTable.throttles
  package static let columns = describe()
  package static let blank = ThrottleRecord(key: noDigest, since: beginning, expiresAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("key", &key)
    visitor.column("count", &count)
    visitor.column("since", &since)
    visitor.column("blocks", &blocks)
    visitor.column("blocked_until", &blockedUntil)
    visitor.column("expires_at", &expiresAt)
  }
}

extension SigningKeyRecord: StoredRecord {
  package static let table = StoredTable.signingKeys
  package static let columns = describe()
  package static let blank = SigningKeyRecord(
    keyID: "", algorithm: "", sealedPrivateKey: [], publishedAt: beginning, activeFrom: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("key_id", &keyID)
    visitor.column("algorithm", &algorithm)
    visitor.column("sealed_private_key", &sealedPrivateKey)
    visitor.column("published_at", &publishedAt)
    visitor.column("active_from", &activeFrom)
    visitor.column("retired_at", &retiredAt)
  }
}

extension ImportKeyRecord: StoredRecord {
  package static let table = StoredTable.importKeys
  package static let columns = describe()
  package static let blank = ImportKeyRecord(id: "", sealedKey: [], createdAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("id", &id)
    visitor.column("sealed_key", &sealedKey)
    visitor.column("created_at", &createdAt)
  }
}

extension MasterKeyRecord: StoredRecord {
  package static let table = StoredTable.masterKeys
  package static let columns = describe()
  package static let blank = MasterKeyRecord(id: "", knownAt: beginning, seenAt: beginning)

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("id", &id)
    visitor.column("known_at", &knownAt)
    visitor.column("seen_at", &seenAt)
    visitor.column("sealed_at", &sealedAt)
  }
}

extension AuditRecord: StoredRecord {
  package static let table = StoredTable.audit
  package static let columns = describe()
  package static let blank = AuditRecord(
    id: "", at: beginning, accountID: "", event: "", caller: noCaller, detailsJSON: "")

  package mutating func visit(_ visitor: some ColumnVisitor) {
    visitor.column("position", &position)
    visitor.column("id", &id)
    visitor.column("at", &at)
    visitor.column("account_id", &accountID)
    visitor.column("event", &event)
    visitor.column("caller", &caller)
    visitor.column("details", &detailsJSON)
  }
}
