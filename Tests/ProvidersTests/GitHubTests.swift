import Crypto
import Encodings
import HTTPClient
import Store
import Testing

@testable import Providers

private let tokenURL = "https://github.com/login/oauth/access_token"
private let profileURL = "https://api.github.com/user"
private let emailsURL = "https://api.github.com/user/emails"
private let checkURL = "https://api.github.com/applications/client-1/token"

/// `github.com`.
struct GitHubTests {
  private static let profile = """
    {"login":"ann","id":583231,"name":"Ann Example","email":"shown@example.com",\
    "avatar_url":"https://avatars.githubusercontent.com/u/583231"}
    """

  private func github(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> Adapted {
    let adapted = try Adapted("github.com", change)
    adapted.script.answer(tokenURL, "{\"access_token\":\"gho_1\",\"scope\":\"user:email\",\"token_type\":\"bearer\"}")
    adapted.script.answer(profileURL, GitHubTests.profile)
    adapted.script.answer(
      emailsURL, """
        [{"email":"old@example.com","primary":false,"verified":true},\
        {"email":"Ann@Example.com","primary":true,"verified":true}]
        """)
    adapted.script.answer(
      checkURL, """
        {"app":{"client_id":"client-1"},"token":"gho_1","scopes":["user:email","repo"],"user":{"id":583231}}
        """)
    return adapted
  }

  @Test func `a flow begins with a proof key and the scope for addresses`() async throws {
    let started = try await github().start(
      scopes: ["read:org"], parameters: ["allow_signup": "false", "prompt": "select_account"], loginHint: "ann")
    #expect(
      started.authorizationURL == """
        https://github.com/login/oauth/authorize?allow_signup=false&client_id=client-1\
        &code_challenge=\(Flow.challenge)&code_challenge_method=S256&login=ann&prompt=select_account\
        &redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_type=code\
        &scope=user%3Aemail%20read%3Aorg&state=\(Flow.state)
        """)
    #expect(started.stateIsEchoed)
  }

  @Test(arguments: reservedParameters)
  func `check 66: a caller cannot set GitHub's protocol parameters`(name: String, reserved: String) async throws {
    #expect(await refusal { try await github().start(parameters: [name: "x"]) } == .reservedParameter(name: reserved))
  }

  @Test(arguments: [["prompt": "none"], ["prompt": ""], ["login_hint": "ann"], ["hd": "example.com"]])
  func `other parameters are refused by name`(parameters: [String: String]) async throws {
    guard case .invalidParameter = await refusal({ try await github().start(parameters: parameters) }) else {
      Issue.record("\(parameters) passed")
      return
    }
  }

  @Test func `check 88: the sign-in and the fresh login use the same parameters`() async throws {
    let github = try github()
    for isFresh in [false, true] {
      let started = try await github.start(parameters: ["prompt": "select_account"], freshLogin: isFresh)
      #expect(started.authorizationURL.contains("&prompt=select_account&"))
    }
    #expect(
      await refusal { try await github.start(parameters: ["prompt": "none"], freshLogin: true) }
        == .invalidParameter(name: "custom_parameters", hint: "Omit `prompt` or use `select_account`."))
  }

  @Test func `a flow returns the user, with the number as the subject`() async throws {
    let github = try github()
    let verified = try await github.finish()
    let redeemed = try #require(github.script.requests(to: tokenURL).first)
    #expect(redeemed.field("accept") == "application/json")
    #expect(redeemed.form?["client_id"] == "client-1")
    #expect(redeemed.form?["client_secret"] == "s3cret/+")
    #expect(redeemed.form?["code_verifier"] == Flow.verifier)
    #expect(github.script.requests(to: profileURL).first?.field("authorization") == "Bearer gho_1")
    #expect(verified.assertion.identity == IdentityKey(providerID: "github.com", subject: "583231"))
    #expect(verified.assertion.email == "ann@example.com")
    #expect(verified.assertion.tier == .verified)
    #expect(verified.assertion.username == "ann")
    #expect(verified.assertion.displayName == "Ann Example")
    #expect(verified.assertion.photoURL == "https://avatars.githubusercontent.com/u/583231")
    #expect(verified.assertion.profileJSON == GitHubTests.profile)
    #expect(verified.own.accessToken == "gho_1")
    #expect(verified.own.grantedScopes == ["user:email"])
  }

  @Test(arguments: ["9007199254740993", "9223372036854775807"])
  func `ids past 2^53 are kept exactly`(id: String) async throws {
    let github = try github()
    github.script.answer(profileURL, "{\"login\":\"ann\",\"id\":\(id)}")
    #expect(try await github.finish().assertion.identity.subject == id)
  }

  @Test(arguments: [
    "{\"login\":\"ann\"}", "{\"id\":\"583231\"}", "{\"id\":0}", "{\"id\":-1}", "{\"id\":1.5}", "{\"id\":null}",
    "{\"id\":9223372036854775808}", "[]",
  ])
  func `a profile without an integer id is rejected, whatever its login`(
    profile: String
  ) async throws {
    let github = try github()
    github.script.answer(profileURL, profile)
    #expect(await refusal { try await github.finish() }.isUnavailable)
  }

  @Test(arguments: [
    "[]", "[{\"email\":\"a@example.com\",\"primary\":true,\"verified\":false}]",
    "[{\"email\":\"a@example.com\",\"primary\":false,\"verified\":true}]",
    "[{\"email\":\"a@example.com\",\"primary\":\"true\",\"verified\":\"true\"}]",
    "[{\"email\":\"a@example.com\",\"verified\":true}]", "[{\"primary\":true,\"verified\":true}]",
    "[{\"email\":\"1+ann@users.noreply.github.com\",\"primary\":true,\"verified\":true}]",
    "[{\"email\":\"ann@Users.NoReply.GitHub.com\",\"primary\":true,\"verified\":true}]",
  ])
  func `check 58: only an address that is primary and verified counts`(addresses: String) async throws {
    let github = try github()
    github.script.answer(emailsURL, addresses)
    let assertion = try await github.finish().assertion
    #expect(assertion.email == nil)
    #expect(assertion.tier == .unverified)
  }

  @Test(arguments: [(8192, nil), (8193, "refused")])
  func `an access token in a header has at most 8192 bytes`(count: Int, name: String?) async throws {
    let github = try github()
    let token = String(repeating: "a", count: count)
    github.script.answer(tokenURL, #"{"access_token":"\#(token)","scope":"user:email","token_type":"bearer"}"#)
    #expect(await refusal { try await github.finish() }?.name == name)
  }

  /// The addresses as GitHub pages them: the first `asked` ones.
  private func page(of count: Int, primaryAt place: Int?, asked: Int) -> String {
    let all = (0..<count).map { "{\"email\":\"a\($0)@example.com\",\"primary\":\($0 == place),\"verified\":true}" }
    return "[\(all.prefix(asked).joined(separator: ","))]"
  }

  @Test(arguments: [(29, nil), (30, 29), (31, 30), (99, 98), (100, 99), (99, nil)] as [(Int, Int?)])
  func `the primary address is found among a hundred (check 58)`(count: Int, place: Int?) async throws {
    let github = try github()
    github.script.answer(emailsURL, page(of: count, primaryAt: place, asked: 30))
    github.script.answer(emailsURL + "?per_page=100", page(of: count, primaryAt: place, asked: 100))
    #expect(try await github.finish().assertion.email == place.map { "a\($0)@example.com" })
  }

  @Test func `a primary address that may follow after a hundred is not treated as missing`() async throws {
    let github = try github()
    github.script.answer(emailsURL, page(of: 101, primaryAt: 100, asked: 30))
    github.script.answer(emailsURL + "?per_page=100", page(of: 101, primaryAt: 100, asked: 100))
    #expect(await refusal { try await github.finish() }.isUnavailable)
  }

  @Test(arguments: ["{}", "{\"error\":\"server_error\"}", "null", "\"a@example.com\""])
  func `an invalid list of addresses is not treated as empty`(addresses: String) async throws {
    let github = try github()
    github.script.answer(emailsURL, addresses)
    #expect(await refusal { try await github.finish() }.isUnavailable)
  }

  @Test(arguments: [403, 404])
  func `check 58: a user who does not share addresses signs in without one`(status: Int) async throws {
    let github = try github()
    github.script.answer(emailsURL, "{\"message\":\"Not Found\"}", status: status)
    for scope in ["", "repo,user:follow"] {
      github.script.answer(tokenURL, "{\"access_token\":\"gho_1\",\"scope\":\"\(scope)\",\"token_type\":\"bearer\"}")
      let verified = try await github.finish()
      #expect(verified.assertion.email == nil)
      #expect(verified.assertion.identity.subject == "583231")
    }
  }

  @Test(arguments: [403, 404], ["user:email", "repo,user"])
  func `addresses that are granted but not returned are not treated as missing`(
    status: Int, scope: String
  ) async throws {
    let github = try github()
    github.script.answer(tokenURL, "{\"access_token\":\"gho_1\",\"scope\":\"\(scope)\",\"token_type\":\"bearer\"}")
    github.script.answer(emailsURL, "{\"message\":\"API rate limit exceeded\"}", status: status)
    #expect(await refusal { try await github.finish() }.isUnavailable)
  }

  @Test(arguments: [403, 429], ["API rate limit exceeded for user ID 1.", "You have exceeded a secondary rate limit."])
  func `a rate limit of any GitHub call makes GitHub unavailable`(status: Int, message: String) async throws {
    for url in [profileURL, emailsURL, checkURL] {
      let github = try github()
      // Without a scope that includes email addresses.
      github.script.answer(tokenURL, "{\"access_token\":\"gho_1\",\"scope\":\"\",\"token_type\":\"bearer\"}")
      github.script.answer(url, "{\"message\":\"\(message)\"}", status: status)
      #expect(await refusal { try await github.verify("gho_1") }.isUnavailable)
      if url != checkURL { #expect(await refusal { try await github.finish() }.isUnavailable) }
    }
  }

  @Test func `an error that is not a rate limit is final`() async throws {
    let github = try github()
    github.script.answer(profileURL, "{\"message\":\"Resource not accessible\"}", status: 403)
    #expect(await refusal { try await github.finish() }.isInvalid)
    github.script.answer(checkURL, "{\"message\":\"Forbidden\"}", status: 403)
    #expect(await refusal { try await github.verify("gho_1") }.isRefused)
  }

  @Test(arguments: [
    ("bad_verification_code", ProviderRefusal.invalid(why: "bad_verification_code")),
    ("unverified_user_email", .denied(why: "unverified_user_email")),
    ("incorrect_client_credentials", .refused(why: "incorrect_client_credentials: no")),
    ("redirect_uri_mismatch", .refused(why: "redirect_uri_mismatch: no")),
  ])
  func `check 68: an error in an answer with status 200 is an error`(
    error: String, expected: ProviderRefusal
  ) async throws {
    let github = try github()
    github.script.answer(tokenURL, "{\"error\":\"\(error)\",\"error_description\":\"no\",\"access_token\":\"gho_1\"}")
    #expect(await refusal { try await github.finish() } == expected)
    #expect(github.script.requests(to: profileURL).isEmpty)
  }

  // MARK: Access tokens

  @Test func `an access token is accepted if GitHub confirms its application`() async throws {
    let github = try github()
    let verified = try await github.verify("gho_1")
    let asked = try #require(github.script.requests.first)
    #expect(asked.url == checkURL)
    #expect(asked.field("authorization") == "Basic " + Base64.padded(Array("client-1:s3cret/+".utf8)))
    #expect(asked.body == Array("{\"access_token\":\"gho_1\"}".utf8))
    #expect(verified.assertion.identity.subject == "583231")
    #expect(verified.own.accessToken == "gho_1")
    #expect(verified.own.grantedScopes == ["user:email", "repo"])
  }

  @Test(arguments: [404, 422])
  func `check 48: a token of another application is rejected even if its profile can be read`(
    status: Int
  ) async throws {
    let github = try github()
    github.script.answer(checkURL, "{\"message\":\"Not Found\"}", status: status)
    #expect(await refusal { try await github.verify("gho_foreign") }.isInvalid)
    #expect(github.script.requests(to: profileURL).isEmpty)
  }

  @Test(arguments: [
    "{\"app\":{\"client_id\":\"client-2\"}}", "{\"app\":{\"client_id\":\"CLIENT-1\"}}", "{\"app\":{}}", "{}",
  ])
  func `check 48: an answer about another application's token is refused`(answer: String) async throws {
    let github = try github()
    github.script.answer(checkURL, answer)
    #expect(await refusal { try await github.verify("gho_1") }.isInvalid)
  }

  @Test func `check 48: a profile of another user than the token's is rejected`() async throws {
    let github = try github()
    github.script.answer(checkURL, "{\"app\":{\"client_id\":\"client-1\"},\"user\":{\"id\":1}}")
    #expect(await refusal { try await github.verify("gho_1") }.isInvalid)
  }

  @Test func `rejected client credentials are not reported as a wrong token`() async throws {
    let github = try github()
    github.script.answer(checkURL, "{\"message\":\"Bad credentials\"}", status: 401)
    #expect(await refusal { try await github.verify("gho_1") }.isRefused)
  }

  @Test(arguments: ["a b", "gho\n", String(repeating: "g", count: 8193)])
  func `text that cannot be a token is not sent`(token: String) async throws {
    let github = try github()
    #expect(await refusal { try await github.verify(token) }.isInvalid)
    #expect(github.script.requests.isEmpty)
  }

  @Test func `an ID token of GitHub is rejected, and the error names the right credential`() async throws {
    let github = try github()
    let token = PresentedToken(idToken: "a.b.c")
    let hint = await refusal { try await github.registry.verify(token, of: "github.com", at: now) }.hint
    #expect(try #require(hint).contains("StartFlow"))
  }

  @Test(arguments: faults + brokenDocuments)
  func `check 68: any failure to get an answer makes GitHub unavailable`(
    fault: Result<FetchedBody, FetchError>
  ) async throws {
    for url in [tokenURL, profileURL, emailsURL, checkURL] {
      let github = try github()
      github.script.answer(url, fault)
      if url == checkURL {
        #expect(await refusal { try await github.verify("gho_1") }.isUnavailable)
      } else {
        #expect(await refusal { try await github.finish() }.isUnavailable)
      }
    }
  }
}
