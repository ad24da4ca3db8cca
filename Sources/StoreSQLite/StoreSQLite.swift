// StoreSQLite: the embedded store, one SQLite file in WAL mode.
//
// Owns: the file and its lock, the schema and its migrations, the single writer thread with group commit, the reactors'
// read-only connections, the reader thread for all other callers, and the thread that makes a copy.
// Does not own: what a change means to the product (Identity), the configured values (Configuration), logs.
// Read next: Writer.swift (group commit), CheckpointPlan.swift (when the WAL is checkpointed), Reader.swift
// (snapshots), CommitMarks.swift (what readers may cache), Migrations.swift (the schema), SQLiteTables.swift (whole
// tables, for a migration to another backend).

import Glibc
import Reactor
package import Store
import Synchronization

/// A store in one file, owned by one process.
package final class SQLiteStore: Store {
  private let path: String
  private let options: Options
  /// The schema that the file had when the store was opened.
  package let schema: SchemaVersion
  private let observer: (any StoreObserver)?
  private let writing: WorkQueue<WriteOrder>
  private let reading: WorkQueue<ReadOrder>
  private let writerEnd = Completion()
  private let readerEnd = Completion()
  private let progress = Progress()
  private let isClosed = Atomic<Bool>(false)
  private let threads: ThreadSlot<ThreadState>
  private let marks = CommitMarks()
  private let methods: SignInMethodsCache

  /// Opens the file, creates it with mode 0600 if needed, and migrates its schema. Rejects a file that another process
  /// holds, that a newer version wrote, that has the log of another file next to it (`FileMark`), or that does not keep
  /// `synchronous=FULL`.
  ///
  /// - Parameter appended: called on the writer thread whenever audit rows have become visible. Must not block.
  package init(
    path: String, options: Options = Options(), observer: (any StoreObserver)? = nil,
    appended: (@Sendable () -> Void)? = nil
  ) throws(StoreError) {
    try LockFile.createPrivately(path)
    let path = try LockFile.resolve(path)
    self.path = path
    self.options = options
    self.observer = observer
    writing = WorkQueue(jobsMax: options.queueMax)
    reading = WorkQueue(jobsMax: options.queueMax)
    do throws(SystemError) {
      threads = try ThreadSlot()
    } catch {
      throw .unavailable("\(error)")
    }
    let lock = try LockFile(of: path)
    try lock.settleLog(of: path)
    do throws(SQLiteError) {
      let connection = try Connection.writer(path: path, options: options)
      schema = try Migrations.run(on: connection, isAllowed: options.migrates)
      try lock.renewMark(of: path, connection)
      let keepsSearch = try SearchIndex.prepare(connection, isWanted: options.search)
      // Numbers are assigned in order and rarely removed, so the last one approximates the count without a scan.
      let accounts = Int(clamping: try connection.integer("SELECT coalesce(max(number), 0) FROM accounts"))
      methods = SignInMethodsCache(accounts: accounts, bytesMax: options.methodsCacheBytesMax, marks: marks)
      let writer = try Writer(
        connection, lock: lock, queue: writing, options: options, progress: progress, marks: marks,
        methods: methods, keepsSearch: keepsSearch, observer: observer, appended: appended)
      let server = ReadServer(
        try Reader(path: path, options: options, marks: marks, methods: methods), queue: reading, observer: observer)
      do throws(SystemError) {
        try tryStartThread(named: "store-writer") { [writerEnd] in
          writer.run()
          writerEnd.end()
        }
        try tryStartThread(named: "store-reader") { [readerEnd] in
          server.run()
          readerEnd.end()
        }
      } catch {
        throw SQLiteError(error)
      }
    } catch {
      writing.close()
      reading.close()
      throw error.openingError
    }
  }

  deinit {
    writing.close()
    reading.close()
  }

  /// The version and source id of the SQLite library, for reports of file corruption.
  package static var version: String { Connection.libraryVersion }

  /// The number of changes that wait for the writer thread.
  package var queuedCount: Int { writing.count }

  /// The number of lookups that wait for the reader thread.
  package var queuedLookUps: Int { reading.count }

  /// The number of changes that the writer thread has taken since the store was opened.
  package var changeCount: Int { progress.changes.load(ordering: .relaxed) }

  /// The number of transactions that the writer thread has committed since the store was opened.
  package var transactionCount: Int { progress.transactions.load(ordering: .relaxed) }

  package func attachThread() throws {
    try ensureOpen()
    guard threads.value == nil else { return }
    do throws(SQLiteError) {
      threads.value = ThreadState(try Reader(path: path, options: options, marks: marks, methods: methods))
    } catch {
      throw error.storeError
    }
  }

  package func detachThread() {
    endTurn()
    threads.value = nil
  }

  package func endTurn() {
    threads.value?.reader.endSnapshot()
    handOver()
  }

  /// Sends the writer the changes that the calling thread has collected.
  func handOver() {
    if let thread = threads.value { handOver(thread.takeOrders()) }
  }

  package func now(_ query: Query) throws -> Facts? {
    try read { reader throws(SQLiteError) in try reader.facts(query) }
  }

  package func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? {
    try read { reader throws(SQLiteError) in try reader.methods(query) }
  }

  package func load(_ query: Query) async throws -> Facts {
    threads.value?.reader.endSnapshot()
    if let facts = try now(query) { return facts }
    return try await answer(from: reading) { .facts(query, $0) }
  }

  package func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? {
    threads.value?.reader.endSnapshot()
    if let found = try now(query) { return found }
    return try await answer(from: reading) { .methods(query, $0) }
  }

  /// Reads from the calling thread's snapshot. nil: the thread is not attached.
  @inline(__always)
  private func read<Value>(_ look: (Reader) throws(SQLiteError) -> Value) throws -> Value? {
    guard let reader = threads.value?.reader else { return nil }
    try ensureOpen()
    do throws(SQLiteError) {
      return try look(reader)
    } catch {
      error.report(to: observer)
      throw error.storeError
    }
  }

  package func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome {
    try await withCheckedThrowingContinuation { continuation in
      let order = ChangeOrder(change: change, commitDecision: commitDecision, answer: continuation)
      guard let thread = threads.value else { return handOver([order]) }
      thread.orders.append(order)
      if thread.orders.count == options.handOverMax { handOver(thread.takeOrders()) }
    }
  }

  private func handOver(_ orders: [ChangeOrder]) {
    guard !orders.isEmpty else { return }
    let (taken, refusal) = writing.push(orders.map(WriteOrder.change))
    guard let refusal else { return }
    for order in orders[taken...] { order.answer.resume(throwing: report(refusal)) }
  }

  package func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    try await answer(from: writing) { .sweep(at: now, rowsMax: rowsMax, auditedBefore: auditedBefore, $0) }
  }

  /// Always on the reader thread: a search may examine thousands of accounts.
  package func search(_ query: SearchQuery) async throws -> SearchResult {
    try await answer(from: reading) { .search(query, $0) }
  }

  package func buildSearchIndex(accountsMax: Int) async throws -> Int {
    try await answer(from: writing) { .buildSearch(accountsMax: accountsMax, $0) }
  }

  /// Waits for the writer thread before it opens the snapshot. A checkpoint that the writer has begun, and that waits
  /// for readers, would otherwise wait for this one.
  package func copy(to copyPath: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    try ensureOpen()
    let hold = LogHold(progress)
    try await answer(from: writing) { .settle($0) }
    let copier = Copier(path: path, options: options) { [self] in
      !isClosed.load(ordering: .acquiring) && isWanted()
    }
    return try await withCheckedThrowingContinuation { continuation in
      do throws(SystemError) {
        try tryStartThread(named: "store-copier", niceness: Copier.niceness) { [self] in
          do throws(SQLiteError) {
            continuation.resume(returning: try copier.copy(to: copyPath) { hold.release() })
          } catch {
            let isClosed = isClosed.load(ordering: .acquiring)
            if error.trouble == .corrupt { error.report(to: observer) }
            continuation.resume(throwing: isClosed ? StoreError.closed : error.copyError)
          }
        }
      } catch {
        continuation.resume(throwing: StoreError.unavailable("\(error)"))
      }
    }
  }

  /// Checks the structure of the file, on a thread of its own that takes a fifth of one processor. Reports damage to
  /// the observer too. The WAL grows during the check.
  ///
  /// - Parameter isWanted: called from time to time, on any thread. Once it returns false, the check is unfinished.
  package func check(while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCheck {
    try ensureOpen()
    let result = try await inspect(while: isWanted) { inspector throws(SQLiteError) in try inspector.check() }
    if case .corrupt(let findings) = result { observer?.met(.corrupt, findings.joined(separator: "; ")) }
    return result
  }

  /// Reads sizes and counts, on a thread of its own that takes a fifth of one processor.
  package func statistics(at now: Timestamp, countingAccounts: Bool) async throws -> StoreStatistics {
    try ensureOpen()
    return try await inspect(while: { true }) { inspector throws(SQLiteError) in
      try inspector.statistics(at: now, countingAccounts: countingAccounts)
    }
  }

  private func inspect<Value: Sendable>(
    while isWanted: @escaping @Sendable () -> Bool,
    _ work: @escaping @Sendable (Inspector) throws(SQLiteError) -> Value
  ) async throws -> Value {
    let hold = LogHold(progress)
    try await answer(from: writing) { .settle($0) }
    let inspector = Inspector(path: path, options: options) { [self] in
      !isClosed.load(ordering: .acquiring) && isWanted()
    }
    return try await withCheckedThrowingContinuation { continuation in
      do throws(SystemError) {
        try tryStartThread(named: "store-inspector", niceness: Inspector.niceness) { [self] in
          defer { hold.release() }
          do throws(SQLiteError) {
            continuation.resume(returning: try work(inspector))
          } catch {
            error.report(to: observer)
            continuation.resume(throwing: error.storeError)
          }
        }
      } catch {
        continuation.resume(throwing: StoreError.unavailable("\(error)"))
      }
    }
  }

  package func probe() async throws {
    try ensureOpen()
    try await answer(from: writing) { .probe($0) }
    do {
      try await onThread(named: "store-probe") { [path, options] in
        // A new connection has nothing in its cache.
        let connection = try Connection.reader(path: path, options: options)
        defer { connection.close() }
        _ = try connection.integer("SELECT coalesce(max(number), 0) FROM accounts")
      }
    } catch {
      throw (error as? SQLiteError)?.storeError ?? StoreError.unavailable("\(error)")
    }
  }

  /// Ends the reader thread first, so that the writer's connection is the last one and leaves an empty WAL. Threads
  /// that are still attached keep their connection until they detach. Their calls fail with `.closed`.
  package func close() async {
    isClosed.store(true, ordering: .releasing)
    reading.close()
    await readerEnd.wait()
    writing.close()
    await writerEnd.wait()
  }

  private func answer<Job, Answer>(
    from queue: WorkQueue<Job>, to order: (CheckedContinuation<Answer, any Error>) -> Job
  ) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      do throws(QueueRefusal) {
        try queue.push(order(continuation))
      } catch {
        continuation.resume(throwing: report(error))
      }
    }
  }

  /// Reports a job that its queue rejects, and returns the error for its caller.
  private func report(_ refusal: QueueRefusal) -> StoreError {
    switch refusal {
    case .closed: return .closed
    case .full:
      observer?.refusedByFullQueue()
      return .unavailable("store queue full")
    }
  }

  private func ensureOpen() throws(StoreError) {
    if isClosed.load(ordering: .acquiring) { throw .closed }
  }
}

/// The store state of an attached thread: its reader, and the changes of its turn.
///
/// The changes go to the writer together, so that it wakes once and they share a commit. Sent one by one, each would
/// wake the writer for a commit of its own.
final class ThreadState {
  let reader: Reader
  var orders: [ChangeOrder] = []

  init(_ reader: Reader) { self.reader = reader }

  func takeOrders() -> [ChangeOrder] {
    defer { orders.removeAll(keepingCapacity: true) }
    return orders
  }
}

/// Counters shared between the writer thread and other threads.
final class Progress: Sendable {
  let changes = Atomic<Int>(0)
  let transactions = Atomic<Int>(0)
  /// The number of copies that hold, or are about to hold, a snapshot.
  let copies = Atomic<Int>(0)

  var isLogHeld: Bool { copies.load(ordering: .acquiring) > 0 }
}
