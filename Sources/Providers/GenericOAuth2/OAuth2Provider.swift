import HTTPClient
import Store

/// `oauth2.<name>`: any provider of the authorization code grant, by configuration. Only our redemption of the code
/// proves the audience of its access token, so callers cannot present one.
struct OAuth2Provider: CodeAdapter {
  let settings: ProviderSettings
  let flow: CodeFlow

  static func standard(id: String) -> ProviderSettings { ProviderSettings(id: id) }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkFlowsAreConfigured()
    let endpoints = settings.endpoints
    for (setting, url) in [
      ("authorization_url", endpoints.authorization), ("token_url", endpoints.token),
      ("profile_url", endpoints.profile),
    ] {
      try settings.require(!url.isEmpty, setting, "must be set")
    }
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    self.settings = settings
    flow = CodeFlow(settings, proof: try settings.clientProof(), fetching: fetching)
  }

  var audienceProofs: [CredentialKind: AudienceProof] { [.authorizationResponse: .redemption] }

  func finish(_ callback: Callback, of state: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let answer = try await redeem(callback, of: state, at: now)
    let profile = try await flow.calls.document(
      settings.endpoints.profile, accessToken: answer.own.accessToken, settings.claims)
    let subject = try ProfileClaims.subject(profile.value.member(at: settings.claims.subject))
    return VerifiedToken(
      assertion: ProfileClaims.assertion(subject, of: settings, documents: [profile.value], profile: profile.bytes),
      own: answer.own)
  }
}
