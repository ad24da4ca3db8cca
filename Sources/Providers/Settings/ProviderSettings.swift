package import Crypto
import Store
import Text
package import Tokens

/// The protocol of a provider's flows. Only X supports both.
package enum FlowProtocol: String, Hashable, Sendable, CaseIterable {
  /// RFC 5849.
  case oauth1
  /// RFC 6749, with or without OpenID Connect.
  case oauth2
}

/// The configuration of one provider. An omitted setting has its owner's default, or the safe one.
package struct ProviderSettings: Sendable {
  /// The source of the key set.
  package enum Keys: Hashable, Sendable {
    /// The discovery document that names it (OpenID Connect Discovery 1.0, 4).
    case discovery(url: String)
    /// A fixed URL, for a provider without a discovery document.
    case jwks(url: String)
    /// The provider signs nothing.
    case none
  }

  package enum NonceMode: String, Hashable, Sendable, CaseIterable {
    /// A nonce claim must match, but a token may have none.
    case optional
    /// A token must have a nonce, and is accepted once.
    case required
  }

  /// The parameters that a reauthentication sends to an OpenID provider (OpenID Connect Core 3.1.2.1).
  ///
  /// `max_age` is 1 and not 0: some servers never finish a login that must be 0 seconds old.
  package enum FreshLogin: String, Hashable, Sendable, CaseIterable {
    case promptAndMaxAge = "prompt_and_max_age"
    case prompt
    case maxAge = "max_age"
    /// `prompt=select_account`, for a provider without a better option.
    case selectAccount = "select_account"
    case none

    var parameters: [String: String] {
      switch self {
      case .promptAndMaxAge: ["prompt": "login", "max_age": "1"]
      case .prompt: ["prompt": "login"]
      case .maxAge: ["max_age": "1"]
      case .selectAccount: ["prompt": "select_account"]
      case .none: [:]
      }
    }
  }

  /// When to request the user's profile in addition to the ID token (OpenID Connect Core 5.3).
  package enum ProfileUse: String, Hashable, Sendable, CaseIterable {
    /// At the end of a flow whose ID token lacks an email address, a name, or a verified flag that matters.
    case missing
    case always
    case never
  }

  /// `google.com` or another known provider, `oidc.<name>` or `oauth2.<name>`.
  package var id: String
  package var flows = FlowProtocol.oauth2
  /// The discovery document must name the first one. A token may name any of them, exactly.
  package var issuers: [String] = []
  /// Accepted audiences of tokens. Flows use the first one.
  package var clientIDs: [String] = []
  /// Additional accepted audiences, next to one of `clientIDs` and with `azp` one of them.
  package var additionalAudiences: [String] = []
  package var client = ClientSettings()
  package var endpoints = Endpoints()
  package var keys = Keys.none
  package var algorithms: Set<SignatureAlgorithm> = [.rs256]
  /// Applies to ID tokens that a caller presents.
  package var nonce = NonceMode.optional
  /// Whether the ID token of a flow must contain its nonce. A nonce that is present must match either way.
  package var flowNonceIsRequired = true
  package var emailTrust = EmailTrust.asserted(TrustTier.unverified, authoritativeDomains: [])
  /// Whether to reject a token with an `at_hash` claim that comes without its access token.
  package var requireAccessToken = false
  /// Part of every authorization request.
  package var scopes: [String] = []
  /// Parameters that a caller may set in an authorization request.
  package var callerParameters: Set<String> = []
  /// Whether flows carry a proof key (RFC 7636).
  package var usesProofKey = true
  /// Whether to reject a redirect without `iss` (RFC 9207), even if the provider does not announce that it sends one.
  package var requireResponseIssuer = false
  package var freshLogin = FreshLogin.promptAndMaxAge
  package var profileUse = ProfileUse.missing
  package var claims = ClaimNames()
  /// Apple writes `email_verified` as text. For any other provider a text does not count (check 55).
  var takesTextAsVerified = false
  /// LinkedIn's ID token also has that claim as text. Its userinfo has the boolean, so userinfo takes precedence.
  var profileGoesFirst = false
  /// Whether the nonce claim of a presented ID token is always a hash (Apple), not the raw nonce.
  var kitsHashNonces = false
  /// Whether ID tokens name the user of an application's former team (Apple, `transfer_sub`).
  var hasTransferSubjects = false
  /// Google: domains of the organisations whose users may sign in; empty: all users may.
  package var hostedDomains: Set<String> = []
  package var tenants = TenantSettings()
  /// Called at each read with the skipped entries of this provider's key set.
  package var onSkippedKeys: @Sendable ([SkippedKey]) -> Void = { _ in }

  package init(id: String) { self.id = id }

  /// Returns the owner's endpoints, scopes and trust, before any configuration; nil if there is no such provider.
  ///
  /// - Parameter flows: nil: the owner's first.
  package static func standard(id: String, flows: FlowProtocol? = nil) -> ProviderSettings? {
    Adapters.type(of: id, flows: flows)?.standard(id: id)
  }

  /// Returns the URL of an issuer's discovery document (Discovery 1.0, 4.1).
  package static func discoveryURL(of issuer: String) -> String {
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    return base + "/.well-known/openid-configuration"
  }

  /// Throws for the first invalid setting, so that a wrong configuration stops the start (check 69).
  package func check() throws(ProviderSettingsError) {
    guard let adapter = Adapters.type(of: id, flows: flows) else {
      throw wrong("id", "must be one of \(Adapters.named.keys.sorted().joined(separator: ", ")), or oidc.<name> or "
        + "oauth2.<name> with a name of a-z, 0-9 and -")
    }
    try require(adapter.standard(id: id).flows == flows, "protocol", "is not supported by \(id)")
    try require(!clientIDs.isEmpty && !clientIDs.contains(""), "client_ids", "must contain ids that are not empty")
    try require(!additionalAudiences.contains(""), "additional_audiences", "must not contain an empty text")
    if let issuer = issuers.first { try require(issuer.hasPrefix("https://"), "issuers", "must begin with https://") }
    try require(
      !requireResponseIssuer || !issuers.isEmpty, "issuers", "must be set for require_response_issuer")
    try checkURLs()
    try client.check(self)
    if case .asserted(_, let domains) = emailTrust { try checkDomains(domains, "authoritative_domains") }
    try checkDomains(hostedDomains, "hosted_domains")
    try checkClaims()
    try adapter.check(self)
    try checkNothingIsUnused(adapter.standard(id: id))
  }

  /// Rejects settings that this provider does not use: the operator who set them expects an effect.
  private func checkNothingIsUnused(_ standard: ProviderSettings) throws(ProviderSettingsError) {
    func isUsed(_ condition: Bool, _ setting: String) throws(ProviderSettingsError) {
      try require(condition, setting, "has no effect for \(id)")
    }
    let isGeneric = Adapters.named[id] == nil
    try isUsed(id == "google.com" || hostedDomains.isEmpty, "hosted_domains")
    try isUsed(id == "microsoft.com" || tenants.tenant == standard.tenants.tenant, "tenant")
    try isUsed(id == "microsoft.com" || tenants.allowed.isEmpty, "allowed_tenants")
    try isUsed(id == "apple.com" || client.teamID.isEmpty, "team_id")
    try isUsed(isGeneric || claims == standard.claims, "claims")
    try isUsed(client.keyID.isEmpty || client.authentication == .privateKeyJWT, "key_id")
    try isUsed(id.hasPrefix("oidc.") || additionalAudiences.isEmpty, "additional_audiences")
    try isUsed(Adapters.isOpenID(id) || freshLogin == standard.freshLogin, "reauthentication")
    if !id.hasPrefix("oidc."), standard.keys == .none {
      try isUsed(keys == .none, "discovery_url")
      try isUsed(algorithms == standard.algorithms, "algorithms")
      try isUsed(nonce == standard.nonce, "nonce")
      try isUsed(flowNonceIsRequired == standard.flowNonceIsRequired, "flow_nonce")
      try isUsed(!requireAccessToken, "require_access_token")
      try isUsed(profileUse == standard.profileUse, "profile")
    }
    let basic: Set<String> = ["authorization_url", "token_url", "profile_url"]
    for (own, theirs) in zip(endpoints.all, standard.endpoints.all) where !basic.contains(own.setting) {
      let revokes = own.setting == "revocation_url" && Adapters.type(of: id, flows: flows) is any RevokesTokens.Type
      try isUsed(own.url.isEmpty || !theirs.url.isEmpty || revokes, own.setting)
    }
  }

  private func checkURLs() throws(ProviderSettingsError) {
    switch keys {
    case .discovery(let url): try requireHTTPS(url, "discovery_url")
    case .jwks(let url): try requireHTTPS(url, "jwks_url")
    case .none: break
    }
    for (setting, url) in endpoints.all where !url.isEmpty { try requireHTTPS(url, setting) }
    // RFC 6749, 3.1: no parameter may occur twice, so the endpoint's own query must not contain one of a flow.
    let query = endpoints.authorization.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    for name in query.split(separator: "&").map({ $0.prefix { $0 != "=" } }) {
      try require(
        ReservedParameters.match(String(name)) == nil, "authorization_url", "must not set \(name), which flows set")
    }
  }

  private func checkClaims() throws(ProviderSettingsError) {
    try require(!claims.subject.isEmpty, "claims.subject", "must name the member with the user's ID")
    for (setting, path) in claims.all {
      if let fault = ClaimPath.fault(of: path) { throw wrong("claims." + setting, fault) }
    }
  }

  private func checkDomains(_ domains: Set<String>, _ setting: String) throws(ProviderSettingsError) {
    for domain in domains.sorted() {
      let normalised = try? normaliseEmail("x@" + domain)
      try require(normalised == "x@" + domain, setting, "must contain lower-case ASCII domains, not \(domain)")
    }
  }
}

// Checks for the settings of adapters.
extension ProviderSettings {
  func wrong(_ setting: String, _ why: String) -> ProviderSettingsError {
    ProviderSettingsError(provider: id, setting: setting, why: why)
  }

  func require(_ condition: Bool, _ setting: String, _ why: String) throws(ProviderSettingsError) {
    if !condition { throw wrong(setting, why) }
  }

  /// Requires an absolute https URL without a fragment (RFC 6749, 3.1 and 3.2).
  func requireHTTPS(_ url: String, _ setting: String) throws(ProviderSettingsError) {
    try require(url.hasPrefix("https://"), setting, "must begin with https://")
    try require(
      url.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }, setting,
      "must be an ASCII URL without a fragment")
  }

  /// Checks the settings of a provider that signs ID tokens.
  func checkSignedTokens() throws(ProviderSettingsError) {
    try require(!issuers.isEmpty, "issuers", "must name at least one")
    try require(!algorithms.isEmpty, "algorithms", "must name at least one")
    let hasEndpoints = !endpoints.authorization.isEmpty && !endpoints.token.isEmpty
    switch keys {
    case .none: throw wrong("discovery_url", "must be set, or jwks_url")
    case .discovery: break
    case .jwks:
      try require(
        hasEndpoints || !client.isConfigured, "authorization_url",
        "must be set with token_url, unless discovery_url is set")
    }
  }

  /// Checks the settings of a provider that is useless without flows.
  func checkFlowsAreConfigured() throws(ProviderSettingsError) {
    try require(
      client.isConfigured, client.authentication == .privateKeyJWT ? "private_key_file" : "client_secret_file",
      "must be set: \(id) needs the client's credentials")
  }
}

package struct ProviderSettingsError: Error, Hashable, Sendable {
  package var provider: String
  package var setting: String
  package var why: String

  package init(provider: String, setting: String, why: String) {
    self.provider = provider
    self.setting = setting
    self.why = why
  }
}
