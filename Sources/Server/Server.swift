// Server: the composition root.
//
// Owns: the wiring of the domain to storage, cryptography, providers and delivery; the order of start and drain; the
// periodic work that no call triggers.
// Does not own: sockets and calls (Transport), the settings (Configuration), the log and the metrics (Observability),
// the endpoints over HTTP/1.1 (HTTP1), any rule of a protocol or of the product.
// Read next: Composition.swift, Parts.swift, ServerParts.swift, Shutdown.swift; then Keys/SigningKeyWatch.swift,
// Delivery/DeliveryWorker.swift, Transport/Worker.swift.

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
  package let port: UInt16
  private let log: Log
  private let settings: Settings
  private let certificates: CertificateWatch
  private let keys: SigningKeyWatch
  private let acceptor: AcceptorPart
  private let reactors: ReactorsPart
  private let parts: PartList

  /// Opens the store, creates all parts and starts them; `serve` starts accepting connections. Throws
  /// `ConfigurationError` if a setting cannot be applied.
  package init(_ settings: Settings, log: Log, metrics registry: MetricsRegistry) async throws {
    self.settings = settings
    self.log = log
    let base = try await Base(settings, log, registry)
    let (metrics, store) = (base.metrics, base.opened.store)
    keys = base.keys
    let count = settings.reactors > 0 ? settings.reactors : processorCount()
    let fetcher = try ConfigurationError.naming("fetch") { try CurlFetcher(settings.fetchSettings, drivers: count) }
    let domain = try Domain(settings, base, fetcher, log)
    let shared = Shared(
      limits: settings.limits, methods: domain.methods, callers: settings.callerTable(domain.methods.map(\.path)),
      tls: base.tls, store: store, log: log, metrics: metrics)

    let socket = try ConfigurationError.naming("listen") {
      try BoundSocket(
        address: settings.listenAddress, port: settings.listenPort, backlog: settings.limits.listenBacklog)
    }
    port = socket.port
    let calls = CallMetrics(domain.methods, reactors: count)
    let reactors = ReactorsPart(
      try (0..<count).map { _ in (try CommandQueue<WorkerCommand>(), Load()) }, shared, calls, fetcher)
    self.reactors = reactors
    base.news.tell(reactors.places)
    base.storeHealth.tell { for place in reactors.places { place.commandQueue.post(.healthChanged) } }
    acceptor = try AcceptorPart(socket, reactors, shared)
    let delivery = try Server.delivery(settings, domain.environment, metrics, log)
    let keysTLS = try Server.keysContext(settings)
    certificates = CertificateWatch(tls: base.tls, others: keysTLS.map { [$0] } ?? [], log: log)
    Server.report(calls, to: registry, settings, base, domain, reactors, fetcher, log)
    let sweeper = domain.sweeper(log, metrics)
    let taskMillis = settings.databaseMillis + 1_000
    parts = PartList(
      parts: try Server.endpoints(settings, base, keysTLS, log) + [
        ClosingPart(name: "store", closing: { await store.close() }),
        ClosingPart(name: "fetch", closing: { fetcher.close() }), reactors, acceptor,
        ClosingPart(name: "health", draining: { [health = base.health] in health.stopServing() }),
        TaskPart("sweeper", stopMillis: taskMillis) { Task.detached { await sweeper.run() } },
        TaskPart("signing keys", stopMillis: taskMillis) { [keys] in keys.start() },
        TaskPart("certificates", stopMillis: taskMillis) { [certificates] in
          certificates.start(everyMillis: settings.certificateLookMillis)
        },
        delivery,
      ])
    try await parts.start()
  }

  /// Starts accepting connections. The owner calls it once it can drain the server.
  package func serve() {
    acceptor.allow()
    log.info("listening", ["address": "\(settings.listenAddress):\(port)", "version": Build.version])
  }

  /// Reloads the certificate files, even if they appear unchanged.
  package func reloadCertificate() { certificates.look(demanded: true) }

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

  private static func delivery(
    _ settings: Settings, _ environment: Environment, _ metrics: ServerMetrics, _ log: Log
  ) throws -> DeliveryPart {
    let fetchers = try ConfigurationError.naming("delivery") { try settings.deliveryFetchers() }
    let transports = try settings.transports(fetchers)
    let worker = DeliveryWorker(
      environment, templates: try Settings.again(settings.templates), transports: transports,
      schedule: settings.delivery.schedule, metrics: metrics, log: log)
    return DeliveryPart(worker, fetchers, patienceMillis: settings.deliveryPatienceMillis)
  }

  /// The endpoints whose addresses are configured.
  private static func endpoints(
    _ settings: Settings, _ base: Base, _ keysTLS: CurrentContext?, _ log: Log
  ) throws -> [any Part] {
    var endpoints: [any Part] = []
    if !settings.metricsAddress.isEmpty {
      let site = HTTPSite.metrics(base.metrics, settings.limits.metricsEndpoint)
      endpoints.append(
        try EndpointPart(
          "metrics", address: settings.metricsAddress, port: settings.metricsPort, backlog: 16, site, log))
    }
    if let keysTLS {
      let documents = KeyDocuments(
        issuer: settings.issuer, url: settings.keysURL, maxAgeMillis: settings.keyPolicy.cacheMillis,
        keys: base.keys.tokens)
      let site = HTTPSite.keys(documents, tls: keysTLS, base.metrics, settings.limits.keysEndpoint)
      endpoints.append(
        try EndpointPart("keys", address: settings.keysAddress, port: settings.keysPort, backlog: 256, site, log))
    }
    return endpoints
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
    _ calls: CallMetrics, to registry: MetricsRegistry, _ settings: Settings, _ base: Base, _ domain: Domain,
    _ reactors: ReactorsPart, _ fetcher: CurlFetcher, _ log: Log
  ) {
    calls.report(to: registry)
    let gauges = Gauges(registry: registry)
    gauges.reportProcess(base.opened)
    gauges.reportLog(log)
    gauges.reportCertificate(base.tls)
    if let backups = domain.backups { gauges.reportBackups(backups) }
    gauges.reportConnections(reactors.places)
    gauges.reportBreakers(of: settings.providers.map(\.id), fetcher)
    let passwords = domain.passwords
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
      lateMillis: limits.drainMillis + 5_000,
      totalMillis: limits.drainMillis + deliveryPatienceMillis + 2 * databaseMillis + 8_000)
  }
}
