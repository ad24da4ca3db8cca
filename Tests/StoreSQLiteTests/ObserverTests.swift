import Store
import Synchronization
import TestSupport
import Testing

@testable import StoreSQLite

/// The notifications of a store, in order.
private final class Notes: PartialObserver {
  enum Note: Equatable {
    case committed(Int)
    case lost
    case settled(Outcome?)
    case full
    case pendings(Int)
    case deliveries(Int)
    case half(ThrottleKind)
    case removed(PendingPurpose)
  }

  private let notes = Mutex<[Note]>([])
  private let times = Mutex<[Duration]>([])

  func take() -> [Note] {
    notes.withLock { notes in
      defer { notes = [] }
      return notes
    }
  }

  var took: [Duration] { times.withLock { $0 } }

  func committed(changes: Int, took: Duration) {
    times.withLock { $0.append(took) }
    add(.committed(changes))
  }
  func lostCommit() { add(.lost) }
  func settled(_ result: Result<Outcome, StoreError>) { add(.settled(try? result.get())) }
  func refusedByFullQueue() { add(.full) }
  func holds(pendingRows count: Int) { add(.pendings(count)) }
  func holds(waitingDeliveries count: Int) { add(.deliveries(count)) }

  func reachedHalf(of limit: ThrottleKind) { add(.half(limit)) }

  func removedPending(for purpose: PendingPurpose) { add(.removed(purpose)) }

  private func add(_ note: Note) { notes.withLock { $0.append(note) } }
}

@Suite struct ObserverTests {
  let folder: Folder
  private let notes = Notes()

  init() throws { folder = try Folder() }

  private func pending(_ number: UInt8, of accountID: String, network: UInt8? = nil, perCallerMax: Int = 9) -> Write {
    var pending = PendingRecord(
      digest: Digest([UInt8](repeating: number, count: 32)), purpose: .link,
      identity: IdentityKey(providerID: "oidc.a", subject: "\(number)"), email: nil, tier: .verified,
      accountID: accountID, caller: CallerName("shop"), binding: nil, attemptID: "\(number)", sealed: [],
      createdAt: Timestamp(millis: 0), expiresAt: Timestamp(millis: 10), attemptsLeft: 1)
    pending.network = network.map { Digest([UInt8](repeating: $0, count: 32)) }
    return .pending(.insert(pending, limits: PendingLimits(perAccountMax: 2, perCallerMax: perCallerMax, totalMax: 9)))
  }

  @Test func `a commit is reported with its size before any answer, and each change with its outcome`()
    async throws
  {
    let store = try SQLiteStore(path: folder.file, observer: notes)
    #expect(notes.take() == [.pendings(0), .deliveries(0)])
    _ = try await store.commit(.account(.insert(AccountRecord("a"))))
    #expect(notes.take() == [.committed(1), .settled(.committed)])
    _ = try await store.commit(.account(.insert(AccountRecord("a"))))
    #expect(notes.take() == [.committed(1), .settled(.conflict(.accountID))])
    let commitDecision = CommitDecision()
    _ = commitDecision.cancel()
    _ = try await store.commit(Change([.account(.insert(AccountRecord("b")))]), commitDecision: commitDecision)
    #expect(notes.take() == [.committed(1), .settled(.cancelled)])
    #expect(notes.took.count == 3 && notes.took.allSatisfy { $0 > .zero })
    await store.close()
  }

  @Test func `the number of pending rows is reported when it changes, and when the store opens`() async throws {
    let store = try SQLiteStore(path: folder.file, observer: notes)
    _ = try await store.commit(.account(.insert(AccountRecord("a"))))
    _ = notes.take()
    _ = try await store.commit(pending(1, of: "a"))
    #expect(notes.take() == [.committed(1), .pendings(1), .settled(.committed)])
    _ = try await store.commit(pending(2, of: "a"))
    #expect(notes.take() == [.committed(1), .pendings(2), .settled(.committed)])
    _ = try await store.commit(pending(3, of: "a"))
    #expect(notes.take().last == .settled(.limited(.account)))
    await store.close()

    let again = try SQLiteStore(path: folder.file, observer: notes)
    #expect(notes.take() == [.pendings(2), .deliveries(0)])
    let swept = try await again.sweep(
      at: Timestamp(millis: 10), rowsMax: 10, auditedBefore: Timestamp(millis: .min))
    #expect(swept == 2)
    // The sweep returns before it notifies, since no caller waits for the count.
    try await eventually { notes.take() == [.pendings(0)] ? () : nil }
    await again.close()
  }

  @Test func `a row that makes room is reported once, and not if the change is rejected`() async throws {
    let store = try SQLiteStore(path: folder.file, observer: notes)
    for number in 1...2 as ClosedRange<UInt8> {
      _ = try await store.commit(pending(number, of: "", network: 1, perCallerMax: 2))
    }
    _ = notes.take()
    let refused = Change([
      pending(3, of: "", network: 2, perCallerMax: 2), .account(.raise(id: "missing", version: 1)),
    ])
    #expect(try await store.commit(refused, commitDecision: CommitDecision()) == .stale)
    #expect(!notes.take().contains(.removed(.link)))
    _ = try await store.commit(pending(3, of: "", network: 2, perCallerMax: 2))
    #expect(notes.take() == [.committed(1), .pendings(2), .removed(.link), .settled(.committed)])
    await store.close()
  }

  @Test func `the number of waiting messages is reported when it changes`() async throws {
    let store = try SQLiteStore(path: folder.file, observer: notes)
    _ = notes.take()
    let (now, later) = (Timestamp(millis: 0), Timestamp(millis: 9))
    let message = DeliveryRecord(
      id: "a", channel: .mail, kind: "linked", sealed: [], createdAt: now, expiresAt: later)
    _ = try await store.commit(.delivery(.enqueue(message, queueMax: 9)))
    #expect(notes.take() == [.committed(1), .deliveries(1), .settled(.committed)])
    _ = try await store.commit(.delivery(.claim(id: "a", attempts: 0, nextAttemptAt: later)))
    #expect(notes.take() == [.committed(1), .settled(.committed)])
    _ = try await store.commit(.delivery(.bury(id: "a", at: now, reason: "r", keptUntil: later)))
    #expect(notes.take() == [.committed(1), .deliveries(0), .settled(.committed)])
    await store.close()
  }

  @Test func `a full queue is reported, and a closed store is not`() async throws {
    var options = Options()
    options.queueMax = 0
    let store = try SQLiteStore(path: folder.file, options: options, observer: notes)
    _ = notes.take()
    await #expect(throws: StoreError.self) { try await store.commit(.account(.insert(AccountRecord("a")))) }
    #expect(notes.take() == [.full])
    await store.close()
    await #expect(throws: StoreError.closed) { try await store.commit(.account(.insert(AccountRecord("a")))) }
    #expect(notes.take() == [])
  }

  @Test func `half of a caller's limit is reported once in a window, and half of other limits is not`() async throws {
    let store = try SQLiteStore(path: folder.file, observer: notes)
    func reported(_ kind: ThrottleKind, _ times: Int, at: Int64 = 0) async throws -> Int {
      _ = notes.take()
      for _ in 0..<times { _ = try await store.commit(.throttle(.count(.sample(kind, at: at)))) }
      return notes.take().count { $0 == .half(kind) }
    }
    #expect(try await reported(.sendsPerCaller, 1) == 0)
    #expect(try await reported(.sendsPerCaller, 1) == 1)
    #expect(try await reported(.sendsPerCaller, 1) == 0)
    #expect(try await reported(.sendsPerCaller, 2, at: 1_000) == 1)
    #expect(try await reported(.sendsPerNetwork, 3) == 0)
    await store.close()
  }
}

extension ThrottleCount {
  /// A count with at most 4 in a second.
  fileprivate static func sample(_ kind: ThrottleKind, at millis: Int64) -> ThrottleCount {
    ThrottleCount(
      key: Digest([UInt8](repeating: kind.isPerCaller ? 1 : 2, count: 32)), kind: kind,
      rule: ThrottleRule(4, inMillis: 1_000), at: Timestamp(millis: millis), refusesBlocked: false)
  }
}
