import Fetch
import Store
import Tokens

/// `google.com`. Several applications of one owner (web, iOS, Android) share their people, so that `client_ids` are an
/// allow-list; an organisation's domain in the request is only a wish, and is looked at again in the token.
struct GoogleProvider: OIDCAdapter, VerifiesAccessTokens {
  let client: OIDCClient
  private let calls: ProviderCalls

  static func standard(id: String) -> ProviderSettings {
    // Its older tokens name the issuer without the scheme.
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
    // It cannot ask for the password again; choosing the account is the most that it offers.
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
      return try Person.subject(claims.all["sub"])
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

  /// The domain that the caller asks for is in an address which the person can change: it is kept for the end.
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

  /// `*` is an organisation, whichever.
  private static func check(_ document: JSONValue, isOfAsked asked: String) throws(ProviderRefusal) {
    guard !asked.isEmpty else { return }
    let domain = document["hd"]?.string ?? ""
    guard asked == "*" ? !domain.isEmpty : domain.utf8.elementsEqual(asked.utf8) else {
      throw .wrongOrganisation(why: "HOSTED_DOMAIN")
    }
  }

  /// Its own check says for which client the token was issued; who the bearer is, is then asked with the token.
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
    let subject = try Person.subject(profile.value["sub"])
    guard check["sub"] == .string(subject) else {
      throw ProviderRefusal.invalid(why: "the profile is of another subject")
    }
    try GoogleProvider.check(profile.value, isOf: client.settings.hostedDomains)
    var verified = VerifiedToken(
      assertion: Person.assertion(
        subject, of: client.settings, documents: [profile.value], profile: profile.bytes))
    verified.own.accessToken = accessToken
    verified.own.expiresInSeconds = TokenAnswer.life(expiresAt - now.seconds)
    let scopes = (check["scope"]?.string ?? "").split(separator: " ")
    verified.own.grantedScopes = scopes.prefix(TokenAnswer.scopesMax).map { String($0) }
    return verified
  }

  /// Where configuration leaves it to the discovery document, that is read first.
  private func profileURL(at now: Timestamp) async throws -> String {
    let configured = client.settings.endpoints.profile
    return configured.isEmpty ? try await client.served(at: now).endpoints.profile : configured
  }

  /// When a token of ours ends, in seconds since 1970; refuses one of anybody else's.
  private func expiry(of check: JSONValue, at now: Timestamp) throws(ProviderRefusal) -> Int64 {
    func isOurs(_ claim: JSONValue?) -> Bool {
      guard let claimed = claim?.string else { return false }
      return client.settings.clientIDs.contains { $0.utf8.elementsEqual(claimed.utf8) }
    }
    guard isOurs(check["aud"]) else { throw .invalid(why: TokenRefusal.audience.rawValue) }
    guard check["azp"] == nil || isOurs(check["azp"]) else {
      throw .invalid(why: TokenRefusal.authorizedParty.rawValue)
    }
    // It writes numbers as texts here.
    guard let expiry = check["exp"].flatMap({ $0.int ?? $0.string.flatMap { Int64($0) } }) else {
      throw .invalid(why: TokenRefusal.expiryMissing.rawValue)
    }
    guard expiry > now.seconds else { throw .expired }
    return expiry
  }
}
