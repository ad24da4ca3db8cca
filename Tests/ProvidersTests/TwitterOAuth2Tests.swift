import Crypto
import Encodings
import HTTPClient
import Store
import Testing

@testable import Providers

private let tokenURL = "https://api.x.com/2/oauth2/token"
private let profileURL = "https://api.x.com/2/users/me"

/// `twitter.com` with OAuth 2, which the configuration can select.
struct TwitterOAuth2Tests {
  private static let profile = """
    {"data":{"id":"9007199254740993","name":"Ann Example","username":"ann_x",\
    "profile_image_url":"https://pbs.twimg.com/ann.jpg","confirmed_email":"ann@example.com"}}
    """

  private func twitter(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> Adapted {
    let adapted = try Adapted("twitter.com", flows: .oauth2, change)
    adapted.script.answer(
      tokenURL, """
        {"token_type":"bearer","expires_in":7200,"access_token":"access-1","scope":"users.read tweet.read users.email"}
        """)
    adapted.script.answer(profileURL, TwitterOAuth2Tests.profile)
    return adapted
  }

  @Test func `a flow begins with a proof key, and with the scopes of the profile`() async throws {
    let started = try await twitter().start(loginHint: "ann_x")
    #expect(
      started.authorizationURL == """
        https://x.com/i/oauth2/authorize?client_id=client-1&code_challenge=\(Flow.challenge)\
        &code_challenge_method=S256&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus\
        &response_type=code&scope=users.read%20tweet.read%20users.email&state=\(Flow.state)
        """)
    #expect(started.stateIsEchoed)
  }

  @Test(arguments: reservedParameters)
  func `check 66: a caller cannot set the protocol parameters of X OAuth 2`(
    name: String, reserved: String
  ) async throws {
    #expect(
      await refusal { try await twitter().start(parameters: [name: "x"]) } == .reservedParameter(name: reserved))
  }

  @Test func `the code is redeemed with the verifier and the client's id and secret`() async throws {
    let twitter = try twitter()
    let verified = try await twitter.finish()
    let redeemed = try #require(twitter.script.requests(to: tokenURL).first)
    #expect(redeemed.field("authorization") == "Basic " + Base64.padded(Array("client-1:s3cret%2F%2B".utf8)))
    #expect(redeemed.form?["code"] == Flow.code)
    #expect(redeemed.form?["code_verifier"] == Flow.verifier)
    #expect(redeemed.form?["redirect_uri"] == Flow.redirectURI)
    let asked = try #require(twitter.script.requests(to: profileURL).first)
    #expect(asked.query?["user.fields"] == "confirmed_email,profile_image_url")
    #expect(asked.field("authorization") == "Bearer access-1")
    #expect(verified.assertion.identity == IdentityKey(providerID: "twitter.com", subject: "9007199254740993"))
    #expect(verified.assertion.email == "ann@example.com")
    #expect(verified.assertion.displayName == "Ann Example")
    #expect(verified.assertion.username == "ann_x")
    #expect(verified.assertion.photoURL == "https://pbs.twimg.com/ann.jpg")
    #expect(verified.own.accessToken == "access-1")
    #expect(verified.own.expiresInSeconds == 7200)
    #expect(verified.own.grantedScopes == ["users.read", "tweet.read", "users.email"])
  }

  @Test(arguments: [
    ("Value passed for the authorization code was invalid.", true), ("Missing valid authorization header", false),
  ])
  func `check 67: X's error for a bad code is reported as an invalid code`(
    description: String, isInvalid: Bool
  ) async throws {
    let twitter = try twitter()
    twitter.script.answer(
      tokenURL, "{\"error\":\"invalid_request\",\"error_description\":\"\(description)\"}", status: 400)
    let refused = await refusal { try await twitter.finish() }
    #expect(refused.isInvalid == isInvalid && refused.isRefused == !isInvalid)
  }

  @Test(arguments: TrustTier.allCases)
  func `check 56: a confirmed address has the configured tier, and is unverified by default`(
    tier: TrustTier
  ) async throws {
    #expect(try await twitter().finish().assertion.tier == .unverified)
    let trusting = try twitter { $0.emailTrust = .asserted(tier, authoritativeDomains: []) }
    #expect(try await trusting.finish().assertion.tier == tier)
  }

  @Test func `the user name is never used as an address of X`() async throws {
    let twitter = try twitter { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) }
    twitter.script.answer(profileURL, "{\"data\":{\"id\":\"1\",\"username\":\"ann@example.com\"}}")
    let assertion = try await twitter.finish().assertion
    #expect(assertion.email == nil)
    #expect(assertion.tier == .unverified)
    #expect(assertion.username == "ann@example.com")
  }

  @Test(arguments: ["{\"data\":{\"id\":1}}", "{\"data\":{}}", "{\"errors\":[]}", "{\"data\":{\"id\":\"ann\"}}"])
  func `check 75: the id is a string of digits`(profile: String) async throws {
    let twitter = try twitter()
    twitter.script.answer(profileURL, profile)
    #expect(await refusal { try await twitter.finish() }.isUnavailable)
  }

  @Test func `check 49: a bare access token is rejected, and the error names the alternative`() async throws {
    let twitter = try twitter()
    for secret in ["", "secret"] {
      let hint = await refusal { try await twitter.verify("bearer-1", secret: secret) }.hint
      #expect(try #require(hint).contains("StartFlow"))
    }
    #expect(twitter.script.requests.isEmpty)
  }

  @Test(arguments: faults + brokenDocuments)
  func `check 68: any failure to get an answer makes X OAuth 2 unavailable`(
    fault: Result<FetchedBody, FetchError>
  ) async throws {
    for url in [tokenURL, profileURL] {
      let twitter = try twitter()
      twitter.script.answer(url, fault)
      #expect(await refusal { try await twitter.finish() }.isUnavailable)
    }
  }

  @Test func `check 69: a configuration without a proof key or a secret is rejected`() throws {
    func refused(_ change: (inout ProviderSettings) -> Void) -> String? {
      do {
        _ = try twitter(change)
        return nil
      } catch { return (error as? ProviderSettingsError)?.setting }
    }
    #expect(refused { $0.usesProofKey = false } == "proof_key")
    #expect(refused { $0.client.authentication = .post } == "client_authentication")
    #expect(refused { $0.client.secret = nil } == "client_secret_file")
  }
}
