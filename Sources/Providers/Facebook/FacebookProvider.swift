import Fetch
import Store

/// `facebook.com`: the code flow, access tokens that Facebook says were issued to our application, and the ID tokens of
/// Limited Login. No address is ever more than unverified: Facebook does not say that it checked one (check 56).
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
    // The version is part of the address, so that a new one is a matter of configuration.
    settings.endpoints = Endpoints(
      authorization: "https://www.facebook.com/v25.0/dialog/oauth",
      token: "https://graph.facebook.com/v25.0/oauth/access_token", profile: "https://graph.facebook.com/v25.0/me",
      audienceCheck: "https://graph.facebook.com/v25.0/debug_token")
    // Limited Login signs with keys of its own.
    settings.issuers = ["https://www.facebook.com"]
    settings.keys = .jwks(url: "https://limited.facebook.com/.well-known/oauth/openid/jwks/")
    settings.nonce = .required
    settings.client.authentication = .post
    settings.scopes = ["public_profile", "email"]
    settings.callerParameters = ["auth_type", "display", "locale"]
    // Its dialog takes one with OpenID Connect only, which is a trial of Facebook's.
    settings.usesProofKey = false
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkSignedTokens()
    try settings.checkFlowsAreConfigured()
    try settings.require(settings.clientIDs.count == 1, "client_ids", "must name one: the application's id")
    try settings.require(settings.nonce == .required, "nonce", "must be required: its ID tokens are to be used once")
    try settings.require(
      settings.emailTrust == .asserted(.unverified, authoritativeDomains: []), "email_trust",
      "must be unverified: Facebook does not say that it checked an address")
    // A discovery document takes the owner's away, and names those of Limited Login at most.
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

  func finish(_ callback: Callback, of state: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let answer = try await redeem(callback, of: state, at: now)
    return try await person(of: answer.own, at: now)
  }

  /// Also after a flow of ours the token is inspected: nothing else says what the person granted, and declined.
  private func person(of tokens: ProvidersOwnTokens, at now: Timestamp) async throws -> VerifiedToken {
    let inspected = try await graph.inspect(tokens.accessToken, at: now)
    let profile = try await graph.profile(tokens.accessToken)
    let subject = try FacebookGraph.subject(of: profile, sameAs: inspected)
    var assertion = Person.assertion(subject, of: settings, documents: [profile.value], profile: profile.bytes)
    assertion.photoURL = Person.url(profile.value.member(at: "picture.data.url"))
    var own = tokens
    own.grantedScopes = inspected.scopes
    own.expiresInSeconds =
      inspected.expiresAt.flatMap { TokenAnswer.life($0 - now.seconds) } ?? tokens.expiresInSeconds
    return VerifiedToken(assertion: assertion, own: own)
  }
}
