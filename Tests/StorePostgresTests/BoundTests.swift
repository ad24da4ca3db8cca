import Store
import Synchronization
import TestSupport
import Testing

@testable import StorePostgres

/// The limits on waiting changes, and the reports of failures.
@Suite(.enabled(if: Place.isThere)) struct BoundTests {
  @Test func `past the queue's maximum a change is refused, and one that waits too long fails`() async throws {
    let place = try Place(database: true)
    let notes = FullNotes()
    let store = try place.open(observer: notes) {
      $0.connections = 1
      $0.queueMax = 1
      $0.waitMillis = 1_000
      $0.lockMillis = 20_000
      $0.statementMillis = 20_000
      $0.placingMillis = 3_600_000
    }
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; SELECT 1 FROM accounts WHERE id = 'ann' FOR UPDATE")
    async let first = store.commit(.account(.raise(id: "ann", version: 1)))
    try await place.waitForLock()
    let begun = ContinuousClock.now
    let refusals: [StoreError?] = await withTaskGroup(of: StoreError?.self) { group in
      for index in 0..<2 {
        group.addTask {
          do {
            _ = try await store.commit(.account(.insert(AccountRecord("a\(index)"))))
            return nil
          } catch {
            return error as? StoreError
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(refusals.contains(.unavailable("store queue full")))
    #expect(refusals.contains(.unavailable("no connection was free in time")))
    #expect(begun.duration(to: .now) > .milliseconds(990))
    #expect(notes.full.load(ordering: .relaxed) == 1)
    try other.execute("COMMIT")
    #expect(try await first == .committed)
    await store.close()
  }

  @Test func `a change that does not get a lock in time fails, and can then be cancelled`() async throws {
    let place = try Place()
    let store = try place.open { $0.lockMillis = 100 }
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; SELECT 1 FROM accounts WHERE id = 'ann' FOR UPDATE")
    let commitDecision = CommitDecision()
    await #expect(throws: StoreError.self) {
      try await store.commit(Change([.account(.raise(id: "ann", version: 1))]), commitDecision: commitDecision)
    }
    #expect(commitDecision.cancel())
    try other.execute("ROLLBACK")
    #expect(try await store.commit(.account(.raise(id: "ann", version: 1))) == .committed)
    await store.close()
  }

  @Test func `a server that does not answer counts as lost, and a new connection is opened`() async throws {
    let place = try Place(database: true)
    let store = try place.open {
      $0.statementMillis = 60_000
      $0.slackMillis = -59_000
    }
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; SELECT 1 FROM accounts WHERE id = 'ann' FOR UPDATE")
    async let outcome = store.commit(.account(.raise(id: "ann", version: 1)))
    // The change, and whoever asks on another connection what became of it.
    try await place.waitForLock(sessions: 2)
    try other.execute("COMMIT")
    #expect(try await outcome == .committed)
    #expect(try await store.account("ann")?.version == 2)
    await store.close()
  }

  @Test func `statements for all sessions of an account have a longer limit, in the client and the server`()
    async throws
  {
    let place = try Place()
    let store = try place.open {
      $0.statementMillis = 500
      $0.slackMillis = 500
    }
    let at = Timestamp(millis: 0)
    let digest = Digest([UInt8](repeating: 1, count: 32))
    let session = SessionRecord(
      id: "own", accountID: "ann", caller: CallerName("shop"), refreshDigest: digest, authTime: at,
      signInProviderID: "password", methods: [], audience: "shop", createdAt: at, idleExpiresAt: Timestamp(millis: 10),
      expiresAt: Timestamp(millis: 10))
    #expect(try await store.commit(.account(.insert(AccountRecord("ann"))), .session(.insert(session))) == .committed)
    try place.run(
      """
      CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_sleep(2);
          RETURN coalesce(NEW, OLD);
        END $$;
      CREATE TRIGGER slow BEFORE UPDATE OR DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION slow()
      """)
    await #expect(throws: StoreError.self) {
      try await store.commit(.session(.close(id: "own", accountID: "ann", at: at, reason: .revoked)))
    }
    let ended = try await store.commit(
      .account(.raise(id: "ann", version: 1)),
      .session(.closeAll(accountID: "ann", except: nil, at: at, reason: .revoked)))
    #expect(ended == .committed)
    let closed = ClosedAccountRecord(id: "ann", closedAt: at)
    #expect(try await store.commit(.account(.close(closed, version: 2))) == .committed)
    #expect(try place.text("SELECT count(*) FROM sessions") == "0")
    await store.close()
  }

  @Test func `an error contains its state and its constraint, and no stored value`() async throws {
    let place = try Place()
    let store = try place.open()
    let factor = FactorRecord(id: "secret-value", accountID: "ann", kind: .totp, enrolledAt: Timestamp(millis: 0))
    let error = await #expect(throws: StoreError.self) {
      try await store.commit(
        .account(.insert(AccountRecord("ann"))), .factor(.insert(factor)), .factor(.insert(factor)))
    }
    let text = "\(try #require(error))"
    #expect(text.contains("23505") && text.contains("factors_of_account") && !text.contains("secret-value"))
    await store.close()
  }

  @Test(arguments: [AccountWrite.raise(id: "ann", version: 1), .confirm(id: "ann", version: 1)])
  func `a guard that finds several rows under one key fails its change, which writes nothing`(
    guarded: AccountWrite
  ) async throws {
    let place = try Place()
    let store = try place.open()
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    try place.run("ALTER TABLE accounts DROP CONSTRAINT accounts_id; INSERT INTO accounts SELECT * FROM accounts")
    let error = await #expect(throws: StoreError.self) {
      try await store.commit(.account(.insert(AccountRecord("bob"))), .account(guarded))
    }
    guard case .corrupt(let text)? = error else { throw StoreError.unavailable("it failed otherwise") }
    #expect(text.contains("21000"))
    #expect(try place.text("SELECT string_agg(id || version, ' ') FROM accounts") == "ann1 ann1")
    await store.close()
  }

  @Test func `a text keeps all characters except the one that PostgreSQL cannot store`() async throws {
    let place = try Place()
    let store = try place.open()
    var account = AccountRecord("ann")
    account.displayName = "a\u{0}b'\"\\é漢🗝"
    #expect(try await store.commit(.account(.insert(account))) == .committed)
    #expect(try await store.account("ann")?.displayName == "a\u{FFFD}b'\"\\é漢🗝")
    await store.close()
  }

  @Test func `the observer receives the numbers of pending rows and waiting messages after changes`()
    async throws
  {
    let place = try Place()
    let notes = CountNotes()
    let store = try place.open(observer: notes) { $0.countingMillis = 3_600_000 }
    // The store counts everything once when it opens.
    for _ in 0..<6_000 where notes.counts.withLock({ $0.count }) < 2 { try await Task.sleep(nanoseconds: 10_000_000) }
    let at = Timestamp(millis: 0)
    let digest = Digest([UInt8](repeating: 1, count: 32))
    let pending = PendingRecord(
      digest: digest, purpose: .link, identity: IdentityKey(providerID: "p", subject: "s"), email: nil,
      tier: .verified, accountID: "ann", caller: CallerName("shop"), binding: nil, attemptID: "a", sealed: [],
      createdAt: at, expiresAt: Timestamp(millis: 10), attemptsLeft: 1)
    let message = DeliveryRecord(
      id: "m", channel: .mail, kind: "linked", sealed: [], createdAt: at, expiresAt: Timestamp(millis: 10))
    let limits = PendingLimits(perAccountMax: 9, perCallerMax: 9, totalMax: 9)
    #expect(
      try await store.commit(.pending(.insert(pending, limits: limits)), .delivery(.enqueue(message, queueMax: 9)))
        == .committed)
    #expect(notes.counts.withLock { $0.suffix(2) } == ["pending 1", "waiting 1"])
    #expect(try await store.commit(.pending(.deleteAll(accountID: "ann"))) == .committed)
    #expect(notes.counts.withLock { $0.last } == "pending 0")
    await store.close()
  }

  @Test func `audit rows of every writer are reported`() async throws {
    let place = try Place()
    let told = Atomic<Int>(0)
    let (store, other) = (try place.open(appended: { told.add(1, ordering: .relaxed) }), try place.open())
    let record = AuditRecord(
      id: "1", at: Timestamp(millis: 0), accountID: "ann", event: "LINKED", caller: CallerName("shop"))
    #expect(try await other.commit(.record(.appendAudit(record))) == .committed)
    for _ in 0..<6_000 where told.load(ordering: .relaxed) == 0 { try await Task.sleep(nanoseconds: 10_000_000) }
    #expect(told.load(ordering: .relaxed) == 1)
    await store.close()
    await other.close()
  }

  @Test func `half of a caller's limit is reported once in a window`() async throws {
    let place = try Place()
    let notes = CountNotes()
    let store = try place.open(observer: notes) { $0.countingMillis = 3_600_000 }
    for _ in 0..<3 {
      let count = ThrottleCount(
        key: Digest([UInt8](repeating: 1, count: 32)), kind: .sendsPerCaller, rule: ThrottleRule(4, inMillis: 1_000),
        at: Timestamp(millis: 0), refusesBlocked: false)
      #expect(try await store.commit(.throttle(.count(count))) == .committed)
    }
    #expect(notes.counts.withLock { $0.filter { $0.hasPrefix("half") } } == ["half sends_per_caller"])
    await store.close()
  }
}

private final class FullNotes: PartialObserver {
  let full = Atomic<Int>(0)

  func refusedByFullQueue() { full.add(1, ordering: .relaxed) }
}

private final class CountNotes: PartialObserver {
  let counts = Mutex<[String]>([])

  func holds(pendingRows count: Int) { counts.withLock { $0.append("pending \(count)") } }
  func holds(waitingDeliveries count: Int) { counts.withLock { $0.append("waiting \(count)") } }
  func reachedHalf(of limit: ThrottleKind) { counts.withLock { $0.append("half \(limit.rawValue)") } }
}
