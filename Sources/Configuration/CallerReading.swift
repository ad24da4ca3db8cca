internal import Callers
internal import Encodings
internal import Store
internal import TLS

// The callers: their names, credentials and rights.

extension Settings {
  static func readCaller(
    _ reader: inout SettingsReader, defaultAudience: String
  ) throws(ConfigurationError) -> CallerSettings {
    // Reads all settings before any check, so that the list of settings is complete.
    let name = try reader.text("name", "", "name in the log, throttles and records")
    let san = try reader.text(
      "san", "", "uri:… or dns:…, the name in its client certificate: the first URI, otherwise the first DNS name")
    var apiKeys = try reader.groups("api_keys") { key throws(ConfigurationError) in try readKey(&key) }
    let singleKey = try reader.text("api_key_sha256", "", "short form of api_keys with one sha256")
    let audiences = try reader.texts(
      "audiences", [defaultAudience], "`aud` of its sessions, followed by other accepted audiences")
    let methods = try reader.texts(
      "methods", Settings.ordinaryMethods, patterns: true, "package.Service/Method, package.Service/* or *")
    let mayFetchByEmail = try reader.flag("fetch_by_email", false, "may look up accounts by email")
    let mayMerge = try reader.flag("merge", false, "may merge two accounts with proof of both")
    let mayNameActor = try reader.flag("actor", false, "may name the human for whom it acts (x-latchkey-actor)")
    let mayCreateEmailLinks = try reader.flag("email_links", false, "may create links itself (CreateEmailLink)")
    let redirectURIs = try readRedirectURIs(&reader)
    let relyingPartyIDs = try readRelyingPartyIDs(&reader)
    let mayWatch = try reader.flag("events", false, "may watch the events of all accounts (EventService)")
    guard !name.isEmpty, name.utf8.count <= 128 else { throw reader.wrong("name", "it must have 1 to 128 bytes") }
    if !singleKey.isEmpty {
      guard apiKeys.isEmpty else { throw reader.wrong("api_key_sha256", "set api_key_sha256 or api_keys, not both") }
      guard let digest = keyDigest(singleKey) else { throw reader.wrong("api_key_sha256", keyDigestRule) }
      apiKeys = [APIKeySettings(digest: digest, name: keyName(singleKey))]
    }
    guard !san.isEmpty || !apiKeys.isEmpty else {
      throw reader.wrong("san", "set san or api_keys to identify the caller")
    }
    if let fault = CertificateName.fault(of: san) { throw reader.wrong("san", fault) }
    guard !audiences.isEmpty else { throw reader.wrong("audiences", "it must name at least one") }
    for audience in audiences { try reader.checkAudience("audiences", audience) }
    if let wrong = methods.first(where: { !namesMethods($0) }) {
      throw reader.wrong("methods", "\(wrong) matches no method")
    }
    return CallerSettings(
      name: name, san: CertificateName.normal(san), apiKeys: apiKeys,
      methods: methods + (mayWatch ? watchMethods : []), mayFetchByEmail: mayFetchByEmail, mayMerge: mayMerge,
      mayNameActor: mayNameActor, mayCreateEmailLinks: mayCreateEmailLinks, audiences: audiences,
      redirectURIs: redirectURIs, relyingPartyIDs: relyingPartyIDs)
  }

  private static func readKey(_ reader: inout SettingsReader) throws(ConfigurationError) -> APIKeySettings {
    let hex = try reader.text("sha256", "", "hexadecimal SHA-256 of the key")
    let end = try reader.text("not_after", "", "time from which the key is rejected, as in 2027-01-31T00:00:00Z")
    let name = try reader.text("name", "", "name in the log and in metrics; empty: the first 8 digits of sha256")
    guard let digest = keyDigest(hex) else { throw reader.wrong("sha256", keyDigestRule) }
    var key = APIKeySettings(digest: digest, name: name.isEmpty ? keyName(hex) : name)
    if !end.isEmpty {
      guard let millis = moment(ofRFC3339: end) else {
        throw reader.wrong("not_after", "it must be a UTC time such as 2027-01-31T00:00:00Z")
      }
      key.notAfter = Timestamp(millis: millis)
    }
    guard name.utf8.count <= 64 else { throw reader.wrong("name", "it must have at most 64 bytes") }
    return key
  }

  private static let keyDigestRule = "it must be 64 hexadecimal digits"

  private static func keyDigest(_ hex: String) -> Digest? {
    guard let bytes = Hexadecimal.decode(hex), bytes.count == 32 else { return nil }
    return Digest(bytes)
  }

  private static func keyName(_ hex: String) -> String { hex.prefix(8).lowercased() }

  static func readRedirectURIs(_ reader: inout SettingsReader) throws(ConfigurationError) -> [String] {
    let uris = try reader.texts(
      "redirect_uris", [],
      "exact URIs to which providers may redirect users and email links may lead; https, http on loopback, or an "
        + "app's own scheme")
    for uri in uris where !RedirectURI.isAllowed(uri) {
      throw reader.wrong(
        "redirect_uris",
        "\(uri) must be an https URI, http on loopback or an app's own scheme, without user and fragment")
    }
    return uris
  }

  private static let watchMethods = ["latchkey.v1.EventService/*"]

  /// All methods except administration and events.
  static let ordinaryMethods = [
    "latchkey.v1.AuthService/*", "latchkey.v1.AccountService/*", "latchkey.v1.SessionService/*",
    "latchkey.v1.ProviderFlowService/*", "latchkey.v1.SecondFactorService/*", "latchkey.v1.PasskeyService/*",
    "latchkey.v1.VerificationService/*",
  ]

  mutating func readTrustedProxies(_ reader: inout SettingsReader) throws(ConfigurationError) {
    let names = try reader.texts(
      "trusted_proxies", [],
      "uri:… or dns:…, names in the certificates of proxies whose x-forwarded-client-cert identifies callers")
    for name in names {
      if name.isEmpty { throw reader.wrong("trusted_proxies", "a name must not be empty") }
      if let fault = CertificateName.fault(of: name) { throw reader.wrong("trusted_proxies", fault) }
      if callers.contains(where: { $0.san == CertificateName.normal(name) }) {
        throw reader.wrong("trusted_proxies", "\(name) is the san of a caller: give the proxy a name of its own")
      }
    }
    guard names.isEmpty || tls.clientCertificates != .none else {
      throw reader.wrong("trusted_proxies", "set tls.client_certificates, so that proxies can present a certificate")
    }
    trustedProxies = Set(names.map(CertificateName.normal))
  }

  /// Checks that no two keys are equal, and no two keys of one caller have the same name.
  func checkCallers() throws(ConfigurationError) {
    try unique(callers.map(\.name), "callers", "name")
    try unique(callers.map { $0.san.isEmpty ? nil : $0.san }, "callers", "san")
    var digests: Set<Digest> = []
    for (position, caller) in callers.enumerated() {
      let list = "callers[\(index(position, in: "callers"))].api_keys"
      try unique(caller.apiKeys.map(\.name), list, "name")
      for (place, key) in caller.apiKeys.enumerated() where !digests.insert(key.digest).inserted {
        throw ConfigurationError(
          setting: "\(list)[\(index(place, in: list))].sha256", why: "an earlier element has the same value")
      }
    }
  }

  /// Warnings about API keys that have expired or soon will.
  func warningsOfKeys(at now: Timestamp) -> [String] {
    callerTable([]).apiKeys.filter { $0.endsSoon(at: now) }.compactMap { key in
      guard let end = key.notAfter else { return nil }
      let verb = key.isExpired(at: now) ? "expired" : "expires"
      return "the API key \(key.name) of caller \(key.caller.text) \(verb) at \(rfc3339(end.millis))"
    }
  }
}
