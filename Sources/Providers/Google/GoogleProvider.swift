import HTTPClient
import Store
import Tokens

/// `google.com`. Several applications of one owner (web, iOS, Android) share their users, so `client_ids` is an
/// allow-list.
///
/// The domain of an organisation in a request is only a preference, so the token's domain is checked again.
struct GoogleProvider: OIDCAdapter, VerifiesAccessTokens {
  let client: OIDCClient
  private let calls: ProviderCalls

  static func standard(id: String) -> ProviderSettings {
    // Google's older tokens name the issuer without the scheme.
    let issuer = "https://accounts.google.com"
    var settings = ProviderSettings(id: id)
    settings.issuers = [issuer, "accounts.google.com"]
    settings.keys = .discovery(url: ProviderSettings.discoveryURL(of: issuer))
    settings.endpoints = Endpoints(
      authorization: "https://accounts.google.com/o/oauth2/v2/auth", token: "https://oauth2.googleapis.com/token",
      profile: "https://openidconnect.googleapis.com/v1/userinfo",
      audienceCheck: "https://oauth2.googleapis.com/tokeninfo")
    settings.scopes = ["openid", "email", "profile"]
    settings.callerParameters = ["access_type", "hd", "login_hint", "prompt"]
    // Google cannot ask for the password again. At most it offers the choice of an account.
    settings.freshLogin = .selectAccount
    settings.emailTrust = .google
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkSignedTokens()
    try settings.require(!settings.endpoints.audienceCheck.isEmpty, "audience_check_url", "must be set")
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    let flow = try CodeFlow.openID(settings, fetching: fetching)
    let domains = settings.hostedDomains
    client = OIDCClient(settings, flow: flow, fetching: fetching) { claims throws(ProviderRefusal) in
      try GoogleProvider.check(claims.all, isOf: domains)
      return try ProfileClaims.subject(claims.all["sub"])
    }
    calls = ProviderCalls(providerID: settings.id, fetching: fetching)
  }

  var audienceProofs: [CredentialKind: AudienceProof] {
    client.audienceProofs.merging([.accessToken: .providersCheck]) { _, own in own }
  }

  private static func check(_ document: JSONValue, isOf domains: Set<String>) throws(ProviderRefusal) {
    guard !domains.isEmpty else { return }
    guard let domain = document["hd"]?.string, domains.contains(domain) else {
      throw .wrongOrganisation(why: "HOSTED_DOMAIN")
    }
  }

  /// Starts a flow and keeps the requested domain until its end. The user can change the domain in the URL.
  func start(_ flow: FlowRequest, at now: Timestamp) async throws -> StartedFlow {
    var started = try await client.start(flow, at: now)
    started.kept = flow.parameters["hd"]?.lowercased() ?? ""
    return started
  }

  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let asked = flow.kept
    return try await client.finish(callback, of: flow, at: now) { claims throws(ProviderRefusal) in
      try GoogleProvider.check(claims.all, isOfAsked: asked)
    }
  }

  /// `*` means any organisation.
  private static func check(_ document: JSONValue, isOfAsked asked: String) throws(ProviderRefusal) {
    guard !asked.isEmpty else { return }
    let domain = document["hd"]?.string ?? ""
    guard asked == "*" ? !domain.isEmpty : domain.utf8.elementsEqual(asked.utf8) else {
      throw .wrongOrganisation(why: "HOSTED_DOMAIN")
    }
  }

  /// Verifies that Google issued the token to one of our clients, then reads the profile with the token.
  func verify(accessToken presented: PresentedToken, at now: Timestamp) async throws -> VerifiedToken {
    let accessToken = presented.accessToken
    guard TokenAnswer.isToken(accessToken) else { throw ProviderRefusal.invalid(why: "no access token") }
    let answer = try await calls.answer(
      client.settings.endpoints.audienceCheck, to: [Parameter("access_token", accessToken)])
    guard answer.status != 400 else { throw ProviderRefusal.invalid(why: "the provider does not know the token") }
    let check = try ProviderCalls.document(answer).value
    let expiresAt = try expiry(of: check, at: now)
    let url = try await profileURL(at: now)
    let profile = try await calls.document(url, accessToken: accessToken)
    let subject = try ProfileClaims.subject(profile.value["sub"])
    guard check["sub"] == .string(subject) else {
      throw ProviderRefusal.invalid(why: "the profile belongs to another subject")
    }
    try GoogleProvider.check(profile.value, isOf: client.settings.hostedDomains)
    var verified = VerifiedToken(
      assertion: ProfileClaims.assertion(
        subject, of: client.settings, documents: [profile.value], profile: profile.bytes))
    verified.own.accessToken = accessToken
    verified.own.expiresInSeconds = TokenAnswer.life(expiresAt - now.seconds)
    let scopes = (check["scope"]?.string ?? "").split(separator: " ")
    verified.own.grantedScopes = scopes.prefix(TokenAnswer.scopesMax).map { String($0) }
    return verified
  }

  /// Returns the configured URL, or the one in the discovery document.
  private func profileURL(at now: Timestamp) async throws -> String {
    let configured = client.settings.endpoints.profile
    return configured.isEmpty ? try await client.served(at: now).endpoints.profile : configured
  }

  /// Returns when the token expires, in seconds since 1970. Rejects a token of another client.
  private func expiry(of check: JSONValue, at now: Timestamp) throws(ProviderRefusal) -> Int64 {
    func isOurs(_ claim: JSONValue?) -> Bool {
      guard let claimed = claim?.string else { return false }
      return client.settings.clientIDs.contains { $0.utf8.elementsEqual(claimed.utf8) }
    }
    guard isOurs(check["aud"]) else { throw .invalid(why: TokenRefusal.audience.rawValue) }
    guard check["azp"] == nil || isOurs(check["azp"]) else {
      throw .invalid(why: TokenRefusal.authorizedParty.rawValue)
    }
    // This endpoint writes numbers as text.
    guard let expiry = check["exp"].flatMap({ $0.int ?? $0.string.flatMap { Int64($0) } }) else {
      throw .invalid(why: TokenRefusal.expiryMissing.rawValue)
    }
    guard expiry > now.seconds else { throw .expired }
    return expiry
  }

  /// Google's endpoint needs no client authentication, and answers 400 for a token that is invalid already.
  func revoke(_ token: RevocableToken, at now: Timestamp) async throws {
    let url = try await client.served(at: now).endpoints.revocation
    guard !url.isEmpty else { throw ProviderRefusal.noRevocationEndpoint }
    try RevocationAnswer.check(try await calls.post([Parameter("token", token.text)], to: url))
  }
}
