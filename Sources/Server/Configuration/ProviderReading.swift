internal import Crypto
internal import Providers
internal import Store

extension Settings {
  private static let own = "; default: the provider's own"

  /// One element of `providers`: what its owner has fixed, then what the file says.
  ///
  /// Everything is asked for before anything is judged, so that the list of settings is whole.
  static func readProvider(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) -> ProviderSettings {
    let id = try reader.text(
      "id", "", "google.com, apple.com and their like, or oidc.<name> or oauth2.<name> for any other")
    let flows = try reader.choice(
      "protocol", ProviderSettings.standard(id: id)?.flows ?? .oauth2,
      "of flows; twitter.com speaks both, oauth1 unless told")
    var settings = ProviderSettings.standard(id: id, flows: flows) ?? ProviderSettings(id: id)
    settings.flows = flows
    settings.clientIDs = try reader.texts(
      "client_ids", [], "the audiences that tokens must be for; flows run under the first")
    settings.additionalAudiences = try reader.texts(
      "additional_audiences", [],
      "oidc.*: audiences that a token may also have, next to a client id and with `azp` one of client_ids")
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

  static func text(_ error: ProviderSettingsError) -> String {
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
      // Those of the provider's owner belong to the document of the provider's owner.
      settings.endpoints.authorization = ""
      settings.endpoints.token = ""
      settings.endpoints.profile = ""
    } else if settings.keys == .none, settings.id.hasPrefix("oidc."), let issuer = issuers.first {
      settings.keys = .discovery(url: ProviderSettings.discoveryURL(of: issuer))
    }
    let names = try reader.texts(
      "algorithms", settings.algorithms.map(\.rawValue).sorted(), "what its signatures may be" + own)
    settings.algorithms = Set(
      try names.map { name throws(ConfigurationError) in
        guard let algorithm = SignatureAlgorithm(rawValue: name) else {
          throw reader.wrong("algorithms", "there is no algorithm \(name)")
        }
        return algorithm
      })
    settings.nonce = try reader.choice("nonce", settings.nonce, "whether tokens that callers bring must carry one")
    settings.flowNonceIsRequired = try reader.flag(
      "flow_nonce", settings.flowNonceIsRequired, "the ID token of a flow must bring its nonce back" + own)
    settings.requireAccessToken = try reader.flag(
      "require_access_token", false, "refuse an ID token with at_hash when its access token is withheld")
  }

  private static func readClient(
    _ reader: inout SettingsReader, _ client: inout ClientSettings, _ path: (String) -> String
  ) throws(ConfigurationError) {
    client.authenticationIsSet = reader.isSet("client_authentication")
    client.authentication = try reader.choice(
      "client_authentication", client.authentication,
      "how this service authenticates at the token endpoint; default: as discovery says, else the provider's own")
    client.secretSource = try reader.secret("client_secret", path, "the client secret")
    let key = try reader.text("private_key_file", "", "PEM private key, for private_key_jwt and apple.com")
    client.keyID = try reader.text("key_id", client.keyID, "by which the provider knows that key")
    client.teamID = try reader.text("team_id", client.teamID, "apple.com: the developer team")
    if !key.isEmpty { client.privateKeySource = .file(path(key)) }
  }

  private static func readFlows(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    settings.scopes = try reader.texts("scopes", settings.scopes, patterns: true, "asked for in every flow" + own)
    settings.callerParameters = Set(
      try reader.texts(
        "caller_parameters", settings.callerParameters.sorted(),
        "what a caller may set in the authorization request" + own))
    settings.usesProofKey = try reader.flag(
      "proof_key", settings.usesProofKey, "flows carry a proof key (PKCE, S256)" + own)
    settings.requireResponseIssuer = try reader.flag(
      "require_response_issuer", settings.requireResponseIssuer,
      "refuse a redirect without `iss`, also where the provider does not announce it")
    settings.profileUse = try reader.choice(
      "profile", settings.profileUse, "when a flow asks the profile_url beside the ID token" + own)
    settings.freshLogin = try reader.choice(
      "reauthentication", settings.freshLogin, "parameters that make the provider ask for a fresh login" + own)
    settings.hostedDomains = Set(
      try reader.texts("hosted_domains", [], "google.com: organisations whose people may come; empty: all"))
  }

  private static func readEndpoints(
    _ reader: inout SettingsReader, _ settings: inout ProviderSettings
  ) throws(ConfigurationError) {
    let asked: [(String, WritableKeyPath<Endpoints, String>, String)] = [
      ("authorization_url", \.authorization, "where people are sent" + own),
      ("token_url", \.token, "where codes are redeemed" + own),
      ("profile_url", \.profile, "who the bearer of an access token is" + own),
      ("audience_check_url", \.audienceCheck, "for whom an access token was issued" + own),
      ("emails_url", \.emails, "the person's addresses" + own),
      ("request_token_url", \.requestToken, "the first leg of OAuth 1.0a" + own),
    ]
    for (name, endpoint, meaning) in asked {
      let url = try reader.text(name, "", meaning)
      if !url.isEmpty { settings.endpoints[keyPath: endpoint] = url }
    }
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
      guard !domains.isEmpty else { return }
      guard case .asserted(let tier, _) = settings.emailTrust else {
        throw reader.wrong(
          "authoritative_domains", "it means nothing with the default email_trust of \(settings.id), which is a rule")
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
      "tenant", settings.tenants.tenant, "microsoft.com: common, organizations, consumers or the id of one")
    settings.tenants.allowed = Set(
      try reader.texts("allowed_tenants", [], "microsoft.com: ids; empty: all that tenant admits"))
    let trusted = try reader.texts(
      "email_trusted_tenants", [], "microsoft.com: ids of tenants whose addresses are verified")
    let trustsOwnership = try reader.flag(
      "trust_domain_ownership", true, "microsoft.com: an address with xms_edov is verified")
    if case .microsoft = settings.emailTrust {
      settings.emailTrust = .microsoft(trustedTenants: Set(trusted), trustsDomainOwnership: trustsOwnership)
    } else if !trusted.isEmpty || !trustsOwnership {
      throw reader.wrong(
        trusted.isEmpty ? "trust_domain_ownership" : "email_trusted_tenants",
        "it means nothing here: it is microsoft.com's default email_trust")
    }
  }

  private static func readClaims(
    _ reader: inout SettingsReader, _ claims: inout ClaimNames
  ) throws(ConfigurationError) {
    try reader.group("claims") { group throws(ConfigurationError) in
      let meaning = "member of the ID token or profile; a dot goes one object deeper" + own
      claims.subject = try group.text(
        "subject", claims.subject, "member of the ID token, where the provider has one, else of the profile" + own)
      claims.email = try group.text("email", claims.email, meaning)
      claims.emailVerified = try group.text("email_verified", claims.emailVerified, meaning)
      claims.name = try group.text("name", claims.name, meaning)
      claims.picture = try group.text("picture", claims.picture, meaning)
      claims.username = try group.text("username", claims.username, meaning)
    }
  }
}
