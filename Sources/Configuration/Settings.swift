// Configuration: the settings of the server.
//
// Owns: the configuration file and its parser, the environment variables, the check of all settings and of the files
// that they name, and what settings describe directly: policies, callers, providers and transports of messages.
// Does not own: the defaults of limits (Transport, HTTP2), the components that use the settings (Server).
// Read next: SettingsReader.swift, SettingsFile.swift, Examination.swift.

package import Callers
package import Crypto
package import Identity
package import Logging
package import Providers
internal import Reactor
internal import Store
package import TLS
package import Transport

/// All settings of the server, checked. Each has a default, except for files whose location the server cannot guess.
package struct Settings: Sendable {
  package var listen = ListenSettings()
  package var allowUnidentified = false
  package var reflection = false
  package var tls = TLSSettings(certificateFile: "", keyFile: "")
  package var certificateLookMillis: Int64 = 0
  /// Path of the database file; empty if `postgres` is used.
  package var storePath = ""
  package var postgres = PostgresSettings()
  /// Whether the start of the server migrates the schema.
  package var storeMigratesAtStart = true
  /// Folder of backups; empty if backups are disabled.
  package var backupFolder = ""
  /// Number of backups to keep; 0 keeps all.
  package var backupsKeptMax = 0
  package var backupMillis: Int64 = 0
  /// Maximum duration of the check of the store after the start; 0 disables it.
  package var storeCheckMillis: Int64 = 0
  package var tracing = TracingSettings()
  package var hooks: [HookSettings] = []
  /// The files of the master keys. The key of the first seals, and all open.
  package var masterKeyFiles: [String] = []
  package var issuer = ""
  package var defaultAudience = ""
  package var signingAlgorithm = SignatureAlgorithm.es256
  package var keyPolicy = KeyPolicy()
  /// Address of the keys endpoint; empty if only GetSigningKeys serves the keys.
  package var keysAddress = ""
  package var keysPort: UInt16 = 0
  /// URL without a trailing slash.
  package var keysURL = ""
  package var unidentifiedMayFetchByEmail = false
  package var unidentifiedRedirectURIs: [String] = []
  var unidentifiedRelyingPartyIDs: [String] = []
  package var callers: [CallerSettings] = []
  /// Names in the certificates of proxies that may state the certificates of their clients.
  var trustedProxies: Set<String> = []
  var customTokenSigners: [CustomTokenSignerSettings] = []
  package var providers: [ProviderSettings] = []
  var relyingPartySettings: [RelyingPartySettings] = []
  package var delivery = DeliverySettings()
  package var fetchAuthorityFile = ""
  package var fetchAllowsPrivateAddresses = false
  package var passwordMemoryKiB = 0
  package var passwordIterations = 0
  package var passwordWorkers = 0
  package var passwordBlockListFile = ""
  package var blockListAtSignIn = false
  package var blockedEmailDomainsFile = ""
  package var policy = Policy()
  package var limits = Limits()
  package var reactors = 0
  /// Address of the metrics endpoint; empty if it is disabled.
  package var metricsAddress = ""
  package var metricsPort: UInt16 = 0
  package var metricsAllowRemote = false
  /// Whether the store keeps the index of searches.
  package var search = false
  package var logLevel = Logger.Level.info
  /// Environment variables that look like settings but are unknown.
  var unknownVariables: [String] = []
  /// Indexes of the unreadable elements of each list (`examine`), in order.
  var leftOut: [String: [Int]] = [:]
  /// Path of the configuration file; empty without a file.
  package var configurationFile = ""
  /// Interval between checks of the configuration file for changes; 0: only SIGHUP checks it.
  package var watchMillis: Int64 = 0
  /// The file as a tree, and the value of each setting by name (`SettingsReader.effective`), for a reload.
  var tree = ConfigNode.nothing
  var effective: [String: String] = [:]

  /// Warnings about valid settings that may be mistakes, and about API keys that end soon.
  package var warnings: [String] {
    let unknown = unknownVariables.map { "the environment variable \($0) belongs to no setting" }
    return unknown + (postgres.warning.map { [$0] } ?? []) + warningsOfKeys(at: Timestamp(millis: wallMillis()))
  }

  /// Parses a configuration file.
  /// - Parameter folder: the base of relative paths.
  package static func parse(
    _ bytes: [UInt8], folder: String, environment: [String: String]
  ) throws(ConfigurationError) -> Settings {
    let examined = examine(bytes, folder: folder, environment: environment)
    if let fault = examined.faults.first { throw fault }
    guard let settings = examined.settings else {
      throw ConfigurationError(setting: "the file", why: "it is unreadable")
    }
    return settings
  }

  /// Reads the settings of a tree.
  /// - Throws: the first error.
  package static func read(
    _ tree: ConfigNode, folder: String, _ environment: [String: String]
  ) throws(ConfigurationError) -> Settings {
    var reader = try SettingsReader(tree, environment: environment)
    var settings = try Settings(&reader, folder: folder, environment)
    try reader.finish()
    settings.tree = tree
    settings.effective = reader.effective
    settings.unknownVariables = Variables.unknown(
      environment.keys.filter { $0 != SystemdCredential.variable }, asked: reader.variables)
    return settings
  }

  /// Lists every setting with its default and description.
  package static func list() -> [String] {
    guard var reader = try? SettingsReader(.nothing, environment: [:]) else { return [] }
    // Required settings are missing, but all settings have been read before the error.
    _ = try? Settings(&reader, folder: "", [:])
    return reader.lines.map { "\($0.path) = \($0.standard)\n    \($0.meaning)" }
  }

  private init(
    _ reader: inout SettingsReader, folder: String, _ environment: [String: String]
  ) throws(ConfigurationError) {
    func path(_ text: String) -> String {
      if let path = SystemdCredential.path(text, environment) { return path }
      if text.isEmpty || text.hasPrefix("/") || SystemdCredential.fault(text) != nil { return text }
      return folder + "/" + text
    }
    try readListener(&reader, path)
    try readTokens(&reader, path)
    try readPolicy(&reader, path)
    try readThrottles(&reader)
    try readLimits(&reader)
    try readDelivery(&reader, path)
    try readTracing(&reader, path)
    try readRelyingParties(&reader, path)
    callers = try reader.groups("callers") { caller throws(ConfigurationError) in
      try Settings.readCaller(&caller, defaultAudience: defaultAudience)
    }
    try readTrustedProxies(&reader)
    try readHooks(&reader, path)
    providers = try reader.groups("providers") { provider throws(ConfigurationError) in
      try Settings.readProvider(&provider, path)
    }
    try readCustomTokenSigners(&reader, path)
    policy.enabledProviderIDs = Set(providers.map(\.id))
    try check(reader)
  }

  private mutating func readListener(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try readListen(&reader)
    try reader.group("unidentified") { group throws(ConfigurationError) in
      unidentifiedMayFetchByEmail = try group.flag(
        "fetch_by_email", false, "unidentified callers may look up accounts by email")
      unidentifiedRedirectURIs = try Settings.readRedirectURIs(&group)
      unidentifiedRelyingPartyIDs = try Settings.readRelyingPartyIDs(&group)
    }
    try reader.group("tls") { group throws(ConfigurationError) in
      tls = TLSSettings(
        certificateFile: path(
          try group.text("certificate_file", "", "PEM certificate chain of the server, leaf first")),
        keyFile: path(try group.text("key_file", "", "PEM private key of the leaf; ECDSA P-256 is the fastest")),
        clientAuthorityFile: path(
          try group.text("client_ca_file", "", "PEM CA certificates that issue client certificates")),
        clientCertificates: try group.choice(
          "client_certificates", ClientCertificates.none, "whether callers present a certificate"))
      let minimum = try group.text("minimum_version", "1.2", "minimum TLS version: 1.2 or 1.3")
      guard minimum == "1.2" || minimum == "1.3" else { throw group.wrong("minimum_version", "it must be 1.2 or 1.3") }
      tls.tls13Only = minimum == "1.3"
      certificateLookMillis = try group.seconds(
        "reload_seconds", 10, 1...3_600, "interval between checks for changed files; SIGHUP checks immediately")
    }
    try readStore(&reader, path)
    reactors = try reader.integer("reactors", 0, 0...256, "threads that serve connections; 0: one per core")
    try reader.group("metrics") { group throws(ConfigurationError) in
      metricsAddress = try group.text(
        "address", "", "IPv4 or IPv6 literal that serves Prometheus metrics over plain HTTP; empty: disabled")
      metricsPort = UInt16(try group.integer("port", 9464, 0...65_535, "TCP port; 0: any free port"))
      metricsAllowRemote = try group.flag(
        "allow_remote", false,
        "allow an address other than loopback; every client that reaches it can read all metrics")
    }
    try reader.group("log") { group throws(ConfigurationError) in
      let name = try group.text("level", "info", "trace | debug | info | notice | warning | error | critical")
      guard let level = Logger.Level(rawValue: name) else { throw group.wrong("level", "there is no level \(name)") }
      logLevel = level
    }
    try reader.group("reload") { group throws(ConfigurationError) in
      watchMillis = try group.seconds(
        "watch_seconds", 0, 0...3_600, "interval between checks of the configuration file; 0: only SIGHUP reloads it")
    }
  }

  private mutating func readTokens(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("secrets") { group throws(ConfigurationError) in
      let isListed = group.isSet("master_key_files")
      masterKeyFiles = try group.texts(
        "master_key_files", ["master.key"],
        "files with 64 hexadecimal digits each, at most \(MasterKey.filesMax); the first key seals, all open"
      ).map(path)
      let single = try group.text("master_key_file", "", "short form of master_key_files with one file")
      guard single.isEmpty || !isListed else {
        throw group.wrong("master_key_file", "set master_key_file or master_key_files, not both")
      }
      if !single.isEmpty { masterKeyFiles = [path(single)] }
    }
    try reader.group("tokens") { group throws(ConfigurationError) in
      issuer = try group.claim("issuer", "https://localhost:8443", "`iss` of the tokens that this service issues")
      defaultAudience = try group.text("audience", "latchkey", "`aud` for callers without `audiences`")
      try group.checkAudience("audience", defaultAudience)
      let name = try group.text("algorithm", "ES256", "ES256 | EdDSA | RS256, for new signing keys")
      guard let algorithm = SignatureAlgorithm(rawValue: name), [.es256, .edDSA, .rs256].contains(algorithm) else {
        throw group.wrong("algorithm", "it must be ES256, EdDSA or RS256, not \(name)")
      }
      signingAlgorithm = algorithm
      policy.idTokenLifetimeMillis = try group.seconds(
        "id_token_lifetime_seconds", 3_600, 60...86_400, "lifetime of ID tokens")
      let days = try group.integer(
        "rotate_days", 90, 0...3_650, "days after which a new key signs; 0: only on SIGUSR1")
      keyPolicy.rotateMillis = days == 0 ? nil : Int64(days) * 86_400_000
      keyPolicy.publishLeadMillis = try group.seconds(
        "publish_lead_seconds", 3_600, 4...KeyPolicy.publishLeadSecondsMax,
        "how long a key is published before it signs")
      policy.sessionCookiesEnabled = try group.flag(
        "session_cookies", false,
        "session cookies of up to 14 days; retired keys then stay published for 14 days; the same on all servers")
      keyPolicy.tokenLifetimeMaxMillis = max(policy.idTokenLifetimeMillis, policy.customTokenLifetimeMaxMillis)
      if policy.sessionCookiesEnabled {
        keyPolicy.tokenLifetimeMaxMillis = max(
          keyPolicy.tokenLifetimeMaxMillis, Policy.sessionCookieMillis.upperBound)
      }
    }
    try readPasswords(&reader, path)
    try readKeys(&reader)
    try readFetch(&reader, path)
  }

  private mutating func readPasswords(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("passwords") { group throws(ConfigurationError) in
      passwordMemoryKiB = try group.integer(
        "memory_kib", 19_456, 1_024...4_194_304,
        "Argon2id memory per hash in KiB (less than the default only for tests); sign-in upgrades older hashes")
      passwordIterations = try group.integer("iterations", 2, 1...64, "Argon2id passes")
      passwordWorkers = try group.integer("workers", 0, 0...256, "hashing threads; 0: one per core")
      limits.passwordWorkersQueueMax = try group.integer(
        "queue_max", 64, 1...100_000, "maximum number of queued hashes, past which calls fail with RESOURCE_EXHAUSTED")
      policy.passwordBytesMin = try group.integer(
        "bytes_min", 8, 8...64, "minimum length of a password, in bytes of NFKC UTF-8")
      passwordBlockListFile = path(
        try group.text(
          "block_list_file", "",
          "passwords that no account may get: one a line, or the ordered SHA-1 list of Have I Been Pwned; empty: none"))
      blockListAtSignIn = try group.flag(
        "block_list_at_sign_in", false,
        "report a sign-in with a password of the list as the event PASSWORD_COMPROMISED")
      policy.importedBcryptCostMax = try group.integer(
        "imported_bcrypt_cost_max", 14, 4...16,
        "maximum cost of a bcrypt hash in an import; 16 takes about 5 s of a core")
    }
  }

  private mutating func check(_ reader: SettingsReader) throws(ConfigurationError) {
    guard !tls.certificateFile.isEmpty else { throw reader.wrong("tls.certificate_file", "it must be set") }
    guard !tls.keyFile.isEmpty else { throw reader.wrong("tls.key_file", "it must be set") }
    guard tls.clientCertificates == .none || !tls.clientAuthorityFile.isEmpty else {
      throw reader.wrong("tls.client_ca_file", "it must be set if client certificates are requested")
    }
    try checkListen(reader)
    guard metricsAddress.isEmpty || isAddress(metricsAddress) else {
      throw reader.wrong("metrics.address", "it must be an IPv4 or IPv6 literal, not \(metricsAddress)")
    }
    guard metricsAddress.isEmpty || metricsAllowRemote || Settings.isLoopback(metricsAddress) else {
      throw reader.wrong(
        "metrics.address",
        "every client can read the metrics in plain text: use a loopback address, not \(metricsAddress), "
          + "or set metrics.allow_remote")
    }
    try checkDelivery(reader)
    try checkKeys(reader)
    leftOut = reader.leftOut
    try checkCallers()
    try checkHooks()
    try checkSecondFactorRules()
    try unique(providers.map(\.id), "providers", "id")
    try checkRelyingParties(reader)
  }

  /// Returns the index of an element in the file, whose list may have skipped elements.
  package func index(_ position: Int, in list: String) -> Int {
    (leftOut[list] ?? []).reduce(position) { $1 <= $0 ? $0 + 1 : $0 }
  }

  package static func isLoopback(_ address: String) -> Bool { address.hasPrefix("127.") || address == "::1" }

  /// Throws for the first element whose key an earlier element has.
  func unique<Key: Hashable>(_ keys: [Key?], _ list: String, _ name: String) throws(ConfigurationError) {
    var seen: Set<Key> = []
    for (position, key) in keys.enumerated() {
      guard let key, !seen.insert(key).inserted else { continue }
      let place = "\(list)[\(index(position, in: list))]"
      throw ConfigurationError(setting: "\(place).\(name)", why: "an earlier element has the same value")
    }
  }
}

extension SettingsReader {
  /// Reads a text for a token claim, which verifiers compare exactly.
  mutating func claim(_ name: String, _ standard: String, _ meaning: String) throws(ConfigurationError) -> String {
    let text = try text(name, standard, meaning)
    try checkClaim(name, text)
    return text
  }

  func checkClaim(_ name: String, _ text: String) throws(ConfigurationError) {
    let isSound = !text.isEmpty && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    guard isSound else { throw wrong(name, "it must not be empty or contain control characters") }
  }

  /// Checks an audience. A caller with the audience of restricted sessions would accept their tokens as full ones.
  func checkAudience(_ name: String, _ text: String) throws(ConfigurationError) {
    try checkClaim(name, text)
    guard !text.hasSuffix(RestrictedAudience.ending) else {
      throw wrong(name, "it must not end with \(RestrictedAudience.ending), as tokens of restricted sessions do")
    }
  }

  /// Reads a duration in seconds; returns milliseconds.
  package mutating func seconds(
    _ name: String, _ standard: Int, _ range: ClosedRange<Int>, _ meaning: String
  ) throws(ConfigurationError) -> Int64 {
    Int64(try integer(name, standard, range, meaning + ", in seconds")) * 1_000
  }
}
