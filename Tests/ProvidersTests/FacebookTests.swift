import Crypto
import HTTPClient
import Store
import Testing
import Tokens

@testable import Providers

private let tokenURL = "https://graph.facebook.com/v25.0/oauth/access_token"
private let profileURL = "https://graph.facebook.com/v25.0/me"
private let checkURL = "https://graph.facebook.com/v25.0/debug_token"
private let keysURL = "https://limited.facebook.com/.well-known/oauth/openid/jwks/"

/// `facebook.com`: flows and access tokens.
struct FacebookTests {
  private static let profile = """
    {"id":"10215241773831025","name":"Ann Example","email":"Ann@Gmail.com",\
    "picture":{"data":{"url":"https://platform-lookaside.fbsbx.com/ann"}}}
    """

  /// The answer of debug_token for a valid token, with changes; nil removes a member.
  private static func inspected(_ changes: [String: JSONValue?] = [:]) -> String {
    var data: [String: JSONValue] = [
      "app_id": .string("client-1"), "type": .string("USER"), "is_valid": .bool(true),
      "user_id": .string("10215241773831025"), "expires_at": .int(now.seconds + 5000),
      "data_access_expires_at": .int(now.seconds + 7_776_000), "scopes": .array([.string("public_profile")]),
    ]
    for (name, value) in changes { data[name] = value }
    let members = data.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) }
    return String(decoding: json(.object([JSONMember("data", .object(members))])), as: UTF8.self)
  }

  private func facebook(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> Adapted {
    let adapted = try Adapted("facebook.com", change)
    adapted.script.answer(tokenURL, "{\"access_token\":\"EAAB1\",\"token_type\":\"bearer\",\"expires_in\":5183944}")
    adapted.script.answer(checkURL, FacebookTests.inspected())
    adapted.script.answer(profileURL, FacebookTests.profile)
    return adapted
  }

  @Test func `a flow begins at the configured version of the dialog`() async throws {
    let parameters = ["display": "popup", "auth_type": "rerequest", "locale": "de_DE"]
    let started = try await facebook().start(scopes: ["user_birthday"], parameters: parameters, loginHint: "ann")
    #expect(
      started.authorizationURL == """
        https://www.facebook.com/v25.0/dialog/oauth?auth_type=rerequest&client_id=client-1&display=popup&locale=de_DE\
        &redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_type=code\
        &scope=public_profile%2Cemail%2Cuser_birthday&state=\(Flow.state)
        """)
    let fresh = try await facebook { $0.endpoints.authorization = "https://www.facebook.com/v99.0/dialog/oauth" }
      .start(freshLogin: true)
    #expect(fresh.authorizationURL.hasPrefix("https://www.facebook.com/v99.0/dialog/oauth?auth_type=reauthenticate&"))
  }

  @Test(arguments: ["rerequest", "reauthenticate"])
  func `check 88: a caller's parameters cannot weaken a fresh login`(
    authType: String
  ) async throws {
    let started = try await facebook().start(parameters: ["auth_type": authType], freshLogin: true)
    #expect(Asked(started.authorizationURL)["auth_type"] == "reauthenticate")
  }

  @Test(arguments: reservedParameters)
  func `check 66: a caller cannot set Facebook's protocol parameters`(name: String, reserved: String) async throws {
    #expect(await refusal { try await facebook().start(parameters: [name: "x"]) } == .reservedParameter(name: reserved))
  }

  @Test func `a flow returns the user, after its token was inspected`() async throws {
    let facebook = try facebook()
    let verified = try await facebook.finish()
    let redeemed = try #require(facebook.script.requests(to: tokenURL).first)
    #expect(redeemed.form?["client_id"] == "client-1")
    #expect(redeemed.form?["client_secret"] == "s3cret/+")
    #expect(verified.assertion.identity == IdentityKey(providerID: "facebook.com", subject: "10215241773831025"))
    #expect(verified.assertion.displayName == "Ann Example")
    #expect(verified.assertion.photoURL == "https://platform-lookaside.fbsbx.com/ann")
    #expect(verified.assertion.profileJSON == FacebookTests.profile)
    #expect(verified.own.accessToken == "EAAB1")
    #expect(verified.own.grantedScopes == ["public_profile"])
    #expect(verified.own.expiresInSeconds == 5000)
  }

  @Test func `every Graph call proves possession of the application's secret`() async throws {
    let facebook = try facebook()
    try await facebook.verify("EAAB2")
    let calls = facebook.script.requests
    #expect(calls.count == 2)
    #expect(calls[0].field("authorization") == nil)
    #expect(calls[0].url.hasPrefix(checkURL + "?input_token=EAAB2&access_token=client-1%7Cs3cret%2F%2B&"))
    #expect(calls[1].field("authorization") == nil && calls[1].query?["access_token"] == "EAAB2")
    #expect(calls[1].query?["fields"] == "id,name,email,picture")
    // HMAC-SHA256 of "client-1|s3cret/+" and of "EAAB2" under "s3cret/+", computed with Python's hmac.
    #expect(calls[0].query?["appsecret_proof"] == "aa514c170f4664c710417b1250ab97eb9e2d6dfcc94363036a0d5007fb6cbbad")
    #expect(calls[1].query?["appsecret_proof"] == "31955d9d7c242a7f74d2f85d4aadd7c55b2dd2d5643b1f8e8571f109343a6019")
    // The forms that could appear in a log.
    #expect(calls.allSatisfy { !"\($0)".contains("s3cret") && !"\($0)".contains("EAAB2") })
  }

  @Test func `an address is always unverified, whatever the profile contains (check 56)`() async throws {
    for more in ["", ",\"email_verified\":true", ",\"verified\":true"] {
      let facebook = try facebook()
      facebook.script.answer(
        profileURL, "{\"id\":\"10215241773831025\",\"email\":\"ann@gmail.com\"\(more)}")
      let assertion = try await facebook.verify("EAAB2").assertion
      #expect(assertion.email == "ann@gmail.com")
      #expect(assertion.tier == .unverified)
    }
  }

  @Test(arguments: ["{\"id\":\"10215241773831025\"}", "{\"id\":\"10215241773831025\",\"email\":null}"])
  func `a user who shares no address has none`(profile: String) async throws {
    let facebook = try facebook()
    facebook.script.answer(profileURL, profile)
    let assertion = try await facebook.verify("EAAB2").assertion
    #expect(assertion.email == nil)
    #expect(assertion.photoURL == "")
  }

  @Test(arguments: [.string("client-2"), .string("CLIENT-1"), .int(1), .null, nil] as [JSONValue?])
  func `check 47: a token of another application is refused`(applicationID: JSONValue?) async throws {
    let facebook = try facebook()
    facebook.script.answer(checkURL, FacebookTests.inspected(["app_id": applicationID]))
    #expect(await refusal { try await facebook.verify("EAAB2") }.isInvalid)
    #expect(facebook.script.requests(to: profileURL).isEmpty)
  }

  @Test func `the application's id may be a number, and is compared as text`() async throws {
    let facebook = try facebook { $0.clientIDs = ["1234567890123456789"] }
    facebook.script.answer(checkURL, FacebookTests.inspected(["app_id": .int(1_234_567_890_123_456_789)]))
    #expect(try await facebook.verify("EAAB2").assertion.identity.subject == "10215241773831025")
  }

  @Test func `the user's id may be a number, and is compared as text`() async throws {
    let facebook = try facebook()
    facebook.script.answer(checkURL, FacebookTests.inspected(["user_id": .int(10_215_241_773_831_025)]))
    #expect(try await facebook.verify("EAAB2").assertion.identity.subject == "10215241773831025")
    facebook.script.answer(checkURL, FacebookTests.inspected(["user_id": .int(10_215_241_773_831_024)]))
    #expect(await refusal { try await facebook.verify("EAAB2") }.isInvalid)
  }

  @Test(arguments: ["{\"id\":\"1\"}", "{\"id\":\"10215241773831024\"}"])
  func `check 47: a profile of another user than the token's is rejected`(profile: String) async throws {
    let facebook = try facebook()
    facebook.script.answer(profileURL, profile)
    #expect(await refusal { try await facebook.verify("EAAB2") }.isInvalid)
    #expect(await refusal { try await facebook.finish() }.isInvalid)
  }

  @Test(arguments: [
    ("is_valid", .bool(false)), ("is_valid", .string("true")), ("is_valid", nil), ("type", .string("PAGE")),
    ("type", .string("APP")), ("type", nil), ("user_id", nil), ("user_id", .string("")), ("user_id", .int(-1)),
  ] as [(String, JSONValue?)])
  func `check 47: a token that Facebook does not report as a valid user token is rejected`(
    name: String, value: JSONValue?
  ) async throws {
    let facebook = try facebook()
    facebook.script.answer(checkURL, FacebookTests.inspected([name: value]))
    #expect(await refusal { try await facebook.verify("EAAB2") }.isInvalid)
  }

  @Test(arguments: ["expires_at", "data_access_expires_at"])
  func `a token or a consent expires at its last second`(name: String) async throws {
    for (seconds, expected) in [(1, nil), (0, .expired), (-1, .expired)] as [(Int64, ProviderRefusal?)] {
      let facebook = try facebook()
      facebook.script.answer(checkURL, FacebookTests.inspected([name: .int(now.seconds + seconds)]))
      #expect(await refusal { try await facebook.verify("EAAB2") } == expected)
    }
    for never in [.int(0), nil] as [JSONValue?] {
      let facebook = try facebook()
      facebook.script.answer(checkURL, FacebookTests.inspected([name: never]))
      #expect(await refusal { try await facebook.verify("EAAB2") } == nil)
    }
  }

  @Test(arguments: [
    (Int64.max, nil), (Int64(Int32.max) + now.seconds + 1, nil), (Int64(Int32.max) + now.seconds, Int64(Int32.max)),
  ] as [(Int64, Int64?)])
  func `an expiry out of range is ignored`(expiresAt: Int64, seconds: Int64?) async throws {
    let facebook = try facebook()
    facebook.script.answer(checkURL, FacebookTests.inspected(["expires_at": .int(expiresAt)]))
    #expect(try await facebook.verify("EAAB2").own.expiresInSeconds == seconds)
  }

  @Test func `no error contains the token or the secret of the request's URL`() async throws {
    for fault in faults + brokenDocuments {
      let facebook = try facebook()
      facebook.script.answer(checkURL, fault)
      let refused = await refusal { try await facebook.verify("EAAB2") }
      let text = String(describing: refused)
      #expect(!text.contains("EAAB2") && !text.contains("s3cret"))
    }
  }

  @Test func `check 47: a token that Facebook only reports as another application's is rejected`() async throws {
    let facebook = try facebook()
    facebook.script.answer(checkURL, "{\"error\":{\"code\":100,\"type\":\"OAuthException\"}}", status: 400)
    #expect(await refusal { try await facebook.verify("EAAB2") }.isInvalid)
    #expect(facebook.script.requests(to: profileURL).isEmpty)
  }

  @Test(arguments: [(190, 463, ProviderRefusal.expired), (190, 460, .invalid(why: "Facebook's error 190"))])
  func `a token that expires between the two calls is reported with its reason`(
    code: Int, subcode: Int, expected: ProviderRefusal
  ) async throws {
    let facebook = try facebook()
    let answer = "{\"error\":{\"code\":\(code),\"error_subcode\":\(subcode)}}"
    facebook.script.answer(profileURL, answer, status: 401)
    #expect(await refusal { try await facebook.verify("EAAB2") } == expected)
  }

  @Test func `an error about the application's own token is not reported as the user's`() async throws {
    let facebook = try facebook()
    facebook.script.answer(checkURL, "{\"error\":{\"code\":190,\"type\":\"OAuthException\"}}", status: 400)
    #expect(await refusal { try await facebook.verify("EAAB2") }.isRefused)
  }

  @Test(arguments: [
    ("{\"error\":{\"code\":100,\"error_subcode\":36009}}", 400, "invalid"),
    ("{\"error\":{\"code\":1,\"message\":\"Error validating client secret.\"}}", 400, "refused"),
    ("{\"error\":{\"code\":4}}", 400, "unavailable"), ("{\"error\":{\"code\":100}}", 200, "invalid"),
    ("{\"error\":{}}", 400, "refused"),
  ])
  func `check 68: Facebook's errors are understood, whatever their status`(
    answer: String, status: Int, expected: String
  ) async throws {
    let facebook = try facebook()
    facebook.script.answer(tokenURL, answer, status: status)
    let refused = await refusal { try await facebook.finish() }
    let kinds = ["invalid": refused.isInvalid, "refused": refused.isRefused, "unavailable": refused.isUnavailable]
    #expect(kinds[expected] == true)
    #expect(facebook.script.requests(to: checkURL).isEmpty)
  }

  @Test func `a user who cancels the dialog has denied access`() async throws {
    let facebook = try facebook()
    let callback = ["code": nil, "error": "access_denied", "error_reason": "user_denied"]
    #expect(await refusal { try await facebook.finish(callback) }.isDenied)
  }

  @Test func `a dialog that rejects the request returns a number without an error name`()
    async throws
  {
    let facebook = try facebook()
    let callback = ["code": nil, "error_code": "1349048", "error_message": "Can't Load URL\n: The domain is not ours"]
    #expect(
      await refusal { try await facebook.finish(callback) }
        == .refused(why: "1349048: Can't Load URL: The domain is not ours"))
    let bare = ["code": nil, "error_code": "100"]
    #expect(await refusal { try await facebook.finish(bare) } == .refused(why: "100"))
    let foreign = callback.merging(["state": "another"]) { _, changed in changed }
    #expect(await refusal { try await facebook.finish(foreign) }.isFlowMismatch)
    #expect(facebook.script.requests.isEmpty)
    #expect(await refusal { try await facebook.finish(["error_code": "0"]) } == nil, "a code is one")
  }

  @Test(arguments: faults + brokenDocuments)
  func `check 68: any failure to get an answer makes Facebook unavailable`(
    fault: Result<FetchedBody, FetchError>
  ) async throws {
    for url in [tokenURL, checkURL, profileURL] {
      let facebook = try facebook()
      facebook.script.answer(url, fault)
      #expect(await refusal { try await facebook.finish() }.isUnavailable)
    }
  }

  @Test func `check 69: the error names a setting that Facebook requires or does not support`() throws {
    func refused(_ change: (inout ProviderSettings) -> Void) -> String? {
      do {
        _ = try Adapted("facebook.com", change)
        return nil
      } catch { return (error as? ProviderSettingsError)?.setting }
    }
    #expect(refused { _ in } == nil)
    #expect(refused { $0.client.secret = nil } == "client_secret_file")
    #expect(refused { $0.nonce = .optional } == "nonce")
    #expect(refused { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) } == "email_trust")
    #expect(refused { $0.clientIDs = ["a", "b"] } == "client_ids")
    let needed: [(WritableKeyPath<Endpoints, String>, String)] = [
      (\.authorization, "authorization_url"), (\.token, "token_url"), (\.profile, "profile_url"),
      (\.audienceCheck, "audience_check_url"),
    ]
    for (endpoint, setting) in needed {
      let lack = refused {
        $0.keys = .discovery(url: "https://www.facebook.com/.well-known/openid-configuration")
        $0.endpoints[keyPath: endpoint] = ""
      }
      #expect(lack == setting)
    }
  }
}

/// `facebook.com`: the ID tokens of Limited Login.
struct LimitedLoginTests {
  private let issuer = Issuer(issuer: "https://www.facebook.com", key: Keys.rsa, algorithm: .rs256)
  private let claims: [String: JSONValue?] = [
    "sub": .string("10215241773831025"), "nonce": .string("n1"), "email": .string("ann@gmail.com"),
    "name": .string("Ann Example"),
  ]

  private func verify(
    _ changes: [String: JSONValue?] = [:], rawNonce: String = "n1", by signer: Issuer? = nil
  ) async throws -> VerifiedToken {
    let facebook = try Adapted("facebook.com")
    facebook.script.answer(keysURL, .success(issuer.keySet()))
    let token = try (signer ?? issuer).token(claims.merging(changes) { $1 })
    return try await facebook.registry.verify(
      PresentedToken(idToken: token, rawNonce: rawNonce), of: "facebook.com", at: now)
  }

  @Test func `an ID token of Limited Login has the same subject as an access token, and can be used once`()
    async throws
  {
    let verified = try await verify()
    #expect(verified.assertion.identity == IdentityKey(providerID: "facebook.com", subject: "10215241773831025"))
    #expect(verified.assertion.displayName == "Ann Example")
    #expect(verified.toSpend != nil)
  }

  @Test(arguments: [nil, .bool(true), .string("true")] as [JSONValue?])
  func `check 56: the address of an ID token is always unverified`(claim: JSONValue?) async throws {
    let assertion = try await verify(["email_verified": claim]).assertion
    #expect(assertion.email == "ann@gmail.com")
    #expect(assertion.tier == .unverified)
  }

  @Test func `check 46: a nonce that is missing on either or both sides is rejected`() async throws {
    #expect(await refusal { try await verify(["nonce": nil], rawNonce: "") } == .missingOrInvalidNonce)
    #expect(await refusal { try await verify(["nonce": nil]) } == .missingOrInvalidNonce)
    #expect(await refusal { try await verify(rawNonce: "") } == .missingOrInvalidNonce)
    #expect(await refusal { try await verify(rawNonce: "n2") } == .missingOrInvalidNonce)
  }

  @Test func `check 40: an ID token for another application is refused`() async throws {
    #expect(await refusal { try await verify(["aud": .string("client-2")]) } == .invalid(why: "AUDIENCE"))
  }

  @Test(arguments: ["https://facebook.com", "https://www.facebook.com/", "https://limited.facebook.com"])
  func `check 42: another issuer is refused`(name: String) async throws {
    #expect(await refusal { try await verify(["iss": .string(name)]) } == .invalid(why: "ISSUER"))
  }

  @Test func `a token that was signed with another key is rejected`() async throws {
    let thief = Issuer(issuer: "https://www.facebook.com", key: Keys.otherP256, algorithm: .es256)
    #expect(await refusal { try await verify(by: thief) }.isInvalid)
  }
}
