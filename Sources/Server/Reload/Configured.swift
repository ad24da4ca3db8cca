internal import Callers
internal import Configuration
internal import Delivery
internal import HTTPClient
internal import Hooks
internal import Identity
internal import Providers
internal import Services
internal import Store
internal import Synchronization
internal import Tokens
internal import Transport

/// What one version of the configuration determines. Immutable: a reload replaces it as a whole.
final class Configured: Sendable {
  let settings: Settings
  /// Digests of the files that the settings name (`Settings.contents`).
  let contents: [String: Digest]
  let environment: Environment
  let calls: CallTable
  let messages: DeliveryWorker.Means
  let signers: [CustomTokenSigner]
  let blocking: PasswordHashing.Blocking
  private let registry: Registry
  /// In the order of the settings.
  let hooks: [HookClient]

  /// Creates everything, or throws and changes nothing.
  /// - Parameter previous: the present version, with the names of its providers and hooks whose settings stay the same.
  init(
    _ settings: Settings, contents: [String: Digest], _ ports: Ports, _ fetchers: DeliveryFetchers,
    previous: (configured: Configured, unchangedProviders: Set<String>, unchangedHooks: Set<String>)? = nil
  ) throws {
    self.settings = settings
    self.contents = contents
    registry = try Settings.again { () throws(ConfigurationError) in
      try settings.registry(
        fetching: ports.fetching, ports.notices, previous: previous?.configured.registry,
        unchanged: previous?.unchangedProviders ?? [])
    }
    let kept = previous.map { known in known.configured.hooks.filter { known.unchangedHooks.contains($0.name) } }
    hooks = try settings.hookClients(ports.log, kept: kept ?? [])
    environment = ports.environment(
      registry, try Settings.again(settings.policyWithFiles),
      PasskeyVerifier(try Settings.again(settings.relyingParties), callers: settings.relyingPartyIDs),
      settings.hookSet(hooks, ports.base))
    let directory = CallerDirectory()
    let methods = ports.methods(environment, settings, callers: directory)
    calls = CallTable(
      methods: methods,
      callers: settings.callerTable(
        methods.map(\.path), ports.base.callerLabels, previous: previous?.configured.calls.callers.apiKeys ?? []))
    directory.replace(calls.callers)
    messages = DeliveryWorker.Means(
      templates: try Settings.again(settings.templates), transports: try settings.transports(fetchers))
    signers = try Settings.again(settings.signersOfCustomTokens)
    let former = previous?.configured.blocking.list
    let list = try Settings.again { () throws(ConfigurationError) in try settings.passwordBlockList(previous: former) }
    blocking = PasswordHashing.Blocking(list: list, atSignIn: settings.blockListAtSignIn)
  }
}

/// The present version of the configuration.
final class CurrentConfiguration: Sendable {
  private let configured: Mutex<Configured>

  init(_ configured: Configured) { self.configured = Mutex(configured) }

  var value: Configured { configured.withLock { $0 } }

  func use(_ configured: Configured) { self.configured.withLock { $0 = configured } }
}
