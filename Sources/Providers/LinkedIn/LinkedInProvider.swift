import Fetch
import Store

/// `linkedin.com`, by its OpenID Connect. It takes proof keys from native applications only, and does not give every
/// nonce back. Its ID token says in a text that an address is verified, which is no word (check 55): a flow asks
/// userinfo, and what only a kit's token says stays unverified.
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
    settings.freshLogin = .none
    settings.flowNonceIsRequired = false
    settings.profileUse = .always
    settings.profileGoesFirst = true
    settings.emailTrust = .asserted(.verified, authoritativeDomains: [])
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) { try settings.checkSignedTokens() }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    var flow = try CodeFlow.openID(settings, fetching: fetching)
    flow?.authorization.loginHintName = nil
    // It asks for scopes with blanks and grants them with commas.
    flow?.scopeSeparators = [UInt8(ascii: ","), UInt8(ascii: " ")]
    // Whatever of a redemption does not fit the code, and a code that is too old, is one of these two.
    flow?.vendorErrors = .badCode(as: ["invalid_request", "invalid_redirect_uri"])
    client = OIDCClient(settings, flow: flow, fetching: fetching)
  }
}
