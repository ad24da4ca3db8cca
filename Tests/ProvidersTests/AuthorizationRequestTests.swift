import Crypto
import Providers
import Testing
import Tokens

/// The authorization request (RFC 6749, 4.1.1; RFC 7636; checks 64 and 66).
struct AuthorizationRequestTests {
  private func refusal(_ flow: FlowRequest, _ change: (inout ProviderSettings) -> Void = { _ in }) async throws
    -> ProviderRefusal?
  {
    do {
      _ = try await FlowBench { change(&$0) }.start(flow)
      return nil
    } catch { return error as? ProviderRefusal }
  }

  @Test func `a URL has the parameters of the flow, in the order of their names`() async throws {
    let started = try await FlowBench().start()
    #expect(
      started.authorizationURL == "https://idp.example.com/authorize?client_id=client-1"
        + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256"
        + "&nonce=nonce-8e7d6c5b4a392817f6e5d4c3b2a190817263"
        + "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_type=code"
        + "&scope=openid%20email%20profile&state=state-3f1c9d0a7b5e4c2d8f6a1b0c9d8e7f6a5b4")
    #expect(started.responseMode == .query && started.stateIsEchoed && started.kept == "")
  }

  @Test func `check 64: the challenge is S256 of the verifier, as in RFC 7636, Appendix B`() async throws {
    let asked = Asked(try await FlowBench().start().authorizationURL)
    #expect(asked["code_challenge"] == Flow.challenge && asked["code_challenge_method"] == "S256")
  }

  @Test(arguments: [42, 129])
  func `check 64: a verifier that is too short or too long starts nothing`(count: Int) async throws {
    var flow = Flow.request()
    flow.codeVerifier = String(repeating: "a", count: count)
    #expect(try await refusal(flow)?.name == "invalid")
  }

  @Test(arguments: [43, 128])
  func `check 64: verifiers of 43 to 128 characters are taken`(count: Int) async throws {
    var flow = Flow.request()
    flow.codeVerifier = String(repeating: "~", count: count)
    #expect(try await refusal(flow) == nil)
    flow.codeVerifier = String(repeating: "+", count: count)
    #expect(try await refusal(flow)?.name == "invalid")
  }

  @Test func `an existing query of the endpoint stays in front`() async throws {
    let bench = try FlowBench { $0.endpoints.authorization = "https://idp.example.com/authorize?realm=a%20b" }
    let url = try await bench.start().authorizationURL
    #expect(url.hasPrefix("https://idp.example.com/authorize?realm=a%20b&client_id=client-1&"))
  }

  @Test(arguments: [
    "client_id", "client_secret", "response_type", "response_mode", "redirect_uri", "scope", "state", "nonce", "code",
    "code_challenge", "code_challenge_method", "code_verifier", "grant_type", "request", "request_uri", "registration",
    "id_token_hint", "max_age",
  ])
  func `check 66: a caller cannot set a parameter of the protocol, in any case`(name: String) async throws {
    for spelling in [name, name.uppercased(), name.prefix(1).uppercased() + name.dropFirst()] {
      // Rejected even if the configuration allows it.
      let refused = try await refusal(Flow.request(parameters: [spelling: "x"])) { $0.callerParameters = [spelling] }
      #expect(refused == .reservedParameter(name: name))
    }
  }

  @Test(arguments: [
    ("client_assertion", "client_assertion*"), ("Client_Assertion_Type", "client_assertion*"),
    ("oauth_token", "oauth_*"), ("OAUTH_\n", "oauth_*"),
  ])
  func `check 66: a caller cannot set a parameter with a prefix of client assertions or OAuth 1.0a`(
    name: String, reserved: String
  ) async throws {
    let refused = try await refusal(Flow.request(parameters: [name: "x"])) { $0.callerParameters = [name] }
    #expect(refused == .reservedParameter(name: reserved))
  }

  @Test func `check 66: a caller can set only the allowed parameters of the provider`() async throws {
    let allowed: (inout ProviderSettings) -> Void = { $0.callerParameters = ["prompt", "ui_locales"] }
    let bench = try FlowBench { allowed(&$0) }
    let asked = Asked(try await bench.start(Flow.request(parameters: ["ui_locales": "de en"])).authorizationURL)
    #expect(asked["ui_locales"] == "de en")
    for name in ["Prompt", "display", "", "a&b=c"] {
      let refused = try await refusal(Flow.request(parameters: [name: "x"]), allowed)
      #expect(
        refused
          == .invalidParameter(
            name: "custom_parameters", hint: "Parameters that callers may set for oidc.corp: prompt, ui_locales."))
    }
    #expect(
      try await refusal(Flow.request(parameters: ["prompt": "none"]))
        == .invalidParameter(name: "custom_parameters", hint: "Parameters that callers may set for oidc.corp: none."))
  }

  @Test func `a caller's parameter never replaces a parameter of the flow`() async throws {
    let allowed: (inout ProviderSettings) -> Void = { $0.callerParameters = ["prompt", "login_hint"] }
    for prompt in ["none", "login none", " none"] {
      let fresh = Flow.request(parameters: ["prompt": prompt], freshLogin: true)
      #expect(
        try await refusal(fresh, allowed)
          == .invalidParameter(name: "custom_parameters", hint: "Omit `prompt=none` from a reauthentication."))
    }
    let hinted = Flow.request(parameters: ["login_hint": "b@corp.com"], loginHint: "a@corp.com")
    #expect(
      try await refusal(hinted, allowed)
        == .invalidParameter(
          name: "custom_parameters", hint: "Omit login_hint: this flow sets it to another value."))
  }

  @Test func `a duplicate hint is accepted if both values are the same`() async throws {
    let bench = try FlowBench { $0.callerParameters = ["login_hint"] }
    let flow = Flow.request(parameters: ["login_hint": "ann@corp.com"], loginHint: "ann@corp.com")
    #expect(Asked(try await bench.start(flow).authorizationURL)["login_hint"] == "ann@corp.com")
  }

  @Test(arguments: ["select_account", "consent", "login"])
  func `check 88: a caller's prompt cannot weaken a fresh login`(
    prompt: String
  ) async throws {
    let bench = try FlowBench { $0.callerParameters = ["prompt"] }
    let usual = try await bench.start(Flow.request(parameters: ["prompt": prompt]))
    #expect(Asked(usual.authorizationURL)["prompt"] == prompt)
    let fresh = try await bench.start(Flow.request(parameters: ["prompt": prompt], freshLogin: true))
    let asked = Asked(fresh.authorizationURL)
    #expect(asked["prompt"] == "login" && asked["max_age"] == "1")
    // A parameter that the provider reserves is not dropped silently either.
    let forbidden = try await refusal(Flow.request(parameters: ["prompt": prompt], freshLogin: true))
    #expect(forbidden?.name == "invalidParameter")
  }

  @Test(arguments: ["", "a\nb", "a\0", "\u{85}"])
  func `a parameter's value must not be empty or contain control characters`(value: String) async throws {
    let refused = try await refusal(Flow.request(parameters: ["prompt": value])) { $0.callerParameters = ["prompt"] }
    #expect(refused?.name == "invalidParameter")
    // An empty hint counts as none.
    guard !value.isEmpty else { return }
    #expect(
      try await refusal(Flow.request(loginHint: value))
        == .invalidParameter(name: "login_hint", hint: "It must not be empty or contain control characters."))
  }

  @Test func `a caller's scopes follow the basic ones, each once`() async throws {
    let bench = try FlowBench { $0.scopes = ["email"] }
    let flow = Flow.request(scopes: ["calendar.read", "email", "openid", "calendar.read"])
    #expect(Asked(try await bench.start(flow).authorizationURL)["scope"] == "openid email calendar.read")
  }

  @Test(arguments: ["", "a b", "a\"b", "a\\b", "é", "a\n"])
  func `a scope that RFC 6749 does not allow is rejected`(scope: String) async throws {
    #expect(
      try await refusal(Flow.request(scopes: [scope]))
        == .invalidParameter(name: "scopes", hint: "A scope must have one or more visible ASCII characters."))
  }

  @Test func `a scope of 256 characters is accepted`() async throws {
    #expect(try await refusal(Flow.request(scopes: [String(repeating: "s", count: 256)])) == nil)
  }

  @Test func `check 88: a fresh login requests immediate authentication`() async throws {
    let asked = Asked(try await FlowBench().start(Flow.request(freshLogin: true)).authorizationURL)
    #expect(asked["prompt"] == "login" && asked["max_age"] == "1")
    #expect(Asked(try await FlowBench().start().authorizationURL)["prompt"] == nil)
  }

  @Test func `a login hint is passed on`() async throws {
    let asked = Asked(try await FlowBench().start(Flow.request(loginHint: "ann@corp.com")).authorizationURL)
    #expect(asked["login_hint"] == "ann@corp.com")
  }

  @Test func `a provider without a configuration for flows starts none`() async throws {
    let bench = try FlowBench { $0.client = ClientSettings() }
    #expect(bench.registry.flowProviderIDs.isEmpty)
    await #expect(throws: ProviderRefusal.notEnabled) { try await bench.start() }
    #expect(await bench.refusal() == .notEnabled)
    #expect(bench.fetcher.asked.isEmpty)
  }
}
