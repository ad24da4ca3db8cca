import HTTPClient
import Store
import Testing

@testable import Providers

private let requestTokenURL = "https://api.x.com/oauth/request_token"
private let accessTokenURL = "https://api.x.com/oauth/access_token"
private let profileURL = "https://api.x.com/1.1/account/verify_credentials.json"
private let profileQuery = "?include_email=true&skip_status=true&include_entities=false"
private let kept = "oauth_token=request-1&oauth_token_secret=request-secret"

/// `twitter.com` with OAuth 1.0a.
struct TwitterTests {
  /// A user with an id that some JSON parsers cannot represent as a number: 2^53 + 1.
  private static func profile(_ more: String = "") -> String {
    """
    {"id":9007199254740992,"id_str":"9007199254740993","name":"Ann Example","screen_name":"ann_x",\
    "profile_image_url_https":"https://pbs.twimg.com/ann.jpg","email":"Ann@Example.com"\(more)}
    """
  }

  private func twitter(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> Adapted {
    let adapted = try Adapted("twitter.com", change)
    adapted.script.answer(
      requestTokenURL, "oauth_token=request-1&oauth_token_secret=request-secret&oauth_callback_confirmed=true")
    adapted.script.answer(
      accessTokenURL,
      "oauth_token=access-1&oauth_token_secret=access-secret&user_id=9007199254740993&screen_name=ann_x")
    adapted.script.answer(profileURL, TwitterTests.profile())
    return adapted
  }

  private func finish(_ adapted: Adapted, _ callback: [String: String?] = [:]) async throws -> VerifiedToken {
    let redirect: [String: String?] = [
      "oauth_token": "request-1", "oauth_verifier": "verifier-1", "state": nil, "code": nil,
    ]
    return try await adapted.finish(redirect.merging(callback) { $1 }, kept: kept)
  }

  private static func refused(_ kind: String, _ why: String) -> ProviderRefusal? {
    let kinds: [String: ProviderRefusal] = [
      "denied": .denied(why: why), "invalid": .invalid(why: why), "refused": .refused(why: why),
      "unavailable": .unavailable(why: why),
    ]
    return kinds[kind]
  }

  // MARK: The first leg

  @Test func `a flow begins with a request token, and its URL has the token and the caller's parameters`()
    async throws
  {
    let twitter = try twitter()
    let started = try await twitter.start(parameters: ["lang": "de", "force_login": "true"])
    #expect(
      started.authorizationURL
        == "https://api.x.com/oauth/authenticate?oauth_token=request-1&force_login=true&lang=de")
    #expect(!started.stateIsEchoed)
    #expect(started.responseMode == .query)
    #expect(started.kept == kept)
    let asked = try #require(twitter.script.requests.first)
    #expect(twitter.script.requests.count == 1)
    #expect(asked.url == requestTokenURL)
    #expect(asked.provider == "twitter.com")
    #expect(asked.body == [])
  }

  @Test func `the first request is signed with the callback in it, byte for byte`() async throws {
    let script = Script()
    script.answer(
      requestTokenURL, "oauth_token=request-1&oauth_token_secret=request-secret&oauth_callback_confirmed=true")
    let provider = try TwitterProvider(try Adapted.settings("twitter.com"), fetching: script) { "nonce0" }
    _ = try await provider.start(Flow.request(), at: now)
    // The signature was computed with oauthlib.
    #expect(
      script.requests.first?.field("authorization") == """
        OAuth oauth_consumer_key="client-1", oauth_nonce="nonce0", oauth_signature_method="HMAC-SHA1", \
        oauth_timestamp="1800000000", oauth_version="1.0", \
        oauth_callback="https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus", \
        oauth_signature="q69MOpjdRoI0oCMLPNQScC3s%2BMg%3D"
        """)
  }

  @Test func `a hint and a fresh login are sent under X's parameter names`() async throws {
    let started = try await twitter().start(loginHint: "ann_x", freshLogin: true)
    #expect(started.authorizationURL.hasSuffix("?oauth_token=request-1&force_login=true&screen_name=ann_x"))
  }

  @Test(arguments: ["true", "false"])
  func `check 88: a caller's parameters cannot weaken a fresh login at X`(forced: String) async throws {
    let parameters = ["force_login": forced, "screen_name": "ann_x"]
    let started = try await twitter().start(parameters: parameters, loginHint: "ann_x", freshLogin: true)
    #expect(started.authorizationURL.hasSuffix("?oauth_token=request-1&force_login=true&screen_name=ann_x"))
  }

  @Test(arguments: reservedParameters)
  func `check 66: a caller cannot set X's protocol parameters`(name: String, reserved: String) async throws {
    let twitter = try twitter()
    #expect(
      await refusal { try await twitter.start(parameters: [name: "x"]) }
        == .reservedParameter(name: reserved))
    #expect(twitter.script.requests.isEmpty)
  }

  @Test func `other parameters and scopes are rejected by name, before a request to X`() async throws {
    let twitter = try twitter()
    for attempt in [
      await refusal { try await twitter.start(parameters: ["prompt": "login"]) },
      await refusal { try await twitter.start(parameters: ["lang": "de\n"]) },
      await refusal { try await twitter.start(scopes: ["tweet.read"]) },
      await refusal { try await twitter.start(parameters: ["screen_name": "bob"], loginHint: "ann_x") },
    ] {
      guard case .invalidParameter = attempt else {
        Issue.record("\(String(describing: attempt))")
        continue
      }
    }
    #expect(twitter.script.requests.isEmpty)
  }

  @Test(arguments: ["", "&oauth_callback_confirmed=false", "&oauth_callback_confirmed=TRUE",
    "&oauth_callback_confirmed=true&oauth_callback_confirmed=true"])
  func `check 72: an unconfirmed callback is rejected`(confirmation: String) async throws {
    let twitter = try twitter()
    twitter.script.answer(requestTokenURL, "oauth_token=request-1&oauth_token_secret=secret" + confirmation)
    #expect(await refusal { try await twitter.start() }.isRefused)
  }

  @Test(arguments: [400, 401, 403])
  func `a refused request token is reported as a wrong configuration`(status: Int) async throws {
    let twitter = try twitter()
    twitter.script.answer(requestTokenURL, "{\"errors\":[{\"code\":32}]}", status: status)
    #expect(await refusal { try await twitter.start() }.isRefused)
  }

  @Test(arguments: [(401, 32), (401, 135), (400, 215), (403, 415), (403, 64)])
  func `the log contains the number of X's error for a request token`(status: Int, code: Int) async throws {
    let twitter = try twitter()
    twitter.script.answer(requestTokenURL, "{\"errors\":[{\"code\":\(code),\"message\":\"no\"}]}", status: status)
    #expect(
      await refusal { try await twitter.start() }
        == .refused(why: "request_token: status \(status), X's error \(code)"))
  }

  @Test(arguments: [
    "oauth_callback_confirmed=true", "oauth_token=&oauth_token_secret=s&oauth_callback_confirmed=true",
    "oauth_token=t&oauth_callback_confirmed=true",
    "oauth_token=a%0Ab&oauth_token_secret=s&oauth_callback_confirmed=true",
    "%zz",
  ])
  func `an answer without a request token is not accepted`(answer: String) async throws {
    let twitter = try twitter()
    twitter.script.answer(requestTokenURL, answer)
    #expect(await refusal { try await twitter.start() }.isUnavailable)
  }

  @Test func `an answer with tokens may have 4 KiB, and no more`() async throws {
    let twitter = try twitter()
    let answer = "oauth_token=request-1&oauth_token_secret=request-secret&oauth_callback_confirmed=true&more="
    let room = TwitterProvider.tokenAnswerBytesMax - answer.utf8.count
    twitter.script.answer(requestTokenURL, answer + String(repeating: "x", count: room))
    #expect(try await twitter.start().kept == kept)
    twitter.script.answer(requestTokenURL, answer + String(repeating: "x", count: room + 1))
    #expect(await refusal { try await twitter.start() }.isUnavailable)
  }

  // MARK: The other legs

  @Test func `a flow returns the user, an access token and its secret`() async throws {
    let twitter = try twitter()
    let verified = try await finish(twitter)
    #expect(verified.assertion.identity == IdentityKey(providerID: "twitter.com", subject: "9007199254740993"))
    #expect(verified.assertion.email == "ann@example.com")
    #expect(verified.assertion.displayName == "Ann Example")
    #expect(verified.assertion.username == "ann_x")
    #expect(verified.assertion.photoURL == "https://pbs.twimg.com/ann.jpg")
    #expect(verified.assertion.profileJSON == TwitterTests.profile())
    #expect(verified.own.accessToken == "access-1")
    #expect(verified.own.secret == "access-secret")
    #expect(verified.toSpend == nil)
    #expect(verified.authenticatedAt == nil)
    #expect(twitter.script.requests.map(\.url) == [accessTokenURL, profileURL + profileQuery])
    #expect(twitter.script.requests.map { $0.body == nil } == [false, true])
  }

  @Test func `each leg is signed with the token of the previous one, and has its own nonce`() async throws {
    let twitter = try twitter()
    _ = try await finish(twitter)
    _ = try await twitter.start()
    let headers = twitter.script.requests.compactMap { $0.field("authorization") }
    #expect(headers[0].contains("oauth_token=\"request-1\""))
    #expect(headers[0].contains("oauth_verifier=\"verifier-1\""))
    #expect(headers[1].contains("oauth_token=\"access-1\""))
    #expect(!headers[1].contains("oauth_verifier"))
    #expect(!headers[2].contains("oauth_token="))
    let nonces = headers.compactMap { $0.firstMatch(of: /oauth_nonce="([^"]+)"/)?.1 }
    #expect(Set(nonces).count == 3)
    #expect(nonces.allSatisfy { $0.count == 22 })
  }

  @Test(arguments: [nil, ""])
  func `check 72: without a verifier no access token is requested`(verifier: String?) async throws {
    let twitter = try twitter()
    #expect(await refusal { try await finish(twitter, ["oauth_verifier": verifier]) }.isInvalid)
    #expect(twitter.script.requests.isEmpty)
  }

  @Test(arguments: [nil, "", "request-2", "request-", "request-11", "REQUEST-1"])
  func `check 73: the redirect of another request token is refused`(token: String?) async throws {
    let twitter = try twitter()
    #expect(await refusal { try await finish(twitter, ["oauth_token": token]) }.isFlowMismatch)
    #expect(await refusal { try await finish(twitter, ["denied": token ?? ""]) }.isFlowMismatch)
    #expect(twitter.script.requests.isEmpty)
  }

  @Test(arguments: ["", "oauth_token=request-1", "oauth_token=&oauth_token_secret=s", "%"])
  func `check 73: a flow without a stored request token is rejected`(kept: String) async throws {
    let twitter = try twitter()
    let redirect = ["oauth_token": "request-1", "oauth_verifier": "verifier-1"]
    #expect(await refusal { try await twitter.finish(redirect, kept: kept) }.isFlowMismatch)
    let empty = ["oauth_token": "", "oauth_verifier": "verifier-1"]
    #expect(await refusal { try await twitter.finish(empty, kept: kept) }.isFlowMismatch)
  }

  @Test func `a user who cancels at X has denied access, if the redirect belongs to this flow`() async throws {
    let twitter = try twitter()
    let denied = await refusal { try await finish(twitter, ["denied": "request-1", "oauth_token": nil]) }
    #expect(denied.isDenied)
    #expect(twitter.script.requests.isEmpty)
  }

  @Test func `check 73: a verifier that X rejects for this request token is rejected`() async throws {
    let twitter = try twitter()
    twitter.script.answer(accessTokenURL, "Reverse auth credentials are invalid", status: 401)
    #expect(await refusal { try await finish(twitter) }.isInvalid)
    #expect(twitter.script.requests(to: profileURL).isEmpty)
  }

  @Test(arguments: [
    (401, 32, "invalid"), (403, 89, "invalid"), (401, 1, "invalid"), (401, 135, "refused"), (400, 215, "refused"),
    (403, 415, "refused"), (403, 64, "denied"),
  ])
  func `an error about the client at the end of a flow is not reported as the user's`(
    status: Int, code: Int, expected: String
  ) async throws {
    let twitter = try twitter()
    twitter.script.answer(accessTokenURL, "{\"errors\":[{\"code\":\(code)}]}", status: status)
    let refused = await refusal { try await finish(twitter) }
    #expect(refused == TwitterTests.refused(expected, "access_token: status \(status), X's error \(code)"))
  }

  @Test func `check 74: no error contains the secret of the request token`() async throws {
    let twitter = try twitter()
    twitter.script.answer(accessTokenURL, "request-secret", status: 401)
    let shown = String(describing: await refusal { try await finish(twitter) })
    #expect(!shown.contains("request-secret"))
  }

  @Test func `a profile of another user than the access token's is rejected`() async throws {
    let twitter = try twitter()
    twitter.script.answer(accessTokenURL, "oauth_token=access-1&oauth_token_secret=access-secret&user_id=1")
    #expect(await refusal { try await finish(twitter) }.isInvalid)
  }

  // MARK: The user

  @Test(arguments: [
    "{\"id\":9007199254740993}", "{\"id\":1,\"id_str\":1}", "{\"id_str\":\"\"}", "{\"id_str\":\"ann\"}",
    "{\"id_str\":\"-1\"}", "{\"id_str\":\"123456789012345678901\"}", "[]",
  ])
  func `check 75: the id is the string, and never the number`(profile: String) async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, profile)
    #expect(await refusal { try await finish(twitter) }.isUnavailable)
  }

  @Test(arguments: ["9007199254740993", "9223372036854775808", "18446744073709551615"])
  func `check 75: ids of 64 bits are kept exactly`(id: String) async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, "{\"id\":\(id),\"id_str\":\"\(id)\"}")
    #expect(try await twitter.verify("access-1", secret: "access-secret").assertion.identity.subject == id)
  }

  @Test(arguments: ["null", "\"\"", "\"ann\"", "1"])
  func `check 75: a null or invalid address is dropped`(email: String) async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, "{\"id_str\":\"1\",\"screen_name\":\"ann@example.com\",\"email\":\(email)}")
    let assertion = try await twitter.verify("access-1", secret: "access-secret").assertion
    #expect(assertion.email == nil)
    #expect(assertion.tier == .unverified)
  }

  @Test(arguments: TrustTier.allCases)
  func `check 56: an address is unverified, unless configuration says more`(tier: TrustTier) async throws {
    #expect(try await finish(twitter()).assertion.tier == .unverified)
    let trusting = try twitter { $0.emailTrust = .asserted(tier, authoritativeDomains: []) }
    #expect(try await finish(trusting).assertion.tier == tier)
  }

  @Test func `a profile past 16 KiB is not kept, and the sign-in still succeeds`() async throws {
    let twitter = try twitter()
    let frame = TwitterTests.profile(",\"description\":\"\"").utf8.count
    for (length, isKept) in [(16_384 - frame, true), (16_385 - frame, false)] {
      let text = TwitterTests.profile(",\"description\":\"\(String(repeating: "x", count: length))\"")
      twitter.script.answer(profileURL, text)
      let assertion = try await finish(twitter).assertion
      #expect(assertion.identity.subject == "9007199254740993")
      #expect(assertion.profileJSON == (isKept ? text : ""))
    }
  }

  // MARK: Tokens of an SDK

  @Test func `a token and its secret are verified by a call that is signed with the consumer key`() async throws {
    let twitter = try twitter()
    let verified = try await twitter.verify("kit-token", secret: "kit-secret")
    #expect(verified.assertion.identity.subject == "9007199254740993")
    #expect(verified.own.accessToken == "kit-token")
    #expect(verified.own.secret == "kit-secret")
    let header = try #require(twitter.script.requests.first?.field("authorization"))
    #expect(header.contains("oauth_consumer_key=\"client-1\""))
    #expect(header.contains("oauth_token=\"kit-token\""))
  }

  @Test func `a token of another application is rejected, since it does not work with the consumer key`() async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, "{\"errors\":[{\"code\":89}]}", status: 401)
    #expect(await refusal { try await twitter.verify("foreign", secret: "secret") }.isInvalid)
  }

  @Test(arguments: [
    ("{\"errors\":[{\"code\":64}]}", ProviderRefusal.denied(why: "verify_credentials: status 403, X's error 64")),
    ("{\"errors\":[{\"code\":326}]}", .denied(why: "verify_credentials: status 403, X's error 326")),
    ("{\"errors\":[{\"code\":453}]}", .refused(why: "verify_credentials: status 403, X's error 453")),
    ("{\"errors\":[{\"code\":89}]}", .invalid(why: "verify_credentials: status 403, X's error 89")),
    ("{}", .refused(why: "verify_credentials: status 403")), ("no", .refused(why: "verify_credentials: status 403")),
  ])
  func `a suspended account is distinguished from an application without access`(
    answer: String, expected: ProviderRefusal
  ) async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, answer, status: 403)
    #expect(await refusal { try await twitter.verify("access-1", secret: "access-secret") } == expected)
  }

  @Test(arguments: [
    (400, 215, "refused"), (400, 1, "unavailable"), (401, 32, "invalid"), (401, 89, "invalid"), (401, 135, "refused"),
    (401, 215, "refused"), (401, 64, "denied"), (401, 1, "invalid"), (403, 415, "refused"),
  ])
  func `a rejected token is distinguished from a rejected signature`(
    status: Int, code: Int, expected: String
  ) async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, "{\"errors\":[{\"code\":\(code)}]}", status: status)
    let refused = await refusal { try await twitter.verify("access-1", secret: "access-secret") }
    #expect(refused == TwitterTests.refused(expected, "verify_credentials: status \(status), X's error \(code)"))
  }

  @Test(arguments: [("a b", "s"), ("a", "s\n"), (String(repeating: "a", count: 8193), "s")])
  func `a malformed token or secret is not sent`(token: String, secret: String) async throws {
    let twitter = try twitter()
    #expect(await refusal { try await twitter.verify(token, secret: secret) }.isInvalid)
    #expect(twitter.script.requests.isEmpty)
  }

  @Test func `the error for a token without its secret names the field of the secret`() async throws {
    let twitter = try twitter()
    #expect(
      await refusal { try await twitter.verify("access-1") }
        == .invalidParameter(
          name: "credential.provider_token.token_secret",
          hint: "Send the secret of the OAuth 1.0a access token."))
    #expect(twitter.script.requests.isEmpty)
  }

  @Test func `an ID token of X is rejected, and the error names the right credential`() async throws {
    let twitter = try twitter()
    let token = PresentedToken(idToken: "a.b.c")
    let hint = await refusal { try await twitter.registry.verify(token, of: "twitter.com", at: now) }.hint
    #expect(try #require(hint).contains("StartFlow"))
  }

  // MARK: Faults

  @Test(arguments: faults)
  func `check 68: any failure to get an answer makes X unavailable`(
    fault: Result<FetchedBody, FetchError>
  ) async throws {
    for url in [requestTokenURL, accessTokenURL, profileURL] {
      let twitter = try twitter()
      twitter.script.answer(url, fault)
      if url == requestTokenURL {
        #expect(await refusal { try await twitter.start() }.isUnavailable)
      } else {
        #expect(await refusal { try await finish(twitter) }.isUnavailable)
      }
    }
  }

  @Test(arguments: brokenDocuments)
  func `check 68: a profile that is not a JSON document makes X unavailable`(
    document: Result<FetchedBody, FetchError>
  ) async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, document)
    #expect(await refusal { try await finish(twitter) }.isUnavailable)
  }

  @Test func `check 69: the error names a setting that X requires`() throws {
    func refused(_ change: (inout ProviderSettings) -> Void) -> String? {
      do {
        _ = try Adapted("twitter.com", change)
        return nil
      } catch { return (error as? ProviderSettingsError)?.setting }
    }
    #expect(refused { _ in } == nil)
    #expect(refused { $0.client.secret = nil } == "client_secret_file")
    #expect(refused { $0.clientIDs = ["a", "b"] } == "client_ids")
    #expect(refused { $0.scopes = ["read"] } == "scopes")
    #expect(refused { $0.usesProofKey = true } == "proof_key")
    #expect(refused { $0.issuers = ["https://api.x.com"] } == "issuers")
    #expect(refused { $0.endpoints.requestToken = "" } == "request_token_url")
    #expect(refused { $0.endpoints.token = "http://api.x.com/oauth/access_token" } == "token_url")
  }
}
