import Crypto
import HTTPClient
import Store
import Testing
import Tokens

@testable import Providers

struct LinkedInTests {
  private let issuer = Issuer(issuer: "https://www.linkedin.com/oauth", key: Keys.rsa, algorithm: .rs256)

  private func bench(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> FlowBench {
    var settings = try #require(ProviderSettings.standard(id: "linkedin.com"))
    settings.clientIDs = ["client-1"]
    settings.client.secret = Secret(copying: Array("s3cret".utf8))
    change(&settings)
    let bench = try FlowBench(settings, issuer)
    bench.answers(bench.profileURL, LinkedInTests.profile())
    return bench
  }

  /// The userinfo of the user whom the tokens belong to.
  private static func profile(_ changes: [String: JSONValue] = [:]) -> [String: JSONValue] {
    let complete: [String: JSONValue] = [
      "sub": .string("person-1"), "email": .string("ann@corp.com"), "email_verified": .bool(true),
      "name": .string("Ann Example"),
    ]
    return complete.merging(changes) { _, changed in changed }
  }

  @Test func `a flow begins at LinkedIn, without a proof key`() async throws {
    #expect(
      try await bench().start().authorizationURL
        == "https://www.linkedin.com/oauth/v2/authorization?client_id=client-1&nonce=\(Flow.nonce)"
        + "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_type=code"
        + "&scope=openid%20email%20profile&state=\(Flow.state)")
  }

  @Test func `a flow is redeemed with the secret in the form`() async throws {
    let bench = try bench()
    try bench.redeems(bench.claims(["email_verified": .string("true")]), ["scope": .string("email,openid profile")])
    let verified = try await bench.finish()
    #expect(verified.assertion.identity == IdentityKey(providerID: "linkedin.com", subject: "person-1"))
    #expect(verified.assertion.tier == .verified)
    #expect(verified.own.grantedScopes == ["email", "openid", "profile"])
    #expect(
      Asked(form: bench.tokenRequest?.body).parameters == [
        "grant_type": "authorization_code", "code": Flow.code, "redirect_uri": Flow.redirectURI,
        "client_id": "client-1", "client_secret": "s3cret",
      ])
  }

  @Test func `check 46: a nonce may be missing unless configured, and must match if it is present`()
    async throws
  {
    #expect(try await bench().refusal(["nonce": nil]) == nil)
    #expect(try await bench().refusal(["nonce": .string("other")]) == .missingOrInvalidNonce)
    #expect(try await bench { $0.flowNonceIsRequired = true }.refusal(["nonce": nil]) == .missingOrInvalidNonce)
  }

  @Test func `checks 40 and 42: a token for another client or of another issuer is refused`() async throws {
    #expect(try await bench().refusal(["aud": .string("client-2")]) == .invalid(why: "AUDIENCE"))
    #expect(try await bench().refusal(["iss": .string("https://www.linkedin.com")]) == .invalid(why: "ISSUER"))
  }

  @Test(arguments: [.string("true"), .bool(true), nil] as [JSONValue?])
  func `check 55: userinfo decides whether an address is verified, and the ID token does not`(
    inToken: JSONValue?
  ) async throws {
    let bench = try bench()
    try bench.redeems(bench.claims(["email_verified": inToken]))
    #expect(try await bench.finish().assertion.tier == .verified)
    for word in [.bool(false), .string("true"), .null] as [JSONValue] {
      bench.answers(bench.profileURL, LinkedInTests.profile(["email_verified": word]))
      #expect(try await bench.finish().assertion.tier == .unverified)
    }
  }

  @Test func `check 55: the text true in a native ID token leaves its address unverified`() async throws {
    let bench = try bench()
    let token = PresentedToken(
      idToken: try issuer.token(["email": .string("ann@corp.com"), "email_verified": .string("true")]))
    let assertion = try await bench.registry.verify(token, of: "linkedin.com", at: now).assertion
    #expect(assertion.email == "ann@corp.com" && assertion.tier == .unverified)
  }

  @Test func `check 51: userinfo of another user does not complete a flow`() async throws {
    let bench = try bench()
    try bench.redeems(bench.claims())
    bench.answers(bench.profileURL, LinkedInTests.profile(["sub": .string("person-2")]))
    #expect(await bench.refusal() == .invalid(why: "the profile belongs to another subject"))
  }

  @Test(arguments: [
    ("invalid_request", "Unable to retrieve access token: authorization code not found", "invalid"),
    ("invalid_redirect_uri", "appid/redirect uri/code verifier does not match authorization code.", "invalid"),
    ("INVALID_REQUEST", "Authorization code expired", "invalid"),
    ("invalid_request", "A required parameter \"client_id\" is missing", "refused"),
    ("invalid_client", "Client authentication failed for the authorization code", "refused"),
  ])
  func `check 67: LinkedIn's error for a bad code is reported as an invalid code`(
    error: String, description: String, name: String
  ) async throws {
    let bench = try bench()
    bench.answers(
      bench.tokenURL, ["error": .string(error), "error_description": .string(description)], status: 400)
    #expect(await bench.refusal()?.name == name)
  }
}

/// `oauth2.<name>`.
struct OAuth2Tests {
  private func bench(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> FlowBench {
    var settings = try #require(ProviderSettings.standard(id: "oauth2.forge"))
    settings.clientIDs = ["client-1"]
    settings.client.secret = Secret(copying: Array("s3cret".utf8))
    settings.endpoints = Endpoints(
      authorization: "https://forge.example/in", token: "https://forge.example/token",
      profile: "https://forge.example/me")
    settings.scopes = ["read"]
    settings.claims.subject = "data.id"
    settings.claims.email = "data.mail"
    settings.claims.emailVerified = "data.mail_checked"
    settings.claims.name = "data.full_name"
    settings.claims.picture = "data.avatar"
    settings.claims.username = "data.login"
    change(&settings)
    let bench = try FlowBench(settings, Issuer())
    bench.answers(bench.tokenURL, ["access_token": .string("access-1"), "token_type": .string("bearer")])
    bench.answers(bench.profileURL, text: OAuth2Tests.profile)
    return bench
  }

  private static let profile = """
    {"data": {"id": 9007199254740993, "mail": "ann@corp.com", "mail_checked": true, "full_name": "Ann Example",
      "avatar": "https://img.example/ann", "login": "ann"}}
    """

  @Test func `a flow begins at the configured endpoint, as plain OAuth`() async throws {
    #expect(
      try await bench().start().authorizationURL
        == "https://forge.example/in?client_id=client-1&code_challenge=\(Flow.challenge)&code_challenge_method=S256"
        + "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_type=code&scope=read"
        + "&state=\(Flow.state)")
  }

  @Test func `the scope parameter is left out without scopes`() async throws {
    #expect(Asked(try await bench { $0.scopes = [] }.start().authorizationURL)["scope"] == nil)
  }

  @Test func `the user is read from the profile with the configured mapping`() async throws {
    let verified = try await bench().finish()
    let assertion = verified.assertion
    // 2^53 + 1, which a floating-point number cannot represent.
    #expect(assertion.identity == IdentityKey(providerID: "oauth2.forge", subject: "9007199254740993"))
    #expect(assertion.email == "ann@corp.com" && assertion.tier == .unverified)
    #expect(assertion.displayName == "Ann Example" && assertion.photoURL == "https://img.example/ann")
    #expect(assertion.username == "ann" && assertion.profileJSON == OAuth2Tests.profile)
    #expect(verified.own.accessToken == "access-1" && verified.authenticatedAt == nil)
  }

  @Test func `the configured trust decides whether an address is verified`() async throws {
    let bench = try bench { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) }
    #expect(try await bench.finish().assertion.tier == .verified)
    bench.answers(bench.profileURL, text: OAuth2Tests.profile.replacing("true", with: "\"true\""))
    #expect(try await bench.finish().assertion.tier == .unverified)
  }

  @Test(arguments: [
    #"{"data":{}}"#, #"{"data":{"id":""}}"#, #"{"data":{"id":1.5}}"#, #"{"data":{"id":null}}"#, #"{"id":"1"}"#, "[]",
    #"{"data":{"id":"é"}}"#,
  ])
  func `a profile without a subject is rejected`(profile: String) async throws {
    let bench = try bench()
    bench.answers(bench.profileURL, text: profile)
    #expect(await bench.refusal() == .invalid(why: "SUBJECT"))
  }

  @Test func `a claim name with dots is first looked up literally`() async throws {
    let bench = try bench {
      $0.claims.subject = "https://corp.example/id"
      $0.claims.email = "a..b"
    }
    bench.answers(bench.profileURL, text: #"{"https://corp.example/id": "7", "a": {"": {"b": "ann@corp.com"}}}"#)
    let assertion = try await bench.finish().assertion
    #expect(assertion.identity.subject == "7" && assertion.email == "ann@corp.com")
  }

  @Test(arguments: [(16_384, true), (16_385, false)])
  func `a profile is kept up to 16 KiB, and left out past it`(count: Int, isKept: Bool) async throws {
    let bench = try bench { $0.claims.subject = "id" }
    let head = #"{"id":"1","x":""#
    let profile = head + String(repeating: "x", count: count - head.utf8.count - 2) + "\"}"
    bench.answers(bench.profileURL, text: profile)
    let assertion = try await bench.finish().assertion
    #expect(assertion.identity.subject == "1" && assertion.profileJSON == (isKept ? profile : ""))
  }

  @Test(arguments: [PresentedToken(accessToken: "bare"), PresentedToken(idToken: "a.b.c")])
  func `a token without a provable audience is rejected, and the error names the alternative`(
    token: PresentedToken
  ) async throws {
    let bench = try bench()
    await #expect {
      try await bench.registry.verify(token, of: "oauth2.forge", at: now)
    } throws: { error in
      guard case .audienceUnverifiable(let hint) = error as? ProviderRefusal else { return false }
      return hint.contains("StartFlow")
    }
  }

  @Test func `check 63: a configured issuer is compared`() async throws {
    let bench = try bench {
      $0.issuers = ["https://forge.example"]
      $0.requireResponseIssuer = true
    }
    #expect(await bench.refusal()?.name == "flowMismatch")
    #expect(await bench.refusal(Flow.callback(["iss": "https://other.example"]))?.name == "flowMismatch")
    #expect(await bench.refusal(Flow.callback(["iss": "https://forge.example"])) == nil)
  }

  @Test func `check 69: the error names a missing setting`() throws {
    func refused(_ change: (inout ProviderSettings) -> Void) throws -> String? {
      do {
        _ = try bench(change)
        return nil
      } catch let error as ProviderSettingsError { return error.setting }
    }
    #expect(try refused { _ in } == nil)
    #expect(try refused { $0.endpoints.authorization = "" } == "authorization_url")
    #expect(try refused { $0.endpoints.authorization = "https://forge.example/in?a=b&State=c" } == "authorization_url")
    #expect(try refused { $0.endpoints.authorization = "https://forge.example/in?a=state" } == nil)
    #expect(try refused { $0.endpoints.token = "" } == "token_url")
    #expect(try refused { $0.endpoints.profile = "" } == "profile_url")
    #expect(try refused { $0.endpoints.profile = "http://forge.example/me" } == "profile_url")
    #expect(try refused { $0.endpoints.token = "https://forge.example/token#x" } == "token_url")
    #expect(try refused { $0.client.secret = nil } == "client_secret_file")
    #expect(try refused { $0.requireResponseIssuer = true } == "issuers")
  }
}

/// A provider whose properties a test sets.
private struct Claimant: StartsFlows {
  var id = "oauth2.claimant"
  var audienceProofs: [CredentialKind: AudienceProof]
  var flowsAreConfigured = true

  func hint(instead kind: CredentialKind) -> String { "" }
  func start(_ flow: FlowRequest, at now: Timestamp) async throws -> StartedFlow { throw ProviderRefusal.notEnabled }
  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    throw ProviderRefusal.notEnabled
  }
}

struct AudienceProofTests {
  private func refused(_ provider: Claimant) -> String? {
    do {
      _ = try Registry([provider])
      return nil
    } catch { return error.setting }
  }

  @Test func `a provider that accepts a kind of credential without a proof of its audience is rejected`() {
    #expect(refused(Claimant(audienceProofs: [:])) == "authorization_response")
    #expect(refused(Claimant(audienceProofs: [.authorizationResponse: .redemption])) == nil)
  }

  @Test func `a provider that declares a proof for a kind that it does not accept is rejected`() {
    for kind in [CredentialKind.idToken, .accessToken] {
      let proofs: [CredentialKind: AudienceProof] = [.authorizationResponse: .redemption, kind: .audienceClaim]
      #expect(refused(Claimant(audienceProofs: proofs)) == kind.rawValue)
    }
    let unready = Claimant(audienceProofs: [.authorizationResponse: .redemption], flowsAreConfigured: false)
    #expect(refused(unready) == "authorization_response")
    #expect(refused(Claimant(audienceProofs: [:], flowsAreConfigured: false)) == nil)
  }
}
