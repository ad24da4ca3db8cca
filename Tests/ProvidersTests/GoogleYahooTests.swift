import Crypto
import Encodings
import HTTPClient
import Store
import Testing
import Tokens

@testable import Providers

private func configured(_ id: String, _ clientIDs: [String] = ["client-1"]) throws -> ProviderSettings {
  var settings = try #require(ProviderSettings.standard(id: id))
  settings.clientIDs = clientIDs
  settings.client.secret = Secret(copying: Array("s3cret".utf8))
  return settings
}

/// The URL at which Google names the audience of these tests' token.
private let checkURL = "https://oauth2.googleapis.com/tokeninfo?access_token=ya29.token"

struct GoogleTests {
  private let issuer = Issuer(issuer: "https://accounts.google.com", key: Keys.rsa, algorithm: .rs256)

  private func bench(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> FlowBench {
    var settings = try configured("google.com", ["client-1", "client-ios"])
    change(&settings)
    return try FlowBench(settings, issuer)
  }

  @Test func `a flow begins at Google, with the caller's allowed parameters`() async throws {
    let request = Flow.request(
      scopes: ["https://www.googleapis.com/auth/calendar.readonly"],
      parameters: ["hd": "corp.com", "access_type": "offline", "prompt": "consent"], loginHint: "ann@corp.com")
    #expect(
      try await bench().start(request).authorizationURL
        == "https://accounts.google.com/o/oauth2/v2/auth?access_type=offline&client_id=client-1"
        + "&code_challenge=\(Flow.challenge)&code_challenge_method=S256&hd=corp.com&login_hint=ann%40corp.com"
        + "&nonce=\(Flow.nonce)&prompt=consent&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus"
        + "&response_type=code&scope=openid%20email%20profile"
        + "%20https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcalendar.readonly"
        + "&state=\(Flow.state)")
  }

  @Test func `check 88: a fresh login shows the account chooser, since Google has no stronger prompt`()
    async throws
  {
    let asked = Asked(try await bench().start(Flow.request(freshLogin: true)).authorizationURL)
    #expect(asked["prompt"] == "select_account" && asked["max_age"] == nil)
  }

  @Test func `a flow is redeemed at Google's token endpoint`() async throws {
    let bench = try bench()
    try bench.redeems(bench.claims(["email": .string("ann@gmail.com")]))
    let verified = try await bench.finish()
    #expect(verified.assertion.identity == IdentityKey(providerID: "google.com", subject: "person-1"))
    #expect(verified.assertion.tier == .authoritative)
    #expect(bench.tokenRequest?.url == "https://oauth2.googleapis.com/token")
  }

  @Test func `check 63: Google's issuer may have a scheme in its response and none in its token`()
    async throws
  {
    let bench = try bench()
    try bench.redeems(bench.claims(["iss": .string("accounts.google.com")]))
    #expect(await bench.refusal(Flow.callback(["iss": "https://accounts.google.com"])) == nil)
    #expect(await bench.refusal(Flow.callback(["iss": "accounts.google.com"]))?.name == "flowMismatch")
  }

  @Test func `check 40: an ID token must be for a configured client`() async throws {
    let bench = try bench()
    for (audience, refusal) in [("client-ios", nil), ("client-3", ProviderRefusal.invalid(why: "AUDIENCE"))] {
      let token = PresentedToken(idToken: try issuer.token(["aud": .string(audience)]))
      var seen: ProviderRefusal?
      do {
        _ = try await bench.registry.verify(token, of: "google.com", at: now)
      } catch { seen = error as? ProviderRefusal }
      #expect(seen == refusal)
    }
  }

  @Test(arguments: [("corp.com", true), ("other.com", false), (nil, false), ("CORP.com", false)] as [(String?, Bool)])
  func `the token must name a configured organisation, whatever the request asked for`(
    domain: String?, isTaken: Bool
  ) async throws {
    let bench = try bench { $0.hostedDomains = ["corp.com"] }
    let refusal = try await bench.refusal(["hd": domain.map { .string($0) }])
    #expect(refusal == (isTaken ? nil : .wrongOrganisation(why: "HOSTED_DOMAIN")))
  }

  @Test(arguments: [
    ("corp.com", "corp.com", true), ("Corp.com", "corp.com", true), ("corp.com", "other.com", false),
    ("corp.com", nil, false), ("*", "corp.com", true), ("*", nil, false), ("*", "", false), (nil, nil, true),
    (nil, "corp.com", true),
  ] as [(String?, String?, Bool)])
  func `the token must name the organisation of the flow, even if the user changed the URL`(
    asked: String?, said: String?, isTaken: Bool
  ) async throws {
    let bench = try bench()
    let parameters = asked.map { ["hd": $0] } ?? [:]
    var flow = Flow.begun
    flow.kept = try await bench.start(Flow.request(parameters: parameters)).kept
    try bench.redeems(bench.claims(["hd": said.map { .string($0) }]))
    #expect(await bench.refusal(of: flow) == (isTaken ? nil : .wrongOrganisation(why: "HOSTED_DOMAIN")))
  }

  // MARK: Access tokens

  private func check(_ changes: [String: JSONValue?] = [:], profile: [String: JSONValue] = [:]) throws -> FlowBench {
    let bench = try bench { $0.hostedDomains = [] }
    var members: [String: JSONValue] = [
      "aud": .string("client-ios"), "azp": .string("client-ios"), "sub": .string("1234567890"),
      "exp": .string("\(now.seconds + 100)"), "expires_in": .string("100"), "email": .string("eve@gmail.com"),
      "email_verified": .string("true"), "scope": .string("openid email"),
    ]
    for (name, value) in changes { members[name] = value }
    bench.answers(checkURL, members)
    let person: [String: JSONValue] = [
      "sub": .string("1234567890"), "email": .string("ann@gmail.com"), "email_verified": .bool(true),
      "name": .string("Ann"),
    ]
    bench.answers(bench.profileURL, person.merging(profile) { _, changed in changed })
    return bench
  }

  private func refusal(_ bench: FlowBench, _ token: String = "ya29.token") async -> ProviderRefusal? {
    do {
      _ = try await bench.registry.verify(PresentedToken(accessToken: token), of: "google.com", at: now)
      return nil
    } catch { return error as? ProviderRefusal }
  }

  @Test func `an access token is accepted if Google confirms that it is for a configured client`() async throws {
    let bench = try check()
    let presented = PresentedToken(accessToken: "ya29.token")
    #expect(try bench.registry.verifyNow(presented, of: "google.com", at: now) == nil)
    let verified = try await bench.registry.verify(presented, of: "google.com", at: now)
    #expect(verified.assertion.identity.subject == "1234567890" && verified.assertion.email == "ann@gmail.com")
    #expect(verified.assertion.tier == .authoritative && verified.own.accessToken == "ya29.token")
    #expect(verified.own.expiresInSeconds == 100 && verified.own.grantedScopes == ["openid", "email"])
    #expect(bench.fetcher.asked == [checkURL, bench.profileURL])
    #expect(bench.fetcher.requests.first?.body == nil)
    // The forms that could appear in a log.
    #expect(bench.fetcher.requests.allSatisfy { !"\($0)".contains("ya29") })
  }

  @Test func `missing or excessive facts about an access token are not passed on`() async throws {
    let many = Array(repeating: "s", count: TokenAnswer.scopesMax + 1).joined(separator: " ")
    for (scope, count) in [(nil, 0), (.string(""), 0), (.int(1), 0), (.string(many), TokenAnswer.scopesMax)]
      as [(JSONValue?, Int)]
    {
      let bench = try check(["scope": scope, "exp": .int(.max)])
      let presented = PresentedToken(accessToken: "ya29.token")
      let own = try await bench.registry.verify(presented, of: "google.com", at: now).own
      #expect(own.grantedScopes.count == count && own.expiresInSeconds == nil)
    }
  }

  @Test func `a token is encoded in the URL`() async throws {
    let bench = try check()
    _ = await refusal(bench, "ya29.a&b=c+d")
    #expect(bench.fetcher.asked == ["https://oauth2.googleapis.com/tokeninfo?access_token=ya29.a%26b%3Dc%2Bd"])
  }

  @Test func `the profile is read from the endpoint of the discovery document`() async throws {
    let bench = try bench { $0.endpoints.profile = "" }
    let check: [String: JSONValue] = [
      "aud": .string("client-1"), "sub": .string("1"), "exp": .string("\(now.seconds + 100)"),
    ]
    bench.answers(checkURL, check)
    bench.answers("https://accounts.google.com/userinfo", ["sub": .string("1")])
    #expect(await refusal(bench) == nil)
  }

  @Test func `check 40: an access token for another client is rejected before the profile is read`()
    async throws
  {
    for (change, why) in [
      (["aud": .string("client-3")], "AUDIENCE"), (["aud": nil], "AUDIENCE"),
      (["azp": .string("client-3")], "AUTHORIZED_PARTY"), (["exp": nil], "EXPIRY_MISSING"),
    ] as [([String: JSONValue?], String)] {
      let bench = try check(change)
      #expect(await refusal(bench) == .invalid(why: why))
      #expect(!bench.fetcher.asked.contains(bench.profileURL))
    }
    #expect(await refusal(try check(["exp": .string("\(now.seconds)")])) == .expired)
    #expect(await refusal(try check(["exp": .int(now.seconds + 1)])) == nil)
  }

  @Test func `check 51: a profile of another subject is refused`() async throws {
    let refused = ProviderRefusal.invalid(why: "the profile belongs to another subject")
    #expect(await refusal(try check(profile: ["sub": .string("2")])) == refused)
    #expect(await refusal(try check(["sub": nil])) == refused)
  }

  @Test func `check 55: the text true does not verify an address at Google`() async throws {
    let bench = try check(profile: ["email_verified": .string("true")])
    let presented = PresentedToken(accessToken: "ya29.token")
    let assertion = try await bench.registry.verify(presented, of: "google.com", at: now).assertion
    #expect(assertion.tier == .unverified)
  }

  @Test func `an unknown token is invalid, and a missing answer from Google is not`() async throws {
    let bench = try check()
    bench.answers(checkURL, ["error": .string("invalid_token")], status: 400)
    #expect(await refusal(bench)?.name == "invalid")
    bench.answers(checkURL, text: "<html>", status: 502)
    #expect(await refusal(bench)?.name == "unavailable")
    #expect(await refusal(bench, "line\nend")?.name == "invalid")
  }
}

struct YahooTests {
  private let issuer = Issuer(issuer: "https://api.login.yahoo.com")

  private func bench(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> FlowBench {
    var settings = try configured("yahoo.com")
    change(&settings)
    return try FlowBench(settings, issuer)
  }

  @Test func `a flow begins at Yahoo, with scopes and parameters of the caller`() async throws {
    let request = Flow.request(scopes: ["mail-r"], parameters: ["language": "de-de", "prompt": "login"])
    #expect(
      try await bench().start(request).authorizationURL
        == "https://api.login.yahoo.com/oauth2/request_auth?client_id=client-1&code_challenge=\(Flow.challenge)"
        + "&code_challenge_method=S256&language=de-de&nonce=\(Flow.nonce)&prompt=login"
        + "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_type=code"
        + "&scope=openid%20email%20profile%20mail-r&state=\(Flow.state)")
  }

  @Test func `a flow is redeemed with Basic authentication`() async throws {
    let bench = try bench()
    try bench.redeems(bench.claims(["email": .string("ann@yahoo.co.uk")]))
    let verified = try await bench.finish()
    #expect(verified.assertion.identity == IdentityKey(providerID: "yahoo.com", subject: "person-1"))
    #expect(verified.assertion.tier == .authoritative)
    let request = try #require(bench.tokenRequest)
    #expect(request.url == "https://api.login.yahoo.com/oauth2/get_token")
    #expect(request.fields.contains(.init("authorization", "Basic " + Base64.padded(Array("client-1:s3cret".utf8)))))
  }

  @Test func `an error of Yahoo in capitals counts as an invalid code`() async throws {
    let bench = try bench()
    bench.answers(bench.tokenURL, ["error": .string("INVALID_GRANT")], status: 400)
    #expect(await bench.refusal() == .invalid(why: "INVALID_GRANT"))
  }

  @Test(arguments: ["ann@corp.com", "ann@yahoo.co.jp", "ann@yahoo.com.example.org", "ann@notyahoo.com"])
  func `an address outside Yahoo's domains is unverified`(email: String) async throws {
    let bench = try bench()
    try bench.redeems(bench.claims(["email": .string(email)]))
    #expect(try await bench.finish().assertion.tier == .unverified)
  }

  @Test func `check 40: an ID token of Yahoo for another audience does not complete a flow`() async throws {
    #expect(try await bench().refusal(["aud": .string("client-2")]) == .invalid(why: "AUDIENCE"))
    #expect(try await bench().refusal(["iss": .string("https://auth.login.yahoo.co.jp")]) == .invalid(why: "ISSUER"))
  }

  @Test(arguments: [PresentedToken(accessToken: "bare"), PresentedToken(idToken: "a.b.c")])
  func `check 49: a token without a provable audience is rejected, and the error names the alternative`(
    token: PresentedToken
  ) async throws {
    let bench = try bench()
    await #expect {
      try await bench.registry.verify(token, of: "yahoo.com", at: now)
    } throws: { error in
      guard case .audienceUnverifiable(let hint) = error as? ProviderRefusal else { return false }
      return hint.contains("StartFlow")
    }
    #expect(bench.fetcher.asked.isEmpty)
  }

  @Test func `check 69: Yahoo without a client secret is rejected by the configuration`() throws {
    #expect {
      var settings = try configured("yahoo.com")
      settings.client.secret = nil
      try settings.check()
    } throws: { ($0 as? ProviderSettingsError)?.setting == "client_secret_file" }
  }
}
