import HTTPClient
import Store
import Tokens

/// `github.com`: the code flow with a proof key, and access tokens that GitHub itself reports as issued to our
/// application.
///
/// A response of `/user` proves nothing: GitHub sends it for a token of every application (check 48).
struct GitHubProvider: CodeAdapter, VerifiesAccessTokens {
  let audienceProofs: [CredentialKind: AudienceProof] = [
    .accessToken: .providersCheck, .authorizationResponse: .redemption,
  ]
  let settings: ProviderSettings
  let flow: CodeFlow
  private let tokenCheck: GitHubTokenCheck

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.endpoints = Endpoints(
      authorization: "https://github.com/login/oauth/authorize", token: "https://github.com/login/oauth/access_token",
      profile: "https://api.github.com/user",
      audienceCheck: "https://api.github.com/applications/{client_id}/token",
      emails: "https://api.github.com/user/emails",
      revocation: "https://api.github.com/applications/{client_id}/grant")
    settings.client.authentication = .post
    settings.scopes = ["user:email"]
    settings.callerParameters = ["allow_signup", "login", "prompt"]
    settings.emailTrust = .asserted(.verified, authoritativeDomains: [])
    // A user can give up a login, and another user can register it.
    settings.claims.subject = "id"
    settings.claims.picture = "avatar_url"
    settings.claims.username = "login"
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkFlowsAreConfigured()
    try settings.require(settings.clientIDs.count == 1, "client_ids", "must contain one id")
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    self.settings = settings
    var flow = CodeFlow(settings, proof: try settings.clientProof(), fetching: fetching)
    flow.authorization.loginHintName = "login"
    // GitHub cannot re-authenticate the user. This is the closest option.
    flow.authorization.freshLogin = ["prompt": "select_account"]
    // Requests separate scopes with blanks, responses with commas.
    flow.scopeSeparators = [UInt8(ascii: ","), UInt8(ascii: " ")]
    flow.vendorErrors = GitHubProvider.errors
    self.flow = flow
    tokenCheck = GitHubTokenCheck(
      clientID: settings.clientIDs.first ?? "", secret: try settings.loadedSecret(),
      url: settings.endpoints.audienceCheck, calls: flow.calls)
  }

  func hint(instead kind: CredentialKind) -> String {
    "Send an access token of our application, or call StartFlow: GitHub issues no ID tokens."
  }

  func start(_ request: FlowRequest, at now: Timestamp) async throws -> StartedFlow {
    let prompt = request.parameters["prompt"]
    guard prompt == nil || prompt == "select_account" else {
      throw ProviderRefusal.invalidParameter(name: "custom_parameters", hint: "Omit `prompt` or use `select_account`.")
    }
    return try flow.start(request, at: settings.endpoints.authorization)
  }

  func finish(_ callback: Callback, of state: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    let answer = try await redeem(callback, of: state, at: now)
    return VerifiedToken(assertion: try await person(of: answer.own), own: answer.own)
  }

  func verify(accessToken presented: PresentedToken, at now: Timestamp) async throws -> VerifiedToken {
    let checked = try await tokenCheck.check(presented.accessToken)
    var own = ProvidersOwnTokens()
    own.accessToken = presented.accessToken
    own.grantedScopes = checked.scopes
    let assertion = try await person(of: own)
    guard checked.subject == nil || checked.subject == assertion.identity.subject else {
      throw ProviderRefusal.invalid(why: "the token and the profile belong to different users")
    }
    return VerifiedToken(assertion: assertion, own: own)
  }

  let revocableKinds: Set<RevocableToken.Kind> = [.accessToken]

  func revoke(_ token: RevocableToken, at now: Timestamp) async throws {
    try await tokenCheck.revokeGrant(of: token.text, at: settings.endpoints.revocation)
  }

  /// Reads the profile. GitHub requires a User-Agent, which the HTTP client sends with every request.
  private func person(of tokens: ProvidersOwnTokens) async throws -> Assertion {
    let answer = try await flow.calls.answer(settings.endpoints.profile, accessToken: tokens.accessToken)
    try GitHubLimit.check(answer)
    let profile = try ProviderCalls.document(answer)
    guard let number = profile.value["id"]?.int, number > 0 else {
      throw ProviderRefusal.unavailable(why: "user: no id")
    }
    var assertion = ProfileClaims.assertion(
      String(number), of: settings, documents: [profile.value], profile: profile.bytes)
    assertion.setEmail(try await email(of: tokens), .checked, settings.emailTrust)
    return assertion
  }

  /// Returns the trusted email address. The user chooses the one in the profile for display. The one that counts is in
  /// a separate list, to which the user may deny access.
  private func email(of tokens: ProvidersOwnTokens) async throws -> String? {
    let answer = try await addresses(settings.endpoints.emails, tokens)
    guard answer.status == 403 || answer.status == 404 else {
      let some = try GitHubAddresses.list(answer)
      guard GitHubAddresses.mayGoOn(some, after: GitHubAddresses.perPage) else { return GitHubAddresses.trusted(some) }
      let url = URLEncoding.url(settings.endpoints.emails, adding: [GitHubAddresses.longestPage])
      let most = try GitHubAddresses.list(try await addresses(url, tokens))
      guard !GitHubAddresses.mayGoOn(most, after: GitHubAddresses.perPageMax) else {
        throw ProviderRefusal.unavailable(why: "user/emails: none of \(most.count) is primary")
      }
      return GitHubAddresses.trusted(most)
    }
    // GitHub sends the same to a client that exceeds its limits. Treated as a user without an address, the user would
    // get a second account.
    guard !tokens.grantedScopes.contains(where: { $0 == "user:email" || $0 == "user" }) else {
      throw ProviderRefusal.unavailable(why: "user/emails: status \(answer.status), although the scope is granted")
    }
    return nil
  }

  private func addresses(_ url: String, _ tokens: ProvidersOwnTokens) async throws -> FetchedBody {
    let answer = try await flow.calls.answer(url, accessToken: tokens.accessToken)
    try GitHubLimit.check(answer)
    return answer
  }

  private static let errors = VendorErrors { document in
    switch document["error"]?.string {
    case "bad_verification_code": .invalid(why: "bad_verification_code")
    case "unverified_user_email": .denied(why: "unverified_user_email")
    default: nil
    }
  }
}

enum GitHubAddresses {
  /// The domain of GitHub's addresses for users who hide theirs. GitHub does not deliver mail to it.
  static let hiddenDomain = "users.noreply.github.com"
  /// The number of addresses on a page of the list: the default and the maximum.
  static let perPage = 30
  static let perPageMax = 100
  static let longestPage = Parameter("per_page", String(perPageMax))

  static func list(_ answer: FetchedBody) throws(ProviderRefusal) -> [JSONValue] {
    guard let addresses = try ProviderCalls.document(answer).value.array else {
      throw .unavailable(why: "user/emails: no list")
    }
    return addresses
  }

  /// Returns whether the next page may have the user's primary address: the page is full and does not contain it.
  static func mayGoOn(_ addresses: [JSONValue], after perPage: Int) -> Bool {
    addresses.count >= perPage && !addresses.contains { $0["primary"]?.bool == true }
  }

  /// Returns the address that is both primary and verified (check 58).
  static func trusted(_ addresses: [JSONValue]) -> String? {
    let first = addresses.first { $0["primary"]?.bool == true && $0["verified"]?.bool == true }
    guard let email = ProfileClaims.email(first?["email"]), !email.hasSuffix("@" + hiddenDomain) else { return nil }
    return email
  }
}
