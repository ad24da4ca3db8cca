import Store
import Testing

@testable import StoreSQLite

/// Holds the file's write lock, so that changes queue up while the writer waits for it.
@Suite struct GroupCommitTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  private typealias Answers = [Int: Result<Outcome, any Error>]

  /// Commits `count` changes: the writer takes the first and waits with it until all others are in the queue.
  private func commitTogether(
    _ store: SQLiteStore, count: Int, queueMax: Int = .max, fates: [Int: CommitDecision] = [:],
    during: () throws -> Void = {},
    _ change: @escaping @Sendable (Int) -> Change
  ) async throws -> Answers {
    let foreign = try Connection.writer(path: folder.file, options: Options())
    try foreign.execute("BEGIN IMMEDIATE")
    return try await withThrowingTaskGroup(of: (Int, Result<Outcome, any Error>).self) { group in
      for number in 0..<count {
        group.addTask {
          do {
            return (
              number,
              .success(try await store.commit(change(number), commitDecision: fates[number] ?? CommitDecision()))
            )
          } catch {
            return (number, .failure(error))
          }
        }
        if number == 0 { try await eventually { store.changeCount == 1 ? () : nil } }
      }
      try await eventually { store.queuedCount == min(count - 1, queueMax) ? () : nil }
      var answers: Answers = [:]
      // Changes that the full queue rejects are answered while the writer still waits.
      while answers.count < count - 1 - queueMax, let (number, answer) = try await group.next() {
        answers[number] = answer
      }
      try during()
      try foreign.execute("ROLLBACK")
      for try await (number, answer) in group { answers[number] = answer }
      return answers
    }
  }

  @Test func `changes that wait at the same time share a transaction`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let answers = try await commitTogether(store, count: 100) { Change([.account(.insert(AccountRecord("a\($0)")))]) }
    #expect(answers.values.count { (try? $0.get()) == .committed } == 100)
    #expect(store.transactionCount == 2)
    await store.close()
  }

  @Test func `a transaction has no more changes than its maximum`() async throws {
    var options = Options()
    options.groupMax = 10
    let store = try SQLiteStore(path: folder.file, options: options)
    _ = try await commitTogether(store, count: 101) { Change([.account(.insert(AccountRecord("a\($0)")))]) }
    #expect(store.transactionCount == 1 + 10)
    await store.close()
  }

  @Test func `a rejected change does not affect the others of its transaction`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let answers = try await commitTogether(store, count: 30) { number in
      var writes: [Write] = [.account(.insert(AccountRecord("a\(number)")))]
      if number % 3 == 1 { writes.append(.account(.insert(AccountRecord("a\(number)")))) }
      if number % 3 == 2 { writes.append(.account(.raise(id: "nobody", version: 1))) }
      return Change(writes)
    }
    for (number, answer) in answers {
      #expect(try answer.get() == [.committed, .conflict(.accountID), .stale][number % 3])
      #expect(try await exists(store, number) == (number % 3 == 0))
    }
    await store.close()
  }

  @Test func `a change that cannot be carried out fails alone`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let moment = Timestamp(millis: 0)
    let session = SessionRecord(
      id: "same", accountID: "a", caller: CallerName("c"), refreshDigest: Digest([UInt8](repeating: 0, count: 32)),
      authTime: moment, signInProviderID: "password", methods: [], audience: "a", createdAt: moment,
      idleExpiresAt: moment, expiresAt: moment)
    let answers = try await commitTogether(store, count: 20) { number in
      Change([.account(.insert(AccountRecord("a\(number)")))] + (number % 2 == 1 ? [.session(.insert(session))] : []))
    }
    // A duplicate session id is not a race that the domain knows: its change fails.
    for (number, answer) in answers { #expect(try await exists(store, number) == ((try? answer.get()) == .committed)) }
    #expect(answers.values.count { (try? $0.get()) == .committed } == 11)
    await store.close()
  }

  @Test func `a change cancelled while it waits is not carried out`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let fates = Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, CommitDecision()) })
    var cancelled: Set<Int> = []
    let answers = try await commitTogether(
      store, count: 20, fates: fates,
      during: {
        for (number, commitDecision) in fates where number != 7 && commitDecision.cancel() { cancelled.insert(number) }
      }
    ) { Change([.account(.insert(AccountRecord("a\($0)")))]) }
    #expect(cancelled.count == 20 - 1)
    for (number, answer) in answers {
      #expect(try answer.get() == (cancelled.contains(number) ? .cancelled : .committed))
      #expect(try await exists(store, number) == !cancelled.contains(number))
    }
    await store.close()
  }

  @Test func `a full queue refuses immediately`() async throws {
    var options = Options()
    options.queueMax = 5
    let store = try SQLiteStore(path: folder.file, options: options)
    let answers = try await commitTogether(store, count: 20, queueMax: 5) {
      Change([.account(.insert(AccountRecord("a\($0)")))])
    }
    for (number, answer) in answers {
      let isCommitted = (try? answer.get()) == .committed
      #expect(try await exists(store, number) == isCommitted)
      guard case .failure(let error) = answer else { continue }
      #expect(error as? StoreError == .unavailable("store queue full"))
    }
    #expect(answers.values.count { (try? $0.get()) == .committed } == 1 + 5)
    await store.close()
  }

  @Test func `a transaction that fails midway acknowledges no change, and each change is tried separately`()
    async throws
  {
    await (try SQLiteStore(path: folder.file)).close()
    var options = Options()
    options.pagesMax = try Connection.reader(path: folder.file, options: Options()).integer("PRAGMA page_count") + 20
    let store = try SQLiteStore(path: folder.file, options: options)
    let filler = String(repeating: "x", count: 9000)
    let answers = try await commitTogether(store, count: 30) {
      Change([
        .account(.insert(AccountRecord("a\($0)"))), .record(.insertIdempotency(Self.record($0, outcome: filler))),
      ])
    }
    let before = store.transactionCount
    let committed = Set(answers.filter { (try? $0.value.get()) == .committed }.keys)
    #expect(committed.count > 1 && committed.count < 30)
    #expect(before == committed.count)
    for answer in answers.values {
      guard case .failure(let error) = answer else { continue }
      #expect("\(error)".contains("database or disk is full"))
    }
    await store.close()
    let reopened = try SQLiteStore(path: folder.file)
    for number in 0..<30 { #expect(try await exists(reopened, number) == committed.contains(number)) }
    await reopened.close()
    #expect(try SQLiteTables(path: folder.file).integrityCheck() == ["ok"])
  }

  @Test func `a writer that gets no lock answers every waiting change with a failure and goes on`() async throws {
    var options = Options()
    options.writerBusyMillis = 20
    let store = try SQLiteStore(path: folder.file, options: options)
    let foreign = try Connection.writer(path: folder.file, options: Options())
    try foreign.execute("BEGIN IMMEDIATE")
    let commitDecision = CommitDecision()
    await #expect(throws: StoreError.unavailable("database is locked (SQLite 5)")) {
      try await store.commit(Change([.account(.insert(AccountRecord("a0")))]), commitDecision: commitDecision)
    }
    #expect(commitDecision.cancel())
    try foreign.execute("ROLLBACK")
    #expect(try await store.commit(.account(.insert(AccountRecord("a0")))) == .committed)
    await store.close()
  }

  private static func record(_ number: Int, outcome: String) -> IdempotencyRecord {
    let digest = Digest(.init(repeating: UInt8(number), count: 32))
    return IdempotencyRecord(
      key: digest, request: digest, outcome: outcome, accountID: "a\(number)", sessionID: nil,
      createdAt: Timestamp(millis: 0), expiresAt: Timestamp(millis: 1))
  }

  private func exists(_ store: SQLiteStore, _ number: Int) async throws -> Bool {
    var query = Query()
    query.accountID = "a\(number)"
    return try await store.load(query).account != nil
  }
}
