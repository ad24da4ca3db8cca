// StoreSQLite: the embedded store, one file of SQLite in WAL mode.
//
// Owns: the file and its lock, the schema and its migrations, the one writing thread with group commit, the read-only
// connections of the reactors, the reading thread that serves everybody else, and the thread that makes a copy.
// Does not own: what a change means to the product (Identity), which numbers are configured (Server), any log.
// Read next: Writer.swift (group commit), CheckpointPlan.swift (when the log is moved), Reader.swift (snapshots),
// CommitMarks.swift (what readers may keep in memory), Migrations.swift (the schema), SQLiteTables.swift (whole tables,
// on their way to another backend).

import Glibc
import Reactor
package import Store
import Synchronization

/// A store in one file, owned by one process.
package final class SQLiteStore: Store {
  private let path: String
  private let options: Options
  private let observer: (any StoreObserver)?
  private let writing: Inbox<WriteOrder>
  private let reading: Inbox<ReadOrder>
  private let progress = Progress()
  private let isClosed = Atomic<Bool>(false)
  private let desks: ThreadSlot<ThreadDesk>
  private let marks = CommitMarks()
  private let waysIn: WaysInCache

  /// Opens the file, creating it (mode 0600) and bringing its schema up to date; refuses a file that another process
  /// holds, that a newer version wrote, or that does not keep `synchronous=FULL`.
  ///
  /// - Parameter appended: told, on the writing thread, whenever audit rows have become visible. Must not wait.
  package init(
    path: String, options: Options = Options(), observer: (any StoreObserver)? = nil,
    appended: (@Sendable () -> Void)? = nil
  ) throws(StoreError) {
    try LockFile.createPrivately(path)
    let path = try LockFile.resolve(path)
    self.path = path
    self.options = options
    self.observer = observer
    writing = try Inbox(jobsMax: options.queueMax)
    reading = try Inbox(jobsMax: options.queueMax)
    do throws(SystemError) {
      desks = try ThreadSlot()
    } catch {
      throw .unavailable("\(error)")
    }
    let lock = try LockFile(of: path)
    do throws(Failure) {
      let connection = try Connection.writer(path: path, options: options)
      try Migrations.run(on: connection)
      // Numbers are given in order and hardly ever go away, so the last one is near the count and takes no walk.
      let accounts = Int(clamping: try connection.integer("SELECT coalesce(max(number), 0) FROM accounts"))
      waysIn = WaysInCache(accounts: accounts, bytesMax: options.waysInCacheBytesMax, marks: marks)
      let writer = try Writer(
        connection, lock: lock, inbox: writing, options: options, progress: progress, marks: marks,
        waysIn: waysIn, observer: observer, appended: appended)
      let server = ReadServer(try Reader(path: path, options: options, marks: marks, waysIn: waysIn), inbox: reading)
      do throws(SystemError) {
        try tryStartThread(named: "store-writer") { writer.run() }
        try tryStartThread(named: "store-reader") { server.run() }
      } catch {
        throw Failure(error)
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

  /// Version and source id of the library: a report of trouble with the file starts with these.
  package static var version: String { Connection.libraryVersion }

  /// Changes that wait for the writing thread.
  package var queuedCount: Int { writing.count }

  /// Look-ups that wait for the reading thread.
  package var queuedLookUps: Int { reading.count }

  /// Changes that the writing thread has taken up since the store was opened.
  package var changeCount: Int { progress.changes.load(ordering: .relaxed) }

  /// Transactions committed by the writing thread since the store was opened.
  package var transactionCount: Int { progress.transactions.load(ordering: .relaxed) }

  package func attachThread() throws {
    try ensureOpen()
    guard desks.value == nil else { return }
    do throws(Failure) {
      desks.value = ThreadDesk(try Reader(path: path, options: options, marks: marks, waysIn: waysIn))
    } catch {
      throw error.storeError
    }
  }

  package func detachThread() {
    endTurn()
    desks.value = nil
  }

  package func endTurn() {
    desks.value?.reader.endSnapshot()
    handOver()
  }

  /// Sends the writer what the calling thread has gathered.
  func handOver() {
    if let desk = desks.value { handOver(desk.takeOrders()) }
  }

  package func now(_ query: Query) throws -> Facts? {
    guard let reader = desks.value?.reader else { return nil }
    try ensureOpen()
    do throws(Failure) {
      return try reader.facts(query)
    } catch {
      throw error.storeError
    }
  }

  package func load(_ query: Query) async throws -> Facts {
    if let reader = desks.value?.reader {
      reader.endSnapshot()
      try ensureOpen()
      do throws(Failure) {
        return try reader.facts(query)
      } catch {
        throw error.storeError
      }
    }
    return try await answer(from: reading) { ReadOrder(query: query, answer: $0) }
  }

  package func commit(_ change: Change, fate: Fate) async throws -> Outcome {
    try await withCheckedThrowingContinuation { continuation in
      let order = ChangeOrder(change: change, fate: fate, answer: continuation)
      guard let desk = desks.value else { return handOver([order]) }
      desk.orders.append(order)
      if desk.orders.count == options.handOverMax { handOver(desk.takeOrders()) }
    }
  }

  private func handOver(_ orders: [ChangeOrder]) {
    guard !orders.isEmpty else { return }
    let (taken, refusal) = writing.push(orders.map(WriteOrder.change))
    guard let refusal else { return }
    for order in orders[taken...] {
      if refusal != .closed { observer?.refusedByFullQueue() }
      order.answer.resume(throwing: refusal)
    }
  }

  package func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    try await answer(from: writing) { .sweep(at: now, rowsMax: rowsMax, auditedBefore: auditedBefore, $0) }
  }

  /// The writing thread is asked once before the snapshot is opened: a checkpoint that it had begun, waiting for
  /// readers, would wait for this one.
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
          do throws(Failure) {
            continuation.resume(returning: try copier.copy(to: copyPath) { hold.release() })
          } catch {
            let isClosed = isClosed.load(ordering: .acquiring)
            continuation.resume(throwing: isClosed ? StoreError.closed : error.copyError)
          }
        }
      } catch {
        continuation.resume(throwing: StoreError.unavailable("\(error)"))
      }
    }
  }

  /// The reading thread goes first, so that the writer's connection is the last and leaves an empty WAL behind. Threads
  /// that are still attached keep their connection until they detach, and are told `.closed`.
  package func close() async {
    isClosed.store(true, ordering: .releasing)
    await reading.closeAndWait()
    await writing.closeAndWait()
  }

  private func answer<Job, Answer>(
    from inbox: Inbox<Job>, to order: (CheckedContinuation<Answer, any Error>) -> Job
  ) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      do throws(StoreError) {
        try inbox.push(order(continuation))
      } catch {
        if error != .closed { observer?.refusedByFullQueue() }
        continuation.resume(throwing: error)
      }
    }
  }

  private func ensureOpen() throws(StoreError) {
    if isClosed.load(ordering: .acquiring) { throw .closed }
  }
}

/// What a thread that serves callers has of the store: its reader, and the changes of its turn. They go to the writer
/// together, so that it wakes once and they share a commit; one by one, each would wake it for a commit of its own.
final class ThreadDesk {
  let reader: Reader
  var orders: [ChangeOrder] = []

  init(_ reader: Reader) { self.reader = reader }

  func takeOrders() -> [ChangeOrder] {
    defer { orders.removeAll(keepingCapacity: true) }
    return orders
  }
}

/// What the writing thread counts for others to read, and they for it.
final class Progress: Sendable {
  let changes = Atomic<Int>(0)
  let transactions = Atomic<Int>(0)
  /// Copies that hold, or are about to hold, a snapshot.
  let copies = Atomic<Int>(0)

  var isLogHeld: Bool { copies.load(ordering: .acquiring) > 0 }
}
