import Identity
import Store
import Testing

/// Makes a record without a file. A test checks the store's contents when the record is written.
private struct FakeBackups: Backups {
  func make(
    at now: Timestamp, commitDecision: CommitDecision, remember: @Sendable (BackupRecord) async throws -> Void
  ) async throws -> BackupRecord {
    let record = BackupRecord(
      fileName: "copy.db", byteCount: 4_096, sha256: Digest([UInt8](repeating: 0xab, count: 32)),
      copy: StoreCopy(accountCount: 2, lastEvent: 36), createdAt: now)
    try await remember(record)
    return record
  }
}

struct `A backup` {
  let world = World()

  private var environment: Environment {
    Environment(
      store: world.store, clock: world.clock, randomness: world.randomness, cryptography: world.cryptography,
      passwords: world.passwords, tokens: world.tokens, providers: world.providers, policy: world.policy,
      backups: FakeBackups())
  }

  @Test func `is recorded with its file, and states the position of its last event`() async throws {
    let record = try await BackUp(environment)(world.call(caller: "admin"))
    #expect(record.createdAt == world.now && record.eventCursor == EventCursor(position: 36))
    let row = try #require(world.store.contents.audit.first)
    #expect(world.store.contents.audit.count == 1)
    #expect(row.event == "BACKUP_MADE" && row.caller == CallerName("admin") && row.accountID == "")
    let digest = String(repeating: "ab", count: 32)
    #expect(row.detailsJSON == "{\"bytes\":\"4096\",\"file\":\"copy.db\",\"sha256\":\"\(digest)\"}")
  }

  @Test func `fails if its call was cancelled, or if it cannot be recorded`() async throws {
    let commitDecision = CommitDecision()
    #expect(commitDecision.cancel())
    let call = world.call(commitDecision: commitDecision)
    let cancelled = await #expect(throws: Identity.Failure.self) { try await BackUp(environment)(call) }
    #expect(cancelled?.reason == .cancelled)
    world.store.fail(with: .unavailable("gone"))
    let failed = await #expect(throws: Identity.Failure.self) { try await BackUp(environment)(world.call()) }
    #expect(failed?.reason == .storeUnavailable)
    #expect(world.store.contents.audit.isEmpty)
  }

  @Test func `is rejected if backups are not configured`() async throws {
    let refused = await #expect(throws: Identity.Failure.self) { try await BackUp(world.environment)(world.call()) }
    #expect(refused?.reason == .backupNotConfigured)
  }
}
