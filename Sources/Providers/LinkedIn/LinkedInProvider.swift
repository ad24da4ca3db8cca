import Fetch
import Store

/// `linkedin.com`, by its OpenID Connect. It takes proof keys from native applications only, and does not give every
/// nonce back.
struct LinkedInProvider: OIDCAdapter {
  let client: OIDCClient

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.issuers = ["https://www.linkedin.com/oauth"]
    settings.keys = .jwks(url: "https://www.linkedin.com/oauth/openid/jwks")
    settings.endpoints = Endpoints(
      authorization: "https://www.linkedin.com/oauth/v2/authorization",
      token: "https://www.linkedin.com/oauth/v2/accessToken", profile: "https://api.linkedin.com/v2/userinfo")
    settings.client.authentication = .post
    settings.scopes = ["openid", "email", "profile"]
    settings.usesProofKey = false
    settings.flowNonceIsRequired = false
    settings.emailTrust = .asserted(.verified, authoritativeDomains: [])
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) { try settings.checkSignedTokens() }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    var flow = try CodeFlow.openID(settings, fetching: fetching)
    flow?.authorization.loginHintName = nil
    flow?.authorization.freshLogin = [:]
    client = OIDCClient(settings, flow: flow, fetching: fetching)
  }
}
