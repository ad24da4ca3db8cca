import HTTPClient
import Store

/// `linkedin.com`, by OpenID Connect. It accepts proof keys only from native applications, and does not return every
/// nonce.
///
/// Its ID token has `email_verified` as text, which does not count (check 55). A flow therefore reads userinfo, and an
/// address that only an SDK's token contains stays unverified.
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
    // Requests separate scopes with blanks, responses with commas.
    flow?.scopeSeparators = [UInt8(ascii: ","), UInt8(ascii: " ")]
    // LinkedIn reports an expired code, and any mismatch with the code, as one of these errors.
    flow?.vendorErrors = .badCode(as: ["invalid_request", "invalid_redirect_uri"])
    client = OIDCClient(settings, flow: flow, fetching: fetching)
  }
}
