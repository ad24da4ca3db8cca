// StorePostgres: the store behind many replicas, in PostgreSQL or what speaks its language.
//
// Owns: the connections and the desks that turn them, the thread that makes them, the house that serves whoever has no
// desk, the schema and its migrations, retries, and how a change is settled whose connection was lost.
// Does not own: what a change means to the product (Identity), which numbers are configured (Server), any log, the
// database itself.
// Read next: Order.swift and Desk.swift (how a trip is made), Committing.swift, Script.swift (what a change is made
// of), LookUp.swift, Events.swift (how audit rows get their positions), Migrations.swift (the schema),
// PostgresTables.swift (whole tables that come from another backend).

import Glibc
import Reactor
package import Store
import Synchronization

/// A store in a database that other processes use as well.
package final class PostgresStore: Store {
  let options: Options
  let observer: (any StoreObserver)?
  let appended: (@Sendable () -> Void)?
  private let reach: Reach
  private let connector: Connector
  private let tallies: Tallies
  private let house: House
  private let desks: ThreadSlot<Desk>
  private let closed = Atomic<Bool>(false)
  /// The newest position that was seen.
  let lastEvent = Atomic<Int64>(0)
  /// The database refuses to give audit rows their positions, or to say them, and the observer knows.
  let eventsAreHeldUp = Atomic<Bool>(false)
  /// Kinds of rows that the last sweep passed over, for a lock of somebody else's, and how often in a row.
  let passedOver = Mutex<[String: Int]>([:])
  private let watching = Mutex<Task<Void, Never>?>(nil)

  /// Version of the server that the store was opened on.
  package let serverVersion: String

  /// Connects once, and brings the schema up to date; refuses one that a newer version wrote. Blocks.
  ///
  /// - Parameter appended: told when audit rows have become visible, whoever wrote them. Must not wait.
  package init(
    options: Options, observer: (any StoreObserver)? = nil, appended: (@Sendable () -> Void)? = nil
  ) throws(StoreError) {
    self.options = options
    self.observer = observer
    self.appended = appended
    serverVersion = try PostgresStore.prepare(options)
    reach = Reach(observer)
    connector = Connector(options, reach)
    tallies = Tallies(observer)
    do {
      desks = try ThreadSlot()
    } catch {
      throw .unavailable("\(error)")
    }
    let inbox = try DeskInbox()
    house = House(inbox)
    startThread(named: "store-connector") { [connector] in connector.run() }
    try house.start { [options, reach, connector, tallies] () throws(StoreError) in
      try Desk(options, reach, connector, tallies, inbox)
    }
    startWatching()
  }

  deinit {
    watching.withLock { $0?.cancel() }
    house.close()
    connector.close()
  }

  private static func prepare(_ options: Options) throws(StoreError) -> String {
    do throws(MadeConnection.Refusal) {
      let connection = try MadeConnection.connect(options)
      defer { connection.abandon() }
      try Migrations.run(on: connection, by: MadeConnection.deadline(options))
      return try connection.text("SHOW server_version", by: MadeConnection.deadline(options))
    } catch {
      throw error.isLasting ? StoreError.unusable(error.text) : .unavailable(error.text)
    }
  }

  /// Look-ups, and changes, that wait to be sent.
  package var queuedLookUps: Int { tallies.waitingReadings }
  package var queuedCount: Int { tallies.waitingWritings }

  // MARK: Threads

  package func attachThread() throws {
    try ensureOpen()
    guard desks.value == nil else { return }
    desks.value = try Desk(options, reach, connector, tallies, DeskInbox())
  }

  package func detachThread() {
    desks.value?.close()
    desks.value = nil
  }

  package var watchedDescriptor: Int32? { desks.value?.descriptor }

  package func turn() { desks.value?.turn() }

  package func endTurn() { desks.value?.send() }

  /// To the desk of the calling thread, or to the house.
  func put(_ order: Order) {
    guard !isClosed else { return order.refuse(.closed) }
    if let desk = desks.value {
      desk.take(order)
    } else if !house.inbox.put(order) {
      order.refuse(.closed)
    }
  }

  /// Asks for these steps, in a transaction where there are more than one.
  func ask<Value: Sendable>(
    _ kind: Order.Kind, begin: Statement, _ steps: @escaping @Sendable () -> [Step],
    _ read: @escaping @Sendable ([Answer]) throws(Failure) -> Value
  ) async -> Result<Value, Failure> {
    await withCheckedContinuation { continuation in
      let then: @Sendable (Ending, Bool) -> Void = { ending, isWhole in
        do throws(Failure) {
          let answers = try ending.get()
          let value = try read(isWhole ? Array(answers.dropFirst().dropLast()) : answers)
          continuation.resume(returning: .success(value))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
      put(
        Order(
          kind: kind, sinceMillis: monotonicMillis(),
          begin: {
            let steps = steps()
            let isWhole = steps.count > 1
            let end: (Ending) -> Trip? = { ending in
              then(ending, isWhole)
              return nil
            }
            return isWhole ? .whole(steps, begin: begin, then: end) : .single(steps[0], then: end)
          }, refuse: { continuation.resume(returning: .failure(.unsent($0))) }))
    }
  }

  // MARK: Reading

  /// Whoever asks has to wait.
  package func now(_ query: Query) throws -> Facts? { nil }

  package func load(_ query: Query) async throws -> Facts {
    var found = try await look(query)
    if query.events != nil, found.hasUnplacedEvents {
      // What was committed before this call has to be seen, and so has to have its position.
      try await placeAll()
      found = try await look(query)
    }
    return found.facts
  }

  private struct Found: Sendable {
    var facts: Facts
    var hasUnplacedEvents = false
  }

  /// Asked once more where the connection was lost, and a little oftener while that is quickly done: all connections
  /// may have been ended at once, and behind a look-up that failed all that are under way on its connection do.
  private func look(_ query: Query) async throws(StoreError) -> Found {
    let begun = monotonicMillis()
    var attempts = 0
    while true {
      switch await lookOnce(query) {
      case .success(let found): return found
      case .failure(let failure):
        attempts += 1
        let attemptsMax = monotonicMillis() - begun < options.waitMillis ? options.connections + 2 : 2
        guard failure.isPassing, attempts < attemptsMax else { throw failure.storeError }
      }
    }
  }

  private func lookOnce(_ query: Query) async -> Result<Found, Failure> {
    await withCheckedContinuation { continuation in
      put(
        Order(
          kind: .reading, sinceMillis: monotonicMillis(),
          begin: {
            let lookUp = LookUp(query)
            let trip = lookUp.trip { ending in
              do throws(Failure) {
                try lookUp.read(try ending.get())
                let found = Found(facts: lookUp.facts, hasUnplacedEvents: lookUp.hasUnplacedEvents)
                continuation.resume(returning: .success(found))
              } catch {
                continuation.resume(returning: .failure(error))
              }
              return nil
            }
            if trip == nil { continuation.resume(returning: .success(Found(facts: lookUp.facts))) }
            return trip
          }, refuse: { continuation.resume(returning: .failure(.unsent($0))) }))
    }
  }

  package static let backupHint = "Back the database up with pg_dump or pg_basebackup."

  /// The database is what holds it all, and has its own tools for this.
  package func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    throw StoreCopyError.unsupported(PostgresStore.backupHint)
  }

  // MARK: The end

  var isClosed: Bool { closed.load(ordering: .acquiring) }

  private func ensureOpen() throws(StoreError) {
    if isClosed { throw .closed }
  }

  /// What is under way ends first. Threads that are still attached keep their connections until they detach, and are
  /// told `.closed`.
  package func close() async {
    let watching = watching.withLock { task in
      defer { task = nil }
      return task
    }
    watching?.cancel()
    await watching?.value
    // Rows of the last moment would else wait for the next process. What is in the way was told where it was met.
    if watching != nil { try? await placeAll() }
    closed.store(true, ordering: .releasing)
    await house.closeAndWait()
    connector.close()
  }

  private func startWatching() {
    let (pauseMillis, countingMillis) = (options.placingMillis, options.countingMillis)
    // A store that nobody holds any more is not held between two looks.
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
