internal import Configuration
internal import Delivery
internal import HTTPClient
internal import Observability
internal import Providers
internal import Reactor
internal import Store
internal import Synchronization
internal import Transport

/// Reload of the configuration file, on SIGHUP or by `ConfigurationWatch`. Takes over all changed settings that need no
/// restart, or none if the file has an error.
final class ConfigurationReload: Sendable {
  enum Outcome: String, CaseIterable { case applied, unchanged, refused }

  private struct History {
    var counts: [Outcome: Int] = [:]
    var loadedMillis = wallMillis()
    /// The files at the last attempt (`Settings.fingerprint`).
    var attempted: Digest
  }

  /// Names in one line of the log. A larger change is stated with its number.
  private static let namesMax = 100

  private let current: CurrentConfiguration
  private let ports: Ports
  private let fetcher: CurlFetcher
  private let fetchers: DeliveryFetchers
  private let delivery: DeliveryWorker
  private let reactors: [ReactorsPart.Place]
  private let log: Log
  /// Held while a reload runs, so that two of them do not overlap.
  private let turn = Mutex(())
  /// Held only briefly, so that a slow file does not delay a scrape of the metrics.
  private let history: Mutex<History>

  init(
    _ current: CurrentConfiguration, _ ports: Ports, _ fetcher: CurlFetcher, _ fetchers: DeliveryFetchers,
    _ delivery: DeliveryWorker, _ reactors: [ReactorsPart.Place], _ log: Log
  ) {
    self.current = current
    self.ports = ports
    self.fetcher = fetcher
    self.fetchers = fetchers
    self.delivery = delivery
    self.reactors = reactors
    self.log = log
    history = Mutex(History(attempted: current.value.settings.fingerprint()))
  }

  /// Reads the file and takes over its changes.
  func reload() {
    turn.withLock { _ in
      let attempted = current.value.settings.fingerprint()
      history.withLock { $0.attempted = attempted }
      let outcome = take()
      history.withLock { history in
        history.counts[outcome, default: 0] += 1
        if outcome != .refused { history.loadedMillis = wallMillis() }
      }
    }
  }

  /// The files at the last attempt, and now. They differ if a file has changed since.
  var fingerprints: (attempted: Digest, present: Digest) {
    (history.withLock(\.attempted), current.value.settings.fingerprint())
  }

  func count(_ outcome: Outcome) -> Int { history.withLock { $0.counts[outcome] ?? 0 } }

  var loadedMillis: Int64 { history.withLock(\.loadedMillis) }

  private func take() -> Outcome {
    let present = current.value
    let change: SettingsChange, new: Configured
    do {
      change = try present.settings.change(from: present.contents)
      guard !change.changed.isEmpty || !change.needsRestart.isEmpty else {
        log.info("configuration unchanged")
        return .unchanged
      }
      let kept = change.settings.providers.map(\.id).filter { change.keeps("providers[\($0)]") }
      let keptHooks = change.settings.hooks.map(\.name).filter { change.keeps("hooks[\($0)]") }
      new = try Configured(
        change.settings, contents: change.contents, ports, fetchers,
        previous: (present, Set(kept), Set(keptHooks)))
    } catch let refused as RefusedSettings {
      return refuse(refused.faults.map(\.description))
    } catch {
      return refuse(["\(error)"])
    }
    apply(new)
    var fields: [String: String] = [:]
    if !change.changed.isEmpty { fields["changed"] = ConfigurationReload.list(change.changed) }
    if !change.needsRestart.isEmpty { fields["needs_restart"] = ConfigurationReload.list(change.needsRestart) }
    log.info("configuration reloaded", fields)
    for warning in new.settings.warnings { log.warning(warning) }
    return change.changed.isEmpty ? .unchanged : .applied
  }

  private func refuse(_ faults: [String]) -> Outcome {
    log.error(
      "configuration refused",
      ["why": ConfigurationReload.list(faults, separator: "; "), "kept": "the settings before this reload"])
    return .refused
  }

  /// Replaces the present version. Cannot fail.
  private func apply(_ new: Configured) {
    let settings = new.settings
    ports.base.metrics.add(providers: settings.providers.map(\.id))
    fetcher.allow(privateHosts: settings.fetchSettings.privateHosts)
    ports.base.keys.tokens.use(new.signers)
    ports.passwords.use(new.blocking)
    delivery.use(new.messages)
    log.use(settings.logLevel)
    current.use(new)
    for place in reactors { place.commandQueue.post(.configured(new.calls)) }
  }

  private static func list(_ names: [String], separator: String = ", ") -> String {
    let more = names.count > namesMax ? ["and \(names.count - namesMax) more"] : []
    return (names.prefix(namesMax) + more).joined(separator: separator)
  }
}
