internal import Admission
internal import Crypto
internal import Identity
internal import Providers
internal import Store

extension Settings {
  mutating func readPolicy(_ reader: inout SettingsReader) throws(ConfigurationError) {
    try reader.group("policy") { group throws(ConfigurationError) in
      policy.oneAccountPerEmail = try group.flag(
        "one_account_per_email", true, "an address belongs to one account at most")
      policy.autoLink = try group.choice(
        "auto_link", Policy.AutoLink.off, "link without asking where both sides proved the address")
      policy.reclaim = try group.choice(
        "reclaim", Policy.Reclaim.authoritative, "which assertions take over an account that nobody proved")
      policy.conflictRevealsMethods = try group.choice(
        "conflict_reveals_methods", Policy.ConflictReveals.verified, "from which tier on a conflict names the ways in")
      policy.emailEnumerationProtection = try group.flag(
        "email_enumeration_protection", true, "answer look-ups by address alike for callers without fetch_by_email")
      policy.requireBinding = try group.flag("require_binding", false, "demand `binding` on every sign-in and link")
      policy.passwordEnabled = try group.flag("password", true, "sign-in with address and password")
      policy.anonymousEnabled = try group.flag("anonymous", true, "anonymous accounts")
      policy.customTokenEnabled = try group.flag(
        "custom_token", true, "sign-in with tokens that an administrator minted")
      policy.recentLoginMillis = try group.seconds(
        "recent_login_seconds", 300, 1...86_400, "how old a login may be for sensitive operations")
      policy.linkRecentLoginMillis = try group.seconds(
        "link_recent_login_seconds", 3_600, 1...86_400, "how old a login may be for Link")
      policy.pendingLifetimeMillis = try group.seconds(
        "pending_lifetime_seconds", 600, 1...900, "how long a conflict waits for its completion")
      policy.pendingAttemptsMax = try group.integer(
        "pending_attempts_max", 5, 1...100, "refused completions of one row")
      policy.pendingLimits = PendingLimits(
        perAccountMax: try group.integer(
          "pending_per_account_max", 20, 1...10_000, "rows held for one account, of strangers and of others each"),
        perCallerMax: try group.integer("pending_per_caller_max", 100_000, 1...10_000_000, "rows held for one caller"),
        totalMax: try group.integer("pending_total_max", 1_000_000, 1...100_000_000, "rows held in all"))
      policy.refreshGraceMillis = try group.seconds(
        "refresh_grace_seconds", 10, 0...10, "how long the parent of a refresh token still gets the same successor")
      policy.sessionIdleMillis = try group.seconds(
        "session_idle_seconds", 2_592_000, 60...31_536_000, "end of a session that is not refreshed")
      policy.sessionAbsoluteMillis = try group.seconds(
        "session_absolute_seconds", 15_552_000, 60...157_680_000, "end of any session")
    }
  }

  static func readCaller(
    _ reader: inout SettingsReader, defaultAudience: String
  ) throws(ConfigurationError) -> CallerSettings {
    // Everything is asked for before anything is judged, so that the list of settings is whole.
    let name = try reader.text("name", "", "what the log, throttles and records call it")
    let san = try reader.text("san", "", "URI or DNS name in its client certificate")
    let hex = try reader.text("api_key_sha256", "", "SHA-256 of its API key, in hex")
    let audiences = try reader.texts(
      "audiences", [defaultAudience], "`aud` of its sessions first, then others it takes")
    let methods = try reader.texts(
      "methods", Settings.ordinaryMethods, "package.Service/Method, package.Service/* or *")
    let mayFetchByEmail = try reader.flag("fetch_by_email", false, "may look up addresses")
    guard !name.isEmpty, name.utf8.count <= 128 else { throw reader.wrong("name", "it must have 1 to 128 bytes") }
    var digest: Digest?
    if !hex.isEmpty {
      guard let bytes = Hex.decode(hex), bytes.count == 32 else {
        throw reader.wrong("api_key_sha256", "it must be 64 hex digits")
      }
      digest = Digest(bytes)
    }
    guard !san.isEmpty || digest != nil else {
      throw reader.wrong("san", "a caller needs a san or an api_key_sha256, or nobody could be it")
    }
    guard !audiences.isEmpty else { throw reader.wrong("audiences", "it must name one at least") }
    if let wrong = methods.first(where: { !namesMethods($0) }) {
      throw reader.wrong("methods", "\(wrong) names no method")
    }
    return CallerSettings(
      name: name, san: san, apiKeyDigest: digest, methods: methods, mayFetchByEmail: mayFetchByEmail,
      audiences: audiences)
  }

  /// All but administration.
  static let ordinaryMethods = [
    "latchkey.v1.AuthService/*", "latchkey.v1.AccountService/*", "latchkey.v1.SessionService/*",
  ]

  static func readProvider(_ reader: inout SettingsReader) throws(ConfigurationError) -> ProviderSettings {
    let id = try reader.text("id", "", "google.com or oidc.<name>")
    let clientIDs = try reader.texts("client_ids", [], "the audiences that ID tokens must be for")
    let issuers = try reader.texts("issuers", [], "exact `iss` values; google.com has its own")
    var settings = id == "google.com"
      ? ProviderSettings.google(clientIDs: clientIDs)
      : ProviderSettings(id: id, issuer: issuers.first ?? "", clientIDs: clientIDs)
    if !issuers.isEmpty { settings.issuers = issuers }
    let discovery = try reader.text("discovery_url", "", "OpenID configuration; default: below the issuer")
    let keys = try reader.text("jwks_url", "", "key set, instead of discovery")
    if !keys.isEmpty {
      settings.keys = .jwks(url: keys)
    } else if !discovery.isEmpty {
      settings.keys = .discovery(url: discovery)
    }
    let names = try reader.texts("algorithms", ["RS256"], "what its signatures may be")
    settings.algorithms = Set(
      try names.map { name throws(ConfigurationError) in
        guard let algorithm = SignatureAlgorithm(rawValue: name) else {
          throw reader.wrong("algorithms", "there is no algorithm \(name)")
        }
        return algorithm
      })
    settings.nonce = try reader.choice("nonce", ProviderSettings.NonceMode.optional, "whether tokens must carry one")
    try readTrust(&reader, &settings)
    settings.requireAccessToken = try reader.flag(
      "require_access_token", false, "refuse an ID token with at_hash when its access token is withheld")
    do {
      try settings.check()
    } catch {
      throw reader.wrong(error.setting, error.why)
    }
    return settings
  }

  private static func readTrust(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    let domains = try reader.texts("authoritative_domains", [], "domains whose mailboxes the provider runs")
    let trust = try reader.text("email_trust", "default", "default | unverified | verified | authoritative")
    let tiers: [String: TrustTier] = [
      "unverified": .unverified, "verified": .verified, "authoritative": .authoritative,
    ]
    guard trust != "default" else {
      if !domains.isEmpty { settings.emailTrust = .asserted(.unverified, authoritativeDomains: Set(domains)) }
      return
    }
    guard let tier = tiers[trust] else { throw reader.wrong("email_trust", "there is no tier \(trust)") }
    settings.emailTrust = .asserted(tier, authoritativeDomains: Set(domains))
  }
}

/// Hexadecimal, for keys in files.
enum Hex {
  static func decode(_ text: String) -> [UInt8]? {
    let digits = text.utf8.map { digit -> UInt8? in
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
      default: nil
      }
    }
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}
