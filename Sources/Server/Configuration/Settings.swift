internal import Admission
package import Crypto
package import Identity
package import Logging
internal import Providers
internal import Reactor
package import TLS

/// Everything an operator can set, checked. Each has a default but for the files that nobody can guess.
package struct Settings: Sendable {
  package var listenAddress = ""
  package var listenPort: UInt16 = 0
  package var allowUnidentified = false
  package var reflection = false
  package var tls = TLSSettings(certificateFile: "", keyFile: "")
  package var certificateLookMillis: Int64 = 0
  /// Empty where `postgres` is used.
  package var storePath = ""
  package var postgres = PostgresSettings()
  /// Empty: no backups are made.
  package var backupFolder = ""
  /// 0: all of them.
  package var backupsKeptMax = 0
  package var backupMillis: Int64 = 0
  package var masterKeyFile = ""
  package var issuer = ""
  package var defaultAudience = ""
  package var signingAlgorithm = SignatureAlgorithm.es256
  package var keyPolicy = KeyPolicy()
  /// Empty: the keys are served by GetSigningKeys alone.
  package var keysAddress = ""
  package var keysPort: UInt16 = 0
  /// Without a slash at its end.
  package var keysURL = ""
  package var unidentifiedMayFetchByEmail = false
  package var unidentifiedRedirectURIs: [String] = []
  var callers: [CallerSettings] = []
  var customTokenSigners: [CustomTokenSignerSettings] = []
  var providers: [ProviderSettings] = []
  var delivery = DeliverySettings()
  package var fetchAuthorityFile = ""
  package var fetchAllowsPrivateAddresses = false
  package var passwordMemoryKiB = 0
  package var passwordIterations = 0
  package var passwordWorkers = 0
  package var policy = Policy()
  package var limits = Limits()
  package var reactors = 0
  /// Empty: they are not served.
  package var metricsAddress = ""
  package var metricsPort: UInt16 = 0
  package var metricsAllowRemote = false
  package var logLevel = Logger.Level.info
  /// Variables of the environment that look like settings, and are none.
  var unknownVariables: [String] = []
  /// The elements of each list that could not be read (`examine`), in order.
  var leftOut: [String: [Int]] = [:]
  /// Empty: the settings come from no file.
  package var configurationFile = ""

  /// What can be carried out, and may not be what was meant.
  package var warnings: [String] {
    let unknown = unknownVariables.map { "\($0) is set in the environment, and no setting has this variable" }
    return unknown + (postgres.warning.map { [$0] } ?? [])
  }

  /// - Parameter folder: what relative paths are relative to.
  package static func parse(
    _ bytes: [UInt8], folder: String, environment: [String: String]
  ) throws(ConfigurationError) -> Settings {
    let examined = examine(bytes, folder: folder, environment: environment)
    if let fault = examined.faults.first { throw fault }
    guard let settings = examined.settings else { throw ConfigurationError(setting: "the file", why: "it is not read") }
    return settings
  }

  /// - Throws: the first fault.
  static func read(
    _ tree: ConfigNode, folder: String, _ environment: [String: String]
  ) throws(ConfigurationError) -> Settings {
    var reader = try SettingsReader(tree, environment: environment)
    var settings = try Settings(&reader, folder: folder)
    try reader.finish()
    settings.unknownVariables = Variables.unknown(environment.keys, asked: reader.variables)
    return settings
  }

  /// Every setting with its default and meaning, one a line.
  package static func list() -> [String] {
    guard var reader = try? SettingsReader(.nothing, environment: [:]) else { return [] }
    // Without a file nothing is complete, but everything has been asked for by then.
    _ = try? Settings(&reader, folder: "")
    return reader.lines.map { "\($0.path) = \($0.standard)\n    \($0.meaning)" }
  }

  private init(_ reader: inout SettingsReader, folder: String) throws(ConfigurationError) {
    func path(_ text: String) -> String { text.isEmpty || text.hasPrefix("/") ? text : folder + "/" + text }
    try readListener(&reader, path)
    try readTokens(&reader, path)
    try readPolicy(&reader)
    try readThrottles(&reader)
    try readLimits(&reader)
    try readDelivery(&reader, path)
    callers = try reader.groups("callers") { caller throws(ConfigurationError) in
      try Settings.readCaller(&caller, defaultAudience: defaultAudience)
    }
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
    try reader.group("listen") { group throws(ConfigurationError) in
      listenAddress = try group.text("address", "127.0.0.1", "IPv4 or IPv6 literal to listen on")
      listenPort = UInt16(try group.integer("port", 8443, 0...65_535, "TCP port; 0 takes a free one"))
      allowUnidentified = try group.flag(
        "allow_unidentified", false, "serve callers without certificate or key; on a loopback address only")
      reflection = try group.flag("reflection", false, "serve gRPC reflection: a map of the service for whoever asks")
    }
    try reader.group("unidentified") { group throws(ConfigurationError) in
      unidentifiedMayFetchByEmail = try group.flag(
        "fetch_by_email", false, "unidentified callers may look up addresses")
      unidentifiedRedirectURIs = try Settings.readRedirectURIs(&group)
    }
    try reader.group("tls") { group throws(ConfigurationError) in
      tls = TLSSettings(
        certificateFile: path(try group.text("certificate_file", "", "PEM chain of the server, leaf first")),
        keyFile: path(try group.text("key_file", "", "PEM private key of the leaf; ECDSA P-256 is the fastest")),
        clientAuthorityFile: path(
          try group.text("client_ca_file", "", "PEM certificates that client certificates must come from")),
        clientCertificates: try group.choice(
          "client_certificates", ClientCertificates.none, "whether callers present a certificate"))
      let minimum = try group.text("minimum_version", "1.2", "1.2 or 1.3")
      guard minimum == "1.2" || minimum == "1.3" else { throw group.wrong("minimum_version", "it must be 1.2 or 1.3") }
      tls.tls13Only = minimum == "1.3"
      certificateLookMillis = try group.seconds(
        "reload_seconds", 10, 1...3_600, "how often it is looked whether these files have changed")
    }
    try readStore(&reader, path)
    reactors = try reader.integer("reactors", 0, 0...256, "threads that serve connections; 0: one a core")
    try reader.group("metrics") { group throws(ConfigurationError) in
      metricsAddress = try group.text(
        "address", "", "IPv4 or IPv6 literal to serve Prometheus metrics on, in plain HTTP; empty: nowhere")
      metricsPort = UInt16(try group.integer("port", 9464, 0...65_535, "TCP port; 0 takes a free one"))
      metricsAllowRemote = try group.flag(
        "allow_remote", false, "let the address be other than loopback: whoever reaches it reads all numbers")
    }
    try reader.group("log") { group throws(ConfigurationError) in
      let name = try group.text("level", "info", "trace | debug | info | notice | warning | error | critical")
      guard let level = Logger.Level(rawValue: name) else { throw group.wrong("level", "there is no level \(name)") }
      logLevel = level
    }
  }

  private mutating func readTokens(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("secrets") { group throws(ConfigurationError) in
      masterKeyFile = path(
        try group.text(
          "master_key_file", "master.key", "file with 64 hex digits; every sealing key is derived from them"))
    }
    try reader.group("tokens") { group throws(ConfigurationError) in
      issuer = try group.claim("issuer", "https://localhost:8443", "`iss` of our tokens")
      defaultAudience = try group.claim("audience", "latchkey", "`aud` for callers that name none")
      let name = try group.text("algorithm", "ES256", "ES256 | EdDSA | RS256, for keys made from now on")
      guard let algorithm = SignatureAlgorithm(rawValue: name), [.es256, .edDSA, .rs256].contains(algorithm) else {
        throw group.wrong("algorithm", "it must be ES256, EdDSA or RS256, not \(name)")
      }
      signingAlgorithm = algorithm
      policy.idTokenLifetimeMillis = try group.seconds("id_token_lifetime_seconds", 3_600, 60...86_400, "of ID tokens")
      let days = try group.integer(
        "rotate_days", 90, 0...3_650, "after how long another key signs; 0: only when SIGUSR1 asks for it")
      keyPolicy.rotateMillis = days == 0 ? nil : Int64(days) * 86_400_000
      keyPolicy.publishLeadMillis = try group.seconds(
        "publish_lead_seconds", 3_600, 4...KeyPolicy.publishLeadSecondsMax,
        "how long a key is published before it signs")
      keyPolicy.tokenLifetimeMaxMillis = max(policy.idTokenLifetimeMillis, policy.customTokenLifetimeMaxMillis)
    }
    try reader.group("passwords") { group throws(ConfigurationError) in
      passwordMemoryKiB = try group.integer(
        "memory_kib", 19_456, 1_024...4_194_304,
        "Argon2id memory a hash, in KiB (below the default only for tests); older hashes are upgraded at sign-in")
      passwordIterations = try group.integer("iterations", 2, 1...64, "Argon2id passes")
      passwordWorkers = try group.integer("workers", 0, 0...256, "hashing threads; 0: one a core")
      limits.passwordWorkersQueueMax = try group.integer(
        "queue_max", 64, 1...100_000, "hashes that may wait before RESOURCE_EXHAUSTED")
      policy.passwordBytesMin = try group.integer("bytes_min", 8, 8...64, "shortest password, in bytes of NFKC UTF-8")
    }
    try readKeys(&reader)
    try readFetch(&reader, path)
  }

  private mutating func check(_ reader: SettingsReader) throws(ConfigurationError) {
    guard !tls.certificateFile.isEmpty else { throw reader.wrong("tls.certificate_file", "it must be set") }
    guard !tls.keyFile.isEmpty else { throw reader.wrong("tls.key_file", "it must be set") }
    guard tls.clientCertificates == .none || !tls.clientAuthorityFile.isEmpty else {
      throw reader.wrong("tls.client_ca_file", "it must be set where client certificates are asked for")
    }
    guard isAddress(listenAddress) else {
      throw reader.wrong("listen.address", "it must be an IPv4 or IPv6 literal, not \(listenAddress)")
    }
    guard !allowUnidentified || Settings.isLoopback(listenAddress) else {
      throw reader.wrong("listen.allow_unidentified", "it is allowed on a loopback address only, not \(listenAddress)")
    }
    guard metricsAddress.isEmpty || isAddress(metricsAddress) else {
      throw reader.wrong("metrics.address", "it must be an IPv4 or IPv6 literal, not \(metricsAddress)")
    }
    guard metricsAddress.isEmpty || metricsAllowRemote || Settings.isLoopback(metricsAddress) else {
      throw reader.wrong(
        "metrics.address",
        "metrics are served in plain text to whoever asks, so on a loopback address only, not \(metricsAddress), "
          + "unless metrics.allow_remote is true")
    }
    try checkDelivery(reader)
    try checkKeys(reader)
    leftOut = reader.leftOut
    try unique(callers.map(\.name), "callers", "name")
    try unique(callers.map { $0.san.isEmpty ? nil : $0.san }, "callers", "san")
    try unique(callers.map(\.apiKeyDigest), "callers", "api_key_sha256")
    try unique(providers.map(\.id), "providers", "id")
  }

  /// Where the file has the element, of whose list some may be left out.
  func index(_ position: Int, in list: String) -> Int {
    (leftOut[list] ?? []).reduce(position) { $1 <= $0 ? $0 + 1 : $0 }
  }

  static func isLoopback(_ address: String) -> Bool { address.hasPrefix("127.") || address == "::1" }

  /// Names the first element whose key an earlier one has.
  private func unique<Key: Hashable>(_ keys: [Key?], _ list: String, _ name: String) throws(ConfigurationError) {
    var seen: Set<Key> = []
    for (position, key) in keys.enumerated() {
      guard let key, !seen.insert(key).inserted else { continue }
      let place = "\(list)[\(index(position, in: list))]"
      throw ConfigurationError(setting: "\(place).\(name)", why: "an earlier one has the same")
    }
  }
}

extension SettingsReader {
  /// A text that tokens carry, which verifiers compare byte by byte.
  mutating func claim(_ name: String, _ standard: String, _ meaning: String) throws(ConfigurationError) -> String {
    let text = try text(name, standard, meaning)
    try checkClaim(name, text)
    return text
  }

  func checkClaim(_ name: String, _ text: String) throws(ConfigurationError) {
    let isSound = !text.isEmpty && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    guard isSound else { throw wrong(name, "it must not be empty, nor hold control characters") }
  }

  /// A duration, kept in milliseconds.
  mutating func seconds(
    _ name: String, _ standard: Int, _ range: ClosedRange<Int>, _ meaning: String
  ) throws(ConfigurationError) -> Int64 {
    Int64(try integer(name, standard, range, meaning + ", in seconds")) * 1_000
  }
}
