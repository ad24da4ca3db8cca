internal import API
internal import Identity
internal import Callers
internal import Crypto
internal import Delivery
internal import HTTPClient
internal import Logging
internal import Providers
internal import Reactor
internal import Services
internal import Store
internal import Synchronization
internal import TLS
internal import Tokens

/// The composition root: creates every component from the settings, starts the threads and stops them in order.
package final class Server: Sendable {
  package let port: UInt16
  private let log: Log
  private let health = HealthState()
  private let store: any Store
  private let fetcher: CurlFetcher
  private let acceptorQueue: CommandQueue<Acceptor.Command>
  private let workers: [(commandQueue: CommandQueue<WorkerCommand>, load: Load)]
  private let workersRunning: Atomic<Int>
  private let ended = Wakeups()
  private let mayAccept = Wakeups()
  private let listenerClosed = Wakeups()
  private let settings: Settings
  /// Tasks that start last. If they started earlier, each failed start of the server would send queued messages.
  private let background = Mutex<Background?>(nil)
  private let certificates: CertificateWatch
  private let deliveryWorker: DeliveryWorker
  private let deliveryThreads: [DeliveryThread]
  private let keys: SigningKeyWatch
  private let endpointQueue: CommandQueue<HTTPEndpoint.Command>
  private let keysQueue: CommandQueue<HTTPEndpoint.Command>

  /// Opens the store and creates all components; `serve` starts accepting connections. Throws `ConfigurationError` if a
  /// setting cannot be applied.
  package init(_ settings: Settings, log: Log, metrics registry: MetricsRegistry) async throws {
    self.settings = settings
    self.log = log
    let storeHealth = StoreHealth(health, graceMillis: settings.limits.storeGoneMillis, log: log)
    let metrics = ServerMetrics(
      registry, providers: settings.providers.map(\.id), transports: settings.delivery.transportNames,
      storeHealth: storeHealth)
    let tls = try Server.naming("tls") {
      try CurrentContext(settings.tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
    let derivedKeys = try DerivedKeys(masterKey: try MasterKey.read(settings.masterKeyFile))
    let news = StoreNews()
    for warning in settings.warnings + settings.warningsOfFiles() { log.warning(warning) }
    let opened = try OpenedStore.open(settings, observer: metrics) { news.appended() }
    store = opened.store
    log.info("store open", ["place": opened.place, opened.kind: opened.version])
    keys = try await SigningKeyWatch(
      opened.store, derivedKeys, algorithm: settings.signingAlgorithm, settings.keyPolicy, issuer: settings.issuer,
      signers: try Settings.again(settings.signersOfCustomTokens), log: log)
    let tokens = keys.tokens
    let count = settings.reactors > 0 ? settings.reactors : processorCount()
    fetcher = try Server.naming("fetch") { try CurlFetcher(settings.fetchSettings, drivers: count) }
    let counted = CountedFetcher(fetcher: fetcher, metrics: metrics)
    let notices = ProviderNotices(log, metrics, nowMillis: wallMillis)
    let providers = try Settings.again { () throws(ConfigurationError) in
      try settings.registry(fetching: counted, notices)
    }
    let passwords = try Server.passwords(settings, ImportKeys(opened.store, derivedKeys, log), metrics)
    let backups = try Server.naming("store.backup_folder") { try settings.backupRunner(of: opened.store, log: log) }
    let environment = Environment(
      store: opened.store, clock: SystemClock(), randomness: SystemRandomness(), cryptography: derivedKeys,
      passwords: passwords, tokens: tokens, providers: ProviderGateway(providers, notices),
      policy: settings.policy, backups: backups ?? settings.postgres.noBackups)
    let handlers = HandlerContext(environment, idempotencyKeys: IdempotencyKeys(secret: derivedKeys.idempotency))
    let methods = Server.methods(handlers, tokens, health, reflection: settings.reflection, settings.limits)
    let shared = Shared(
      limits: settings.limits, methods: methods, callers: settings.callerTable(methods.map(\.path)), tls: tls,
      store: opened.store, log: log, metrics: metrics)

    let listening = try Server.naming("listen") {
      try BoundSocket(
        address: settings.listenAddress, port: settings.listenPort, backlog: settings.limits.listenBacklog)
    }
    port = listening.port
    workers = try (0..<count).map { _ in (try CommandQueue<WorkerCommand>(), Load()) }
    news.tell(workers)
    storeHealth.tell { [workers] in for worker in workers { worker.commandQueue.post(.healthChanged) } }
    workersRunning = Atomic(count)
    acceptorQueue = try CommandQueue()
    let deliveryFetchers = try Server.naming("delivery") { try settings.deliveryFetchers() }
    let transports = try settings.transports(deliveryFetchers)
    deliveryThreads = try Server.naming("delivery") { try deliveryFetchers.startThreads() }
    deliveryWorker = DeliveryWorker(
      environment, templates: try Settings.again(settings.templates), transports: transports,
      schedule: settings.delivery.schedule, metrics: metrics, log: log)
    let keysTLS = try Server.keysContext(settings)
    certificates = CertificateWatch(tls: tls, others: keysTLS.map { [$0] } ?? [], log: log)
    let calls = CallMetrics(methods, reactors: count)
    endpointQueue = try CommandQueue()
    keysQueue = try CommandQueue()
    report(calls, to: registry, tls, opened, passwords, backups)
    try startEndpoint(metrics)
    if let keysTLS { try startKeys(keysTLS, metrics) }
    try startWorkers(shared, calls)
    try startAcceptor(shared, listening)
    let sweeper = Server.sweeper(environment, log, metrics)
    startBackground(sweeper)
  }

  private func startBackground(_ sweeper: Sweeper) {
    background.withLock { [deliveryWorker, keys, certificates, settings] background in
      background = Background(
        sweeping: Task.detached { await sweeper.run() }, delivering: Task.detached { await deliveryWorker.run() },
        watchingKeys: keys.start(),
        watchingCertificates: certificates.start(everyMillis: settings.certificateLookMillis))
    }
  }

  /// Periodic tasks, which no call triggers.
  private struct Background {
    let sweeping, delivering, watchingKeys, watchingCertificates: Task<Void, Never>
  }

  /// Starts accepting connections. The owner calls it once it can drain the server.
  package func serve() {
    mayAccept.signal()
    log.info("listening", ["address": "\(settings.listenAddress):\(port)", "reactors": "\(workers.count)"])
  }

  /// Starts the workers; returns when every worker accepts connections. A connection handed to a worker that is not
  /// ready would hang.
  private func startWorkers(_ shared: Shared, _ calls: CallMetrics) throws {
    let (fetcher, log) = (fetcher, log)
    let tried = Wakeups()
    let failures = Mutex<[ConfigurationError]>([])
    for (index, place) in workers.enumerated() {
      startThread(named: "reactor-\(index)") { [self] in
        bePrompt()
        do {
          let meter = calls.meter(ofReactor: index)
          let worker = try Worker(
            shared: shared, commandQueue: place.commandQueue, load: place.load, meter: meter,
            fetches: fetcher.driver(index))
          try worker.attach()
          tried.signal()
          worker.run()
        } catch {
          log.error("a reactor cannot run", ["why": "\(error)"])
          let isPassing = Server.isPassing(error)
          failures.withLock {
            $0.append(ConfigurationError(setting: "reactors", why: "one cannot run: \(error)", isPassing: isPassing))
          }
          tried.signal()
        }
        if workersRunning.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ended.signal() }
      }
    }
    for _ in workers { tried.wait() }
    if let failure = failures.withLock(\.first) { throw failure }
  }

  /// Starts the acceptor thread; returns when the acceptor exists. The acceptor waits for `serve`.
  private func startAcceptor(_ shared: Shared, _ listening: BoundSocket) throws {
    let (commandQueue, workers) = (acceptorQueue, workers)
    try Server.naming("listen") {
      try startPart(named: "acceptor") { [self] in
        var acceptor: Acceptor? = try Acceptor(
          Listening(listening), commandQueue: commandQueue, workers: workers, shared: shared)
        return {
          self.mayAccept.wait()
          acceptor?.run()
          // The listening socket closes before the workers receive `drain`, so no accepted connection is left unserved.
          acceptor = nil
          self.listenerClosed.signal()
        }
      }
    }
  }

  private func report(
    _ calls: CallMetrics, to registry: MetricsRegistry, _ tls: CurrentContext, _ opened: OpenedStore,
    _ passwords: PasswordHashing, _ backups: BackupRunner?
  ) {
    calls.report(to: registry)
    let (workers, fetcher) = (workers, fetcher)
    let gauges = Gauges(registry: registry)
    gauges.reportProcess(opened)
    gauges.reportLog(log)
    gauges.reportCertificate(tls)
    if let backups { gauges.reportBackups(backups) }
    gauges.reportConnections(workers)
    gauges.reportBreakers(of: settings.providers.map(\.id), fetcher)
    gauges.reportQueues([
      ("fetches", { fetcher.waitingCount }), ("passwords", { passwords.queued }),
      ("reactors", { workers.reduce(0) { $0 + $1.commandQueue.count } }),
      ("store_look_ups", opened.queuedLookUps), ("store_writes", opened.queuedChanges),
    ])
  }

  /// Starts the metrics endpoint if an address is configured.
  private func startEndpoint(_ metrics: ServerMetrics) throws {
    guard !settings.metricsAddress.isEmpty else { return }
    let port = try Server.naming("metrics") {
      let socket = try BoundSocket(address: settings.metricsAddress, port: settings.metricsPort, backlog: 16)
      return try HTTPEndpoint.start(.metrics(metrics, settings.limits), on: socket, endpointQueue, log: log)
    }
    log.info("metrics", ["address": "\(settings.metricsAddress):\(port)"])
  }

  /// TLS context of the keys endpoint; `nil` if only the gRPC port serves the keys. The endpoint requests no client
  /// certificate, because its clients do not authenticate.
  private static func keysContext(_ settings: Settings) throws -> CurrentContext? {
    guard !settings.keysAddress.isEmpty else { return nil }
    var own = settings.tls
    own.clientCertificates = .none
    own.serves = .http1
    return try naming("tls") {
      try CurrentContext(own, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
  }

  private func startKeys(_ tls: CurrentContext, _ metrics: ServerMetrics) throws {
    let documents = KeyDocuments(
      issuer: settings.issuer, url: settings.keysURL, maxAgeMillis: settings.keyPolicy.cacheMillis, tokens: keys.tokens)
    let site = HTTPSite.keys(documents, tls: tls, metrics, settings.limits)
    let port = try Server.naming("keys") {
      let socket = try BoundSocket(address: settings.keysAddress, port: settings.keysPort, backlog: 256)
      return try HTTPEndpoint.start(site, on: socket, keysQueue, log: log)
    }
    log.info("keys", ["address": "\(settings.keysAddress):\(port)"])
  }

  /// Reloads the certificate files, even if they appear unchanged.
  package func reloadCertificate() { certificates.look(demanded: true) }

  /// Publishes a new signing key, which replaces the current one when its lead time is over. Does nothing if a new key
  /// is already published.
  package func rotateSigningKeys() { Task.detached { [keys] in await keys.look(.demand) } }

  /// Stops accepting calls, lets calls in flight finish within `limits.drainMillis`, and closes the store last.
  package func drain() async {
    log.info("draining")
    deliveryWorker.stop()
    health.stopServing()
    acceptorQueue.post(.stop)
    await hear(listenerClosed)
    for worker in workers { worker.commandQueue.post(.drain) }
    let workers = workers
    let hardLimitMillis = settings.limits.drainMillis + 2_000
    let deadline = Task.detached {
      try? await Task.sleep(nanoseconds: UInt64(hardLimitMillis) * 1_000_000)
      if !Task.isCancelled { for worker in workers { worker.commandQueue.post(.stop) } }
    }
    await hear(ended)
    deadline.cancel()
    if let background = background.withLock(\.self) {
      await endDeliveries(background.delivering)
      for task in [background.sweeping, background.watchingCertificates, background.watchingKeys] { task.cancel() }
    }
    fetcher.close()
    await store.close()
    endpointQueue.post(.stop)
    keysQueue.post(.stop)
    log.info("stopped")
  }

  /// Waits on a separate thread: threads of the task pool must not block.
  private func hear(_ wakeups: Wakeups) async {
    await withCheckedContinuation { continuation in
      startThread(named: "drain") {
        wakeups.wait()
        continuation.resume()
      }
    }
  }

  /// Waits for deliveries in progress, then stops the delivery threads. The next start retries interrupted deliveries.
  /// Does not wait for a thread that libcurl blocks on a relay; it stops later.
  private func endDeliveries(_ delivering: Task<Void, Never>) async {
    let patienceMillis = min(settings.delivery.schedule.attemptMillis, settings.limits.drainMillis)
    let isOver = AsyncEvent()
    Task.detached {
      await delivering.value
      isOver.end()
    }
    await isOver.wait(millis: patienceMillis)
    for thread in deliveryThreads { thread.stop() }
    await isOver.wait(millis: Server.cutOffMillis)
  }

  /// Time to record interrupted attempts.
  private static let cutOffMillis: Int64 = 500

  // MARK: Parts

  private static func methods(
    _ handlers: HandlerContext, _ tokens: TokenIssuer, _ health: HealthState, reflection: Bool, _ limits: Limits
  ) -> [Method] {
    let product = DescriptorSet.services.filter { $0.hasPrefix("latchkey.") }
    var methods = HealthService(health, services: product).methods
    if reflection {
      methods += ReflectionService(services: product + [HealthRPC.service] + ReflectionService.names).methods
    }
    methods += AuthService(handlers).methods + AccountService(handlers).methods + AdminService(handlers).methods
    methods +=
      SessionService(handlers, signingKeys: { tokens.signingKeys() }).methods + ProviderFlowService(handlers).methods
    methods += SecondFactorService(handlers).methods + VerificationService(handlers).methods
    methods += EventService(handlers, limits: limits.watch).methods
    return methods
  }

  private static func passwords(
    _ settings: Settings, _ importKeys: ImportKeys, _ metrics: ServerMetrics
  ) throws -> PasswordHashing {
    let hasher = try PasswordHasher(memoryKiB: settings.passwordMemoryKiB, iterations: settings.passwordIterations)
    let count = settings.passwordWorkers > 0 ? settings.passwordWorkers : processorCount()
    // Nice 10: hashing must not take CPU time from a reactor.
    let workers = Workers(
      name: "hash", count: count, queueMax: settings.limits.passwordWorkersQueueMax, niceness: 10)
    return PasswordHashing(hasher: hasher, workers: workers, importKeys: importKeys) { metrics.refused(.passwordQueue) }
  }

  private static func sweeper(_ environment: Environment, _ log: Log, _ metrics: ServerMetrics) -> Sweeper {
    let rows = Sweeper.Part(name: "expired rows", portion: 1_000) { most in
      let now = Timestamp(millis: wallMillis())
      let swept = try await environment.store.sweep(
        at: now, rowsMax: most, auditedBefore: now.adding(millis: -environment.policy.auditLifetimeMillis))
      metrics.swept(swept)
      return swept
    }
    let accounts = Sweeper.Part(name: "idle accounts", portion: 100) { most in
      try await RemoveIdleAccounts(environment)(accountsMax: most)
    }
    return Sweeper(parts: [rows, accounts], log: log)
  }

  /// Runs `make` and adds the name of the setting to its error.
  private static func naming<Part: ~Copyable>(_ setting: String, _ make: () throws -> Part) throws -> Part {
    do {
      return try make()
    } catch let error as TLSError {
      throw ConfigurationError(setting: error.setting, why: error.why, isPassing: error.isPassing)
    } catch {
      throw ConfigurationError(setting: setting, why: "\(error)", isPassing: isPassing(error))
    }
  }

  /// Whether the same configuration may work later although a component cannot be created now.
  static func isPassing(_ error: any Error) -> Bool {
    switch error {
    case let error as SystemError: error.isPassing
    case let error as StoreError: if case .unavailable = error { true } else { false }
    // No request was sent yet: libcurl lacks a system resource.
    case is FetchError, is PrivateFolder.Held: true
    default: false
    }
  }
}
