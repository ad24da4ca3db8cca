internal import HTTPClient
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

  func reportBackups(_ backups: BackupRunner) {
    gauge(Catalogue.newestBackup) { Double(backups.newest.millis) / 1_000 }
  }

  func reportConnections(_ workers: [(commandQueue: CommandQueue<WorkerCommand>, load: Load)]) {
    gauge(Catalogue.connections) {
      Double(workers.reduce(0) { $0 + $1.load.connections.load(ordering: .relaxed) })
    }
  }

  /// Reports the breakers of all configured providers, even without requests so far.
  func reportBreakers(of providers: [String], _ fetcher: CurlFetcher) {
    func report(_ family: MetricFamily, _ read: @escaping @Sendable (CurlFetcher.BreakerReading) -> Int) {
      registry.collect(family) {
        let breakers = fetcher.breakers
        return providers.sorted().map { (Labels([("provider", $0)]), .count(breakers[$0].map(read) ?? 0)) }
      }
    }
    report(Catalogue.breakerOpen) { $0.isOpen ? 1 : 0 }
    report(Catalogue.breakerOpenings) { $0.openings }
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
