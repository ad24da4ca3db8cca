package import Configuration
internal import Observability
internal import Store
internal import StorePostgres
internal import StoreSQLite

/// The configured store, with its name, version and location.
struct OpenedStore: Sendable {
  typealias Check = @Sendable (_ isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCheck

  private(set) var store: any Store
  /// Name of the store in metrics and in the log.
  let kind: String
  let version: String
  /// Location of the store for the log.
  let place: String
  /// The schema that the store had before it was opened.
  let schema: SchemaVersion
  let queuedLookUps: @Sendable () -> Int
  let queuedChanges: @Sendable () -> Int
  /// Checks the whole store; `nil` if the database checks itself.
  let check: Check?
  let statistics: StatisticsWatch.Read
  /// Counts of the connections to the database; `nil` for a file.
  let connections: (@Sendable () -> (open: Int, inUse: Int))?
  /// Whether other servers may use the store at the same time.
  var isShared: Bool { kind == "postgres" }

  /// Adds spans to the commits of sampled calls.
  mutating func trace(_ tracer: CallTracer?) {
    guard let tracer else { return }
    store = TracedStore(store, tracer, system: kind == "postgres" ? "postgresql" : kind)
  }

  /// Opens the store that the settings select.
  /// - Parameter appended: called when new audit rows are visible.
  /// - Parameter migrates: whether to migrate an older schema, instead of rejecting it.
  static func open(
    _ settings: Settings, migrates: Bool, observer: (any StoreObserver)? = nil,
    appended: @escaping @Sendable () -> Void = {}
  ) throws(ConfigurationError) -> OpenedStore {
    do throws(StoreError) {
      return settings.postgres.isUsed
        ? try openPostgres(settings, migrates, observer, appended)
        : try openFile(settings, migrates, observer, appended)
    } catch {
      let setting = settings.postgres.isUsed ? "store.postgres.conninfo" : "store.path"
      switch error {
      case .unavailable(let text): throw ConfigurationError(setting: setting, why: text, isPassing: true)
      case .unusable(let text): throw ConfigurationError(setting: setting, why: text)
      case .closed, .corrupt: throw ConfigurationError(setting: setting, why: "\(error)")
      }
    }
  }

  private static func openFile(
    _ settings: Settings, _ migrates: Bool, _ observer: (any StoreObserver)?,
    _ appended: @escaping @Sendable () -> Void
  ) throws(StoreError) -> OpenedStore {
    var options = StoreSQLite.Options()
    options.migrates = migrates
    options.search = settings.search
    let store = try SQLiteStore(path: settings.storePath, options: options, observer: observer, appended: appended)
    // Extracts the number from "SQLite 3.40.1, source …".
    let version = SQLiteStore.version.split { $0 == " " || $0 == "," }.dropFirst().first.map(String.init) ?? ""
    return OpenedStore(
      store: store, kind: "sqlite", version: version, place: settings.storePath, schema: store.schema,
      queuedLookUps: { store.queuedLookUps }, queuedChanges: { store.queuedCount },
      check: { try await store.check(while: $0) },
      statistics: { try await store.statistics(at: $0, countingAccounts: $1) }, connections: nil)
  }

  private static func openPostgres(
    _ settings: Settings, _ migrates: Bool, _ observer: (any StoreObserver)?,
    _ appended: @escaping @Sendable () -> Void
  ) throws(StoreError) -> OpenedStore {
    var options = settings.postgres.options
    options.migrates = migrates
    options.search = settings.search
    let store = try PostgresStore(options: options, observer: observer, appended: appended)
    // Extracts the number from "15.18 (Debian …)".
    let version = store.serverVersion.split(separator: " ").first.map(String.init) ?? ""
    return OpenedStore(
      store: store, kind: "postgres", version: version, place: settings.postgres.place, schema: store.schema,
      queuedLookUps: { store.queuedLookUps }, queuedChanges: { store.queuedCount },
      check: nil, statistics: { try await store.statistics(at: $0, countingAccounts: $1) },
      connections: { store.connections })
  }
}

extension Settings {
  /// Migrates the store without starting a server.
  /// - Returns: what was done.
  package func migrateStore() async throws -> String {
    let opened = try OpenedStore.open(self, migrates: true)
    await opened.store.close()
    let found = opened.schema
    guard found.version < found.known else {
      return "schema \(found.version)\(found.isNewer ? ", of a newer program" : ""): nothing to migrate"
    }
    return "schema \(found.version) migrated to \(found.known)"
  }
}

extension OpenedStore {
  /// Logs what was done to the schema.
  func report(to log: Log) {
    log.info("store open", ["place": place, kind: version, "schema": "\(max(schema.version, schema.known))"])
    if schema.isNewer {
      let works = "a newer release has migrated the store, and this one still works with it"
      log.warning(works, ["schema": "\(schema.version)", "known": "\(schema.known)"])
    } else if schema.version < schema.known {
      log.info("schema migrated", ["from": "\(schema.version)", "to": "\(schema.known)"])
    }
  }
}
