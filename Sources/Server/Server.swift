internal import API
internal import Identity
internal import Admission
internal import Crypto
internal import Delivery
internal import Fetch
internal import Logging
internal import Providers
internal import Reactor
internal import Services
internal import Store
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
  private let mayAccept = Wakeups()
  private let listenerClosed = Wakeups()
  private let settings: Settings
  /// Begun last: what is sent for a server that does not start after all would be sent by each of its tries.
  private let background = Mutex<Background?>(nil)
  private let certificates: CertificateWatch
  private let courier: Courier
  private let deliveryThreads: [DeliveryThread]
  private let keys: SigningKeyWatch
  private let endpointMailbox: Mailbox<HTTPEndpoint.Letter>
  private let keysMailbox: Mailbox<HTTPEndpoint.Letter>

  /// Opens the store and makes everything that serves; `serve` begins. Throws `ConfigurationError` where a setting
  /// cannot be carried out.
  package init(_ settings: Settings, log: Log, metrics registry: MetricsRegistry) async throws {
    self.settings = settings
    self.log = log
    let storeHealth = StoreHealth(health, graceMillis: settings.limits.storeGoneMillis, log: log)
    let metrics = ServerMetrics(
      registry, providers: settings.providers.map(\.id), roads: settings.delivery.roadNames, storeHealth: storeHealth)
    let tls = try Server.naming("tls") {
      try CurrentContext(settings.tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
    let vault = try Vault(masterKey: try MasterKey.read(settings.masterKeyFile))
    let news = StoreNews()
    for warning in settings.warnings + settings.warningsOfFiles() { log.warning(warning) }
    let opened = try OpenedStore.open(settings, observer: metrics) { news.appended() }
    store = opened.store
    log.info("store open", ["place": opened.place, opened.kind: opened.version])
    keys = try await SigningKeyWatch(
      opened.store, vault, algorithm: settings.signingAlgorithm, settings.keyPolicy, issuer: settings.issuer,
      signers: try Settings.again(settings.signersOfCustomTokens), log: log)
    let tokens = keys.desk
    let count = settings.reactors > 0 ? settings.reactors : processorCount()
    fetcher = try Server.naming("fetch") { try CurlFetcher(settings.fetchSettings, drivers: count) }
    let counted = CountedFetcher(fetcher: fetcher, metrics: metrics)
    let notices = ProviderNotices(log, metrics, nowMillis: wallMillis)
    let providers = try Settings.again { () throws(ConfigurationError) in
      try settings.registry(fetching: counted, notices)
    }
    let passwords = try Server.passwords(settings, ImportKeys(opened.store, vault, log), metrics)
    let backups = try Server.naming("store.backup_folder") { try settings.backupDesk(of: opened.store, log: log) }
    let environment = Environment(
      store: opened.store, clock: SystemClock(), randomness: SystemRandomness(), cryptography: vault,
      passwords: passwords, tokens: tokens, providers: ProviderDesk(providers, notices),
      policy: settings.policy, backups: backups ?? settings.postgres.noBackups)
    let desk = Desk(environment, idempotencyKeys: IdempotencyKeys(secret: vault.idempotency))
    let methods = Server.methods(desk, tokens, health, reflection: settings.reflection, settings.limits)
    let shared = Shared(
      limits: settings.limits, methods: methods, callers: settings.callerTable(methods.map(\.path)), tls: tls,
      store: opened.store, log: log, metrics: metrics)

    let listening = try Server.naming("listen") {
      try BoundSocket(
        address: settings.listenAddress, port: settings.listenPort, backlog: settings.limits.listenBacklog)
    }
    port = listening.port
    workers = try (0..<count).map { _ in (try Mailbox<WorkerLetter>(), Load()) }
    news.tell(workers)
    storeHealth.tell { [workers] in for worker in workers { worker.mailbox.post(.healthChanged) } }
    workersRunning = Atomic(count)
    acceptorMailbox = try Mailbox()
    let deliveryFetchers = try Server.naming("delivery") { try settings.deliveryFetchers() }
    let roads = try settings.roads(deliveryFetchers)
    deliveryThreads = try Server.naming("delivery") { try deliveryFetchers.startThreads() }
    courier = Courier(
      environment, templates: try Settings.again(settings.templates), roads: roads,
      schedule: settings.delivery.schedule, metrics: metrics, log: log)
    let keysTLS = try Server.keysContext(settings)
    certificates = CertificateWatch(tls: tls, others: keysTLS.map { [$0] } ?? [], log: log)
    let calls = CallMetrics(methods, reactors: count)
    endpointMailbox = try Mailbox()
    keysMailbox = try Mailbox()
    report(calls, to: registry, tls, opened, passwords, backups)
    try startEndpoint(metrics)
    if let keysTLS { try startKeys(keysTLS, metrics) }
    try startWorkers(shared, calls)
    try startAcceptor(shared, listening)
    let sweeper = Server.sweeper(environment, log, metrics)
    startBackground(sweeper)
  }

  private func startBackground(_ sweeper: Sweeper) {
    background.withLock { [courier, keys, certificates, settings] background in
      background = Background(
        sweeping: Task.detached { await sweeper.run() }, delivering: Task.detached { await courier.run() },
        watchingKeys: keys.start(),
        watchingCertificates: certificates.start(everyMillis: settings.certificateLookMillis))
    }
  }

  /// What a server does of itself.
  private struct Background {
    let sweeping, delivering, watchingKeys, watchingCertificates: Task<Void, Never>
  }

  /// Takes connections from now on: whoever can drain the server knows it.
  package func serve() {
    mayAccept.signal()
    log.info("listening", ["address": "\(settings.listenAddress):\(port)", "reactors": "\(workers.count)"])
  }

  /// Returns once each of them can take connections: a connection that is given to one that cannot hangs for ever.
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
            shared: shared, mailbox: place.mailbox, load: place.load, meter: meter, fetches: fetcher.driver(index))
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

  /// Returns once there is one, which waits until it may.
  private func startAcceptor(_ shared: Shared, _ listening: BoundSocket) throws {
    let (mailbox, workers) = (acceptorMailbox, workers)
    try Server.naming("listen") {
      try startPart(named: "acceptor") { [self] in
        var acceptor: Acceptor? = try Acceptor(
          Listening(listening), mailbox: mailbox, workers: workers, shared: shared)
        return {
          self.mayAccept.wait()
          acceptor?.run()
          // Gone, and its socket closed, before the workers hear of the drain: no connection is taken to be left alone.
          acceptor = nil
          self.listenerClosed.signal()
        }
      }
    }
  }

  private func report(
    _ calls: CallMetrics, to registry: MetricsRegistry, _ tls: CurrentContext, _ opened: OpenedStore,
    _ passwords: PasswordDesk, _ backups: BackupDesk?
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
      ("reactors", { workers.reduce(0) { $0 + $1.mailbox.count } }),
      ("store_look_ups", opened.queuedLookUps), ("store_writes", opened.queuedChanges),
    ])
  }

  /// Off unless an address is configured.
  private func startEndpoint(_ metrics: ServerMetrics) throws {
    guard !settings.metricsAddress.isEmpty else { return }
    let port = try Server.naming("metrics") {
      let socket = try BoundSocket(address: settings.metricsAddress, port: settings.metricsPort, backlog: 16)
      return try HTTPEndpoint.start(.metrics(metrics, settings.limits), on: socket, endpointMailbox, log: log)
    }
    log.info("metrics", ["address": "\(settings.metricsAddress):\(port)"])
  }

  /// nil: the keys are served nowhere but on the calls' own port. Who asks for them says nothing about himself, so no
  /// certificate is wanted of him.
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
      issuer: settings.issuer, url: settings.keysURL, maxAgeMillis: settings.keyPolicy.cacheMillis, desk: keys.desk)
    let site = HTTPSite.keys(documents, tls: tls, metrics, settings.limits)
    let port = try Server.naming("keys") {
      let socket = try BoundSocket(address: settings.keysAddress, port: settings.keysPort, backlog: 256)
      return try HTTPEndpoint.start(site, on: socket, keysMailbox, log: log)
    }
    log.info("keys", ["address": "\(settings.keysAddress):\(port)"])
  }

  /// Takes over the files of the certificate as they are now.
  package func reloadCertificate() { certificates.look(demanded: true) }

  /// Publishes a key that signs in place of the present one once its lead is over, unless one is on its way already.
  package func rotateSigningKeys() { Task.detached { [keys] in await keys.look(.demand) } }

  /// Stops taking calls, lets those in flight finish within `limits.drainMillis`, and closes the store last.
  package func drain() async {
    log.info("draining")
    courier.stop()
    health.stopServing()
    acceptorMailbox.post(.stop)
    await hear(listenerClosed)
    for worker in workers { worker.mailbox.post(.drain) }
    let workers = workers
    let hardLimitMillis = settings.limits.drainMillis + 2_000
    let deadline = Task.detached {
      try? await Task.sleep(nanoseconds: UInt64(hardLimitMillis) * 1_000_000)
      if !Task.isCancelled { for worker in workers { worker.mailbox.post(.stop) } }
    }
    await hear(ended)
    deadline.cancel()
    if let background = background.withLock(\.self) {
      await endDeliveries(background.delivering)
      for task in [background.sweeping, background.watchingCertificates, background.watchingKeys] { task.cancel() }
    }
    fetcher.close()
    await store.close()
    endpointMailbox.post(.stop)
    keysMailbox.post(.stop)
    log.info("stopped")
  }

  /// On a thread of its own: those that tasks run on must not sleep.
  private func hear(_ wakeups: Wakeups) async {
    await withCheckedContinuation { continuation in
      startThread(named: "drain") {
        wakeups.wait()
        continuation.resume()
      }
    }
  }

  /// Those under way may end; what is cut off is tried again by the next start. A thread that waits in libcurl for a
  /// relay stops later: it is not waited for.
  private func endDeliveries(_ delivering: Task<Void, Never>) async {
    let patienceMillis = min(settings.delivery.schedule.attemptMillis, settings.limits.drainMillis)
    let isOver = Bell()
    Task.detached {
      await delivering.value
      isOver.end()
    }
    await isOver.wait(millis: patienceMillis)
    for thread in deliveryThreads { thread.stop() }
    await isOver.wait(millis: Server.cutOffMillis)
  }

  /// For attempts that were cut off to be noted.
  private static let cutOffMillis: Int64 = 500

  // MARK: Parts

  private static func methods(
    _ desk: Desk, _ tokens: TokenDesk, _ health: HealthState, reflection: Bool, _ limits: Limits
  ) -> [Method] {
    let product = DescriptorSet.services.filter { $0.hasPrefix("latchkey.") }
    var methods = HealthService(health, services: product).methods
    if reflection {
      methods += ReflectionService(services: product + [HealthRPC.service] + ReflectionService.names).methods
    }
    methods += AuthService(desk).methods + AccountService(desk).methods + AdminService(desk).methods
    methods += SessionService(desk, signingKeys: { tokens.signingKeys() }).methods + ProviderFlowService(desk).methods
    methods += SecondFactorService(desk).methods + VerificationService(desk).methods
    methods += EventService(desk, limits: limits.watch).methods
    return methods
  }

  private static func passwords(
    _ settings: Settings, _ importKeys: ImportKeys, _ metrics: ServerMetrics
  ) throws -> PasswordDesk {
    let hasher = try PasswordHasher(memoryKiB: settings.passwordMemoryKiB, iterations: settings.passwordIterations)
    let count = settings.passwordWorkers > 0 ? settings.passwordWorkers : processorCount()
    // Nice 10: hashing must not keep a reactor from its core.
    let workers = Workers(
      name: "hash", count: count, queueMax: settings.limits.passwordWorkersQueueMax, niceness: 10)
    return PasswordDesk(hasher: hasher, workers: workers, importKeys: importKeys) { metrics.refused(.passwordQueue) }
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

  /// Gives the failure of a part the name of the setting that it was made from.
  private static func naming<Part: ~Copyable>(_ setting: String, _ make: () throws -> Part) throws -> Part {
    do {
      return try make()
    } catch let error as TLSError {
      throw ConfigurationError(setting: error.setting, why: error.why, isPassing: error.isPassing)
    } catch {
      throw ConfigurationError(setting: setting, why: "\(error)", isPassing: isPassing(error))
    }
  }

  /// Of a part that cannot be made: whether the same configuration may do later.
  static func isPassing(_ error: any Error) -> Bool {
    switch error {
    case let error as SystemError: error.isPassing
    case let error as StoreError: if case .unavailable = error { true } else { false }
    // Nothing has been fetched yet: libcurl lacks what the system gives.
    case is FetchError, is PrivateFolder.Held: true
    default: false
    }
  }
}
