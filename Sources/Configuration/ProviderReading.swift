internal import Crypto
package import Providers
internal import Store

extension Settings {
  private static let own = "; default: the provider's own"

  /// Reads one element of `providers`: the provider's defaults, then the values of the file.
  ///
  /// Reads all settings before any check, so that the list of settings is complete.
  static func readProvider(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) -> ProviderSettings {
    let id = try reader.text(
      "id", "", "a built-in ID such as google.com or apple.com, or oidc.<name> or oauth2.<name> for any other")
    let flows = try reader.choice(
      "protocol", ProviderSettings.standard(id: id)?.flows ?? .oauth2,
      "protocol of flows; twitter.com supports both and defaults to oauth1")
    var settings = ProviderSettings.standard(id: id, flows: flows) ?? ProviderSettings(id: id)
    settings.flows = flows
    settings.clientIDs = try reader.texts(
      "client_ids", [], "accepted audiences of tokens; flows use the first")
    settings.additionalAudiences = try reader.texts(
      "additional_audiences", [],
      "oidc.*: further audiences of a token, with a client ID and with `azp` one of client_ids")
    try readTokenRules(&reader, &settings)
    try readClient(&reader, &settings.client, path)
    try readFlows(&reader, &settings)
    try readEndpoints(&reader, &settings)
    try readTrust(&reader, &settings)
    try readMicrosoft(&reader, &settings)
    try readClaims(&reader, &settings.claims)
    do {
      try settings.check()
    } catch {
      throw reader.wrong(error.setting, Settings.text(error))
    }
    return settings
  }

  package static func text(_ error: ProviderSettingsError) -> String {
    error.setting == "id" ? error.why : "\(error.provider): it \(error.why)"
  }

  private static func readTokenRules(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    let issuers = try reader.texts("issuers", [], "exact `iss` values" + own)
    if !issuers.isEmpty { settings.issuers = issuers }
    let discovery = try reader.text(
      "discovery_url", "",
      "OpenID configuration, which also names endpoints; default: the provider's, or below the issuer")
    let keys = try reader.text("jwks_url", "", "key set, instead of discovery")
    if !keys.isEmpty {
      settings.keys = .jwks(url: keys)
    } else if !discovery.isEmpty {
      settings.keys = .discovery(url: discovery)
      // The default endpoints belong to the default discovery document.
      settings.endpoints.authorization = ""
      settings.endpoints.token = ""
      settings.endpoints.profile = ""
    } else if settings.keys == .none, settings.id.hasPrefix("oidc."), let issuer = issuers.first {
      settings.keys = .discovery(url: ProviderSettings.discoveryURL(of: issuer))
    }
    let names = try reader.texts(
      "algorithms", settings.algorithms.map(\.rawValue).sorted(), "accepted signature algorithms" + own)
    settings.algorithms = Set(
      try names.map { name throws(ConfigurationError) in
        guard let algorithm = SignatureAlgorithm(rawValue: name) else {
          throw reader.wrong("algorithms", "there is no algorithm \(name)")
        }
        return algorithm
      })
    settings.nonce = try reader.choice("nonce", settings.nonce, "whether tokens from callers must have a nonce")
    settings.flowNonceIsRequired = try reader.flag(
      "flow_nonce", settings.flowNonceIsRequired, "the ID token of a flow must contain its nonce" + own)
    settings.requireAccessToken = try reader.flag(
      "require_access_token", false, "reject an ID token with at_hash if the access token is missing")
  }

  private static func readClient(
    _ reader: inout SettingsReader, _ client: inout ClientSettings, _ path: (String) -> String
  ) throws(ConfigurationError) {
    client.authenticationIsSet = reader.isSet("client_authentication")
    client.authentication = try reader.choice(
      "client_authentication", client.authentication,
      "client authentication at the token endpoint; default: from discovery, otherwise the provider's own")
    client.secretSource = try reader.secret("client_secret", path, "the client secret")
    let key = try reader.text("private_key_file", "", "PEM private key, for private_key_jwt and apple.com")
    client.keyID = try reader.text("key_id", client.keyID, "the provider's ID of that key")
    client.teamID = try reader.text("team_id", client.teamID, "apple.com: the developer team")
    if !key.isEmpty { client.privateKeySource = .file(path(key)) }
  }

  private static func readFlows(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    settings.scopes = try reader.texts(
      "scopes", settings.scopes, patterns: true, "scopes that every flow requests" + own)
    settings.callerParameters = Set(
      try reader.texts(
        "caller_parameters", settings.callerParameters.sorted(),
        "authorization request parameters that a caller may set" + own))
    settings.usesProofKey = try reader.flag(
      "proof_key", settings.usesProofKey, "flows use PKCE (S256)" + own)
    settings.requireResponseIssuer = try reader.flag(
      "require_response_issuer", settings.requireResponseIssuer,
      "reject a redirect without `iss`, even if the provider does not announce it")
    settings.profileUse = try reader.choice(
      "profile", settings.profileUse, "when a flow requests profile_url in addition to the ID token" + own)
    settings.freshLogin = try reader.choice(
      "reauthentication", settings.freshLogin, "parameters that request re-authentication by the provider" + own)
    settings.hostedDomains = Set(
      try reader.texts(
        "hosted_domains", [], "google.com: domains of organisations whose users may sign in; empty: all"))
  }

  private static func readEndpoints(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    let asked: [(String, WritableKeyPath<Endpoints, String>, String)] = [
      ("authorization_url", \.authorization, "authorization endpoint" + own),
      ("token_url", \.token, "token endpoint" + own),
      ("profile_url", \.profile, "profile of an access token's user" + own),
      ("audience_check_url", \.audienceCheck, "audience of an access token" + own),
      ("emails_url", \.emails, "the user's email addresses" + own),
      ("request_token_url", \.requestToken, "request token endpoint of OAuth 1.0a" + own),
      ("revocation_url", \.revocation, "revocation of the provider's tokens (RFC 7009)" + own),
    ]
    for (name, endpoint, meaning) in asked {
      let url = try reader.text(name, "", meaning)
      if !url.isEmpty { settings.endpoints[keyPath: endpoint] = url }
    }
  }

  private static func readTrust(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    let domains = try reader.texts("authoritative_domains", [], "domains whose mailboxes the provider hosts")
    let trust = try reader.text("email_trust", "default", "default | unverified | verified | authoritative")
    let tiers: [String: TrustTier] = [
      "unverified": .unverified, "verified": .verified, "authoritative": .authoritative,
    ]
    guard trust != "default" else {
      guard !domains.isEmpty else { return }
      guard case .asserted(let tier, _) = settings.emailTrust else {
        throw reader.wrong(
          "authoritative_domains", "it has no effect with the default email_trust of \(settings.id), which is a rule")
      }
      settings.emailTrust = .asserted(tier, authoritativeDomains: Set(domains))
      return
    }
    guard let tier = tiers[trust] else { throw reader.wrong("email_trust", "there is no tier \(trust)") }
    settings.emailTrust = .asserted(tier, authoritativeDomains: Set(domains))
  }

  private static func readMicrosoft(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    settings.tenants.tenant = try reader.text(
      "tenant", settings.tenants.tenant, "microsoft.com: common, organizations, consumers or a tenant ID")
    settings.tenants.allowed = Set(
      try reader.texts("allowed_tenants", [], "microsoft.com: tenant IDs; empty: all that tenant admits"))
    let trusted = try reader.texts(
      "email_trusted_tenants", [], "microsoft.com: IDs of tenants whose email addresses are verified")
    let trustsOwnership = try reader.flag(
      "trust_domain_ownership", true, "microsoft.com: an email address with xms_edov is verified")
    if case .microsoft = settings.emailTrust {
      settings.emailTrust = .microsoft(trustedTenants: Set(trusted), trustsDomainOwnership: trustsOwnership)
    } else if !trusted.isEmpty || !trustsOwnership {
      throw reader.wrong(
        trusted.isEmpty ? "trust_domain_ownership" : "email_trusted_tenants",
        "it applies only to microsoft.com with the default email_trust")
    }
  }

  private static func readClaims(
    _ reader: inout SettingsReader, _ claims: inout ClaimNames
  ) throws(ConfigurationError) {
    try reader.group("claims") { group throws(ConfigurationError) in
      let meaning = "member of the ID token or profile; emails[0].value is nested" + own
      claims.subject = try group.text(
        "subject", claims.subject, "member of the ID token if the provider issues one, otherwise of the profile" + own)
      claims.email = try group.text("email", claims.email, meaning)
      claims.emailVerified = try group.text("email_verified", claims.emailVerified, meaning)
      claims.name = try group.text("name", claims.name, meaning)
      claims.picture = try group.text("picture", claims.picture, meaning)
      claims.username = try group.text("username", claims.username, meaning)
    }
  }
}
