import Store
import StoreConformance
import Synchronization
import TestSupport
import Testing

@testable import StorePostgres

@Suite(.enabled(if: Place.isThere)) struct SweepTests {
  private let place: Place
  private let notes = SweepNotes()

  init() throws { place = try Place() }

  private static let digest = Digest([UInt8](repeating: 1, count: 32))

  /// A store with an expired row of two kinds.
  private func store(_ change: (inout Options) -> Void = { _ in }) async throws -> PostgresStore {
    let store = try place.open(observer: notes, changing: change)
    let at = Timestamp(millis: 0)
    let record = IdempotencyRecord(
      key: Self.digest, request: Self.digest, outcome: "", accountID: "ann", sessionID: nil, createdAt: at,
      expiresAt: at)
    #expect(
      try await store.commit(.record(.insertIdempotency(record)), .record(.spendToken(Self.digest, expiresAt: at)))
        == .committed)
    return store
  }

  @Test func `a kind that cannot be swept is reported, and the others are swept`() async throws {
    let store = try await store()
    try place.run("ALTER TABLE idempotency RENAME TO away")
    #expect(try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) == 1)
    let told = notes.unswept.withLock { $0 }
    #expect(told.map(\.what) == ["sweep_idempotency"])
    #expect(told.first?.why.contains("42P01") == true)
    try place.run("ALTER TABLE away RENAME TO idempotency")
    #expect(try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) == 1)
    await store.close()
  }

  @Test func `of more failures than the limit, a sweep removes the oldest`() async throws {
    let store = try place.open { $0.failuresMax = 2 }
    try await expectSurplusFailuresSwept(from: store)
    await store.close()
  }

  @Test func `audit rows that cannot get their positions do not delay a sweep`() async throws {
    let store = try await store { $0.placingMillis = 3_600_000 }
    try place.run("ALTER TABLE audit_position RENAME TO away")
    #expect(try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) == 2)
    #expect(notes.unswept.withLock { $0.map(\.what) }.contains("place_events"))
    await store.close()
  }

  @Test func `a locked kind is left to the next sweep, and reported once if it is still locked then`()
    async throws
  {
    let store = try await store { $0.lockMillis = 50 }
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; LOCK TABLE idempotency IN ACCESS EXCLUSIVE MODE")
    #expect(try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) == 1)
    #expect(notes.unswept.withLock { $0.isEmpty })
    for _ in 0..<2 { #expect(try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) == 0) }
    #expect(notes.unswept.withLock { $0.map(\.what) } == ["sweep_idempotency"])
    #expect(notes.unswept.withLock { $0.first?.why.contains("55P03") } == true)
    try other.execute("ROLLBACK")
    #expect(try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) == 1)
    await store.close()
  }

  @Test func `a failure to position audit rows is reported once, and so is its end`() async throws {
    let store = try await store { $0.placingMillis = 10 }
    try place.run("ALTER TABLE audit_position RENAME TO away")
    try await until { notes.events.withLock { $0.count } == 1 }
    // Many more checks report it only once.
    try await Task.sleep(for: .milliseconds(200))
    try place.run("ALTER TABLE away RENAME TO audit_position")
    try await until { notes.events.withLock { $0.count } == 2 }
    let told = notes.events.withLock { $0 }
    #expect(told.first?.contains("42P01") == true && told.last == "")
    await store.close()
  }

  @Test func `a sweep whose task is cancelled begins no further kind`() async throws {
    let store = try await store()
    // A count that a sweep removes last.
    let count = "FROM pending_counts WHERE scope = \(CountScope.account.literal)"
    try place.run("INSERT INTO pending_counts (scope, name, held) VALUES (\(CountScope.account.literal), 'ann', 0)")
    let sweep = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10)
    }
    sweep.cancel()
    #expect(try await sweep.value == 0)
    #expect(try place.text("SELECT count(*) \(count)") == "1")
    #expect(try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) == 2)
    #expect(try place.text("SELECT count(*) \(count)") == "0")
    await store.close()
  }

  private func until(_ holds: () -> Bool) async throws {
    for _ in 0..<500 where !holds() { try await Task.sleep(for: .milliseconds(10)) }
    #expect(holds())
  }

  @Test func `a closed store is no longer swept`() async throws {
    let store = try await store()
    await store.close()
    await #expect(throws: StoreError.closed) { try await store.sweep(at: Timestamp(millis: 1), rowsMax: 10) }
    #expect(notes.unswept.withLock { $0.isEmpty })
  }
}

private final class SweepNotes: PartialObserver {
  let unswept = Mutex<[(what: String, why: String)]>([])
  /// The reasons for the delay of events; an empty text reports its end.
  let events = Mutex<[String]>([])

  func leftUnswept(_ what: String, _ why: String) { unswept.withLock { $0.append((what, why)) } }
  func heldUpEvents(_ why: String) { events.withLock { $0.append(why) } }
  func freedEvents() { events.withLock { $0.append("") } }
}
