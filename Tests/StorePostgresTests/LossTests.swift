import Store
import Synchronization
import TestSupport
import Testing

@testable import StorePostgres

/// The loss of one connection, or of the whole database.
@Suite(.enabled(if: Place.isThere), .serialized) struct LossTests {
  @Test func `a change whose connection was lost before its commit is carried out once`() async throws {
    let place = try Place(database: true)
    let store = try place.open()
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    let other = try place.session()
    defer { other.abandon() }
    try other.execute("BEGIN; SELECT 1 FROM accounts WHERE id = 'ann' FOR UPDATE")
    async let outcome = store.commit(.account(.raise(id: "ann", version: 1)))
    try await place.waitForLock()
    try place.terminate("wait_event_type = 'Lock'")
    try other.execute("COMMIT")
    #expect(try await outcome == .committed)
    #expect(try await store.account("ann")?.version == 2)
    #expect(try place.text("SELECT count(*) FROM changes WHERE is_fence") == "1")
    await store.close()
  }

  /// A commit that waits for a standby is already known to this server: ending the wait loses only the answer.
  @Test func `a change whose connection was lost after its commit is not carried out again`() async throws {
    let place = try Place(database: true)
    let notes = LossNotes()
    let store = try place.open(observer: notes)
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    try place.setStandby("nobody")
    var version: Int64 = 1
    do {
      var outcome = Task { try await store.commit(.account(.raise(id: "ann", version: 1))) }
      func hasEnded() -> Bool { notes.ended.load(ordering: .relaxed) > version }
      // The processes of the server read what was set each in its own time: until then a commit waits for nobody.
      while version < 1_000, !(await place.hasWaitingCommit(unless: hasEnded)) {
        #expect(try await outcome.value == .committed)
        version += 1
        outcome = Task { [version] in try await store.commit(.account(.raise(id: "ann", version: version))) }
      }
      try place.terminate("wait_event = 'SyncRep'")
      // The check of the outcome also waits for the standby: until then the change may be lost with this server.
      #expect(await place.hasWaitingCommit(unless: hasEnded))
      try place.setStandby("")
      #expect(try await outcome.value == .committed)
    } catch {
      try place.setStandby("")
      throw error
    }
    #expect(notes.lost.load(ordering: .relaxed) == 1)
    #expect(try await store.account("ann")?.version == version + 1)
    #expect(try place.text("SELECT count(*) FROM changes WHERE is_fence") == "0")
    await store.close()
  }

  @Test func `a fenced change can never be committed, and a committed one cannot be fenced`() async throws {
    let place = try Place()
    let store = try place.open()
    let (fenced, committed) = (ChangeID.random(), ChangeID.random())
    #expect(await store.settle(fenced) == false)
    #expect(await store.settle(fenced) == false)
    let change = Change([.account(.insert(AccountRecord("ann")))])
    guard case .failed = await store.attempt(change, fenced, CommitDecision()) else {
      Issue.record("a fenced change was not refused")
      return
    }
    #expect(try await store.account("ann") == nil)
    guard case .ended(.committed) = await store.attempt(change, committed, CommitDecision()) else {
      Issue.record("a change was not committed")
      return
    }
    #expect(await store.settle(committed) == true)
    await store.close()
  }

  @Test func `terminated connections are replaced, and callers notice only a delay`() async throws {
    let place = try Place(database: true)
    let store = try place.open()
    for round in 0..<5 {
      #expect(try await store.commit(.account(.insert(AccountRecord("a\(round)")))) == .committed)
      try place.terminate("application_name = 'latchkeyd'")
      #expect(try await store.account("a\(round)") != nil)
    }
    await store.close()
  }

  @Test func `a lost database is reported, fails calls immediately after a second, and is found again`() async throws {
    let place = try Place(database: true)
    let notes = LossNotes()
    // A call that is not refused waits for a connection.
    let store = try place.open(observer: notes) { $0.waitMillis = 60_000 }
    _ = try await store.account("ann")
    try place.allowConnections(false)
    try place.terminate("application_name = 'latchkeyd'")
    #expect(await eventually { notes.availability.withLock { $0 } == [false] })
    try await Task.sleep(nanoseconds: 1_300_000_000)
    let begun = ContinuousClock.now
    await #expect(throws: StoreError.self) { try await store.account("ann") }
    await #expect(throws: StoreError.self) { try await store.commit(.account(.insert(AccountRecord("ann")))) }
    #expect(begun.duration(to: .now) < .seconds(20))
    try place.allowConnections(true)
    for _ in 0..<6_000 where (try? await store.account("ann")) == nil {
      if notes.availability.withLock({ $0 }) == [false, true] { break }
      try await Task.sleep(nanoseconds: 10_000_000)
    }
    #expect(notes.availability.withLock { $0 } == [false, true])
    #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
    await store.close()
  }
}

extension Place {
  func terminate(_ condition: String) throws {
    let session = try ReadyConnection.connect(Options(conninfo: Place.server))
    defer { session.abandon() }
    try session.execute(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '\(name)' AND \(condition)")
  }

  /// Waits until this many sessions wait for a lock.
  func waitForLock(sessions: Int = 1) async throws {
    let waiting = "datname = '\(name)' AND wait_event_type = 'Lock'"
    try await Place.wait(until: "SELECT count(*) >= \(sessions) FROM pg_stat_activity WHERE \(waiting)")
  }

  /// Waits until a commit waits for a standby. False: the change has ended.
  func hasWaitingCommit(unless hasEnded: () -> Bool) async -> Bool {
    let query = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = '\(name)' AND wait_event = 'SyncRep'"
    for _ in 0..<3_000 where !hasEnded() {
      if (try? await Place.wait(until: query, times: 1)) != nil { return true }
    }
    return false
  }

  func allowConnections(_ areAllowed: Bool) throws {
    let session = try ReadyConnection.connect(Options(conninfo: Place.server))
    defer { session.abandon() }
    try session.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS \(areAllowed)")
  }

  /// A setting of the whole server: commits of other tests wait while it is set.
  func setStandby(_ names: String) throws {
    let session = try ReadyConnection.connect(Options(conninfo: Place.server))
    defer { session.abandon() }
    try session.execute("ALTER SYSTEM SET synchronous_standby_names = '\(names)'")
    try session.execute("SELECT pg_reload_conf()")
  }
}

private final class LossNotes: PartialObserver {
  let lost = Atomic<Int>(0)
  let ended = Atomic<Int64>(0)
  let availability = Mutex<[Bool]>([])

  func settled(_ result: Result<Outcome, StoreError>) { ended.add(1, ordering: .relaxed) }
  func lostCommit() { lost.add(1, ordering: .relaxed) }
  func lostDatabase(_ why: String) { availability.withLock { $0.append(false) } }
  func foundDatabase() { availability.withLock { $0.append(true) } }
}
