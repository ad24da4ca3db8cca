internal import Callers
internal import HTTPClient
internal import Hooks
internal import Identity
internal import Observability
internal import Reactor
internal import Store
internal import Synchronization
internal import TLS
internal import Transport

/// Gauges that are read at scrape time: the process and its queues.
struct Gauges {
  let registry: MetricsRegistry

  func reportProcess(_ opened: OpenedStore) {
    registry.collect(Catalogue.build) {
      [(Labels([("version", Build.version), (opened.kind, opened.version)]), .count(1))]
    }
    gauge(Catalogue.residentBytes) { ProcessUsage.now().residentBytes.map(Double.init) }
    gauge(Catalogue.cpuSeconds) { ProcessUsage.now().cpuNanos.map { Double($0) / 1e9 } }
    gauge(Catalogue.descriptors) { ProcessUsage.now().openDescriptors.map(Double.init) }
    gauge(Catalogue.descriptorsMax) { ProcessUsage.now().descriptorsMax.map(Double.init) }
    let started = Double(wallMillis()) / 1_000
    gauge(Catalogue.startTime) { started }
  }

  func reportLog(_ log: Log) {
    registry.collect(Catalogue.logLinesDropped) { [(Labels.none, .count(log.droppedLines))] }
  }

  func reportCertificate(_ tls: CurrentContext) {
    gauge(Catalogue.certificateEnd) { Double(tls.status.certificate.notAfterMillis) / 1_000 }
    gauge(Catalogue.clientAuthorityEnd) { tls.status.clientAuthorityNotAfterMillis.map { Double($0) / 1_000 } }
    gauge(Catalogue.certificateLoaded) { Double(tls.status.loadedMillis) / 1_000 }
    registry.collect(Catalogue.certificateReloads) {
      let status = tls.status
      // Excludes the load at the start, which is not a reload.
      return [
        (Labels([("result", "loaded")]), .count(status.loads - 1)),
        (Labels([("result", "refused")]), .count(status.failures)),
      ]
    }
  }

  /// Reports the keys of the configured callers, so that the labels are bounded.
  func reportAPIKeys(_ keys: @escaping @Sendable () -> [APIKey]) {
    @Sendable func labels(_ key: APIKey) -> Labels { Labels([("caller", key.caller.text), ("key", key.name)]) }
    registry.collect(Catalogue.apiKeyEnd) {
      keys().compactMap { key in key.notAfter.map { (labels(key), .number(Double($0.millis) / 1_000)) } }
    }
    registry.collect(Catalogue.apiKeyUse) {
      // Uses are recorded on the monotonic clock, which calls read anyway.
      let offset = wallMillis() - monotonicMillis()
      return keys().map { key in
        (labels(key), .number(key.lastUseMillis == 0 ? 0 : Double(key.lastUseMillis + offset) / 1_000))
      }
    }
  }

  func reportReloads(_ reload: ConfigurationReload) {
    registry.collect(Catalogue.configReloads) {
      ConfigurationReload.Outcome.allCases.map { outcome in
        (Labels([("outcome", outcome.rawValue)]), .count(reload.count(outcome)))
      }
    }
    gauge(Catalogue.configLoaded) { Double(reload.loadedMillis) / 1_000 }
  }

  func reportMasterKeys(_ work: MasterKeyWork) {
    registry.collect(Catalogue.masterKeyRows) {
      work.statuses.map { (Labels([("key", $0.id.text), ("use", $0.state.rawValue)]), .count($0.rowCount)) }
    }
    gauge(Catalogue.masterKeyMissingRows) {
      Double(work.statuses.filter { $0.state == .missing }.reduce(0) { $0 + $1.rowCount })
    }
  }

  func reportSigningKey(_ keys: SigningKeyWatch) {
    gauge(Catalogue.signingKeySince) {
      keys.signsSince(Timestamp(millis: wallMillis())).map { Double($0.millis) / 1_000 }
    }
  }

  func reportBackups(_ backups: BackupRunner) {
    gauge(Catalogue.newestBackup) { Double(backups.newest.millis) / 1_000 }
  }

  /// Reports the connections of a pool, if the store has one.
  func reportPool(_ connections: (@Sendable () -> (open: Int, inUse: Int))?) {
    guard let connections else { return }
    registry.collect(Catalogue.storeConnections) {
      let now = connections()
      return [(Labels([("state", "open")]), .count(now.open)), (Labels([("state", "in_use")]), .count(now.inUse))]
    }
  }

  func reportConnections(_ workers: [(commandQueue: CommandQueue<WorkerCommand>, load: Load)]) {
    gauge(Catalogue.connections) {
      Double(workers.reduce(0) { $0 + $1.load.connections.load(ordering: .relaxed) })
    }
  }

  /// Reports the breakers of all configured providers, even without requests so far.
  func reportBreakers(of providers: @escaping @Sendable () -> [String], _ fetcher: CurlFetcher) {
    func report(_ family: MetricFamily, _ read: @escaping @Sendable (CurlFetcher.BreakerReading) -> Int) {
      registry.collect(family) {
        let breakers = fetcher.breakers
        return providers().sorted().map { (Labels([("provider", $0)]), .count(breakers[$0].map(read) ?? 0)) }
      }
    }
    report(Catalogue.breakerOpen) { $0.isOpen ? 1 : 0 }
    report(Catalogue.breakerOpenings) { $0.openings }
  }

  /// Reports the breakers of the configured hooks.
  func reportHooks(_ hooks: @escaping @Sendable () -> [HookClient]) {
    registry.collect(Catalogue.hookBreakerOpen) {
      hooks().map { (Labels([("hook", $0.name)]), .count($0.isOpen ? 1 : 0)) }
    }
  }

  /// Reports queue lengths by name, in the given order.
  func reportQueues(_ queues: [(name: String, length: @Sendable () -> Int)]) {
    registry.collect(Catalogue.queueLength) {
      queues.map { (Labels([("queue", $0.name)]), .count($0.length())) }
    }
  }

  private func gauge(_ family: MetricFamily, _ read: @escaping @Sendable () -> Double?) {
    registry.collect(family) { read().map { [(Labels.none, .number($0))] } ?? [] }
  }
}
