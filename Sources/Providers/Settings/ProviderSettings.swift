package import Crypto
import Store
import Text
package import Tokens

/// What a person is sent through a provider's pages by. Only X speaks both.
package enum FlowProtocol: String, Hashable, Sendable, CaseIterable {
  /// RFC 5849.
  case oauth1
  /// RFC 6749, with or without OpenID Connect.
  case oauth2
}

/// How one provider is configured. What is left out has its owner's, or the safe, default.
package struct ProviderSettings: Sendable {
  /// Where the key set is read from.
  package enum Keys: Hashable, Sendable {
    /// The discovery document that names it (OpenID Connect Discovery 1.0, 4).
    case discovery(url: String)
    /// Fixed, for a provider without one.
    case jwks(url: String)
    /// The provider signs nothing.
    case none
  }

  package enum NonceMode: String, Hashable, Sendable, CaseIterable {
    /// A nonce claim must match; a token may have none.
    case optional
    /// A token must have one, and is accepted once.
    case required
  }

  /// What a reauthentication sends to an OpenID provider (OpenID Connect Core 3.1.2.1).
  ///
  /// `max_age` is 1 and not 0: some servers never end a login that must be 0 seconds old.
  package enum FreshLogin: String, Hashable, Sendable, CaseIterable {
    case promptAndMaxAge = "prompt_and_max_age"
    case prompt
    case maxAge = "max_age"
    /// `prompt=select_account`, for a provider without a better one.
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

  /// When the provider is asked about the person beside what its ID token says (OpenID Connect Core 5.3).
  package enum ProfileUse: String, Hashable, Sendable, CaseIterable {
    /// At the end of a flow whose ID token has no address, no name, or, where that counts, no word on the address.
    case missing
    case always
    case never
  }

  /// `google.com` and its like, `oidc.<name>` or `oauth2.<name>`.
  package var id: String
  package var flows = FlowProtocol.oauth2
  /// The first is the one that the discovery document must name; a token may name any of them, exactly.
  package var issuers: [String] = []
  /// What tokens may be for; the first is the one that flows run under.
  package var clientIDs: [String] = []
  /// What tokens may also be for, next to one of `clientIDs` and with `azp` one of them.
  package var additionalAudiences: [String] = []
  package var client = ClientSettings()
  package var endpoints = Endpoints()
  package var keys = Keys.none
  package var algorithms: Set<SignatureAlgorithm> = [.rs256]
  /// Of ID tokens that a caller brings.
  package var nonce = NonceMode.optional
  /// Whether the ID token of a flow must bring its nonce back; one that it has must match either way.
  package var flowNonceIsRequired = true
  package var emailTrust = EmailTrust.asserted(TrustTier.unverified, authoritativeDomains: [])
  /// Refuses a token with an at_hash claim that comes without its access token.
  package var requireAccessToken = false
  /// In every authorization request.
  package var scopes: [String] = []
  /// What a caller may set in an authorization request.
  package var callerParameters: Set<String> = []
  /// Whether flows carry a proof key (RFC 7636).
  package var usesProofKey = true
  /// Refuses a redirect without `iss` (RFC 9207), also where the provider does not announce that it sends it.
  package var requireResponseIssuer = false
  package var freshLogin = FreshLogin.promptAndMaxAge
  package var profileUse = ProfileUse.missing
  package var claims = ClaimNames()
  /// Apple writes `email_verified` as a text; with any other provider that is no word (check 55).
  var takesTextAsVerified = false
  /// LinkedIn's ID token has that word as a text too, and its userinfo as the boolean, so that this is believed first.
  var profileGoesFirst = false
  /// The nonce claim of an ID token that a caller brings is always a hash (Apple), not the raw nonce.
  var kitsHashNonces = false
  /// Google: organisations whose people may come, by domain; empty: everybody.
  package var hostedDomains: Set<String> = []
  package var tenants = TenantSettings()
  /// Called with the entries that a key set of this provider was read without, at each reading.
  package var onSkippedKeys: @Sendable ([SkippedKey]) -> Void = { _ in }

  package init(id: String) { self.id = id }

  /// The owner's endpoints, scopes and trust, before anything is configured. nil: there is no such provider.
  /// - Parameter flows: nil: the owner's first.
  package static func standard(id: String, flows: FlowProtocol? = nil) -> ProviderSettings? {
    Adapters.type(of: id, flows: flows)?.standard(id: id)
  }

  /// Where an issuer's discovery document is (Discovery 1.0, 4.1).
  package static func discoveryURL(of issuer: String) -> String {
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    return base + "/.well-known/openid-configuration"
  }

  /// The first setting that cannot be meant, so that a wrong configuration stops the start (check 69).
  package func check() throws(ProviderSettingsError) {
    guard let adapter = Adapters.type(of: id, flows: flows) else {
      throw wrong("id", "must be one of \(Adapters.named.keys.sorted().joined(separator: ", ")), or oidc.<name> or "
        + "oauth2.<name> of a-z, 0-9 and -")
    }
    try require(adapter.standard(id: id).flows == flows, "protocol", "is none that \(id) speaks")
    try require(!clientIDs.isEmpty && !clientIDs.contains(""), "client_ids", "must name at least one, none empty")
    try require(!additionalAudiences.contains(""), "additional_audiences", "must be texts that are not empty")
    if let issuer = issuers.first { try require(issuer.hasPrefix("https://"), "issuers", "must begin with https://") }
    try require(
      !requireResponseIssuer || !issuers.isEmpty, "issuers", "must be set: responses are to name one")
    try checkURLs()
    try client.check(self)
    if case .asserted(_, let domains) = emailTrust { try checkDomains(domains, "authoritative_domains") }
    try checkDomains(hostedDomains, "hosted_domains")
    try adapter.check(self)
    try checkNothingIsUnused(adapter.standard(id: id))
  }

  /// What this provider has no use for is not set either: whoever set it believes that it does something.
  private func checkNothingIsUnused(_ standard: ProviderSettings) throws(ProviderSettingsError) {
    func isUsed(_ condition: Bool, _ setting: String) throws(ProviderSettingsError) {
      try require(condition, setting, "means nothing for \(id)")
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
      try isUsed(own.url.isEmpty || !theirs.url.isEmpty, own.setting)
    }
  }

  private func checkURLs() throws(ProviderSettingsError) {
    switch keys {
    case .discovery(let url): try requireHTTPS(url, "discovery_url")
    case .jwks(let url): try requireHTTPS(url, "jwks_url")
    case .none: break
    }
    for (setting, url) in endpoints.all where !url.isEmpty { try requireHTTPS(url, setting) }
    // RFC 6749, 3.1: no parameter occurs twice, so that the endpoint's own query has none of a flow's.
    let query = endpoints.authorization.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    for name in query.split(separator: "&").map({ $0.prefix { $0 != "=" } }) {
      try require(
        ReservedParameters.match(String(name)) == nil, "authorization_url", "must not set \(name): flows do")
    }
  }

  private func checkDomains(_ domains: Set<String>, _ setting: String) throws(ProviderSettingsError) {
    for domain in domains.sorted() {
      let normalised = try? normaliseEmail("x@" + domain)
      try require(normalised == "x@" + domain, setting, "\(domain) is not a lower-case ASCII domain")
    }
  }
}

// What an adapter checks its settings with.
extension ProviderSettings {
  func wrong(_ setting: String, _ why: String) -> ProviderSettingsError {
    ProviderSettingsError(provider: id, setting: setting, why: why)
  }

  func require(_ condition: Bool, _ setting: String, _ why: String) throws(ProviderSettingsError) {
    if !condition { throw wrong(setting, why) }
  }

  /// RFC 6749, 3.1 and 3.2: absolute, over TLS, without a fragment.
  func requireHTTPS(_ url: String, _ setting: String) throws(ProviderSettingsError) {
    try require(url.hasPrefix("https://"), setting, "must begin with https://")
    try require(
      url.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }, setting,
      "must be an ASCII URL without a fragment")
  }

  /// That of a provider which signs ID tokens.
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
        "must be set, as token_url, where there is no discovery_url")
    }
  }

  /// That of a provider which is of no use without flows.
  func checkFlowsAreConfigured() throws(ProviderSettingsError) {
    try require(
      client.isConfigured, client.authentication == .privateKeyJWT ? "private_key_file" : "client_secret_file",
      "must be set: \(id) is signed in to by its pages only, and they need it")
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
