internal import Configuration
internal import Store
internal import StorePostgres
internal import StoreSQLite

/// The configured store, with its name, version and location.
struct OpenedStore: Sendable {
  let store: any Store
  /// Name of the store in metrics and in the log.
  let kind: String
  let version: String
  /// Location of the store for the log.
  let place: String
  let queuedLookUps: @Sendable () -> Int
  let queuedChanges: @Sendable () -> Int

  /// Opens the store that the settings select.
  /// - Parameter appended: called when new audit rows are visible.
  static func open(
    _ settings: Settings, observer: any StoreObserver, appended: @escaping @Sendable () -> Void
  ) throws(ConfigurationError) -> OpenedStore {
    do throws(StoreError) {
      return settings.postgres.isUsed
        ? try openPostgres(settings, observer, appended) : try openFile(settings, observer, appended)
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
    _ settings: Settings, _ observer: any StoreObserver, _ appended: @escaping @Sendable () -> Void
  ) throws(StoreError) -> OpenedStore {
    let store = try SQLiteStore(path: settings.storePath, observer: observer, appended: appended)
    // Extracts the number from "SQLite 3.40.1, source …".
    let version = SQLiteStore.version.split { $0 == " " || $0 == "," }.dropFirst().first.map(String.init) ?? ""
    return OpenedStore(
      store: store, kind: "sqlite", version: version, place: settings.storePath,
      queuedLookUps: { store.queuedLookUps }, queuedChanges: { store.queuedCount })
  }

  private static func openPostgres(
    _ settings: Settings, _ observer: any StoreObserver, _ appended: @escaping @Sendable () -> Void
  ) throws(StoreError) -> OpenedStore {
    let store = try PostgresStore(options: settings.postgres.options, observer: observer, appended: appended)
    // Extracts the number from "15.18 (Debian …)".
    let version = store.serverVersion.split(separator: " ").first.map(String.init) ?? ""
    return OpenedStore(
      store: store, kind: "postgres", version: version, place: settings.postgres.place,
      queuedLookUps: { store.queuedLookUps }, queuedChanges: { store.queuedCount })
  }
}
