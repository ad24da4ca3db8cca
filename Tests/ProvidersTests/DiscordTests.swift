import Crypto
import Encodings
import HTTPClient
import Store
import Testing

@testable import Providers

private let tokenURL = "https://discord.com/api/oauth2/token"
private let profileURL = "https://discord.com/api/users/@me"
private let checkURL = "https://discord.com/api/oauth2/@me"

/// `discord.com`.
struct DiscordTests {
  private static func profile(_ more: String = ",\"email\":\"Ann@Example.com\",\"verified\":true") -> String {
    """
    {"id":"80351110224678912","username":"ann","global_name":"Ann","avatar":"8342729096ea3675442027381ff50dfe"\(more)}
    """
  }

  private func discord(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> Adapted {
    let adapted = try Adapted("discord.com", change)
    adapted.script.answer(
      tokenURL, """
        {"access_token":"access-1","token_type":"Bearer","expires_in":604800,"refresh_token":"refresh-1",\
        "scope":"identify email"}
        """)
    adapted.script.answer(profileURL, DiscordTests.profile())
    adapted.script.answer(
      checkURL, """
        {"application":{"id":"client-1"},"scopes":["identify","email"],"user":{"id":"80351110224678912"}}
        """)
    return adapted
  }

  @Test func `a flow begins with a proof key`() async throws {
    let started = try await discord().start(parameters: ["prompt": "none"], loginHint: "ann")
    #expect(
      started.authorizationURL == """
        https://discord.com/oauth2/authorize?client_id=client-1&code_challenge=\(Flow.challenge)\
        &code_challenge_method=S256&prompt=none&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus\
        &response_type=code&scope=identify%20email&state=\(Flow.state)
        """)
    let fresh = try await discord().start(freshLogin: true)
    #expect(fresh.authorizationURL.contains("&prompt=consent&"))
  }

  @Test(arguments: reservedParameters)
  func `check 66: a caller cannot set Discord's protocol parameters`(name: String, reserved: String) async throws {
    #expect(await refusal { try await discord().start(parameters: [name: "x"]) } == .reservedParameter(name: reserved))
  }

  @Test func `a flow returns the user`() async throws {
    let discord = try discord()
    let verified = try await discord.finish()
    let redeemed = try #require(discord.script.requests(to: tokenURL).first)
    #expect(redeemed.field("authorization") == "Basic " + Base64.padded(Array("client-1:s3cret%2F%2B".utf8)))
    #expect(redeemed.form?["code_verifier"] == Flow.verifier)
    #expect(verified.assertion.identity == IdentityKey(providerID: "discord.com", subject: "80351110224678912"))
    #expect(verified.assertion.email == "ann@example.com")
    #expect(verified.assertion.tier == .verified)
    #expect(verified.assertion.displayName == "Ann")
    #expect(verified.assertion.username == "ann")
    #expect(
      verified.assertion.photoURL
        == "https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea3675442027381ff50dfe.png")
    #expect(verified.own.refreshToken == "refresh-1")
    #expect(verified.own.grantedScopes == ["identify", "email"])
  }

  @Test(arguments: [
    ",\"email\":\"ann@example.com\",\"verified\":false", ",\"email\":\"ann@example.com\"",
    ",\"email\":\"ann@example.com\",\"verified\":\"true\"", ",\"email\":\"ann@example.com\",\"verified\":null",
  ])
  func `check 59: an address that Discord has not verified is unverified`(more: String) async throws {
    let discord = try discord()
    discord.script.answer(profileURL, DiscordTests.profile(more))
    let assertion = try await discord.finish().assertion
    #expect(assertion.email == "ann@example.com")
    #expect(assertion.tier == .unverified)
  }

  @Test(arguments: ["", ",\"email\":null,\"verified\":true"])
  func `a user without an address has none`(more: String) async throws {
    let discord = try discord()
    discord.script.answer(profileURL, DiscordTests.profile(more))
    #expect(try await discord.finish().assertion.email == nil)
  }

  @Test(arguments: ["{\"id\":80351110224678912}", "{\"id\":\"ann\"}", "{\"username\":\"ann\"}", "[]"])
  func `the id must be a string of digits, and not a number`(profile: String) async throws {
    let discord = try discord()
    discord.script.answer(profileURL, profile)
    #expect(await refusal { try await discord.finish() }.isUnavailable)
  }

  @Test(arguments: ["null", "\"../../evil\"", "\"a.png?x\"", "\"\"", "1"])
  func `an avatar that is not a file name gives no photo URL`(avatar: String) async throws {
    let discord = try discord()
    discord.script.answer(profileURL, "{\"id\":\"1\",\"username\":\"ann\",\"global_name\":null,\"avatar\":\(avatar)}")
    let assertion = try await discord.finish().assertion
    #expect(assertion.photoURL == "")
    #expect(assertion.displayName == "ann")
  }

  // MARK: Access tokens

  @Test func `an access token is accepted if Discord confirms its application`() async throws {
    let discord = try discord()
    let verified = try await discord.verify("access-2")
    #expect(discord.script.requests.map(\.url) == [checkURL, profileURL])
    #expect(discord.script.requests.first?.field("authorization") == "Bearer access-2")
    #expect(verified.assertion.identity.subject == "80351110224678912")
    #expect(verified.own.accessToken == "access-2")
    #expect(verified.own.grantedScopes == ["identify", "email"])
  }

  @Test(arguments: [
    "{\"application\":{\"id\":\"client-2\"},\"user\":{\"id\":\"80351110224678912\"}}",
    "{\"application\":{\"id\":1},\"user\":{\"id\":\"80351110224678912\"}}", "{\"application\":{}}", "{}",
  ])
  func `check 50: a token of another application is refused`(answer: String) async throws {
    let discord = try discord()
    discord.script.answer(checkURL, answer)
    #expect(await refusal { try await discord.verify("access-2") }.isInvalid)
    #expect(discord.script.requests(to: profileURL).isEmpty)
  }

  @Test func `check 50: a profile of another user than the token's is rejected`() async throws {
    let discord = try discord()
    discord.script.answer(checkURL, "{\"application\":{\"id\":\"client-1\"},\"user\":{\"id\":\"1\"}}")
    #expect(await refusal { try await discord.verify("access-2") }.isInvalid)
  }

  @Test func `a token without the scope identify is rejected before the profile is requested`() async throws {
    let discord = try discord()
    discord.script.answer(checkURL, "{\"application\":{\"id\":\"client-1\"},\"scopes\":[\"guilds\"]}")
    #expect(await refusal { try await discord.verify("access-2") }.isInvalid)
    #expect(discord.script.requests(to: profileURL).isEmpty)
  }

  @Test func `an unknown token is rejected`() async throws {
    let discord = try discord()
    discord.script.answer(checkURL, "{\"message\":\"401: Unauthorized\"}", status: 401)
    #expect(await refusal { try await discord.verify("access-2") }.isInvalid)
  }

  @Test(arguments: faults + brokenDocuments)
  func `check 68: any failure to get an answer makes Discord unavailable`(
    fault: Result<FetchedBody, FetchError>
  ) async throws {
    for url in [tokenURL, profileURL, checkURL] {
      let discord = try discord()
      discord.script.answer(url, fault)
      if url == checkURL {
        #expect(await refusal { try await discord.verify("access-2") }.isUnavailable)
      } else {
        #expect(await refusal { try await discord.finish() }.isUnavailable)
      }
    }
  }
}
