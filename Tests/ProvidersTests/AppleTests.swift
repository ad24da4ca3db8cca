import Crypto
import HTTPClient
import Store
import Testing
import Tokens

@testable import Providers

struct AppleTests {
  private let issuer = Issuer(issuer: "https://appleid.apple.com", key: Keys.rsa, algorithm: .rs256)

  private func settings(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> ProviderSettings {
    var settings = try #require(ProviderSettings.standard(id: "apple.com"))
    settings.clientIDs = ["com.example.web", "com.example.app"]
    settings.client.privateKey = Keys.p256
    settings.client.keyID = "KEY1"
    settings.client.teamID = "TEAM1"
    change(&settings)
    return settings
  }

  private func bench(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> FlowBench {
    try FlowBench(try settings(change), issuer)
  }

  private func claims(_ bench: FlowBench, _ changes: [String: JSONValue?] = [:]) -> [String: JSONValue?] {
    bench.claims(["aud": .string("com.example.web"), "name": nil].merging(changes) { _, changed in changed })
  }

  @Test func `a flow begins at Apple and comes back as a form`() async throws {
    let started = try await bench().start(Flow.request(parameters: ["locale": "de_DE"], loginHint: "ann@corp.com"))
    #expect(started.responseMode == .formPost)
    #expect(
      started.authorizationURL
        == "https://appleid.apple.com/auth/authorize?client_id=com.example.web&locale=de_DE&nonce=\(Flow.nonce)"
        + "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_mode=form_post"
        + "&response_type=code&scope=openid%20email%20name&state=\(Flow.state)")
  }

  @Test func `X8: the transfer identifier comes from the signed token of Apple only`() async throws {
    let bench = try bench()
    for (claim, expected) in [
      (JSONValue.string("t-1"), "t-1"), (.string(""), ""), (.int(1), ""), (nil, ""),
      (.string(String(repeating: "t", count: 256)), ""),
    ] as [(JSONValue?, String)] {
      try bench.redeems(claims(bench, ["transfer_sub": claim]))
      #expect(try await bench.finish().assertion.transferSubject == expected)
    }
    let other = try FlowBench()
    try other.redeems(other.claims(["transfer_sub": .string("t-1")]))
    #expect(try await other.finish().assertion.transferSubject.isEmpty)
  }

  @Test func `the client secret is a JWT of the team that expires after minutes`()
    async throws
  {
    let bench = try bench()
    try bench.redeems(claims(bench))
    let verified = try await bench.finish()
    #expect(verified.assertion.identity == IdentityKey(providerID: "apple.com", subject: "person-1"))
    let form = Asked(form: bench.tokenRequest?.body)
    #expect(form["client_id"] == "com.example.web" && form["client_assertion"] == nil && form["code_verifier"] == nil)
    let secret = try JWS(try #require(form["client_secret"]))
    #expect(secret.algorithm == .es256 && secret.keyID == "KEY1")
    #expect(secret.isSigned(by: try Keys.p256.publicKey()))
    let claims = try secret.claims()
    #expect(claims["iss"] == .string("TEAM1") && claims["sub"] == .string("com.example.web"))
    #expect(claims["aud"] == .string("https://appleid.apple.com"))
    let life = try #require(claims["exp"]?.int) - now.seconds
    #expect(claims["iat"] == .int(now.seconds) && (1...15_777_000).contains(life))
  }

  @Test(arguments: [
    (.bool(true), .verified), (.string("true"), .verified), (.bool(false), .unverified),
    (.string("false"), .unverified),
    (.string("True"), .unverified), (.string("1"), .unverified), (.string("0"), .unverified), (.int(1), .unverified),
    (nil, .unverified),
  ] as [(JSONValue?, TrustTier)])
  func `check 55: Apple's email_verified may be the text true, and no other text`(
    claim: JSONValue?, tier: TrustTier
  ) async throws {
    let bench = try bench()
    try bench.redeems(claims(bench, ["email_verified": claim]))
    #expect(try await bench.finish().assertion.tier == tier)
  }

  @Test func `check 46: a native token has the hash of its nonce, and is valid once`() async throws {
    let bench = try bench()
    // The hash of "abc" (FIPS 180-4, example).
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    let token = try issuer.token(["aud": .string("com.example.app"), "nonce": .string(hash)])
    let verified = try await bench.registry.verify(
      PresentedToken(idToken: token, rawNonce: "abc"), of: "apple.com", at: now)
    #expect(verified.toSpend != nil)
    for nonce in ["", "abd", hash, hash.uppercased()] {
      await #expect(throws: ProviderRefusal.missingOrInvalidNonce) {
        try await bench.registry.verify(PresentedToken(idToken: token, rawNonce: nonce), of: "apple.com", at: now)
      }
    }
  }

  @Test(arguments: [
    (#"{"name":{"firstName":"Ann","lastName":"Example"},"email":"thief@corp.com"}"#, "Ann Example"),
    (#"{"name":{"givenName":"Ann","familyName":"Example"}}"#, "Ann Example"),
    (#"{"name":{"firstName":"Ann"}}"#, "Ann"), (#"{"name":"Ann"}"#, ""), ("Ann", ""), ("", ""), ("[]", ""),
  ] as [(String, String)])
  func `the name next to a native token is only a name`(user: String, name: String) async throws {
    let bench = try bench()
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    let token = try issuer.token([
      "aud": .string("com.example.app"), "nonce": .string(hash), "email": .string("ann@corp.com"),
    ])
    let assertion = try await bench.registry.verify(
      PresentedToken(idToken: token, rawNonce: "abc", userJSON: user), of: "apple.com", at: now
    ).assertion
    #expect(assertion.displayName == name && assertion.email == "ann@corp.com")
    #expect(assertion.identity.subject == "person-1")
  }

  @Test func `check 46: the ID token of a flow is spent, and is not accepted as a native token`() async throws {
    let bench = try bench()
    try bench.redeems(claims(bench))
    let verified = try await bench.finish()
    #expect(verified.toSpend != nil)
    let again = PresentedToken(idToken: verified.own.idToken, rawNonce: Flow.nonce)
    await #expect(throws: ProviderRefusal.missingOrInvalidNonce) {
      try await bench.registry.verify(again, of: "apple.com", at: now)
    }
  }

  @Test func `check 46: a native token without a nonce is refused`() async throws {
    let token = PresentedToken(idToken: try issuer.token(["aud": .string("com.example.app")]))
    let bench = try bench()
    await #expect(throws: ProviderRefusal.missingOrInvalidNonce) {
      try await bench.registry.verify(token, of: "apple.com", at: now)
    }
  }

  @Test func `check 40: a token for another application of another team is refused`() async throws {
    let token = try issuer.token(["aud": .string("com.thief.app"), "nonce": .string("n")])
    let bench = try bench()
    await #expect(throws: ProviderRefusal.invalid(why: "AUDIENCE")) {
      try await bench.registry.verify(PresentedToken(idToken: token, rawNonce: "n"), of: "apple.com", at: now)
    }
  }

  @Test(arguments: [
    (#"{"name":{"firstName":"Ann","lastName":"Example"},"email":"eve@corp.com"}"#, "Ann Example"),
    (#"{"name":{"firstName":"Ann"}}"#, "Ann"), (#"{"name":{"firstName":1}}"#, ""), ("{", ""), ("[]", ""),
    (#"{"name":{"firstName":"A\u0000"}}"#, "A"),
  ])
  func `the name in the form is used, and nothing else in it is trusted`(user: String, name: String) async throws {
    let bench = try bench()
    try bench.redeems(claims(bench))
    let assertion = try await bench.finish(Flow.callback(["user": user])).assertion
    #expect(assertion.displayName == name)
    #expect(assertion.email == "ann@corp.com" && assertion.identity.subject == "person-1")
  }

  @Test func `the field with the name has at most 4096 bytes`() {
    func user(_ count: Int) -> String {
      let head = #"{"name":{"firstName":"Ann"},"x":""#
      return head + String(repeating: "x", count: count - head.utf8.count - 2) + "\"}"
    }
    #expect(AppleProvider.name(in: user(4096)) == "Ann")
    #expect(AppleProvider.name(in: user(4097)) == "")
  }

  @Test func `check 69: a key without its team and its id, or of another kind, is refused`() throws {
    func refused(_ change: (inout ProviderSettings) -> Void) throws -> String? {
      do {
        _ = try Registry([try settings(change)], fetching: ScriptedFetcher())
        return nil
      } catch let error as ProviderSettingsError { return error.setting }
    }
    #expect(try refused { _ in } == nil)
    #expect(try refused { $0.client.teamID = "" } == "team_id")
    #expect(try refused { $0.client.keyID = "" } == "key_id")
    #expect(try refused { $0.client.privateKey = Keys.rsa } == "private_key_file")
    #expect(try refused { $0.client.authentication = .post } == "private_key_file")
    // Native tokens need no key.
    #expect(try refused { $0.client.privateKey = nil } == nil)
  }

  @Test func `a bare access token of Apple proves no audience`() async throws {
    let bench = try bench()
    await #expect {
      try await bench.registry.verify(PresentedToken(accessToken: "a"), of: "apple.com", at: now)
    } throws: { ($0 as? ProviderRefusal)?.name == "audienceUnverifiable" }
  }
}
