import Fetch
import Store
import Tokens

/// `twitter.com` by OAuth 2, where configuration says so: the code flow of a confidential client with a proof key,
/// which X demands. Nothing tells for whom a bearer token of X's was issued, so none is taken from a caller (check 49).
struct TwitterOAuth2Provider: CodeAdapter {
  let audienceProofs: [CredentialKind: AudienceProof] = [.authorizationResponse: .redemption]
  let settings: ProviderSettings
  let flow: CodeFlow

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.endpoints = Endpoints(
      authorization: "https://x.com/i/oauth2/authorize", token: "https://api.x.com/2/oauth2/token",
      profile: "https://api.x.com/2/users/me")
    // The first two are what the profile needs, the third is for the address.
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
    try settings.require(settings.usesProofKey, "proof_key", "must be true: X demands it")
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
    var assertion = Person.assertion(subject, of: settings, documents: [profile.value], profile: profile.bytes)
    // X says by the member's name that it is confirmed; whether that is believed is configuration's to say (check 56).
    assertion.setEmail(assertion.email, .checked, settings.emailTrust)
    return VerifiedToken(assertion: assertion, own: answer.own)
  }
}
