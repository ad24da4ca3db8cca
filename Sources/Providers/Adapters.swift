import Fetch

/// An identity provider's protocol, made of settings.
protocol Adapter: IdentityProvider {
  /// The owner's endpoints, scopes and trust, before anything is configured.
  static func standard(id: String) -> ProviderSettings
  /// What this provider cannot do without, beyond what all have in common.
  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError)
  /// The subject of an identity that another service kept, from what that calls it; that itself where both are one.
  static func subject(ofImported text: String, _ tenants: TenantSettings) throws(ProviderRefusal) -> String
  /// Of settings that passed `check` and whose secrets have been read.
  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError)
}

extension Adapter {
  static func subject(ofImported text: String, _ tenants: TenantSettings) throws(ProviderRefusal) -> String { text }
}

/// Which adapter serves which provider id.
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

  /// By the part in front of the name that configuration gives it.
  static let families: [String: any Adapter.Type] = ["oidc.": OIDCProvider.self, "oauth2.": OAuth2Provider.self]

  /// Whether its flows are those of OpenID Connect.
  static func isOpenID(_ id: String) -> Bool {
    let others: Set<String> = ["discord.com", "facebook.com", "github.com", "twitter.com"]
    return id.hasPrefix("oidc.") || (named[id] != nil && !others.contains(id))
  }

  /// - Parameter flows: nil: the one that the provider's owner has, or began with.
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
