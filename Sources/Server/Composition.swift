internal import API
internal import Callers
internal import Configuration
internal import Crypto
internal import HTTPClient
internal import Identity
internal import Observability
internal import Providers
internal import Reactor
internal import Services
internal import Store
internal import TLS
internal import Transport

/// What the rest of the server is built on: the store, the keys and the metrics.
struct Base {
  let health = HealthState()
  let storeHealth: StoreHealth
  let callerLabels = CallerLabels()
  let metrics: ServerMetrics
  let tls: CurrentContext
  let derivedKeys: DerivedKeys
  let news = StoreNews()
  let opened: OpenedStore
  let spans = SpanBuffer()
  let tracer: CallTracer?
  let keys: SigningKeyWatch

  init(_ settings: Settings, _ log: Log, _ registry: MetricsRegistry) async throws {
    storeHealth = StoreHealth(health, graceMillis: settings.limits.storeGoneMillis, log: log)
    metrics = ServerMetrics(
      registry, providers: settings.providers.map(\.id), transports: settings.delivery.transportNames,
      callers: callerLabels, storeHealth: storeHealth)
    tls = try ConfigurationError.naming("tls") {
      try CurrentContext(settings.tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
    derivedKeys = try DerivedKeys(masterKeys: try MasterKey.read(settings.masterKeyFiles))
    for warning in settings.warnings + settings.warningsOfFiles() { log.warning(warning) }
    tracer = settings.tracer(spans)
    var opened = try OpenedStore.open(settings, migrates: settings.storeMigratesAtStart, observer: metrics) { [news] in
      news.appended()
    }
    opened.trace(tracer)
    self.opened = opened
    opened.report(to: log)
    health.set(.starting, true)
    storeHealth.probe { [store = opened.store] in try await store.probe() }
    keys = try await SigningKeyWatch(
      opened.store, derivedKeys, algorithm: settings.signingAlgorithm, settings.keyPolicy, issuer: settings.issuer,
      signers: try Settings.again(settings.signersOfCustomTokens), events: SigningKeyEvents(SystemRandomness()),
      isShared: settings.postgres.isUsed, log: log)
  }
}

/// The ports of the domain that a reload of the configuration keeps.
struct Ports {
  let base: Base
  let passwords: PasswordHashing
  let backups: BackupRunner?
  let fetching: any HTTPSFetching
  let notices: ProviderNotices
  let log: Log
  private let watchSeats: WatchSeats
  private let noBackups: any Backups
  let failures: FailureLog

  init(_ settings: Settings, _ base: Base, _ fetcher: CurlFetcher, _ log: Log) throws {
    self.base = base
    self.log = log
    let counted = CountedFetcher(fetcher: fetcher, metrics: base.metrics)
    fetching = base.tracer.map { TracedFetcher(fetcher: counted, tracer: $0) } ?? counted
    notices = ProviderNotices(log, base.metrics, nowMillis: wallMillis)
    passwords = try Ports.passwords(settings, ImportKeys(base.opened.store, base.derivedKeys, log), base.metrics)
    backups = try ConfigurationError.naming("store.backup_folder") {
      try settings.backupRunner(of: base.opened.store, log: log)
    }
    noBackups = settings.postgres.noBackups
    watchSeats = WatchSeats(settings.limits.watch)
    failures = FailureLog { [metrics = base.metrics] in metrics.failedAttempts($0, $1) }
  }

  /// Creates the domain with these providers, policy, relying parties and hooks.
  func environment(
    _ registry: Registry, _ policy: Policy, _ passkeys: PasskeyVerifier, _ hooks: (any Identity.Hooks)?
  ) -> Environment {
    Environment(
      store: base.opened.store, clock: SystemClock(), randomness: SystemRandomness(), cryptography: base.derivedKeys,
      passwords: base.tracer.map { TracedPasswords(passwords: passwords, tracer: $0) } ?? passwords,
      tokens: base.keys.tokens, providers: ProviderGateway(registry, notices), policy: policy,
      backups: backups ?? noBackups, passkeys: passkeys, hooks: hooks)
  }

  func methods(_ environment: Environment, _ settings: Settings, callers: CallerDirectory) -> [Method] {
    let handlers = HandlerContext(
      environment,
      idempotencyKeys: IdempotencyKeys(
        secret: base.derivedKeys.idempotency[0], others: Array(base.derivedKeys.idempotency.dropFirst())),
      callers: callers, failures: failures)
    let keys = base.keys
    let product = DescriptorSet.services.filter { $0.hasPrefix("latchkey.") }
    var methods = HealthService(base.health, services: product).methods
    if settings.reflection {
      methods += ReflectionService(services: product + [HealthRPC.service] + ReflectionService.names).methods
    }
    methods += AuthService(handlers).methods + AccountService(handlers).methods
    methods += AdminService(handlers, signingKeys: keys).methods + ProviderFlowService(handlers).methods
    methods += SessionService(handlers, signingKeys: { [tokens = keys.tokens] in tokens.signingKeys() }).methods
    methods += SecondFactorService(handlers).methods + VerificationService(handlers).methods
    methods += PasskeyService(handlers).methods
    methods += EventService(handlers, limits: settings.limits.watch, seats: watchSeats).methods
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
    return PasswordHashing(
      hasher: hasher, workers: workers, slowWorkersMax: max(1, count / 2), importKeys: importKeys
    ) { metrics.refused(.passwordQueue) }
  }
}

extension FailureLog {
  /// Writing of noted failures, once more at the end.
  /// - Parameter environment: read for each write, because a reload may change the policy.
  func start(_ environment: @escaping @Sendable () -> Environment) -> Task<Void, Never> {
    Task.detached {
      while !Task.isCancelled {
        try? await Task.sleep(nanoseconds: 1_000_000_000)
        await self.write(to: environment())
      }
    }
  }
}

extension Sweeper {
  /// Removal of what has expired.
  /// - Parameter environment: read for each portion, because a reload may change the policy.
  init(_ environment: @escaping @Sendable () -> Environment, _ log: Log, _ metrics: ServerMetrics) {
    let rows = Sweeper.Part(name: "expired rows", portion: 1_000) { most in
      let environment = environment()
      let now = Timestamp(millis: wallMillis())
      let swept = try await environment.store.sweep(
        at: now, rowsMax: most, auditedBefore: now.adding(millis: -environment.policy.auditLifetimeMillis))
      metrics.swept(swept)
      return swept
    }
    let accounts = Sweeper.Part(name: "idle accounts", portion: 100) { most in
      try await RemoveIdleAccounts(environment())(accountsMax: most)
    }
    // Not a removal, but the same kind of work: small portions between the changes of callers.
    let search = Sweeper.Part(name: "search index", portion: 500) { most in
      try await environment().store.buildSearchIndex(accountsMax: most)
    }
    self.init(parts: [rows, accounts, search], log: log)
  }
}
