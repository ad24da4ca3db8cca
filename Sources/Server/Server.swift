// Server: the composition root.
//
// Owns: the wiring of the domain to storage, cryptography, providers and delivery; the order of start and drain; the
// periodic work that no call triggers.
// Does not own: sockets and calls (Transport), the settings (Configuration), the log and the metrics (Observability),
// the endpoints over HTTP/1.1 (HTTP1), any rule of a protocol or of the product.
// Read next: Composition.swift, Parts.swift, ServerParts.swift, Shutdown.swift; then Keys/SigningKeyWatch.swift,
// Delivery/DeliveryWorker.swift, Transport/Worker.swift.

internal import Callers
package import Configuration
internal import Delivery
internal import HTTP1
internal import HTTPClient
internal import Identity
package import Observability
internal import Providers
internal import Reactor
internal import Services
internal import Store
internal import TLS
internal import Transport

/// The server: creates every part from the settings, starts the parts, and stops them in the reverse order.
package final class Server: Sendable {
  private let listeners: [BoundSocket]
  private let log: Log
  private let settings: Settings
  private let certificates: CertificateWatch
  private let reload: ConfigurationReload
  private let keys: SigningKeyWatch
  private let acceptor: AcceptorPart
  private let reactors: ReactorsPart
  private let parts: PartList
  private let health: HealthState

  /// Opens the store, creates all parts and starts them; `serve` starts accepting connections. Throws
  /// `ConfigurationError` if a setting cannot be applied.
  package init(_ settings: Settings, log: Log, metrics registry: MetricsRegistry) async throws {
    self.settings = settings
    self.log = log
    let base = try await Base(settings, log, registry)
    let (metrics, store) = (base.metrics, base.opened.store)
    keys = base.keys
    health = base.health
    let count = settings.reactors > 0 ? settings.reactors : processorCount()
    let fetcher = try ConfigurationError.naming("fetch") { try CurlFetcher(settings.fetchSettings, drivers: count) }
    let ports = try Ports(settings, base, fetcher, log)
    let fetchers = try ConfigurationError.naming("delivery") { try settings.deliveryFetchers() }
    let first = try Configured(settings, contents: settings.contents(), ports, fetchers)
    ports.passwords.use(first.blocking)
    let current = CurrentConfiguration(first)
    let shared = Shared(
      limits: settings.limits, calls: first.calls, tls: base.tls, store: store, log: log, metrics: metrics,
      proxyNetworks: settings.listen.proxyNetworks, tracer: base.tracer)
    let listeners = try settings.listeners()
    self.listeners = listeners.grpc
    let calls = CallMetrics(first.calls.methods, reactors: count, callers: base.callerLabels)
    let reactors = ReactorsPart(
      try (0..<count).map { _ in (try CommandQueue<WorkerCommand>(), Load()) }, shared, calls, fetcher)
    self.reactors = reactors
    base.news.tell(reactors.places)
    base.storeHealth.tell { for place in reactors.places { place.commandQueue.post(.healthChanged) } }
    acceptor = try AcceptorPart(listeners.grpc, reactors, shared)
    let delivery = DeliveryWorker(
      first.environment, first.messages, schedule: settings.delivery.schedule, metrics: metrics, base.tracer, log: log)
    reload = ConfigurationReload(current, ports, fetcher, fetchers, delivery, reactors.places, log)
    let keysTLS = try Server.keysContext(settings)
    certificates = CertificateWatch(tls: base.tls, others: keysTLS.map { [$0] } ?? [], log: log)
    Server.report(calls, to: registry, current, ports, reactors, fetcher, log)
    Gauges(registry: registry).reportReloads(reload)
    let masterKeys = MasterKeyWork({ current.value.environment }, isShared: base.opened.isShared, metrics, log)
    Gauges(registry: registry).reportMasterKeys(masterKeys)
    let probes = Server.probes(base.health, Liveness(reactors.places), registry)
    let endpoints = try Server.endpoints(settings, base, listeners, probes, keysTLS, log)
    let storeParts = Server.storeParts(settings, base.opened, registry, log)
    let taskMillis = settings.databaseMillis + 1_000
    let failures = ports.failures
    parts = PartList(
      parts: endpoints + settings.exporterParts(base.spans, log) + [
        ClosingPart(name: "store", closing: { await store.close() }),
        ClosingPart(name: "fetch", closing: { fetcher.close() }),
        // Stops after the reactors, so that it writes the failures of the last calls.
        TaskPart("failures", stopMillis: taskMillis) { failures.start { current.value.environment } },
        reactors, acceptor,
      ] + Server.upkeep(current, masterKeys, stopMillis: taskMillis, metrics, log) + [
        TaskPart("signing keys", stopMillis: taskMillis) { [keys] in keys.start() },
        TaskPart("certificates", stopMillis: taskMillis) { [certificates] in
          certificates.start(everyMillis: settings.certificateLookMillis)
        },
      ] + storeParts + [
        ConfigurationWatch(reload: reload).part(settings, stopMillis: taskMillis),
        DeliveryPart(delivery, fetchers, patienceMillis: settings.deliveryPatienceMillis),
        // It drains first, while everything else still works.
        HealthPart(base.health, reactors.places, lameDuckMillis: settings.limits.lameDuckMillis),
      ])
    try await parts.start()
  }

  /// Descriptors that the server needs in addition to one for each connection: files, the log, the store, providers.
  private static let otherDescriptors = 256

  /// Returns a warning if the limit of descriptors is below the configured number of connections.
  static func warning(descriptorsMax: Int?, connectionsMax: Int) -> String? {
    let needed = connectionsMax + otherDescriptors
    guard let descriptorsMax, descriptorsMax < needed else { return nil }
    return "limits.connections_max of \(connectionsMax) needs about \(needed) file descriptors, but ulimit -n is "
      + "\(descriptorsMax): raise it (LimitNOFILE in the unit), or lower the setting"
  }

  /// Starts accepting connections. The owner calls it once it can drain the server.
  package func serve() {
    let descriptorsMax = ProcessUsage.now().descriptorsMax
    if let warning = Server.warning(descriptorsMax: descriptorsMax, connectionsMax: settings.limits.connectionsMax) {
      log.warning(warning)
    }
    acceptor.allow()
    health.set(.starting, false)
    let addresses = listeners.map { "\($0.address):\($0.port)" }.joined(separator: ", ")
    log.info("listening", ["address": addresses, "version": Build.version])
  }

  /// Reloads the certificate files, even if they appear unchanged, and the configuration file.
  package func reloadFiles() {
    certificates.look(demanded: true)
    if !settings.configurationFile.isEmpty { reload.reload() }
  }

  /// Publishes a new signing key, which replaces the current one when its lead time is over. Does nothing if a new key
  /// is already published.
  package func rotateSigningKeys() { Task.detached { [keys] in await keys.look(.demand) } }

  /// Stops accepting calls, lets calls in flight finish within `limits.drainMillis`, and closes the store after all
  /// parts that use it.
  /// - Parameter giveUp: called on a thread of its own if this takes too long. It must end the process.
  /// - Returns: whether all parts have ended.
  package func drain(giveUp: @escaping @Sendable () -> Void) async -> Bool {
    let limits = settings.shutdownLimits
    log.info("draining", ["limit_seconds": "\(limits.totalMillis / 1_000)"])
    let haveEnded = await Shutdown(log, limits).run(parts, giveUp: giveUp)
    if haveEnded { log.info("stopped") }
    return haveEnded
  }

  // MARK: Parts

  /// Parts that read the whole store in the background.
  private static func storeParts(
    _ settings: Settings, _ opened: OpenedStore, _ registry: MetricsRegistry, _ log: Log
  ) -> [any Part] {
    let check = StoreCheckRun(opened.check, limitMillis: settings.storeCheckMillis, log: log)
    check.report(to: registry)
    let statistics = StatisticsWatch(opened.statistics, log: log)
    statistics.report(to: registry)
    return [
      TaskPart("store check", stopMillis: 1_000) { Task.detached { await check.run() } },
      TaskPart("statistics", stopMillis: settings.databaseMillis + 1_000) { Task.detached { await statistics.run() } },
    ]
  }

  /// The periodic work on expired rows, API keys and rows under an old master key.
  private static func upkeep(
    _ current: CurrentConfiguration, _ masterKeys: MasterKeyWork, stopMillis: Int64, _ metrics: ServerMetrics,
    _ log: Log
  ) -> [any Part] {
    let keyWatch = APIKeyWatch(keys: { current.value.calls.callers.apiKeys }, log: log)
    let sweeper = Sweeper({ current.value.environment }, log, metrics)
    return [
      TaskPart("sweeper", stopMillis: stopMillis) { Task.detached { await sweeper.run() } },
      TaskPart("API keys", stopMillis: stopMillis) { keyWatch.start() },
      TaskPart("master keys", stopMillis: stopMillis) { Task.detached { await masterKeys.run() } },
    ]
  }

  /// The endpoints whose addresses are configured.
  private static func endpoints(
    _ settings: Settings, _ base: Base, _ listeners: Listeners, _ probes: HealthProbes, _ keysTLS: CurrentContext?,
    _ log: Log
  ) throws -> [any Part] {
    var endpoints: [any Part] = []
    if !settings.metricsAddress.isEmpty {
      let site = HTTPSite.metrics(base.metrics, probes, settings.limits.metricsEndpoint)
      endpoints.append(
        try EndpointPart(
          "metrics", listeners.endpoints["metrics"], address: settings.metricsAddress, port: settings.metricsPort,
          backlog: 16, site, log))
    }
    if let keysTLS {
      let documents = KeyDocuments(
        issuer: settings.issuer, url: settings.keysURL, maxAgeMillis: settings.keyPolicy.cacheMillis,
        keys: base.keys.tokens)
      let site = HTTPSite.keys(documents, tls: keysTLS, base.metrics, settings.limits.keysEndpoint)
      endpoints.append(
        try EndpointPart(
          "keys", listeners.endpoints["keys"], address: settings.keysAddress, port: settings.keysPort, backlog: 256,
          site, log))
    }
    return endpoints
  }

  /// The checks of the metrics port.
  private static func probes(
    _ health: HealthState, _ liveness: Liveness, _ registry: MetricsRegistry
  ) -> HealthProbes {
    registry.collect(Catalogue.reactorsStalled) {
      [(.none, .count(liveness.stalledCount(nowMillis: monotonicMillis())))]
    }
    return HealthProbes(
      live: {
        let stalled = liveness.stalledCount(nowMillis: monotonicMillis())
        return stalled > 0 ? "\(stalled) event loops have not answered for 10 s" : nil
      },
      ready: { health.reason?.text })
  }

  /// TLS context of the keys endpoint; `nil` if only the gRPC port serves the keys. The endpoint requests no client
  /// certificate, because its clients do not authenticate.
  private static func keysContext(_ settings: Settings) throws -> CurrentContext? {
    guard !settings.keysAddress.isEmpty else { return nil }
    var own = settings.tls
    own.clientCertificates = .none
    own.serves = .http1
    return try ConfigurationError.naming("tls") {
      try CurrentContext(own, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
  }

  private static func report(
    _ calls: CallMetrics, to registry: MetricsRegistry, _ current: CurrentConfiguration, _ ports: Ports,
    _ reactors: ReactorsPart, _ fetcher: CurlFetcher, _ log: Log
  ) {
    let base = ports.base
    calls.report(to: registry)
    let gauges = Gauges(registry: registry)
    gauges.reportProcess(base.opened)
    base.storeHealth.report(to: registry)
    base.spans.report(to: registry)
    gauges.reportLog(log)
    gauges.reportCertificate(base.tls)
    gauges.reportAPIKeys { current.value.calls.callers.apiKeys }
    gauges.reportSigningKey(base.keys)
    gauges.reportPool(base.opened.connections)
    if let backups = ports.backups { gauges.reportBackups(backups) }
    gauges.reportConnections(reactors.places)
    gauges.reportHooks { current.value.hooks }
    gauges.reportBreakers(of: { current.value.settings.providers.map(\.id) }, fetcher)
    let passwords = ports.passwords
    gauges.reportQueues([
      ("fetches", { fetcher.waitingCount }), ("passwords", { passwords.queued }),
      ("reactors", { reactors.places.reduce(0) { $0 + $1.commandQueue.count } }),
      ("store_look_ups", base.opened.queuedLookUps), ("store_writes", base.opened.queuedChanges),
    ])
  }
}

extension Settings {
  /// Time for the deliveries in progress when the server stops.
  fileprivate var deliveryPatienceMillis: Int64 { min(delivery.schedule.attemptMillis, limits.drainMillis) }

  /// Time for one request to the database.
  fileprivate var databaseMillis: Int64 { postgres.waitMillis + postgres.statementMillis }

  /// The total is the sum of what calls and deliveries may take, the database twice, and 8 s. The first request to the
  /// database is that of a periodic task, the second one belongs to the close of the store. The 8 s are 2 s each for
  /// calls that are cut off, for the acceptor, for reactors that do not stop, and for everything else.
  fileprivate var shutdownLimits: Shutdown.Limits {
    Shutdown.Limits(
      lateMillis: max(limits.drainMillis, limits.lameDuckMillis) + 5_000,
      totalMillis: limits.lameDuckMillis + limits.drainMillis + deliveryPatienceMillis + 2 * databaseMillis + 8_000)
  }
}
