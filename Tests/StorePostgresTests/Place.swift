import CLinux
import Store
import Synchronization

@testable import StorePostgres

/// An empty place on the server that LATCHKEY_POSTGRES names by keywords and values. Removed after the test.
final class Place: Sendable {
  static let server = unsafe lk_environment("LATCHKEY_POSTGRES").map { unsafe String(cString: $0) } ?? ""
  /// The number of connections of each store.
  static let connections = Options(conninfo: "").connections
  static var isThere: Bool { !server.isEmpty }

  let name: String
  private let isDatabase: Bool

  /// A schema, or a whole database for a test that blocks other connections.
  init(database isDatabase: Bool = false) throws {
    name = "test_\(UInt64.random(in: 0 ... .max))"
    self.isDatabase = isDatabase
    try Place.run(isDatabase ? "CREATE DATABASE \(name)" : "CREATE SCHEMA \(name)", on: Place.server)
  }

  /// A database with another encoding than the server's.
  init(encoding: String) throws {
    name = "test_\(UInt64.random(in: 0 ... .max))"
    isDatabase = true
    let create = "CREATE DATABASE \(name) ENCODING '\(encoding)' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    try Place.run(create, on: Place.server)
  }

  deinit {
    let drop = isDatabase ? "DROP DATABASE \(name) WITH (FORCE)" : "DROP SCHEMA \(name) CASCADE"
    try? Place.run("SET client_min_messages = warning; \(isDatabase ? "" : drop)", on: Place.server)
    if isDatabase { try? Place.run(drop, on: Place.server) }
  }

  var conninfo: String {
    isDatabase
      ? "\(Place.server) dbname=\(name) options='-c deadlock_timeout=20ms'"
      : "\(Place.server) options='-c search_path=\(name) -c deadlock_timeout=20ms'"
  }

  func open(
    observer: (any StoreObserver)? = nil, changing change: (inout Options) -> Void = { _ in },
    appended: (@Sendable () -> Void)? = nil
  ) throws(StoreError) -> PostgresStore {
    var options = Options(conninfo: conninfo)
    change(&options)
    return try PostgresStore(options: options, observer: observer, appended: appended)
  }

  /// Runs statements like another program.
  func run(_ sql: String) throws { try Place.run(sql, on: conninfo) }

  func text(_ sql: String) throws -> String {
    let session = try session()
    defer { session.abandon() }
    return try session.text(sql)
  }

  /// A connection that the caller must end.
  func session() throws -> ReadyConnection { try ReadyConnection.connect(Options(conninfo: conninfo)) }

  private static func run(_ sql: String, on conninfo: String) throws {
    let session = try ReadyConnection.connect(Options(conninfo: conninfo))
    defer { session.abandon() }
    try session.execute(sql)
  }

  /// Waits until the query returns `t` outside of the place. Checks every ten milliseconds.
  static func wait(until query: String, times: Int = 6_000) async throws {
    let session = try ReadyConnection.connect(Options(conninfo: server))
    defer { session.abandon() }
    for _ in 0..<times {
      if try session.text(query) == "t" { return }
      try await Task.sleep(nanoseconds: 10_000_000)
    }
    throw StoreError.unavailable("it never came to: \(query)")
  }
}

/// Several stores that share calls like replicas.
final class Replicas: Store {
  private let stores: [PostgresStore]
  private let calls = Atomic<Int>(0)

  init(_ stores: [PostgresStore]) { self.stores = stores }

  private var next: PostgresStore {
    stores[calls.wrappingAdd(1, ordering: .relaxed).oldValue % stores.count]
  }

  func attachThread() throws { try stores[0].attachThread() }
  func detachThread() { stores[0].detachThread() }
  func endTurn() { stores[0].endTurn() }
  func now(_ query: Query) throws -> Facts? { nil }
  func load(_ query: Query) async throws -> Facts { try await next.load(query) }
  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { nil }
  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { try await next.load(query) }
  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome {
    try await next.commit(change, commitDecision: commitDecision)
  }
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int {
    try await next.sweep(at: now, rowsMax: rowsMax, auditedBefore: auditedBefore)
  }
  func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    try await next.copy(to: path, while: isWanted)
  }
  func probe() async throws { try await next.probe() }
  func close() async { for store in stores { await store.close() } }
}

extension Store {
  func commit(_ writes: Write...) async throws -> Outcome {
    try await commit(Change(writes), commitDecision: CommitDecision())
  }

  func account(_ id: String) async throws -> AccountRecord? {
    var query = Query()
    query.accountID = id
    return try await load(query).account?.account
  }
}

extension AccountRecord {
  init(_ id: String) { self.init(id: id, createdAt: Timestamp(millis: 0)) }
}
