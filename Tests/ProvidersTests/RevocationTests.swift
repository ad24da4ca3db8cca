import Crypto
import Encodings
import HTTPClient
import Store
import Testing
import Tokens

@testable import Providers

/// The request by which each provider revokes a token.
struct `Revocation, each provider` {
  private static let providers = ["apple.com", "discord.com", "facebook.com", "github.com", "google.com", "oauth2.corp"]
  private static let urls = [
    "apple.com": "https://appleid.apple.com/auth/revoke", "discord.com": "https://discord.com/api/oauth2/token/revoke",
    "facebook.com": "https://graph.facebook.com/v25.0/me/permissions",
    "github.com": "https://api.github.com/applications/client-1/grant",
    "google.com": "https://oauth2.googleapis.com/revoke",
    "oauth2.corp": "https://corp.example/revoke",
  ]

  private func adapted(_ id: String) throws -> Adapted {
    let adapted = try Adapted(id) { settings in
      switch id {
      case "apple.com":
        settings.client.secret = nil
        settings.client.privateKey = Keys.p256
        settings.client.keyID = "KEY1"
        settings.client.teamID = "TEAM1"
        settings.clientIDs = ["com.example.web", "com.example.app"]
      case "google.com": settings.client.secret = nil
      case "oauth2.corp":
        settings.endpoints = Endpoints(
          authorization: "https://corp.example/authorize", token: "https://corp.example/token",
          profile: "https://corp.example/me", revocation: "https://corp.example/revoke")
      default: break
      }
    }
    let discovery = """
      {"issuer":"https://accounts.google.com","jwks_uri":"https://www.googleapis.com/oauth2/v3/certs",\
      "revocation_endpoint":"https://oauth2.googleapis.com/revoke"}
      """
    adapted.script.answer("https://accounts.google.com/.well-known/openid-configuration", discovery)
    adapted.script.answer("https://www.googleapis.com/oauth2/v3/certs", .success(Issuer().keySet()))
    return adapted
  }

  private func succeeds(_ id: String) -> (Int, String) {
    switch id {
    case "github.com": (204, "")
    case "facebook.com": (200, "{\"success\":true}")
    case "google.com", "discord.com": (200, "{}")
    default: (200, "")
    }
  }

  private func revoke(
    _ adapted: Adapted, _ text: String = "token-1", _ kind: RevocableToken.Kind = .accessToken, clientID: String = ""
  ) async throws -> FetchRequest {
    let url = try #require(Self.urls[adapted.id])
    try await adapted.registry.revoke(RevocableToken(text, kind, clientID: clientID), of: adapted.id, at: now)
    return try #require(adapted.script.requests(to: url).last)
  }

  @Test(arguments: providers)
  func `T4: the provider receives the request that it documents`(id: String) async throws {
    let adapted = try adapted(id)
    let (status, body) = succeeds(id)
    adapted.script.answer(try #require(Self.urls[id]), body, status: status)
    let request = try await revoke(adapted)
    let basic = "Basic " + Base64.padded(Array("client-1:s3cret%2F%2B".utf8))
    switch id {
    case "apple.com":
      let form = Asked(form: request.body)
      #expect(request.method == .post && form["token"] == "token-1" && form["token_type_hint"] == "access_token")
      #expect(form["client_id"] == "com.example.web")
      let secret = try JWS(try #require(form["client_secret"]))
      #expect(try secret.claims()["sub"] == .string("com.example.web") && secret.isSigned(by: Keys.p256.publicKey()))
    case "google.com":
      #expect(request.method == .post && Asked(form: request.body).parameters == ["token": "token-1"])
      #expect(request.field("authorization") == nil)
    case "facebook.com":
      #expect(request.method == .delete && request.body == nil && request.query?["access_token"] == "token-1")
      let proof = hmacSHA256(key: Secret(copying: Array("s3cret/+".utf8)), Array("token-1".utf8))
      #expect(request.query?["appsecret_proof"] == String(decoding: Hexadecimal.encode(proof), as: UTF8.self))
    case "github.com":
      #expect(request.method == .delete && request.body == Array("{\"access_token\":\"token-1\"}".utf8))
      #expect(request.field("authorization") == "Basic " + Base64.padded(Array("client-1:s3cret/+".utf8)))
    default:
      #expect(request.method == .post && request.field("authorization") == basic)
      #expect(Asked(form: request.body).parameters == ["token": "token-1", "token_type_hint": "access_token"])
    }
  }

  @Test(arguments: [
    ("apple.com", 200, ""), ("discord.com", 200, "{}"), ("google.com", 400, "{\"error\":\"invalid_token\"}"),
    ("facebook.com", 401, "{\"error\":{\"code\":190,\"error_subcode\":463}}"), ("github.com", 404, "{}"),
    ("github.com", 422, "{}"), ("oauth2.corp", 400, "{\"error\":\"INVALID_TOKEN\"}"),
  ])
  func `T5: a token that is invalid already is revoked`(id: String, status: Int, body: String) async throws {
    let adapted = try adapted(id)
    adapted.script.answer(try #require(Self.urls[id]), body, status: status)
    _ = try await revoke(adapted)
  }

  @Test(arguments: providers)
  func `T7: a fault of the provider is no revocation`(id: String) async throws {
    for fault in faults + [brokenDocuments[0]] {
      let adapted = try adapted(id)
      adapted.script.answer(try #require(Self.urls[id]), fault)
      #expect(await refusal { try await revoke(adapted) }.isUnavailable, "\(fault)")
    }
  }

  @Test func `T7: the endpoint's error decides`() async throws {
    let adapted = try adapted("oauth2.corp")
    func answers(_ status: Int, _ body: String) async -> ProviderRefusal? {
      adapted.script.answer("https://corp.example/revoke", body, status: status)
      return await refusal { try await revoke(adapted) }
    }
    #expect(await answers(401, "{\"error\":\"invalid_client\"}").isRefused)
    #expect(await answers(200, "{\"error\":\"invalid_client\"}").isRefused)
    #expect(await answers(403, "").isRefused)
    #expect(await answers(400, "{\"error\":\"temporarily_unavailable\"}").isUnavailable)
    #expect(await answers(400, "{\"error\":\"invalid_grant\"}").isInvalid)
    guard case .misconfigured(_, let fix) = await answers(404, "") else {
      Issue.record("a missing endpoint is a fault of the configuration")
      return
    }
    #expect(fix.contains("revocation_url"))
    let unsupported = await answers(400, "{\"error\":\"unsupported_token_type\"}")
    guard case .invalidParameter("token.kind", _) = unsupported else {
      Issue.record("\(String(describing: unsupported))")
      return
    }
    // The content of a successful answer does not count (RFC 7009, 2.2).
    #expect(await answers(200, "done") == nil)
  }

  @Test func `T7: Facebook and GitHub reject our application with their own errors`() async throws {
    let facebook = try adapted("facebook.com")
    facebook.script.answer(try #require(Self.urls["facebook.com"]), "{\"error\":{\"code\":1}}", status: 400)
    #expect(await refusal { try await revoke(facebook) }.isRefused)
    facebook.script.answer(try #require(Self.urls["facebook.com"]), "{\"error\":{\"code\":4}}", status: 400)
    #expect(await refusal { try await revoke(facebook) }.isUnavailable)
    facebook.script.answer(try #require(Self.urls["facebook.com"]), "{\"success\":false}")
    #expect(await refusal { try await revoke(facebook) }.isUnavailable)
    let github = try adapted("github.com")
    github.script.answer(try #require(Self.urls["github.com"]), "{}", status: 401)
    #expect(await refusal { try await revoke(github) }.isRefused)
    let limit = "{\"message\":\"API rate limit exceeded\"}"
    github.script.answer(try #require(Self.urls["github.com"]), limit, status: 403)
    #expect(await refusal { try await revoke(github) }.isUnavailable)
  }

  @Test(arguments: ["twitter.com", "yahoo.com", "microsoft.com", "linkedin.com", "oauth2.corp", "oidc.corp"])
  func `T2: a provider without an endpoint revokes nothing`(id: String) async throws {
    let adapted = try Adapted(id) { settings in
      if id == "oauth2.corp" {
        settings.endpoints = Endpoints(
          authorization: "https://corp.example/authorize", token: "https://corp.example/token",
          profile: "https://corp.example/me")
      }
      if id == "oidc.corp" || id == "microsoft.com" {
        settings.issuers = ["https://corp.example"]
        settings.keys = .jwks(url: "https://corp.example/keys")
        settings.endpoints.authorization = "https://corp.example/authorize"
        settings.endpoints.token = "https://corp.example/token"
      }
    }
    let token = RevocableToken("t", .accessToken)
    let refusal = await refusal { try await adapted.registry.revoke(token, of: id, at: now) }
    guard case .cannotRevoke = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(adapted.script.requests.isEmpty)
  }

  @Test func `T2: OpenID Connect needs our client's credentials`() async throws {
    let issuer = Issuer()
    var settings = issuer.settings
    settings.client.secret = nil
    let registry = try Registry([settings], fetching: ScriptedFetcher(issuer))
    let refusal = await refusal {
      try await registry.revoke(RevocableToken("t", .accessToken), of: "oidc.corp", at: now)
    }
    guard case .cannotRevoke = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
  }

  @Test func `T4: discovery names the endpoint of an OpenID provider`() async throws {
    let bench = try FlowBench(metadata: [
      "revocation_endpoint": .string("https://idp.example.com/revoke"),
      "token_endpoint_auth_methods_supported": .array([.string("client_secret_post")]),
    ])
    bench.answers("https://idp.example.com/revoke", text: "")
    try await bench.registry.revoke(RevocableToken("r-1", .refreshToken), of: bench.id, at: now)
    let form = Asked(form: bench.fetcher.requests.last?.body)
    #expect(form["token"] == "r-1" && form["token_type_hint"] == "refresh_token")
    #expect(form["client_secret"] == "s3cret: +")
  }

  @Test func `T3: a kind that the provider does not revoke, and a text that is no token`() async throws {
    for id in Self.providers {
      let adapted = try adapted(id)
      let kinds: Set<RevocableToken.Kind> = switch id {
      case "facebook.com", "github.com": [.accessToken]
      case "apple.com": [.accessToken, .refreshToken, .authorizationCode]
      default: [.accessToken, .refreshToken]
      }
      for kind in RevocableToken.Kind.allCases where !kinds.contains(kind) {
        let refusal = await refusal { try await revoke(adapted, "t", kind) }
        guard case .invalidParameter("token.kind", _) = refusal else {
          Issue.record("\(id) \(kind): \(String(describing: refusal))")
          continue
        }
      }
      for text in ["two words", "né", "line\nend"] {
        let refusal = await refusal { try await revoke(adapted, text) }
        guard case .invalidParameter("token.token", _) = refusal else {
          Issue.record("\(id) \(text): \(String(describing: refusal))")
          continue
        }
      }
      #expect(adapted.script.requests.isEmpty)
    }
  }
}

struct `Revocation at Apple` {
  private let issuer = Issuer(issuer: "https://appleid.apple.com", key: Keys.rsa, algorithm: .rs256)
  private let revokeURL = "https://appleid.apple.com/auth/revoke"

  private func bench() throws -> FlowBench {
    var settings = try #require(ProviderSettings.standard(id: "apple.com"))
    settings.clientIDs = ["com.example.web", "com.example.app"]
    settings.client.privateKey = Keys.p256
    settings.client.keyID = "KEY1"
    settings.client.teamID = "TEAM1"
    let bench = try FlowBench(settings, issuer)
    bench.answers(revokeURL, text: "")
    return bench
  }

  private func revoke(_ bench: FlowBench, _ token: RevocableToken) async throws -> [Asked] {
    try await bench.registry.revoke(token, of: "apple.com", at: now)
    return bench.fetcher.requests.map { Asked(form: $0.body) }
  }

  @Test func `T6: an authorization code is redeemed, and the refresh token is revoked`() async throws {
    let bench = try bench()
    try bench.redeems(bench.claims(), ["refresh_token": .string("r-1")])
    let token = RevocableToken("code-1", .authorizationCode, clientID: "com.example.app")
    let asked = try await revoke(bench, token)
    #expect(bench.fetcher.asked == [bench.tokenURL, revokeURL])
    // A native kit has no redirect. The secret is made for the application that has the code.
    #expect(asked[0]["code"] == "code-1" && asked[0]["redirect_uri"] == nil)
    #expect(asked.allSatisfy { $0["client_id"] == "com.example.app" })
    #expect(asked[1]["token"] == "r-1" && asked[1]["token_type_hint"] == "refresh_token")
    let secret = try JWS(try #require(asked[1]["client_secret"]))
    #expect(try secret.claims()["sub"] == .string("com.example.app"))
  }

  @Test func `T6: a code of the web has its redirect URI, and an answer may have only an access token`() async throws {
    let bench = try bench()
    try bench.redeems(bench.claims())
    let token = RevocableToken("code-1", .authorizationCode, redirectURI: Flow.redirectURI)
    let asked = try await revoke(bench, token)
    #expect(asked[0]["redirect_uri"] == Flow.redirectURI && asked[0]["client_id"] == "com.example.web")
    #expect(asked[1]["token"] == "access-1" && asked[1]["token_type_hint"] == "access_token")
  }

  @Test func `T6: a used code is invalid, and nothing is revoked`() async throws {
    let bench = try bench()
    bench.answers(bench.tokenURL, text: "{\"error\":\"invalid_grant\"}", status: 400)
    #expect(await refusal { try await revoke(bench, RevocableToken("code-1", .authorizationCode)) }.isInvalid)
    #expect(bench.fetcher.asked == [bench.tokenURL])
  }

  @Test func `T3: only a configured client has tokens`() async throws {
    let refusal = await refusal {
      try await revoke(try bench(), RevocableToken("t", .accessToken, clientID: "com.example.other"))
    }
    guard case .invalidParameter("token.client_id", _) = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
  }
}
