import Crypto
import Encodings
import HTTPClient
import Store
import Tokens

/// `twitter.com` by OAuth 1.0a: the three steps of RFC 5849, 2, and tokens that an SDK of X obtained for our
/// application.
///
/// Both end with a request for the profile under our consumer key and the user's token. A token that was issued to
/// another application does not work under our key, so the response proves the token's audience.
struct TwitterProvider: Adapter, StartsFlows, VerifiesAccessTokens {
  /// Maximum length of a response with tokens, in bytes. X's responses have about 200.
  static let tokenAnswerBytesMax = 4 * 1024

  let id: String
  let audienceProofs: [CredentialKind: AudienceProof] = [
    .accessToken: .signedCall, .authorizationResponse: .redemption,
  ]
  private let settings: ProviderSettings
  private let consumerSecret: Secret
  private let calls: ProviderCalls
  private let nonce: @Sendable () -> String

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.endpoints = Endpoints(
      authorization: "https://api.x.com/oauth/authenticate", token: "https://api.x.com/oauth/access_token",
      profile: "https://api.x.com/1.1/account/verify_credentials.json",
      requestToken: "https://api.x.com/oauth/request_token")
    settings.callerParameters = ["force_login", "lang", "screen_name"]
    settings.flows = .oauth1
    settings.usesProofKey = false
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkFlowsAreConfigured()
    try settings.require(settings.clientIDs.count == 1, "client_ids", "must contain one id: the consumer key")
    try settings.require(
      settings.client.authentication == .basic || settings.client.authentication == .post, "client_authentication",
      "is not used with OAuth 1.0a, which signs with the secret")
    try settings.require(settings.scopes.isEmpty, "scopes", "must not be set with OAuth 1.0a")
    try settings.require(!settings.usesProofKey, "proof_key", "must be false with OAuth 1.0a")
    try settings.require(settings.issuers.isEmpty, "issuers", "must not be set with OAuth 1.0a")
    let unused: Set<String> = ["audience_check_url", "emails_url", "revocation_url"]
    for (setting, url) in settings.endpoints.all where !unused.contains(setting) {
      try settings.require(SignatureBase.uri(url) != nil, setting, "must be set")
    }
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    try self.init(settings, fetching: fetching) { Base64URL.encode(Random.bytes(16)) }
  }

  /// - Parameter nonce: returns a new one for each request (RFC 5849, 3.3). The random parts of a flow cannot serve: a
  ///   flow is three requests, and a presented token has no flow. Tests pass known values, to compare signatures.
  init(
    _ settings: ProviderSettings, fetching: any HTTPSFetching, nonce: @escaping @Sendable () -> String
  ) throws(ProviderSettingsError) {
    id = settings.id
    self.settings = settings
    consumerSecret = try settings.loadedSecret()
    calls = ProviderCalls(providerID: settings.id, fetching: fetching)
    self.nonce = nonce
  }

  func findings(at now: Timestamp) async -> [ProviderFinding] {
    let check = ProviderCheck(settings, fetching: calls.fetching, at: now)
    let pages = await check.pages(settings.endpoints)
    do {
      _ = try await start(
        FlowRequest(redirectURI: "https://localhost/latchkey-check-config", state: "", nonce: "", codeVerifier: ""),
        at: now)
      return pages + [.fine("request_token answers")]
    } catch let refusal as ProviderRefusal {
      if case .unavailable = refusal { return pages + [ProviderFinding(refusal, "request_token")] }
      return pages + [.warning("request_token: \(refusal)")]
    } catch {
      return pages + [.fault(why: "request_token: \(error)", fix: "Check the network.")]
    }
  }

  func hint(instead kind: CredentialKind) -> String {
    "Send an access token with its secret, or call StartFlow: X issues no ID tokens."
  }

  func start(_ flow: FlowRequest, at now: Timestamp) async throws -> StartedFlow {
    let parameters = try pageParameters(flow)
    let answer = try await send(
      SignedRequest(method: "POST", url: settings.endpoints.requestToken), by: signer(),
      adding: [Parameter("oauth_callback", flow.redirectURI)], at: now)
    guard answer.status == 200 else {
      throw ProviderRefusal.refused(why: TwitterErrors.why(answer, of: "request_token"))
    }
    let form = try tokens(answer, of: "request_token")
    // Without it X ignores our redirect URI, which allows the session fixation that 1.0a fixed (check 72).
    guard form["oauth_callback_confirmed"] == "true" else {
      throw ProviderRefusal.refused(why: "request_token: the callback is not confirmed")
    }
    let token = try RequestToken(form)
    let url = URLEncoding.url(
      settings.endpoints.authorization, adding: [Parameter("oauth_token", token.token)] + parameters)
    return StartedFlow(authorizationURL: url, stateIsEchoed: false, kept: token.kept)
  }

  /// Finishes a flow. X returns no `state`: the request token, which is in both, binds the redirect to the flow (check
  /// 73).
  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let verifier = try RequestToken.verifier(callback, keptAs: flow.kept)
    let answer = try await send(
      SignedRequest(method: "POST", url: settings.endpoints.token),
      by: signer(verifier.token.token, verifier.token.secret),
      adding: [Parameter("oauth_verifier", verifier.text)], at: now)
    guard answer.status == 200 else {
      throw TwitterErrors.refusal(answer, of: "access_token") { .invalid(why: $0) }
    }
    let form = try tokens(answer, of: "access_token")
    guard let token = form["oauth_token"], let secret = form["oauth_token_secret"], TokenAnswer.isToken(token),
      TokenAnswer.isToken(secret)
    else { throw ProviderRefusal.unavailable(why: "access_token: no token") }
    let verified = try await person(token, secret, at: now)
    // Two endpoints return the user id, and both must agree.
    guard form["user_id"] == nil || form["user_id"] == verified.assertion.identity.subject else {
      throw ProviderRefusal.invalid(why: "access_token: the profile belongs to another user")
    }
    return verified
  }

  func verify(accessToken presented: PresentedToken, at now: Timestamp) async throws -> VerifiedToken {
    guard !presented.tokenSecret.isEmpty else {
      throw ProviderRefusal.invalidParameter(
        name: "credential.provider_token.token_secret", hint: "Send the secret of the OAuth 1.0a access token.")
    }
    guard TokenAnswer.isToken(presented.accessToken), TokenAnswer.isToken(presented.tokenSecret) else {
      throw ProviderRefusal.invalid(why: "the access token or its secret is not valid")
    }
    return try await person(presented.accessToken, presented.tokenSecret, at: now)
  }

  private func pageParameters(_ flow: FlowRequest) throws(ProviderRefusal) -> [Parameter] {
    guard flow.scopes.isEmpty else {
      throw .invalidParameter(name: "scopes", hint: "Send none: the application's settings at X define them.")
    }
    var page = AuthorizationRequest(
      providerID: id, clientID: "", basicScopes: [], callerParameters: settings.callerParameters, sendsProofKey: false)
    page.loginHintName = "screen_name"
    page.freshLogin = ["force_login": "true"]
    return try page.completed([:], for: flow)
  }

  private func person(_ token: String, _ secret: String, at now: Timestamp) async throws -> VerifiedToken {
    let url = URLEncoding.url(
      settings.endpoints.profile,
      adding: [
        Parameter("include_email", "true"), Parameter("skip_status", "true"), Parameter("include_entities", "false"),
      ])
    let answer = try await send(SignedRequest(method: "GET", url: url), by: signer(token, secret), at: now)
    try TwitterProvider.check(answer)
    var verified = VerifiedToken(assertion: try assertion(try ProviderCalls.document(answer)))
    verified.own.accessToken = token
    verified.own.secret = secret
    return verified
  }

  /// Throws for an error status. 403 means that X suspended or locked the account, or that our application's plan
  /// excludes the call. A token of another application gets 401.
  private static func check(_ answer: FetchedBody) throws(ProviderRefusal) {
    let endpoint = "verify_credentials"
    switch answer.status {
    case 400: throw TwitterErrors.refusal(answer, of: endpoint) { .unavailable(why: $0) }
    case 401: throw TwitterErrors.refusal(answer, of: endpoint) { .invalid(why: $0) }
    case 403: throw TwitterErrors.refusal(answer, of: endpoint) { .refused(why: $0) }
    default: break
    }
  }

  /// Reads a profile. The number next to `id_str` is not used: many JSON readers lose its last digits (check 75).
  private func assertion(_ document: Document) throws(ProviderRefusal) -> Assertion {
    let profile = document.value
    guard let subject = profile["id_str"]?.string, Decimal.isID(subject) else {
      throw .unavailable(why: "verify_credentials: no id_str")
    }
    var assertion = Assertion(identity: IdentityKey(providerID: id, subject: subject))
    // Null if there is none, if it is not confirmed, or if the application may not see it. Only X's documentation
    // states that X omits unconfirmed addresses, so configuration decides whether to trust this (check 56).
    assertion.setEmail(ProfileClaims.email(profile["email"]), .checked, settings.emailTrust)
    assertion.displayName = ProfileClaims.text(profile["name"])
    assertion.photoURL = ProfileClaims.url(profile["profile_image_url_https"])
    assertion.username = ProfileClaims.text(profile["screen_name"])
    assertion.profileJSON = ProfileClaims.profile(document.bytes)
    return assertion
  }

  private func signer(_ token: String = "", _ secret: String = "") -> OAuth1Signer {
    OAuth1Signer(
      consumerKey: settings.clientIDs.first ?? "", consumerSecret: consumerSecret, token: token, tokenSecret: secret)
  }

  /// Sends a signed request and returns a response that is about the credential or about us. The response of a failing
  /// or throttling server is about neither.
  private func send(
    _ request: SignedRequest, by signer: OAuth1Signer, adding extra: [Parameter] = [], at now: Timestamp
  ) async throws -> FetchedBody {
    let stamp = RequestStamp(nonce: nonce(), seconds: now.seconds)
    guard let authorization = signer.authorization(request, stamp, adding: extra) else {
      throw ProviderRefusal.refused(why: "the configured URL cannot be signed")
    }
    let body: [UInt8]? = request.method == "POST" ? [] : nil
    let answer = try await calls.fetch(
      FetchRequest(request.url, for: id, fields: [.init("authorization", authorization)], body: body))
    guard answer.status < 500, answer.status != 429 else {
      throw ProviderRefusal.unavailable(why: "X answers with status \(answer.status)")
    }
    return answer
  }

  private func tokens(_ answer: FetchedBody, of endpoint: String) throws(ProviderRefusal) -> Form {
    guard answer.bytes.count <= TwitterProvider.tokenAnswerBytesMax, let form = Form(parsing: answer.bytes) else {
      throw .unavailable(why: "\(endpoint): no form, or too large")
    }
    return form
  }
}
