import HTTPClient

/// An identity provider that is created from settings.
protocol Adapter: IdentityProvider {
  /// Returns the owner's endpoints, scopes and trust, before any configuration.
  static func standard(id: String) -> ProviderSettings
  /// Checks what this provider requires beyond the rules for all providers.
  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError)
  /// Returns the subject of an identity from its id in another service's export. By default both are the same.
  static func subject(ofImported text: String, _ tenants: TenantSettings) throws(ProviderRefusal) -> String
  /// Creates the provider. The settings have passed `check`, and their secrets have been read.
  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError)
}

extension Adapter {
  static func subject(ofImported text: String, _ tenants: TenantSettings) throws(ProviderRefusal) -> String { text }
}

/// The adapters by provider id.
enum Adapters {
  static let named: [String: any Adapter.Type] = [
    "apple.com": AppleProvider.self,
    "discord.com": DiscordProvider.self,
    "facebook.com": FacebookProvider.self,
    "github.com": GitHubProvider.self,
    "google.com": GoogleProvider.self,
    "linkedin.com": LinkedInProvider.self,
    "microsoft.com": MicrosoftProvider.self,
    "twitter.com": TwitterProvider.self,
    "yahoo.com": YahooProvider.self,
  ]

  /// The adapters by the prefix of a provider id. Configuration chooses the rest of the id.
  static let families: [String: any Adapter.Type] = ["oidc.": OIDCProvider.self, "oauth2.": OAuth2Provider.self]

  /// Returns whether the provider's flows are those of OpenID Connect.
  static func isOpenID(_ id: String) -> Bool {
    let others: Set<String> = ["discord.com", "facebook.com", "github.com", "twitter.com"]
    return id.hasPrefix("oidc.") || (named[id] != nil && !others.contains(id))
  }

  /// Returns the adapter of a provider; nil if there is none.
  ///
  /// - Parameter flows: nil: the protocol that the provider's owner supports, or supported first.
  static func type(of id: String, flows: FlowProtocol? = nil) -> (any Adapter.Type)? {
    if id == "twitter.com", flows == .oauth2 { return TwitterOAuth2Provider.self }
    if let type = named[id] { return type }
    guard let family = families.first(where: { id.hasPrefix($0.key) }) else { return nil }
    let name = id.utf8.dropFirst(family.key.utf8.count)
    let isName = (1...64).contains(name.count)
      && name.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
    return isName ? family.value : nil
  }
}
