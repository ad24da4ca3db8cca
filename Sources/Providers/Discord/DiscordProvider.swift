import HTTPClient
import Store
import Tokens

/// `discord.com`: the code flow with a proof key, and access tokens that Discord reports as issued to our application.
///
/// Profile calls accept the tokens of every application (check 50).
struct DiscordProvider: CodeAdapter, VerifiesAccessTokens {
  let audienceProofs: [CredentialKind: AudienceProof] = [
    .accessToken: .providersCheck, .authorizationResponse: .redemption,
  ]
  let settings: ProviderSettings
  let flow: CodeFlow

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.endpoints = Endpoints(
      authorization: "https://discord.com/oauth2/authorize", token: "https://discord.com/api/oauth2/token",
      profile: "https://discord.com/api/users/@me", audienceCheck: "https://discord.com/api/oauth2/@me",
      revocation: "https://discord.com/api/oauth2/token/revoke")
    settings.scopes = ["identify", "email"]
    settings.callerParameters = ["prompt"]
    settings.emailTrust = .asserted(.verified, authoritativeDomains: [])
    settings.claims.subject = "id"
    settings.claims.emailVerified = "verified"
    settings.claims.name = "global_name"
    settings.claims.username = "username"
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkFlowsAreConfigured()
    try settings.require(settings.clientIDs.count == 1, "client_ids", "must contain one id: that of the application")
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    self.settings = settings
    var flow = CodeFlow(settings, proof: try settings.clientProof(), fetching: fetching)
    flow.authorization.loginHintName = nil
    flow.authorization.freshLogin = ["prompt": "consent"]
    self.flow = flow
  }

  func hint(instead kind: CredentialKind) -> String {
    "Send an access token of our application, or call StartFlow: Discord issues no ID tokens."
  }

  func finish(_ callback: Callback, of state: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let answer = try await redeem(callback, of: state, at: now)
    return VerifiedToken(assertion: try await person(answer.own.accessToken), own: answer.own)
  }

  func verify(accessToken presented: PresentedToken, at now: Timestamp) async throws -> VerifiedToken {
    let check = try await flow.calls.document(
      settings.endpoints.audienceCheck, accessToken: presented.accessToken).value
    guard let issuedTo = check["application"]?["id"]?.string,
      issuedTo.utf8.elementsEqual((settings.clientIDs.first ?? "").utf8)
    else { throw ProviderRefusal.invalid(why: "Discord issued the token to another application") }
    guard let subject = check["user"]?["id"]?.string else {
      throw ProviderRefusal.invalid(why: "the token was issued without the scope identify")
    }
    let assertion = try await person(presented.accessToken)
    guard subject == assertion.identity.subject else {
      throw ProviderRefusal.invalid(why: "the token and the profile belong to different users")
    }
    var own = ProvidersOwnTokens()
    own.accessToken = presented.accessToken
    own.grantedScopes = Array((check["scopes"]?.strings ?? []).prefix(TokenAnswer.scopesMax))
    return VerifiedToken(assertion: assertion, own: own)
  }

  private func person(_ accessToken: String) async throws -> Assertion {
    let profile = try await flow.calls.document(settings.endpoints.profile, accessToken: accessToken)
    guard let subject = profile.value["id"]?.string, Decimal.isID(subject) else {
      throw ProviderRefusal.unavailable(why: "users/@me: no id")
    }
    var assertion = ProfileClaims.assertion(subject, of: settings, documents: [profile.value], profile: profile.bytes)
    if assertion.displayName.isEmpty { assertion.displayName = assertion.username }
    assertion.photoURL = photoURL(of: subject, profile.value["avatar"])
    return assertion
  }

  /// Returns the photo's URL. Discord supplies only the file name.
  private func photoURL(of subject: String, _ file: JSONValue?) -> String {
    guard let file = file?.string, (1...64).contains(file.utf8.count),
      URLEncoding.percentEncoded(file).utf8.count == file.utf8.count, !file.utf8.contains(UInt8(ascii: "."))
    else { return "" }
    return "https://cdn.discordapp.com/avatars/\(subject)/\(file).png"
  }
}
