import Store

/// The environment of a check: an empty store, with short functions for writing, reading and comparing.
struct Bench: Sendable {
  let store: any Store
  let open: @Sendable () async throws -> any Store
  /// See `Promise.keep`.
  var excessMax = 0

  /// The time of the samples.
  static let noon = Timestamp(millis: 1_700_000_000_000)

  func commit(_ writes: Write..., commitDecision: CommitDecision = CommitDecision()) async throws -> Outcome {
    try await store.commit(Change(writes), commitDecision: commitDecision)
  }

  /// Commits the starting state of a check.
  func prepare(_ writes: Write...) async throws {
    try equal(try await store.commit(Change(writes), commitDecision: CommitDecision()), .committed)
  }

  func load(_ fill: (inout Query) -> Void) async throws -> Facts {
    var query = Query()
    fill(&query)
    return try await store.load(query)
  }

  /// The sign-in methods of an email address's owner, in which linked addresses count.
  func loadMethods(linked email: String) async throws -> SignInMethodsRecord? {
    try await store.load(SignInMethodsQuery(email: email, includesLinkedEmail: true))
  }

  /// The sign-in methods of the account that owns an email address.
  func loadMethods(_ email: String?) async throws -> SignInMethodsRecord? {
    try await store.load(SignInMethodsQuery(email: try require(email)))
  }

  func loadAccount(_ id: String) async throws -> AccountState? { try await load { $0.accountID = id }.account }

  func loadSession(_ id: String) async throws -> SessionRecord? { try await load { $0.sessionID = id }.session }

  func loadPending(_ digest: Digest) async throws -> PendingRecord? { try await load { $0.pending = digest }.pending }

  func equal<Value: Equatable>(_ found: Value, _ wanted: Value, line: Int = #line, file: String = #fileID) throws {
    guard found == wanted else {
      throw BrokenPromise(description: "\(file):\(line): found \(found), wanted \(wanted)")
    }
  }

  func require<Value>(_ value: Value?, line: Int = #line, file: String = #fileID) throws -> Value {
    guard let value else { throw BrokenPromise(description: "\(file):\(line): found nothing") }
    return value
  }
}

// Samples: every field of a record is set, so that reading it back tests each one.
extension Bench {
  func digest(_ number: Int) -> Digest {
    Digest((0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 8))) })
  }

  func account(_ id: String, email: String? = nil, phoneNumber: String? = nil) -> AccountRecord {
    var account = AccountRecord(id: id, createdAt: Bench.noon)
    account.emailAddress = email.map { EmailAddress($0) }
    account.phoneNumber = phoneNumber
    return account
  }

  func fullAccount(_ id: String) -> AccountRecord {
    var account = account(id, email: "\(id)@example.com", phoneNumber: "+49151\(id.utf8.count)")
    account.emailAddress?.verification = .assertion(providerID: "google.com")
    account.emailAddress?.source = "password"
    account.displayName = "Zoë 漢字 🗝"
    account.photoURL = "https://example.com/\(id).png"
    account.customClaimsJSON = #"{"role":"admin"}"#
    account.passwordHash = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA"
    account.passwordSetAt = Bench.noon.adding(millis: 1)
    account.emailLink = true
    account.customToken = true
    account.anonymous = true
    account.madeByAdministrator = true
    account.tokensValidAfter = Bench.noon.adding(millis: 2)
    account.lastSignInAt = Bench.noon.adding(millis: 3)
    account.emailVerifiedAt = Bench.noon.adding(millis: 4)
    account.phoneNumberSetAt = Bench.noon.adding(millis: 5)
    return account
  }

  func identity(
    _ subject: String, of accountID: String, provider: String = "google.com", email: String? = nil,
    tier: TrustTier = .verified, linkedAt: Timestamp = noon
  ) -> IdentityRecord {
    IdentityRecord(
      assertion: Assertion(
        identity: IdentityKey(providerID: provider, subject: subject), email: email, tier: tier, displayName: "Ann",
        photoURL: "https://example.com/a.png", username: "ann",
        passkey: provider == "passkey" ? Array(subject.utf8) + [0, 0xFF] : nil),
      accountID: accountID, linkedAt: linkedAt)
  }

  func session(
    _ id: String, of accountID: String, provider: String = "password", refresh: Int = 1, idleMillis: Int64 = 1000,
    absoluteMillis: Int64 = 5000
  ) -> SessionRecord {
    var session = SessionRecord(
      id: id, accountID: accountID, caller: CallerName("shop"), refreshDigest: digest(refresh), authTime: Bench.noon,
      signInProviderID: provider, methods: ["pwd", "otp"], secondFactor: "totp", audience: "shop",
      createdAt: Bench.noon, idleExpiresAt: Bench.noon.adding(millis: idleMillis),
      expiresAt: Bench.noon.adding(millis: absoluteMillis))
    session.secondFactorID = "factor"
    session.claimsJSON = #"{"plan":"gold"}"#
    session.ipAddress = "192.0.2.1"
    session.userAgent = "test/1"
    session.deviceID = "device"
    return session
  }

  func pending(
    _ number: Int, of accountID: String, caller: String = "shop", lifeMillis: Int64 = 1000
  ) -> PendingRecord {
    PendingRecord(
      digest: digest(number), purpose: .link, identity: IdentityKey(providerID: "oidc.corp", subject: "s\(number)"),
      email: "ann@example.com", tier: .verified, accountID: accountID, caller: CallerName(caller),
      binding: digest(number + 1), attemptID: "attempt\(number)", sealed: [0, 1, 255], createdAt: Bench.noon,
      expiresAt: Bench.noon.adding(millis: lifeMillis), attemptsLeft: 2)
  }

  func idempotency(_ number: Int, lifeMillis: Int64 = 1000) -> IdempotencyRecord {
    IdempotencyRecord(
      key: digest(number), request: digest(number + 1), outcome: "session", accountID: "a", sessionID: "s",
      createdAt: Bench.noon, expiresAt: Bench.noon.adding(millis: lifeMillis))
  }

  func signingKey(_ id: String, activeFrom: Timestamp = noon) -> SigningKeyRecord {
    SigningKeyRecord(
      keyID: id, algorithm: "ES256", sealedPrivateKey: [1, 2, 3], publishedAt: Bench.noon, activeFrom: activeFrom)
  }
}

extension PendingLimits {
  static let wide = PendingLimits(perAccountMax: 1000, perCallerMax: 1000, totalMax: 1000)
}

extension Write {
  static func removal(of accountID: String, version: Int64 = 1) -> Write {
    .account(.close(ClosedAccountRecord(id: accountID, closedAt: Bench.noon), version: version))
  }
}
