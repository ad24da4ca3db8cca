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
  let metrics: ServerMetrics
  let tls: CurrentContext
  let derivedKeys: DerivedKeys
  let news = StoreNews()
  let opened: OpenedStore
  let keys: SigningKeyWatch

  init(_ settings: Settings, _ log: Log, _ registry: MetricsRegistry) async throws {
    storeHealth = StoreHealth(health, graceMillis: settings.limits.storeGoneMillis, log: log)
    metrics = ServerMetrics(
      registry, providers: settings.providers.map(\.id), transports: settings.delivery.transportNames,
      storeHealth: storeHealth)
    tls = try ConfigurationError.naming("tls") {
      try CurrentContext(settings.tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
    derivedKeys = try DerivedKeys(masterKey: try MasterKey.read(settings.masterKeyFile))
    for warning in settings.warnings + settings.warningsOfFiles() { log.warning(warning) }
    opened = try OpenedStore.open(settings, migrates: settings.storeMigratesAtStart, observer: metrics) { [news] in
      news.appended()
    }
    opened.report(to: log)
    keys = try await SigningKeyWatch(
      opened.store, derivedKeys, algorithm: settings.signingAlgorithm, settings.keyPolicy, issuer: settings.issuer,
      signers: try Settings.again(settings.signersOfCustomTokens), log: log)
  }
}

/// The domain with its ports, and the methods that serve it.
struct Domain {
  let environment: Environment
  let methods: [Method]
  let passwords: PasswordHashing
  let backups: BackupRunner?

  init(_ settings: Settings, _ base: Base, _ fetcher: CurlFetcher, _ log: Log) throws {
    let counted = CountedFetcher(fetcher: fetcher, metrics: base.metrics)
    let notices = ProviderNotices(log, base.metrics, nowMillis: wallMillis)
    let providers = try Settings.again { () throws(ConfigurationError) in
      try settings.registry(fetching: counted, notices)
    }
    passwords = try Domain.passwords(settings, ImportKeys(base.opened.store, base.derivedKeys, log), base.metrics)
    backups = try ConfigurationError.naming("store.backup_folder") {
      try settings.backupRunner(of: base.opened.store, log: log)
    }
    environment = Environment(
      store: base.opened.store, clock: SystemClock(), randomness: SystemRandomness(), cryptography: base.derivedKeys,
      passwords: passwords, tokens: base.keys.tokens, providers: ProviderGateway(providers, notices),
      policy: settings.policy, backups: backups ?? settings.postgres.noBackups)
    let handlers = HandlerContext(
      environment, idempotencyKeys: IdempotencyKeys(secret: base.derivedKeys.idempotency))
    methods = Domain.methods(
      handlers, base.keys.tokens, base.health, reflection: settings.reflection, settings.limits)
  }

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

  /// Removal of what has expired.
  func sweeper(_ log: Log, _ metrics: ServerMetrics) -> Sweeper {
    let rows = Sweeper.Part(name: "expired rows", portion: 1_000) { [environment] most in
      let now = Timestamp(millis: wallMillis())
      let swept = try await environment.store.sweep(
        at: now, rowsMax: most, auditedBefore: now.adding(millis: -environment.policy.auditLifetimeMillis))
      metrics.swept(swept)
      return swept
    }
    let accounts = Sweeper.Part(name: "idle accounts", portion: 100) { [environment] most in
      try await RemoveIdleAccounts(environment)(accountsMax: most)
    }
    return Sweeper(parts: [rows, accounts], log: log)
  }
}
