import HTTPClient
import Store

/// `facebook.com`: the code flow, access tokens that Facebook reports as issued to our application, and ID tokens of
/// Limited Login.
///
/// Every email address stays unverified: Facebook does not report that it verified one (check 56).
struct FacebookProvider: CodeAdapter, VerifiesIDTokens, VerifiesAccessTokens {
  let audienceProofs: [CredentialKind: AudienceProof] = [
    .idToken: .audienceClaim, .accessToken: .providersCheck, .authorizationResponse: .redemption,
  ]
  let settings: ProviderSettings
  private let limitedLogin: OIDCClient
  let flow: CodeFlow
  private let graph: FacebookGraph

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    // The URL contains the version, so that configuration can change it.
    settings.endpoints = Endpoints(
      authorization: "https://www.facebook.com/v25.0/dialog/oauth",
      token: "https://graph.facebook.com/v25.0/oauth/access_token", profile: "https://graph.facebook.com/v25.0/me",
      audienceCheck: "https://graph.facebook.com/v25.0/debug_token",
      revocation: "https://graph.facebook.com/v25.0/me/permissions")
    // Limited Login has its own signing keys.
    settings.issuers = ["https://www.facebook.com"]
    settings.keys = .jwks(url: "https://limited.facebook.com/.well-known/oauth/openid/jwks/")
    settings.nonce = .required
    settings.client.authentication = .post
    settings.scopes = ["public_profile", "email"]
    settings.callerParameters = ["auth_type", "display", "locale"]
    // Its dialog accepts a proof key only with OpenID Connect, which Facebook offers as a trial.
    settings.usesProofKey = false
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkSignedTokens()
    try settings.checkFlowsAreConfigured()
    try settings.require(settings.clientIDs.count == 1, "client_ids", "must contain one id: that of the application")
    try settings.require(settings.nonce == .required, "nonce", "must be required, so that each ID token is used once")
    try settings.require(
      settings.emailTrust == .asserted(.unverified, authoritativeDomains: []), "email_trust",
      "must be unverified: Facebook does not report whether it verified an address")
    // A discovery document replaces the owner's endpoints, and names at most those of Limited Login.
    let needed: Set<String> = ["authorization_url", "token_url", "profile_url", "audience_check_url"]
    for (setting, url) in settings.endpoints.all where needed.contains(setting) {
      try settings.require(!url.isEmpty, setting, "must be set: a discovery document does not name it")
    }
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    self.settings = settings
    limitedLogin = OIDCClient(settings, flow: nil, fetching: fetching)
    var flow = CodeFlow(settings, proof: try settings.clientProof(), fetching: fetching)
    flow.authorization.scopeSeparator = ","
    flow.authorization.loginHintName = nil
    flow.authorization.freshLogin = ["auth_type": "reauthenticate"]
    flow.vendorErrors = FacebookErrors.vendor
    self.flow = flow
    graph = FacebookGraph(
      applicationID: settings.clientIDs.first ?? "", secret: try settings.loadedSecret(),
      profileURL: settings.endpoints.profile, checkURL: settings.endpoints.audienceCheck, calls: flow.calls)
  }

  func findings(at now: Timestamp) async -> [ProviderFinding] {
    await limitedLogin.findings(at: now) + flowFindings(at: now)
  }

  func verifyNow(_ presented: PresentedToken, at now: Timestamp) throws(ProviderRefusal) -> VerifiedToken? {
    try limitedLogin.verifyNow(presented, at: now)
  }

  func refreshKeys(at now: Timestamp) async { await limitedLogin.refreshKeys(at: now) }

  func verify(accessToken presented: PresentedToken, at now: Timestamp) async throws -> VerifiedToken {
    var own = ProvidersOwnTokens()
    own.accessToken = presented.accessToken
    return try await person(of: own, at: now)
  }

  let revocableKinds: Set<RevocableToken.Kind> = [.accessToken]

  func revoke(_ token: RevocableToken, at now: Timestamp) async throws {
    try await graph.removePermissions(of: token.text, at: settings.endpoints.revocation)
  }

  func finish(_ callback: Callback, of state: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let answer = try await redeem(callback, of: state, at: now)
    return try await person(of: answer.own, at: now)
  }

  /// Inspects the token and reads the profile. This is necessary also after a flow: only the inspection reports what
  /// the user granted and declined.
  private func person(of tokens: ProvidersOwnTokens, at now: Timestamp) async throws -> VerifiedToken {
    let inspected = try await graph.inspect(tokens.accessToken, at: now)
    let profile = try await graph.profile(tokens.accessToken)
    let subject = try FacebookGraph.subject(of: profile, sameAs: inspected)
    var assertion = ProfileClaims.assertion(subject, of: settings, documents: [profile.value], profile: profile.bytes)
    assertion.photoURL = ProfileClaims.url(profile.value.member(at: "picture.data.url"))
    var own = tokens
    own.grantedScopes = inspected.scopes
    own.expiresInSeconds =
      inspected.expiresAt.flatMap { TokenAnswer.life($0 - now.seconds) } ?? tokens.expiresInSeconds
    return VerifiedToken(assertion: assertion, own: own)
  }
}
