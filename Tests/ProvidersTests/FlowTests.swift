import Crypto
import Encodings
import HTTPClient
import Providers
import Store
import Testing
import Tokens

/// Requirements on a redirect and on its ID token, by the numbers of the security checks.
struct FlowTests {
  @Test func `a flow ends in an assertion, the provider's tokens and the time of the login`() async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims(["auth_time": .int(now.seconds - 30), "picture": .string("https://img.example/a")]))
    let verified = try await bench.finish()
    #expect(verified.assertion.identity == IdentityKey(providerID: "oidc.corp", subject: "person-1"))
    #expect(verified.assertion.email == "ann@corp.com" && verified.assertion.tier == .unverified)
    #expect(verified.assertion.displayName == "Ann Example" && verified.assertion.photoURL == "https://img.example/a")
    #expect(verified.own.accessToken == "access-1")
    #expect(verified.authenticatedAt == later(seconds: -30))
    #expect(verified.toSpend == nil)
    // Metadata and keys, then the code. The ID token has everything, so there are no further requests.
    #expect(bench.fetcher.asked == [bench.issuer.discoveryURL, bench.issuer.keysURL, bench.tokenURL])
  }

  @Test(arguments: [nil, .string("soon"), .int(-1), .int(1_800_000_061)] as [JSONValue?])
  func `check 88: a login without a time, or with a future one, has no time`(time: JSONValue?) async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims(["auth_time": time]))
    #expect(try await bench.finish().authenticatedAt == nil)
  }

  @Test func `check 88: the time of a login within the skew is not later than now`() async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims(["auth_time": .int(now.seconds + 60)]))
    #expect(try await bench.finish().authenticatedAt == now)
  }

  @Test func `check 46: if a nonce is required, the ID token of a flow is spent like a native one`() async throws {
    let bench = try FlowBench { $0.nonce = .required }
    try bench.redeems(bench.claims())
    let verified = try await bench.finish()
    let kit = PresentedToken(idToken: verified.own.idToken, rawNonce: Flow.nonce)
    let presented = try await bench.registry.verify(kit, of: bench.id, at: now)
    #expect(verified.toSpend != nil && verified.toSpend == presented.toSpend)
  }

  // MARK: The redirect

  @Test(arguments: [nil, "", "state-other", Flow.state + " "])
  func `checks 61 and 62: a redirect with another state redeems no code`(state: String?) async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims())
    #expect(await bench.refusal(Flow.callback(["state": state]))?.name == "flowMismatch")
    #expect(bench.tokenRequest == nil)
  }

  @Test(arguments: [nil, "", "https://idp.example.com/", "https://other.example.com", "HTTPS://idp.example.com"])
  func `check 63: if the provider announces iss, a redirect without it or with another redeems no code`(
    issuer: String?
  ) async throws {
    let bench = try FlowBench(metadata: ["authorization_response_iss_parameter_supported": .bool(true)])
    try bench.redeems(bench.claims())
    #expect(await bench.refusal(Flow.callback(["iss": issuer]))?.name == "flowMismatch")
    #expect(bench.tokenRequest == nil)
    #expect(await bench.refusal(Flow.callback(["iss": bench.issuer.issuer])) == nil)
  }

  @Test func `check 63: an unannounced iss may be absent, but must not be another issuer's`() async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims())
    #expect(await bench.refusal() == nil)
    #expect(await bench.refusal(Flow.callback(["iss": "https://other.example.com"]))?.name == "flowMismatch")
  }

  @Test func `check 62: one provider's redirect does not complete a flow of another`() async throws {
    let (ours, thief) = (Issuer(), Issuer(issuer: "https://thief.example.com", key: Keys.otherP256))
    var settings = [ours.settings, thief.settings]
    settings[1].id = "oidc.thief"
    let fetcher = ScriptedFetcher()
    for index in settings.indices {
      let issuer = [ours, thief][index]
      settings[index].client.secret = Secret(copying: [1])
      settings[index].endpoints.authorization = issuer.issuer + "/authorize"
      settings[index].endpoints.token = issuer.issuer + "/token"
      fetcher.serve(issuer)
    }
    let registry = try Registry(settings, fetching: fetcher)
    // An attacker's issuer redirects the user with our code, to redeem it at its own endpoint; and the reverse.
    for (issuer, id) in [(ours, "oidc.thief"), (thief, "oidc.corp")] {
      await #expect(throws: ProviderRefusal.flowMismatch(why: "the response has another issuer")) {
        try await registry.finish(Flow.callback(["iss": issuer.issuer]), of: Flow.begun, at: id, at: now)
      }
    }
    #expect(!fetcher.asked.contains { $0.hasSuffix("/token") })
  }

  @Test func `check 64: the proof key of a flow is sent with its code`() async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims())
    try await bench.finish()
    #expect(Asked(form: bench.tokenRequest?.body)["code_verifier"] == Flow.verifier)
  }

  @Test func `check 63: configuration can require an unannounced iss`() async throws {
    let bench = try FlowBench { $0.requireResponseIssuer = true }
    try bench.redeems(bench.claims())
    #expect(await bench.refusal()?.name == "flowMismatch")
    #expect(await bench.refusal(Flow.callback(["iss": bench.issuer.issuer])) == nil)
  }

  @Test func `check 63: an error from another issuer does not end the flow`() async throws {
    let bench = try FlowBench()
    let callback = Flow.callback(["code": nil, "error": "access_denied", "iss": "https://other.example.com"])
    #expect(await bench.refusal(callback)?.name == "flowMismatch")
  }

  @Test(arguments: [
    ("access_denied", "denied"), ("user_cancelled_login", "denied"), ("user_cancelled_authorize", "denied"),
    ("login_required", "denied"), ("consent_required", "denied"), ("interaction_required", "denied"),
    ("account_selection_required", "denied"), ("server_error", "unavailable"),
    ("temporarily_unavailable", "unavailable"), ("invalid_scope", "refused"), ("unauthorized_client", "refused"),
    ("invalid_request", "refused"), ("made_up", "refused"), ("", "refused"),
  ])
  func `an error instead of a code means denied access, a provider fault or a wrong configuration`(
    error: String, name: String
  ) async throws {
    let bench = try FlowBench()
    // A code next to it is ignored.
    #expect(await bench.refusal(Flow.callback(["error": error, "error_description": "why\n"]))?.name == name)
    #expect(bench.tokenRequest == nil)
  }

  @Test(arguments: [nil, "", "line\n", "é", String(repeating: "c", count: 4097)])
  func `a redirect without a usable code redeems no code`(code: String?) async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims())
    #expect(await bench.refusal(Flow.callback(["code": code]))?.name == "invalid")
    #expect(bench.tokenRequest == nil)
  }

  @Test func `a code of 4096 bytes is redeemed`() async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims())
    #expect(await bench.refusal(Flow.callback(["code": String(repeating: "c", count: 4096)])) == nil)
  }

  @Test func `check 67: a spent code is rejected, and the first use leaves no state`() async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims())
    try await bench.finish()
    bench.answers(bench.tokenURL, ["error": .string("invalid_grant")], status: 400)
    #expect(await bench.refusal() == .invalid(why: "invalid_grant"))
  }

  // MARK: The ID token

  @Test func `check 40: an ID token for another audience does not complete a flow`() async throws {
    let bench = try FlowBench()
    #expect(try await bench.refusal(["aud": .string("client-2")]) == .invalid(why: "AUDIENCE"))
  }

  @Test func `check 40: an ID token for another configured client does not complete a flow`() async throws {
    let bench = try FlowBench { $0.clientIDs = ["client-1", "client-2"] }
    #expect(try await bench.refusal(["aud": .string("client-2")]) == .invalid(why: "AUDIENCE"))
    #expect(try await bench.refusal(["aud": .string("client-1")]) == nil)
  }

  @Test func `checks 42 and 45: an expired ID token, or one of another issuer, does not complete a flow`()
    async throws
  {
    let bench = try FlowBench()
    #expect(try await bench.refusal(["iss": .string("https://idp.example.com/")]) == .invalid(why: "ISSUER"))
    #expect(try await bench.refusal(["exp": .int(now.seconds - 60)]) == .expired)
  }

  @Test(arguments: [nil, .string(""), .string("nonce-other"), .int(1)] as [JSONValue?])
  func `check 46: the nonce of a flow must return as it was sent`(nonce: JSONValue?) async throws {
    #expect(try await FlowBench().refusal(["nonce": nonce]) == .missingOrInvalidNonce)
  }

  @Test func `check 46: a hash of the nonce is not the nonce of a flow`() async throws {
    let hash = sha256(Array(Flow.nonce.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(try await FlowBench().refusal(["nonce": .string(hash)]) == .missingOrInvalidNonce)
  }

  @Test func `check 46: an optional nonce must match if it is present`() async throws {
    let bench = try FlowBench { $0.flowNonceIsRequired = false }
    #expect(try await bench.refusal(["nonce": nil]) == nil)
    #expect(try await bench.refusal(["nonce": .string("nonce-other")]) == .missingOrInvalidNonce)
  }

  @Test func `check 52: an at_hash of another access token does not complete a flow`() async throws {
    let bench = try FlowBench()
    func hash(_ text: String) -> JSONValue { .string(Base64URL.encode(Array(sha256(Array(text.utf8)).prefix(16)))) }
    #expect(try await bench.refusal(["at_hash": hash("access-2")]) == .invalid(why: "ACCESS_TOKEN_HASH"))
    #expect(try await bench.refusal(["at_hash": hash("access-1")]) == nil)
    #expect(try await bench.refusal(["c_hash": hash("another code")]) == .invalid(why: "CODE_HASH"))
    #expect(try await bench.refusal(["c_hash": hash(Flow.code)]) == nil)
  }

  @Test func `a provider that sends no ID token has refused the request`() async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims(), ["id_token": nil])
    #expect(await bench.refusal() == .refused(why: "no usable ID token came with the access token"))
  }

  @Test func `check 53: a new key of an ID token is fetched immediately`() async throws {
    let bench = try FlowBench()
    try await _ = bench.start()
    var renewed = bench.issuer
    renewed.keyID = "k2"
    bench.fetcher.answer(bench.issuer.keysURL, .success(renewed.keySet()))
    bench.answers(
      bench.tokenURL,
      ["access_token": .string("access-1"), "id_token": .string(try renewed.token(bench.claims()))])
    let verified = try await bench.registry.finish(
      Flow.callback(), of: Flow.begun, at: bench.id, at: later(seconds: 1))
    #expect(verified.assertion.identity.subject == "person-1")
  }

  // MARK: The provider's metadata

  @Test(arguments: [
    ["authorization_endpoint": .string("http://idp.example.com/authorize")], ["token_endpoint": .string("/token")],
    ["authorization_endpoint": .string("urn:example:none")], ["token_endpoint": .int(1)], ["token_endpoint": .null],
    ["issuer": .string("https://idp.example.com/")],
  ] as [[String: JSONValue]])
  func `a flow without endpoints or with another issuer does not start, and the error names the fix`(
    metadata: [String: JSONValue]
  ) async throws {
    let bench = try FlowBench(metadata: metadata)
    await #expect {
      try await bench.start()
    } throws: { ($0 as? ProviderRefusal)?.name == "misconfigured" }
  }

  @Test(arguments: [
    .null, .string(""), .int(1), .string("urn:none"), .string("https://idp.example.com/#me"),
  ] as [JSONValue])
  func `a userinfo endpoint that is not an https URL is ignored`(endpoint: JSONValue) async throws {
    let bench = try FlowBench(metadata: ["userinfo_endpoint": endpoint])
    try bench.redeems(bench.claims(["name": nil]))
    #expect(try await bench.finish().assertion.displayName == "")
    #expect(!bench.fetcher.asked.contains(bench.profileURL))
  }

  @Test func `a flow needs endpoints from the metadata or the configuration`() async throws {
    let issuer = Issuer()
    var settings = issuer.settings
    settings.client.secret = Secret(copying: [1])
    let fetcher = ScriptedFetcher(issuer)
    await #expect(
      throws: ProviderRefusal.misconfigured(
        why: "the discovery document names no https authorization_endpoint", fix: "Set `authorization_url`.")
    ) {
      try await Registry([settings], fetching: fetcher).start(Flow.request(), at: "oidc.corp", at: now)
    }
    settings.endpoints.authorization = "https://pages.example.com/in"
    settings.endpoints.token = "https://pages.example.com/token"
    let started = try await Registry([settings], fetching: fetcher).start(Flow.request(), at: "oidc.corp", at: now)
    #expect(started.authorizationURL.hasPrefix("https://pages.example.com/in?client_id="))
  }

  @Test func `metadata is kept exactly as long as the keys`() async throws {
    let bench = try FlowBench()
    _ = try await bench.start()
    _ = try await bench.registry.start(Flow.request(), at: bench.id, at: later(seconds: 3599))
    #expect(bench.fetcher.asked.count == 2)
    bench.fetcher.answer(bench.issuer.discoveryURL, .failure(.timedOut))
    await #expect {
      _ = try await bench.registry.start(Flow.request(), at: bench.id, at: later(seconds: 3600))
    } throws: { ($0 as? ProviderRefusal)?.name == "unavailable" }
  }

  @Test func `a flow starts without a fetch if keys and endpoints are configured`() async throws {
    let bench = try FlowBench {
      $0.keys = .jwks(url: "https://idp.example.com/keys")
      $0.endpoints.authorization = "https://idp.example.com/authorize"
      $0.endpoints.token = "https://idp.example.com/token"
    }
    _ = try await bench.start()
    #expect(bench.fetcher.asked.isEmpty)
    try bench.redeems(bench.claims())
    try await bench.finish()
    #expect(bench.fetcher.asked == [bench.tokenURL, "https://idp.example.com/keys"])
  }
}
