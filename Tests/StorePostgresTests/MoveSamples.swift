import Glibc
import Store
import StoreMigration
import StoreSQLite
import TestSupport

/// A file of the embedded store in its own folder, which is removed after the test.
final class Embedded: Sendable {
  static let noon = Timestamp(millis: 1_700_000_000_000)
  /// Characters that a faulty copy could corrupt.
  static let odd = "'\"\\ \\N \\. \t\r\n,{}%$1 é漢🗝\u{202E}\u{7F}"
  /// Their byte order differs from that of any language, and from the order in which they are made.
  static let accountIDs = ["b", "ä", "Z", "a", "_x", "aa", "B\u{1F}", "full"]

  private let folder: TemporaryFolder
  var file: String { folder.path + "/store" }

  init() throws { folder = try TemporaryFolder() }

  func open() throws -> SQLiteStore { try SQLiteStore(path: file) }

  /// A closed file with the records that `body` writes.
  static func filled(_ body: (SQLiteStore) async throws -> Void = Embedded.fill) async throws -> Embedded {
    let embedded = try Embedded()
    let store = try embedded.open()
    try await body(store)
    await store.close()
    return embedded
  }

  func move(to place: Place, tell: @escaping (MoveStep) -> Void = { _ in }) throws(MoveError) -> Move {
    try Move(from: file, to: place.conninfo, tell: tell)
  }

  /// The bytes of the file itself.
  func bytes() -> [UInt8] {
    let descriptor = unsafe Glibc.open(file, O_RDONLY)
    defer { _ = Glibc.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
    return count == bytes.count ? bytes : []
  }

  // MARK: Every kind of record, complete, minimal, and with odd texts

  static func fill(_ store: SQLiteStore) async throws {
    for id in accountIDs where id != "full" { try await put(store, .account(.insert(bare(id)))) }
    try await put(store, .account(.insert(full())), .account(.touch(id: "full", version: 1, lastSignInAt: noon)))
    try await put(store, .account(.insert(bare("gone"))))
    try await put(
      store,
      .account(
        .close(
          ClosedAccountRecord(id: "gone", survivorID: "a", movedProviderIDs: ["google.com", "x.com"], closedAt: noon),
          version: 1)))
    try await fillCredentials(store)
    try await fillSessions(store)
    try await fillPendings(store)
    try await fillRecords(store)
    try await fillEvents(store)
  }

  private static func fillCredentials(_ store: SQLiteStore) async throws {
    for (index, id) in ["full", "a", "ä", "full"].enumerated() {
      let assertion = Assertion(
        identity: IdentityKey(providerID: "oidc.\(index)", subject: "\(odd)\(index)"),
        email: index == 1 ? nil : "p@example.com", tier: TrustTier(rawValue: index % 3) ?? .verified,
        displayName: odd, photoURL: index == 1 ? "" : "https://example.com/", username: "ann",
        passkey: index == 2 ? [0, 0xFF] : nil)
      var identity = IdentityRecord(assertion: assertion, accountID: id, linkedAt: at(Int64(index)))
      identity.transferSubject = index == 3 ? odd : nil
      try await put(
        store, .identity(.insert(identity)),
        .unlink(.remember(UnlinkRecord(accountID: id, key: IdentityKey(providerID: "x", subject: odd), at: noon))))
    }
    try await put(
      store, .factor(.insert(FactorRecord(id: "t", accountID: "full", kind: .totp, enrolledAt: noon))),
      .factor(
        .insert(
          FactorRecord(
            id: "p", accountID: "full", kind: .phone, displayName: odd, phoneNumber: "+491511",
            sealedSecret: [0, 255, 10], enrolledAt: at(1)))))
  }

  private static func fillSessions(_ store: SQLiteStore) async throws {
    // The account "full" itself has a later sign-in.
    for (index, (id, millis)) in [("a", Int64(7)), ("full", -7)].enumerated() {
      let session = SessionRecord(
        id: "signed in \(id)", accountID: id, caller: CallerName("shop"), refreshDigest: digest(7 + index),
        authTime: at(millis), signInProviderID: "password", methods: ["pwd"], audience: "", createdAt: at(millis),
        idleExpiresAt: at(86_400_000), expiresAt: at(86_400_000))
      try await put(store, .account(.touch(id: id, version: 1, lastSignInAt: at(millis))), .session(.insert(session)))
    }
    for (index, id) in ["open", "closed", "rotated"].enumerated() {
      var session = SessionRecord(
        id: id, accountID: "full", caller: CallerName("shop"), refreshDigest: digest(index), authTime: noon,
        signInProviderID: "password", methods: index == 0 ? [] : ["pwd", "otp"], audience: odd, createdAt: noon,
        idleExpiresAt: at(86_400_000 * Int64(index)), expiresAt: at(86_400_000 * 90))
      if index > 0 {
        (session.secondFactor, session.secondFactorID, session.claimsJSON) = ("totp", "t", #"{"plan":"gold"}"#)
        (session.ipAddress, session.userAgent, session.deviceID) = ("192.0.2.1", odd, "device")
      }
      try await put(store, .session(.insert(session)))
    }
    try await put(
      store, .session(.close(id: "closed", accountID: "full", at: at(5), reason: .signedOut)),
      .session(.rotate(id: "rotated", from: digest(2), to: digest(3), at: at(6), idleExpiresAt: at(86_400_000 * 9))))
  }

  private static func fillPendings(_ store: SQLiteStore) async throws {
    for (index, accountID) in ["full", "full", "", "a", "a"].enumerated() {
      var pending = PendingRecord(
        digest: digest(index), purpose: index == 2 ? .flow : .link,
        identity: IdentityKey(providerID: "oidc.corp", subject: "s\(index)"), email: index == 2 ? nil : "a@b.c",
        tier: index == 3 ? .unverified : .verified, accountID: accountID, caller: CallerName(index == 0 ? odd : "shop"),
        binding: index == 1 ? nil : digest(9), attemptID: "attempt", sealed: index == 2 ? [] : [0, 1, 255],
        createdAt: noon, expiresAt: at(1_000), attemptsLeft: 2)
      if index == 1 { pending.network = digest(6) }
      let limits = PendingLimits(perAccountMax: 9, perCallerMax: 9, totalMax: 9)
      try await put(store, .pending(.insert(pending, limits: limits)))
    }
    try await put(store, .pending(.complete(digest(1), version: 1, at: noon, accountID: "full", sessionID: "open")))
    for id in ["waiting", "buried"] {
      var delivery = DeliveryRecord(
        id: id, channel: .textMessage, kind: "code", sealed: [1, 0, 2], createdAt: noon, expiresAt: at(1_000))
      if id == "waiting" { (delivery.priority, delivery.mergeKey) = (.notice, digest(8)) }
      try await put(store, .delivery(.enqueue(delivery, queueMax: 9)))
    }
    try await put(store, .delivery(.bury(id: "buried", at: at(1), reason: odd, keptUntil: at(2))))
    var sent = DeliveryRecord(id: "sent", channel: .mail, kind: odd, sealed: [1], createdAt: at(0), expiresAt: at(9))
    (sent.accountID, sent.maskedRecipient, sent.lastError) = ("full", odd, odd)
    try await put(store, .delivery(.enqueue(sent, queueMax: 9)))
    try await put(store, .delivery(.removeSent(id: "sent", at: at(3), keptUntil: at(8))))
    let failure = FailureRecord(
      key: digest(70), accountID: "full", subject: digest(71), reason: odd, call: odd, method: odd, limit: odd,
      caller: CallerName(odd), network: odd, device: digest(72), count: 3, firstAt: at(1), lastAt: at(2),
      keptUntil: at(7))
    try await put(store, .failure(.add(FailureCount(failure, remainder: failure, rowsMax: 1))))
  }

  private static func fillRecords(_ store: SQLiteStore) async throws {
    for index in 0..<2 {
      let record = IdempotencyRecord(
        key: digest(index), request: digest(7), outcome: "session", accountID: "a", sessionID: index == 0 ? nil : "s",
        createdAt: noon, expiresAt: at(1_000))
      try await put(
        store, .record(.insertIdempotency(record)), .record(.spendToken(digest(index), expiresAt: at(1_000))))
    }
    for id in ["old", "new"] {
      try await put(
        store,
        .signingKey(
          .insert(
            SigningKeyRecord(
              keyID: id, algorithm: "ES256", sealedPrivateKey: [9, 0, 9], publishedAt: noon, activeFrom: at(1)))))
    }
    try await put(store, .signingKey(.retire(keyID: "old", at: at(2))))
    try await put(store, .record(.keepImportKey(ImportKeyRecord(id: "key", sealedKey: [3, 2, 1], createdAt: noon))))
    for (id, seals) in [("0a1b2c3d", true), ("4e5f6a7b", false)] {
      try await put(store, .record(.noteMasterKey(MasterKeyID(text: id), seals: seals, at: noon)))
    }
    let (strict, wide) = (ThrottleRule(1, inMillis: 60_000), ThrottleRule(5, inMillis: 60_000))
    for (index, rule) in [strict, wide].enumerated() {
      let count = ThrottleCount(
        key: digest(index), kind: .signUpsPerNetwork, rule: rule, at: noon, refusesBlocked: false)
      try await put(store, .throttle(.count(count)))
    }
  }

  /// Two of the five events are swept, so that their positions begin later than a new count would.
  private static func fillEvents(_ store: SQLiteStore) async throws {
    for index in 0..<5 {
      try await put(store, .record(.appendAudit(event("e\(index)", at: at(Int64(index))))))
    }
    let swept = try await store.sweep(at: Timestamp(millis: 0), rowsMax: 10, auditedBefore: at(2))
    guard swept == 2 else { throw StoreError.corrupt("\(swept) rows were swept") }
  }

  static func event(_ id: String, at moment: Timestamp = noon) -> AuditRecord {
    AuditRecord(
      id: id, at: moment, accountID: "full", event: "LINKED", caller: CallerName("shop"), detailsJSON: #"{"a":"\\"}"#)
  }

  static func bare(_ id: String) -> AccountRecord {
    var account = AccountRecord(id: id, createdAt: noon)
    account.anonymous = id == "a"
    return account
  }

  private static func full() -> AccountRecord {
    var account = AccountRecord(id: "full", createdAt: noon)
    account.emailAddress = EmailAddress(
      "f@example.com", source: "password", verification: .assertion(providerID: "google.com"))
    (account.phoneNumber, account.displayName) = ("+49151", odd)
    (account.photoURL, account.customClaimsJSON) = ("https://example.com/f.png", #"{"role":"admin"}"#)
    (account.passwordHash, account.passwordSetAt) = ("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA", at(1))
    (account.emailLink, account.customToken, account.disabled, account.madeByAdministrator) = (true, true, true, true)
    (account.tokensValidAfter, account.emailVerifiedAt, account.phoneNumberSetAt) = (at(-1), at(2), at(3))
    return account
  }

  static func at(_ millis: Int64) -> Timestamp { noon.adding(millis: millis) }

  static func digest(_ number: Int) -> Digest { Digest((0..<32).map { UInt8(truncatingIfNeeded: number * 97 + $0) }) }

  static func put(_ store: some Store, _ writes: Write...) async throws {
    let outcome = try await store.commit(Change(writes), commitDecision: CommitDecision())
    guard outcome == .committed else { throw StoreError.corrupt("\(outcome) of \(writes)") }
  }

  // MARK: All queries

  static var queries: [Query] {
    let byAccount = (accountIDs + ["gone"]).map { id in query { $0.accountID = id } }
    let bySession = ["open", "closed", "rotated"].map { id in query { $0.sessionID = id } }
    let byDigest = (0..<5).map { index in
      query {
        ($0.pending, $0.idempotency, $0.spentToken) = (digest(index), digest(index), digest(index))
        $0.throttles = [digest(index)]
      }
    }
    return byAccount + bySession + byDigest + [
      query { ($0.email, $0.deviceID) = ("f@example.com", "device") },
      query { ($0.deviceOwnerID, $0.deviceID) = ("full", "device") },
      query { $0.phoneNumber = "+49151" },
      query { $0.identity = IdentityKey(providerID: "oidc.1", subject: "\(odd)1") },
      query { ($0.signingKeys, $0.importKeyID) = (true, "key") },
      query { $0.deliveries = DueDeliveries(at: at(10), rowsMax: [.init(.textMessage, .notice): 9]) },
      query { $0.openSessions = OpenSessionsQuery(accountID: "full", at: at(7), most: 9) },
      query { $0.idleAnonymous = IdleQuery(before: at(10), accountsMax: 9) },
      query { $0.page = PageOrder(afterID: nil, accountsMax: 100) },
      query { $0.events = EventRange(after: 0, rowsMax: 100) },
      query { $0.masterKeys = .keys },
      query { $0.support = support },
    ]
  }

  private static var support: SupportQuery {
    var support = SupportQuery()
    (support.accountID, support.events, support.deliveryID) = ("full", EventsBefore(rowsMax: 9), "buried")
    (support.messagesMax, support.pendingsMax, support.sessionsMax) = (9, 9, 9)
    support.failures = [FailuresBefore(of: .account("full"), rowsMax: 9)]
    return support
  }

  static let methodsQueries = [
    SignInMethodsQuery(email: "f@example.com"), SignInMethodsQuery(email: "p@example.com", includesLinkedEmail: true),
  ]

  static func query(_ fill: (inout Query) -> Void) -> Query {
    var query = Query()
    fill(&query)
    return query
  }
}
