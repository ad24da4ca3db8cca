import Store
import Testing

@testable import StorePostgres

/// Conflicts between changes, and between whole processes.
@Suite(.enabled(if: Place.isThere)) struct CollisionTests {
  private static let digest = Digest([UInt8](repeating: 1, count: 32))

  private static let now = Timestamp(millis: 1)

  private static func session(_ id: String) -> Write {
    .session(.insert(
      SessionRecord(
        id: id, accountID: "ann", caller: CallerName("shop"), refreshDigest: digest, authTime: Timestamp(millis: 0),
        signInProviderID: "password", methods: [], audience: "shop", createdAt: Timestamp(millis: 0),
        idleExpiresAt: Timestamp(millis: 10), expiresAt: Timestamp(millis: 10))))
  }

  private static func rotate(_ id: String) -> Write {
    .session(.rotate(
      id: id, from: digest, to: digest, at: Timestamp(millis: 1), idleExpiresAt: Timestamp(millis: 10)))
  }

  @Test func `a concurrent creation of the first signing key waits for the other, and then finds its key`()
    async throws
  {
    let place = try Place(database: true)
    let store = try place.open()
    let other = try place.session()
    defer { other.abandon() }
    try other.execute(
      """
      BEGIN; SELECT version FROM schema_version WHERE id = 1 FOR UPDATE;
      INSERT INTO signing_keys (key_id, algorithm, sealed_private_key, published_at, active_from)
      VALUES ('a', 'ES256', '', 0, 0)
      """)
    let at = Timestamp(millis: 0)
    let key = SigningKeyRecord(keyID: "b", algorithm: "ES256", sealedPrivateKey: [], publishedAt: at, activeFrom: at)
    async let outcome = store.commit(.signingKey(.requireNone), .signingKey(.insert(key)))
    try await place.waitForLock()
    try other.execute("COMMIT")
    #expect(try await outcome == .stale)
    await store.close()
  }

  @Test func `changes that lock the same rows in opposite order all commit`() async throws {
    let place = try Place()
    let store = try place.open()
    #expect(try await store.commit(Self.session("one"), Self.session("two")) == .committed)
    let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
      for index in 0..<40 {
        let ids = index % 2 == 0 ? ["one", "two"] : ["two", "one"]
        group.addTask { try await store.commit(Self.rotate(ids[0]), Self.rotate(ids[1])) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == [Outcome](repeating: .committed, count: 40))
    await store.close()
  }

  @Test func `a session that is opened from another one while all are ended is ended with them`() async throws {
    let place = try Place()
    let store = try place.open()
    let outcome = try await store.commit(
      .account(.insert(AccountRecord("ann"))), Self.session("own"), Self.session("old"))
    #expect(outcome == .committed)
    let other = try place.stopWrites(ofSession: "new")
    defer { other.abandon() }
    async let opened = store.commit(
      .session(.requireOpen(id: "old", at: Self.now)), .account(.raise(id: "ann", version: 1)), Self.session("new"))
    try await place.wait(forLocks: 1)
    async let ended = store.commit(
      .session(.requireOpen(id: "own", at: Self.now)),
      .session(.closeAll(accountID: "ann", except: nil, at: Self.now, reason: .revoked)))
    try await place.wait(forLocks: 2)
    try other.execute("SELECT pg_advisory_unlock(\(place.lock))")
    #expect(try await [opened, ended] == [.committed, .committed])
    #expect(try place.text("SELECT count(*) FROM sessions WHERE closed_at IS NULL") == "0")
    await store.close()
  }

  @Test func `a change that ends a session locks the account before any session`() async throws {
    let place = try Place()
    let store = try place.open()
    #expect(
      try await store.commit(.account(.insert(AccountRecord("ann"))), Self.session("one"), Self.session("two"))
        == .committed)
    // As a change that ends all sessions: it locks the account, then the sessions in any order.
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; SELECT 1 FROM accounts WHERE id = 'ann' FOR UPDATE")
    async let ended = store.commit(
      .session(.requireOpen(id: "one", at: Self.now)), .session(.requireOpen(id: "two", at: Self.now)),
      .session(.close(id: "two", accountID: "ann", at: Self.now, reason: .revoked)))
    try await place.wait(forLocks: 1)
    try other.execute("SELECT 1 FROM sessions WHERE account_id = 'ann' FOR UPDATE NOWAIT; COMMIT")
    #expect(try await ended == .committed)
    await store.close()
  }

  private static func pending(_ number: UInt8) -> Write {
    .pending(.insert(
      PendingRecord(
        digest: Digest([UInt8](repeating: number, count: 32)), purpose: .phoneCode,
        identity: IdentityKey(providerID: "phone", subject: "\(number)"), email: nil, tier: .unverified, accountID: "",
        caller: CallerName("shop"), binding: nil, attemptID: "", sealed: [], createdAt: Timestamp(millis: 0),
        expiresAt: Timestamp(millis: 10), attemptsLeft: 1),
      limits: PendingLimits(perAccountMax: 9, perCallerMax: 9, totalMax: 9)))
  }

  @Test(arguments: [true, false])
  func `a wait for the sessions of an account does not block pending rows`(isClosed: Bool) async throws {
    let place = try Place()
    let store = try place.open()
    let began = try await store.commit(.account(.insert(AccountRecord("ann"))), Self.session("own"), Self.pending(1))
    #expect(began == .committed)
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; SELECT 1 FROM sessions WHERE id = 'own' FOR UPDATE")
    let writes: [Write] = isClosed
      ? [.account(.close(ClosedAccountRecord(id: "ann", closedAt: Self.now), version: 1))]
      : [
        .account(.cutOff(accountID: "ann", at: Self.now, disabling: false)),
        .session(.closeAll(accountID: "ann", except: nil, at: Self.now, reason: .revoked)),
        .pending(.deleteAll(accountID: "ann")),
      ]
    async let ended = store.commit(Change(writes), commitDecision: CommitDecision())
    async let held = store.commit(.session(.requireOpen(id: "own", at: Self.now)), Self.pending(2))
    try await place.wait(forLocks: 2)
    #expect(try await store.commit(Self.pending(3)) == .committed)
    try other.execute("COMMIT")
    #expect(try await ended == .committed)
    let outcome = try await held
    #expect(outcome == .committed || outcome == .stale, "it came before the end of its session, or behind it")
    await store.close()
  }

  @Test func `a change of an account waits for a change that has confirmed it`() async throws {
    let place = try Place()
    let store = try place.open()
    #expect(try await store.commit(.account(.insert(AccountRecord("ann"))), Self.session("own")) == .committed)
    let other = try place.stopWrites(ofSession: "own")
    defer { other.abandon() }
    async let refreshed = store.commit(.account(.confirm(id: "ann", version: 1)), Self.rotate("own"))
    try await place.wait(forLocks: 1)
    async let changed = store.commit(.account(.raise(id: "ann", version: 1)))
    try await place.wait(forLocks: 2)
    try other.execute("SELECT pg_advisory_unlock(\(place.lock))")
    #expect(try await [refreshed, changed] == [.committed, .committed])
    await store.close()
  }

  private static func event(_ id: String) -> Write {
    .record(.appendAudit(
      AuditRecord(id: id, at: now, accountID: "ann", event: "LINKED", caller: CallerName("shop"), detailsJSON: "{}")))
  }

  /// For both orders in which two changes are sent, events are in the order in which the changes locked the account.
  @Test func `the event of a change that waited for another follows the other's event`() async throws {
    let place = try Place()
    let store = try place.open { $0.placingMillis = 60_000 }
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; SELECT 1 FROM accounts WHERE id = 'ann' FOR UPDATE")
    async let first = store.commit(.account(.raise(id: "ann", version: 1)), Self.event("waited"))
    try await place.wait(forLocks: 1)
    #expect(try await store.commit(Self.event("did not wait")) == .committed)
    try other.execute("COMMIT")
    #expect(try await first == .committed)
    var query = Query()
    query.events = EventRange(after: 0, rowsMax: 10)
    #expect(try await store.load(query).events.map(\.id) == ["did not wait", "waited"])
    await store.close()
  }

  @Test func `a transaction that the database aborts for another is retried a limited number of times`() async throws {
    let place = try Place()
    let store = try place.open { $0.retriesMax = 3 }
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    try place.failUpdates(state: "40001", times: 3)
    #expect(try await store.commit(.account(.raise(id: "ann", version: 1))) == .committed)
    #expect(try await store.account("ann")?.version == 2)
    try place.run("ALTER SEQUENCE aborted RESTART")
    try place.failUpdates(state: "40P01", times: 9)
    let commitDecision = CommitDecision()
    await #expect(throws: StoreError.self) {
      try await store.commit(Change([.account(.raise(id: "ann", version: 2))]), commitDecision: commitDecision)
    }
    #expect(commitDecision.cancel())
    await store.close()
  }

  @Test func `stores that open an empty database concurrently all find its schema`() async throws {
    let place = try Place()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<6 {
        group.addTask {
          let store = try place.open()
          #expect(try await store.commit(.account(.insert(AccountRecord("a\(index)")))) == .committed)
          await store.close()
        }
      }
      try await group.waitForAll()
    }
    #expect(try place.text("SELECT count(*) FROM accounts") == "6")
    #expect(try place.text("SELECT version FROM schema_version") == "\(Migrations.steps.count)")
  }

  @Test func `a database of a newer version is rejected`() async throws {
    let place = try Place()
    await (try place.open()).close()
    try place.run("UPDATE schema_version SET version = 99, min_reader_version = 99")
    let error = #expect(throws: StoreError.self) { try place.open() }
    let text = "\(try #require(error))"
    #expect(text.contains("requires schema 99 of a program; this program knows \(Migrations.steps.count)"))
  }

  @Test func `a reader of the audit rows of two stores misses none of them`() async throws {
    let place = try Place()
    let stores = [try place.open(), try place.open()]
    let wanted = 400
    let ids = try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<wanted {
        group.addTask {
          let record = AuditRecord(
            id: "\(index)", at: Timestamp(millis: 0), accountID: "ann", event: "LINKED", caller: CallerName("shop"))
          let outcome = try await stores[index % 2].commit(.record(.appendAudit(record)))
          #expect(outcome == .committed)
        }
      }
      var ids: [String] = []
      var position: Int64 = 0
      while ids.count < wanted {
        var query = Query()
        query.events = EventRange(after: position, rowsMax: 7)
        let events = try await stores[0].load(query).events
        #expect(events.map(\.position) == events.indices.map { position + 1 + Int64($0) })
        ids += events.map(\.id)
        position = events.last?.position ?? position
      }
      try await group.waitForAll()
      return ids
    }
    #expect(Set(ids).count == wanted)
    for store in stores { await store.close() }
  }
}

extension Place {
  /// A lock number of this place.
  fileprivate var lock: UInt32 { UInt32(truncatingIfNeeded: name.hashValue) }

  /// Waits until this many connections to this place wait for locks.
  fileprivate func wait(forLocks count: Int) async throws {
    try await Place.wait(
      until: """
        SELECT count(*) = \(count) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND pid IN (
          SELECT l.pid FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
          JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '\(name)')
        """)
  }

  /// Blocks writes to this session until the returned connection ends or releases its lock.
  fileprivate func stopWrites(ofSession id: String) throws -> ReadyConnection {
    let holder = try session()
    try holder.execute("SELECT pg_advisory_lock(\(lock))")
    try run(
      """
      CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(\(lock));
          RETURN NEW;
        END $$;
      CREATE TRIGGER stop BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW WHEN (NEW.id = '\(id)')
        EXECUTE FUNCTION stop()
      """)
    return holder
  }

  /// Makes the next updates of accounts fail with this SQLSTATE.
  fileprivate func failUpdates(state: String, times: Int) throws {
    try run(
      """
      CREATE SEQUENCE IF NOT EXISTS aborted;
      CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('\(name).aborted') <= \(times) THEN RAISE EXCEPTION 'made up' USING ERRCODE = '\(state)'; END IF;
          RETURN NEW;
        END $$;
      DROP TRIGGER IF EXISTS fail ON accounts;
      CREATE TRIGGER fail BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION fail()
      """)
  }
}
