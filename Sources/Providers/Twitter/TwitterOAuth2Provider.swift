import HTTPClient
import Store
import Tokens

/// `twitter.com` by OAuth 2, if configured: the code flow of a confidential client with a proof key, which X requires.
/// X does not report the audience of a bearer token, so callers cannot present one (check 49).
struct TwitterOAuth2Provider: CodeAdapter {
  let audienceProofs: [CredentialKind: AudienceProof] = [.authorizationResponse: .redemption]
  let settings: ProviderSettings
  let flow: CodeFlow

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.endpoints = Endpoints(
      authorization: "https://x.com/i/oauth2/authorize", token: "https://api.x.com/2/oauth2/token",
      profile: "https://api.x.com/2/users/me")
    // The profile needs the first two, the email address the third.
    settings.scopes = ["users.read", "tweet.read", "users.email"]
    settings.claims.subject = "data.id"
    settings.claims.email = "data.confirmed_email"
    settings.claims.name = "data.name"
    settings.claims.picture = "data.profile_image_url"
    settings.claims.username = "data.username"
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkFlowsAreConfigured()
    try settings.require(settings.usesProofKey, "proof_key", "must be true: X requires it")
    try settings.require(
      settings.client.authentication == .basic, "client_authentication", "must be client_secret_basic")
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    self.settings = settings
    var flow = CodeFlow(settings, proof: try settings.clientProof(), fetching: fetching)
    flow.authorization.loginHintName = nil
    flow.vendorErrors = .badCode(as: ["invalid_request"])
    self.flow = flow
  }

  func finish(_ callback: Callback, of state: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let answer = try await redeem(callback, of: state, at: now)
    let url = URLEncoding.url(
      settings.endpoints.profile, adding: [Parameter("user.fields", "confirmed_email,profile_image_url")])
    let profile = try await flow.calls.document(url, accessToken: answer.own.accessToken)
    guard let subject = profile.value.member(at: settings.claims.subject)?.string, Decimal.isID(subject) else {
      throw ProviderRefusal.unavailable(why: "users/me: no id")
    }
    var assertion = ProfileClaims.assertion(subject, of: settings, documents: [profile.value], profile: profile.bytes)
    // The member's name states that the address is confirmed. Configuration decides whether to trust this (check 56).
    assertion.setEmail(assertion.email, .checked, settings.emailTrust)
    return VerifiedToken(assertion: assertion, own: answer.own)
  }
}
