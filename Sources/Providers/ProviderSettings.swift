package import Crypto
import Store
import Text

/// How one OpenID Connect provider is configured. What is left out has the safe default.
package struct ProviderSettings: Hashable, Sendable {
  /// Where the key set is read from.
  package enum Keys: Hashable, Sendable {
    /// The discovery document that names it (OpenID Connect Discovery 1.0, 4).
    case discovery(url: String)
    /// Fixed, for a provider without one.
    case jwks(url: String)
  }

  package enum NonceMode: String, Hashable, Sendable, CaseIterable {
    /// A nonce claim must match; a token may have none.
    case optional
    /// A token must have one, and is accepted once.
    case required
  }

  /// `google.com` or `oidc.<name>`.
  package var id: String
  /// The first is the one that the discovery document must name; a token may name any of them, exactly.
  package var issuers: [String]
  package var clientIDs: [String]
  package var keys: Keys
  package var algorithms: Set<SignatureAlgorithm> = [.rs256]
  package var nonce = NonceMode.optional
  package var emailTrust = EmailTrust.asserted(TrustTier.unverified, authoritativeDomains: [])
  /// Refuses a token with an at_hash claim that comes without its access token.
  package var requireAccessToken = false

  /// A generic provider, its discovery document where the issuer says it is (Discovery 1.0, 4.1).
  package init(id: String, issuer: String, clientIDs: [String]) {
    self.id = id
    issuers = [issuer]
    self.clientIDs = clientIDs
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    keys = .discovery(url: base + "/.well-known/openid-configuration")
  }

  /// Google as it documents itself; its older tokens name the issuer without the scheme.
  package static func google(clientIDs: [String]) -> ProviderSettings {
    var settings = ProviderSettings(id: "google.com", issuer: "https://accounts.google.com", clientIDs: clientIDs)
    settings.issuers.append("accounts.google.com")
    settings.emailTrust = .google
    return settings
  }

  /// The first setting that cannot be meant, so that a wrong configuration stops the start (check 69).
  package func check() throws(ProviderSettingsError) {
    func require(_ condition: Bool, _ setting: String, _ why: String) throws(ProviderSettingsError) {
      if !condition { throw ProviderSettingsError(provider: id, setting: setting, why: why) }
    }
    try require(id == "google.com" || isGenericID, "id", "must be google.com or oidc.<name> of a-z, 0-9 and -")
    try require(issuers.first?.hasPrefix("https://") == true, "issuers", "must begin with https://")
    try require(!clientIDs.isEmpty && !clientIDs.contains(""), "client_ids", "must name at least one, none empty")
    try require(!algorithms.isEmpty, "algorithms", "must name at least one")
    switch keys {
    case .discovery(let url): try require(url.hasPrefix("https://"), "discovery_url", "must begin with https://")
    case .jwks(let url): try require(url.hasPrefix("https://"), "jwks_url", "must begin with https://")
    }
    if case .asserted(_, let domains) = emailTrust {
      for domain in domains {
        let normalised = try? normaliseEmail("x@" + domain)
        try require(normalised == "x@" + domain, "authoritative_domains", "\(domain) is not a lower-case ASCII domain")
      }
    }
  }

  private var isGenericID: Bool {
    let name = id.utf8.dropFirst("oidc.".utf8.count)
    return id.hasPrefix("oidc.") && (1...64).contains(name.count)
      && name.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
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
