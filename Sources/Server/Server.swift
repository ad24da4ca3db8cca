internal import Identity
internal import Admission
internal import Crypto
internal import Fetch
internal import Logging
internal import Providers
internal import Reactor
internal import Services
internal import Store
internal import StoreSQLite
internal import Synchronization
internal import TLS
internal import Tokens

/// The composition root: makes every part from the settings, starts the threads, and ends them in order.
package final class Server: Sendable {
  package let port: UInt16
  private let log: Log
  private let health = HealthState()
  private let store: any Store
  private let fetcher: CurlFetcher
  private let acceptorMailbox: Mailbox<Acceptor.Letter>
  private let workers: [(mailbox: Mailbox<WorkerLetter>, load: Load)]
  private let workersRunning: Atomic<Int>
  private let ended = Wakeups()
  private let listenerClosed = Wakeups()
  private let settings: Settings
  private let sweeping: Task<Void, Never>
  private let certificates: CertificateWatch
  private let watchingCertificates: Task<Void, Never>
  private let endpointMailbox: Mailbox<MetricsEndpoint.Letter>

  /// Opens the store, listens and serves. Throws `ConfigurationError` where a setting cannot be carried out.
  package init(_ settings: Settings, log: Log, metrics registry: MetricsRegistry) async throws {
    self.settings = settings
    self.log = log
    let metrics = ServerMetrics(registry)
    try settings.checkFiles()
    let tls = try Server.naming("tls") {
      try CurrentContext(settings.tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
    let vault = try Vault(masterKey: try MasterKey.read(settings.masterKeyFile))
    let store = try Server.naming("store.path") { try SQLiteStore(path: settings.storePath, observer: metrics) }
    self.store = store
    log.info("store open", ["path": settings.storePath, "sqlite": SQLiteStore.version])
    let keys = try await SigningKeys.load(store, vault, algorithm: settings.signingAlgorithm, policy: settings.policy)
    let tokens = TokenDesk(ring: keys, issuer: settings.issuer)
    fetcher = try Server.naming("fetch") { try CurlFetcher(settings.fetchSettings) }
    let providers = try Registry(settings.providers, fetching: CountedFetcher(fetcher: fetcher, metrics: metrics))
    let passwords = try Server.passwords(settings, metrics)
    let environment = Environment(
      store: store, clock: SystemClock(), randomness: SystemRandomness(), cryptography: vault,
      passwords: passwords, tokens: tokens, providers: ProviderDesk(providers),
      policy: settings.policy)
    let desk = Desk(environment, idempotencyKeys: IdempotencyKeys(secret: vault.idempotency))
    let methods = Server.methods(desk, tokens, health, reflection: settings.reflection, settings.limits)
    let shared = Shared(
      limits: settings.limits, methods: methods, callers: settings.callerTable(methods.map(\.path)), tls: tls,
      store: store, log: log, metrics: metrics)

    let listening = try Server.naming("listen") {
      try BoundSocket(
        address: settings.listenAddress, port: settings.listenPort, backlog: settings.limits.listenBacklog)
    }
    port = listening.port
    let count = settings.reactors > 0 ? settings.reactors : processorCount()
    workers = try (0..<count).map { _ in (try Mailbox<WorkerLetter>(), Load()) }
    workersRunning = Atomic(count)
    acceptorMailbox = try Mailbox()
    sweeping = Server.sweep(store, log, metrics)
    certificates = CertificateWatch(tls: tls, log: log)
    watchingCertificates = certificates.start(everyMillis: settings.certificateLookMillis)
    let calls = CallMetrics(methods, reactors: count)
    endpointMailbox = try Mailbox()
    report(calls, to: registry, tls, store, passwords)
    try startEndpoint(metrics)
    start(shared, listening, calls)
    log.info("listening", ["address": "\(settings.listenAddress):\(port)", "reactors": "\(count)"])
  }

  private func start(_ shared: Shared, _ listening: BoundSocket, _ calls: CallMetrics) {
    let (mailbox, workers, log) = (acceptorMailbox, workers, log)
    for (index, worker) in workers.enumerated() {
      startThread(named: "reactor-\(index)") { [self] in
        do {
          let meter = calls.meter(ofReactor: index)
          try Worker(shared: shared, mailbox: worker.mailbox, load: worker.load, meter: meter).run()
        } catch {
          log.error("a reactor cannot run", ["why": "\(error)"])
        }
        if workersRunning.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ended.signal() }
      }
    }
    startThread(named: "acceptor") { [self] in
      do {
        // Gone, and its socket closed, before the workers hear of the drain: no connection is taken to be left alone.
        try Acceptor(Listening(listening), mailbox: mailbox, workers: workers, shared: shared).run()
      } catch {
        log.error("the listener cannot run", ["why": "\(error)"])
      }
      listenerClosed.signal()
    }
  }

  private func report(
    _ calls: CallMetrics, to registry: MetricsRegistry, _ tls: CurrentContext, _ store: SQLiteStore,
    _ passwords: PasswordDesk
  ) {
    calls.report(to: registry)
    let (workers, fetcher) = (workers, fetcher)
    let gauges = Gauges(registry: registry)
    gauges.reportProcess()
    gauges.reportCertificate(tls)
    gauges.reportConnections(workers)
    gauges.reportQueues([
      ("fetches", { fetcher.waitingCount }), ("passwords", { passwords.queued }),
      ("reactors", { workers.reduce(0) { $0 + $1.mailbox.count } }), ("store_look_ups", { store.queuedLookUps }),
      ("store_writes", { store.queuedCount }),
    ])
  }

  /// Off unless an address is configured.
  private func startEndpoint(_ metrics: ServerMetrics) throws {
    guard !settings.metricsAddress.isEmpty else { return }
    let socket = try Server.naming("metrics") {
      try BoundSocket(address: settings.metricsAddress, port: settings.metricsPort, backlog: 16)
    }
    let (mailbox, limits, log) = (endpointMailbox, settings.limits, log)
    startThread(named: "metrics", niceness: 10) {
      do {
        try MetricsEndpoint(Listening(socket), mailbox: mailbox, metrics: metrics, limits: limits, log: log).run()
      } catch {
        log.error("the metrics endpoint cannot run", ["why": "\(error)"])
      }
    }
    log.info("metrics", ["address": "\(settings.metricsAddress):\(socket.port)"])
  }

  /// Takes over the files of the certificate as they are now.
  package func reloadCertificate() { certificates.look(demanded: true) }

  /// Stops taking calls, lets those in flight finish within `limits.drainMillis`, and closes the store last. Blocks.
  package func drain() async {
    log.info("draining")
    health.stopServing()
    acceptorMailbox.post(.stop)
    listenerClosed.wait()
    for worker in workers { worker.mailbox.post(.drain) }
    let workers = workers
    let hardLimitMillis = settings.limits.drainMillis + 2_000
    let deadline = Task.detached {
      try? await Task.sleep(nanoseconds: UInt64(hardLimitMillis) * 1_000_000)
      if !Task.isCancelled { for worker in workers { worker.mailbox.post(.stop) } }
    }
    await withCheckedContinuation { continuation in
      startThread(named: "drain") { [self] in
        ended.wait()
        continuation.resume()
      }
    }
    deadline.cancel()
    sweeping.cancel()
    watchingCertificates.cancel()
    fetcher.close()
    await store.close()
    endpointMailbox.post(.stop)
    log.info("stopped")
  }

  // MARK: Parts

  private static func methods(
    _ desk: Desk, _ tokens: TokenDesk, _ health: HealthState, reflection: Bool, _ limits: Limits
  ) -> [Method] {
    let product = [AuthService.name, AccountService.name, SessionService.name, AdminService.name]
    var methods = HealthService(health, services: product).methods
    if reflection {
      methods += ReflectionService(services: product + ["grpc.health.v1.Health"] + ReflectionService.names).methods
    }
    methods += AuthService(desk).methods + AccountService(desk).methods + AdminService(desk).methods
    methods += SessionService(desk, signingKeys: { tokens.signingKeys() }).methods
    return methods.map { $0.limited(to: limits.messageBytesMax) }
  }

  private static func passwords(_ settings: Settings, _ metrics: ServerMetrics) throws -> PasswordDesk {
    let hasher = try PasswordHasher(memoryKiB: settings.passwordMemoryKiB, iterations: settings.passwordIterations)
    let count = settings.passwordWorkers > 0 ? settings.passwordWorkers : processorCount()
    // Nice 10: hashing must not keep a reactor from its core.
    let workers = Workers(
      name: "hash", count: count, queueMax: settings.limits.passwordWorkersQueueMax, niceness: 10)
    return PasswordDesk(hasher: hasher, workers: workers) { metrics.refused(.passwordQueue) }
  }

  /// Expired rows go in small portions, so that no caller's commit waits long behind them.
  private static func sweep(_ store: any Store, _ log: Log, _ metrics: ServerMetrics) -> Task<Void, Never> {
    Task.detached {
      let portion = 1_000
      while !Task.isCancelled {
        do {
          let swept = try await store.sweep(at: Timestamp(millis: wallMillis()), rowsMax: portion)
          metrics.swept(swept)
          if swept < portion { try await Task.sleep(nanoseconds: 30_000_000_000) }
        } catch is CancellationError {
          return
        } catch {
          log.error("the sweep failed", ["why": "\(error)"])
          try? await Task.sleep(nanoseconds: 30_000_000_000)
        }
      }
    }
  }

  /// Gives the failure of a part the name of the setting that it was made from.
  private static func naming<Part: ~Copyable>(_ setting: String, _ make: () throws -> Part) throws -> Part {
    do {
      return try make()
    } catch let error as TLSError {
      throw ConfigurationError(setting: error.setting, why: error.why)
    } catch {
      throw ConfigurationError(setting: setting, why: "\(error)")
    }
  }
}
