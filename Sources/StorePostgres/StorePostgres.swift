// StorePostgres: the store that many replicas share, in PostgreSQL or a compatible database.
//
// Owns: the connections and the per-thread pools that drive them, the thread that connects, the thread that serves all
// callers without a pool, the schema and its migrations, retries, and the resolution of changes whose connection was
// lost.
// Does not own: what a change means to the product (Identity), the configured values (Configuration), logs, the
// database itself.
// Read next: StoreRequest.swift and ConnectionPool.swift (a round trip), Committing.swift, Script.swift (the statements
// of a change), LookUp.swift, Events.swift (how audit rows get their positions), Migrations.swift (the schema),
// PostgresTables.swift (whole tables from another backend).

import Glibc
import Reactor
package import Store
import Synchronization

/// A store in a database that other processes use as well.
package final class PostgresStore: Store {
  let options: Options
  let observer: (any StoreObserver)?
  let appended: (@Sendable () -> Void)?
  private let availability: Availability
  private let connector: Connector
  let counters: StoreCounters
  private let thread: StoreThread
  private let pools: ThreadSlot<ConnectionPool>
  private let closed = Atomic<Bool>(false)
  /// The newest audit position seen.
  let lastEvent = Atomic<Int64>(0)
  /// Whether the database rejects the placing or reading of audit rows, and the observer was notified.
  let eventsAreHeldUp = Atomic<Bool>(false)
  /// The kinds of rows that the last sweep skipped because of another transaction's lock, each with the number of
  /// consecutive skips.
  let passedOver = Mutex<[String: Int]>([:])
  /// A `SearchAbility`.
  let searchAbility: Atomic<Int>
  private let watching = Mutex<Task<Void, Never>?>(nil)

  /// The version of the server on which the store was opened.
  package let serverVersion: String
  /// The schema that the database had when the store was opened.
  package let schema: SchemaVersion

  /// Connects once and migrates the schema. Rejects a schema that a newer version wrote. Blocks.
  ///
  /// - Parameter appended: called when audit rows of any process have become visible. Must not block.
  package init(
    options: Options, observer: (any StoreObserver)? = nil, appended: (@Sendable () -> Void)? = nil
  ) throws(StoreError) {
    self.options = options
    self.observer = observer
    self.appended = appended
    searchAbility = Atomic((options.search ? SearchAbility.missing : .disabled).rawValue)
    (serverVersion, schema) = try PostgresStore.prepare(options)
    availability = Availability(observer)
    connector = Connector(options, availability)
    counters = StoreCounters(observer)
    pools = try orUnavailable { () throws(SystemError) in try ThreadSlot() }
    let queue = try PostgresStore.makeInbox()
    thread = StoreThread(queue)
    startThread(named: "store-connector") { [connector] in connector.run() }
    try thread.start { [options, availability, connector, counters] () throws(StoreError) in
      try ConnectionPool(options, availability, connector, counters, queue)
    }
    startWatching()
  }

  deinit {
    watching.withLock { $0?.cancel() }
    thread.close()
    connector.close()
  }

  private static func prepare(_ options: Options) throws(StoreError) -> (server: String, SchemaVersion) {
    do throws(ReadyConnection.Refusal) {
      let connection = try ReadyConnection.connect(options)
      defer { connection.abandon() }
      try Pooler.check(connection, options)
      let schema = try Migrations.run(
        on: connection, isAllowed: options.migrates, by: ReadyConnection.deadline(options))
      return (try connection.text("SHOW server_version", by: ReadyConnection.deadline(options)), schema)
    } catch {
      throw error.isLasting ? StoreError.unusable(error.text) : .unavailable(error.text)
    }
  }

  /// The numbers of lookups and of changes that wait to be sent.
  package var queuedLookUps: Int { counters.waitingReadings }
  package var queuedCount: Int { counters.waitingWritings }

  // MARK: Threads

  package func attachThread() throws {
    try ensureOpen()
    guard pools.value == nil else { return }
    pools.value = try ConnectionPool(options, availability, connector, counters, PostgresStore.makeInbox())
  }

  private static func makeInbox() throws(StoreError) -> CommandQueue<PoolCommand> {
    try orUnavailable { () throws(SystemError) in try CommandQueue() }
  }

  package func detachThread() {
    pools.value?.close()
    pools.value = nil
  }

  package var watchedDescriptor: Int32? { pools.value?.descriptor }

  package func turn() { pools.value?.turn() }

  package func endTurn() { pools.value?.send() }

  /// Passes a request to the pool of the calling thread, or to `StoreThread`.
  func put(_ request: StoreRequest) {
    guard !isClosed else { return request.refuse(.closed) }
    if let pool = pools.value {
      pool.take(request)
    } else if !thread.queue.post(.request(request)) {
      request.refuse(.closed)
    }
  }

  /// Runs these steps, in a transaction if there is more than one.
  func ask<Value: Sendable>(
    _ kind: StoreRequest.Kind, begin: Statement, _ steps: @escaping @Sendable () -> [BoundStatement],
    _ read: @escaping @Sendable ([QueryResult]) throws(RequestError) -> Value
  ) async -> Result<Value, RequestError> {
    await withCheckedContinuation { continuation in
      let then: @Sendable (RoundTripResult, Bool) -> Void = { ending, isWhole in
        do throws(RequestError) {
          let answers = try ending.get()
          let value = try read(isWhole ? Array(answers.dropFirst().dropLast()) : answers)
          continuation.resume(returning: .success(value))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
      put(
        StoreRequest(
          kind: kind, sinceMillis: monotonicMillis(),
          begin: {
            let steps = steps()
            let isWhole = steps.count > 1
            let end: (RoundTripResult) -> RoundTrip? = { ending in
              then(ending, isWhole)
              return nil
            }
            return isWhole ? .whole(steps, begin: begin, then: end) : .single(steps[0], then: end)
          }, refuse: { continuation.resume(returning: .failure(.unsent($0))) }))
    }
  }

  // MARK: Reading

  /// Always nil: a lookup needs a round trip.
  package func now(_ query: Query) throws -> Facts? { nil }

  package func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { nil }

  package func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? {
    try await retrying { () async -> Result<SignInMethodsRecord?, RequestError> in
      let statement = query.includesLinkedEmail ? Statement.methodsByLinkedEmail : .methodsByEmail
      return await self.ask(.reading, begin: .beginReading, { [BoundStatement(statement).bind(query.email)] }) {
        answers throws(RequestError) in try SignInMethodsRecord(rows: answers[0])
      }
    }
  }

  package func load(_ query: Query) async throws -> Facts {
    var found = try await retrying { await self.lookOnce(query) }
    if query.events != nil || query.support?.events != nil, found.hasUnplacedEvents {
      // The result must include everything committed before this call, so all of it must have a position.
      try await placeAll()
      found = try await retrying { await self.lookOnce(query) }
    }
    return found.facts
  }

  private struct Found: Sendable {
    var facts: Facts
    var hasUnplacedEvents = false
  }

  /// Looks up, and retries after a lost connection: once, or more often while retries are quick.
  ///
  /// All connections may have ended at the same time. A failed lookup also fails the lookups behind it on its
  /// connection.
  func retrying<Found>(_ look: () async -> Result<Found, RequestError>) async throws(StoreError) -> Found {
    let begun = monotonicMillis()
    var attempts = 0
    while true {
      switch await look() {
      case .success(let found): return found
      case .failure(let failure):
        attempts += 1
        let attemptsMax = monotonicMillis() - begun < options.waitMillis ? options.connections + 2 : 2
        guard failure.isPassing, attempts < attemptsMax else { throw failure.storeError }
      }
    }
  }

  private func lookOnce(_ query: Query) async -> Result<Found, RequestError> {
    await withCheckedContinuation { continuation in
      put(
        StoreRequest(
          kind: .reading, sinceMillis: monotonicMillis(),
          begin: {
            let lookUp = LookUp(query)
            let roundTrip = lookUp.roundTrip { ending in
              do throws(RequestError) {
                try lookUp.read(try ending.get())
                let found = Found(facts: lookUp.facts, hasUnplacedEvents: lookUp.hasUnplacedEvents)
                continuation.resume(returning: .success(found))
              } catch {
                continuation.resume(returning: .failure(error))
              }
              return nil
            }
            if roundTrip == nil { continuation.resume(returning: .success(Found(facts: lookUp.facts))) }
            return roundTrip
          }, refuse: { continuation.resume(returning: .failure(.unsent($0))) }))
    }
  }

  package static let backupHint = "Back up the database with pg_dump or pg_basebackup."

  /// Always fails: the database has its own backup tools.
  package func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    throw StoreCopyError.unsupported(PostgresStore.backupHint)
  }

  // MARK: Closing

  var isClosed: Bool { closed.load(ordering: .acquiring) }

  private func ensureOpen() throws(StoreError) {
    if isClosed { throw .closed }
  }

  /// Waits for requests in progress. Threads that are still attached keep their connections until they detach. Their
  /// calls fail with `.closed`.
  package func close() async {
    let watching = watching.withLock { task in
      defer { task = nil }
      return task
    }
    watching?.cancel()
    await watching?.value
    // The last rows would otherwise wait for the next process. Any failure was reported where it occurred.
    if watching != nil { try? await placeAll() }
    closed.store(true, ordering: .releasing)
    await thread.closeAndWait()
    connector.close()
  }

  private func startWatching() {
    let (pauseMillis, countingMillis) = (options.placingMillis, options.countingMillis)
    // The task does not retain a released store between two checks.
    let task = Task.detached { [weak self] in
      var countedAt = -countingMillis
      while !Task.isCancelled, self != nil {
        if monotonicMillis() - countedAt >= countingMillis {
          countedAt = monotonicMillis()
          await self?.count()
        }
        await self?.watchEvents()
        try? await Task.sleep(nanoseconds: UInt64(pauseMillis) * 1_000_000)
      }
    }
    watching.withLock { $0 = task }
  }
}

/// Converts the error of a system call.
func orUnavailable<Value>(_ body: () throws(SystemError) -> Value) throws(StoreError) -> Value {
  do throws(SystemError) {
    return try body()
  } catch {
    throw .unavailable("\(error)")
  }
}
