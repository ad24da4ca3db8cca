import Crypto
import Encodings
import HTTPClient
import Store
import Testing
import Tokens

@testable import Providers

/// The exchange of a code for tokens (RFC 6749, 4.1.3 and 5; RFC 7523; checks 67 to 69).
struct TokenEndpointTests {
  private func redeemed(_ change: (inout ProviderSettings) throws -> Void = { _ in }) async throws -> FetchRequest {
    let bench = try FlowBench { try change(&$0) }
    try bench.redeems(bench.claims())
    try await bench.finish()
    return try #require(bench.tokenRequest)
  }

  private func field(_ name: String, of request: FetchRequest) -> String? {
    request.fields.first { $0.name == name }?.value
  }

  @Test func `a code is redeemed with its redirect URI and its verifier, as a form`() async throws {
    let request = try await redeemed()
    #expect(field("content-type", of: request) == "application/x-www-form-urlencoded")
    #expect(field("accept", of: request) == "application/json")
    #expect(request.provider == "oidc.corp")
    #expect(
      Asked(form: request.body).parameters == [
        "grant_type": "authorization_code", "code": Flow.code, "redirect_uri": Flow.redirectURI,
        "code_verifier": Flow.verifier,
      ])
  }

  @Test func `client_secret_basic form-encodes both halves first`() async throws {
    let bench = try FlowBench { $0.clientIDs = ["client:1"] }
    try bench.redeems(bench.claims(["aud": .string("client:1")]))
    try await bench.finish()
    let request = try #require(bench.tokenRequest)
    #expect(field("authorization", of: request) == "Basic " + Base64.padded(Array("client%3A1:s3cret%3A+%2B".utf8)))
  }

  @Test func `client_secret_post puts the secret into the form, and not into the header`() async throws {
    let request = try await redeemed { $0.client.authentication = .post }
    #expect(Asked(form: request.body)["client_secret"] == "s3cret: +")
    #expect(Asked(form: request.body)["client_id"] == "client-1")
    #expect(field("authorization", of: request) == nil)
  }

  @Test func `a public client sends its id and its proof key`() async throws {
    let request = try await redeemed {
      $0.client = ClientSettings()
      $0.client.authentication = .none
    }
    let form = Asked(form: request.body)
    #expect(form["client_id"] == "client-1" && form["code_verifier"] == Flow.verifier && form["client_secret"] == nil)
    #expect(field("authorization", of: request) == nil)
  }

  @Test(arguments: [
    (Keys.p256, SignatureAlgorithm.es256), (Keys.p384, .es384), (Keys.p521, .es512), (Keys.ed25519, .edDSA),
    (Keys.rsa, .rs256),
  ])
  func `private_key_jwt signs an assertion that the public key verifies`(
    key: PrivateKey, algorithm: SignatureAlgorithm
  ) async throws {
    let request = try await redeemed {
      $0.client = ClientSettings()
      $0.client.authentication = .privateKeyJWT
      $0.client.privateKey = key
      $0.client.keyID = "ours-1"
    }
    let form = Asked(form: request.body)
    #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    let statement = try JWS(try #require(form["client_assertion"]))
    #expect(statement.algorithm == algorithm && statement.keyID == "ours-1")
    #expect(statement.isSigned(by: try key.publicKey()))
    let claims = try statement.claims()
    #expect(claims["iss"] == .string("client-1") && claims["sub"] == .string("client-1"))
    #expect(claims["aud"] == .string("https://idp.example.com/token"))
    #expect(claims["iat"] == .int(now.seconds) && claims["exp"] == .int(now.seconds + 300))
    #expect(claims["jti"]?.string?.count == 43)
  }

  @Test func `two codes have two assertions`() async throws {
    var ids: Set<String> = []
    for code in ["code-1", "code-2"] {
      let bench = try FlowBench {
        $0.client = ClientSettings()
        $0.client.authentication = .privateKeyJWT
        $0.client.privateKey = Keys.ed25519
      }
      try bench.redeems(bench.claims())
      try await bench.finish(Flow.callback(["code": code]))
      let statement = try JWS(try #require(Asked(form: bench.tokenRequest?.body)["client_assertion"]))
      #expect(statement.keyID == nil)
      ids.insert(try statement.claims()["jti"]?.string ?? "")
    }
    #expect(ids.count == 2)
  }

  @Test func `the provider's own tokens are returned`() async throws {
    let bench = try FlowBench()
    try bench.redeems(
      bench.claims(),
      ["refresh_token": .string("refresh-1"), "expires_in": .string("1800"), "scope": .string("openid email")])
    let own = try await bench.finish().own
    #expect(own.accessToken == "access-1" && own.refreshToken == "refresh-1" && own.secret == "")
    #expect(own.expiresInSeconds == 1800 && own.grantedScopes == ["openid", "email"])
    #expect(own.idToken.split(separator: ".").count == 3)
  }

  @Test(arguments: [
    (.int(3600), 3600), (.string("3600"), 3600), (.int(-1), nil), (.string("soon"), nil), (.int(.max), nil),
    (.double(1.5), 1), (.string("1.5"), 1), (.double(-1.5), nil), (.null, nil), (nil, nil), (.int(0), 0),
  ] as [(JSONValue?, Int64?)])
  func `expires_in is a number or its digits, and other values are ignored`(value: JSONValue?, seconds: Int64?) throws {
    let members = [JSONMember("access_token", .string("a"))] + (value.map { [JSONMember("expires_in", $0)] } ?? [])
    let body = json(.object(members))
    #expect(try TokenAnswer.read(status: 200, body).own.expiresInSeconds == seconds)
  }

  @Test(arguments: [("Bearer", true), ("bearer", true), ("BEARER", true), ("mac", false), ("DPoP", false), ("", true)])
  func `the type of an access token must be bearer, in any case`(type: String, isTaken: Bool) throws {
    let body = json(.object([JSONMember("access_token", .string("a")), JSONMember("token_type", .string(type))]))
    #expect(((try? TokenAnswer.read(status: 200, body)) != nil) == isTaken)
  }

  @Test func `an access token without a type, or of type null, counts as a bearer token`() throws {
    for body in [#"{"access_token":"a"}"#, #"{"access_token":"a","token_type":null}"#] {
      #expect(try TokenAnswer.read(status: 200, Array(body.utf8)).own.accessToken == "a")
    }
  }

  @Test func `scopes may be separated with commas`() throws {
    let body = Array(#"{"access_token":"a","scope":"read:user,user:email"}"#.utf8)
    let comma: Set<UInt8> = [UInt8(ascii: ","), UInt8(ascii: " ")]
    #expect(
      try TokenAnswer.read(status: 200, body, scopeSeparators: comma).own.grantedScopes == ["read:user", "user:email"])
    #expect(try TokenAnswer.read(status: 200, body).own.grantedScopes == ["read:user,user:email"])
  }

  private static let errors: [(String, Int, String)] = [
    (#"{"error":"invalid_grant","error_description":"spent"}"#, 400, "invalid"),
    (#"{"error":"invalid_grant"}"#, 200, "invalid"),
    (#"{"error":"INVALID_GRANT"}"#, 400, "invalid"),
    (#"{"error":"invalid_request","error_description":"the authorization code"}"#, 400, "refused"),
    (#"{"error":"invalid_client"}"#, 401, "refused"),
    (#"{"error":"unauthorized_client"}"#, 400, "refused"),
    (#"{"error":"invalid_request"}"#, 400, "refused"),
    (#"{"error":"unsupported_grant_type"}"#, 400, "refused"),
    (#"{"error":"invalid_scope"}"#, 403, "refused"),
    (#"{"error":"made_up","access_token":"a"}"#, 200, "refused"),
    (#"{"error":{"message":"no","code":100}}"#, 400, "refused"),
    (#"{"error":"temporarily_unavailable"}"#, 400, "unavailable"),
    (#"{"error":"invalid_grant"}"#, 500, "unavailable"),
    (#"{"error":"invalid_grant"}"#, 503, "unavailable"),
    (#"{"error":"slow_down"}"#, 429, "unavailable"),
    (#"{"access_token":"a"}"#, 404, "misconfigured"),
    (#"{"status":400,"message":"redirect_uri does not match"}"#, 400, "refused"),
    (#"{"message":"who are you?"}"#, 401, "refused"),
    ("{}", 403, "refused"),
    (#"{"message":"not here"}"#, 404, "misconfigured"),
    ("<html>not here</html>", 404, "misconfigured"),
    ("", 405, "misconfigured"),
    ("{}", 410, "misconfigured"),
    ("<html>busy</html>", 200, "unavailable"),
    ("<html>no</html>", 400, "unavailable"),
    ("", 200, "unavailable"),
    ("{", 200, "unavailable"),
    ("[]", 200, "unavailable"),
    ("{}", 200, "unavailable"),
    (#"{"access_token":""}"#, 200, "unavailable"),
    (#"{"access_token":1}"#, 200, "unavailable"),
    (#"{"access_token":"a\r\nX: y"}"#, 200, "unavailable"),
    (#"{"access_token":"a","access_token":"b"}"#, 200, "unavailable"),
  ]

  @Test(arguments: errors)
  func `check 68: any answer of a token endpoint gives a token, a typed error or unavailable`(
    body: String, status: Int, name: String
  ) async throws {
    let bench = try FlowBench()
    bench.answers(bench.tokenURL, text: body, status: status)
    #expect(await bench.refusal()?.name == name)
  }

  @Test(arguments: [
    .timedOut, .redirected, .tooLarge, .refusedAddress, .untrusted("expired"), .unreachable("reset"),
    .overloaded, .closed,
  ] as [FetchError])
  func `check 68: a token endpoint that does not answer is unavailable`(error: FetchError) async throws {
    let bench = try FlowBench()
    bench.fetcher.answer(bench.tokenURL, .failure(error))
    #expect(await bench.refusal()?.name == "unavailable")
  }

  @Test func `an answer of 64 KiB is read, and a longer one is not`() throws {
    let head = #"{"access_token":"a","x":""#
    let tail = #""}"#
    func body(_ count: Int) -> [UInt8] {
      Array((head + String(repeating: "x", count: count - head.utf8.count - tail.utf8.count) + tail).utf8)
    }
    #expect(try TokenAnswer.read(status: 200, body(65_536)).own.accessToken == "a")
    #expect((try? TokenAnswer.read(status: 200, body(65_537))) == nil)
  }

  @Test(arguments: ["access_token", "refresh_token"])
  func `a token that is only passed on may be as long as its answer`(name: String) throws {
    let long = String(repeating: "a", count: 60_000)
    let members = [JSONMember("access_token", .string("a")), JSONMember(name, .string(long))].suffix(
      name == "access_token" ? 1 : 2)
    let own = try TokenAnswer.read(status: 200, json(.object(Array(members)))).own
    #expect((name == "access_token" ? own.accessToken : own.refreshToken) == long)
  }

  @Test func `a provider's error description reaches the log`() throws {
    #expect {
      try TokenAnswer.read(status: 400, Array(#"{"message":"redirect_uri does not match"}"#.utf8))
    } throws: {
      "\($0)".contains("status 400: redirect_uri does not match")
    }
  }

  @Test(arguments: [(64, 64), (65, 64)])
  func `the first 64 scopes are granted`(count: Int, granted: Int) throws {
    let scopes = (0..<count).map { "s\($0)" }
    let text = JSONMember("scope", .string(scopes.joined(separator: " ")))
    let list = JSONMember("scope", .array(scopes.map { .string($0) }))
    for member in [text, list] {
      let body = json(.object([JSONMember("access_token", .string("a")), member]))
      #expect(try TokenAnswer.read(status: 200, body).own.grantedScopes == Array(scopes.prefix(granted)))
    }
  }

  @Test(arguments: ["\"\"", "null", "false", "0", "[]", "{}"])
  func `an empty error counts as no error`(error: String) throws {
    let body = #"{"error":\#(error),"access_token":"a"}"#
    #expect(try TokenAnswer.read(status: 200, Array(body.utf8)).own.accessToken == "a")
  }

  @Test(arguments: [
    (#""scope":"a","scope":"b""#, true), (#""token_type":"bearer","token_type":"bearer""#, true),
    (#""token_type":"bearer","token_type":"mac""#, false), (#""error":"","error":"invalid_grant""#, false),
    (#""access_token":"b""#, false), (#""refresh_token":1"#, true), (#""expires_in":{}"#, true),
  ])
  func `an odd or duplicate member invalidates an answer only if the member matters`(member: String, isTaken: Bool)
    throws
  {
    let body = #"{"access_token":"a",\#(member)}"#
    #expect(((try? TokenAnswer.read(status: 200, Array(body.utf8))) != nil) == isTaken)
  }

  @Test func `no error contains a secret, a code or a token`() async throws {
    let bench = try FlowBench()
    bench.answers(bench.tokenURL, text: #"{"error":"invalid_client","error_description":"who?"}"#, status: 401)
    let text = "\(String(describing: await bench.refusal()))"
    for secret in ["s3cret", Flow.code, Flow.verifier, Flow.state] { #expect(!text.contains(secret)) }
    #expect(!"\(Secret(copying: Array("s3cret".utf8)))".contains("s3cret"))
  }

  @Test func `a provider's error reaches the log as one short line of ASCII`() {
    let text = LoggedText.of("bad", "line\nend\0é" + String(repeating: "x", count: 500))
    #expect(text.hasPrefix("bad: lineend"))
    #expect(text.utf8.count <= 200 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) })
  }
}

/// The encodings of parameters.
struct URLEncodingTests {
  @Test func `a form is encoded as in RFC 6749, Appendix B`() {
    #expect(URLEncoding.formEncoded(" %&+£€") == "+%25%26%2B%C2%A3%E2%82%AC")
  }

  @Test func `parameters follow an existing query`() {
    let one = [Parameter("a b", "c&d")]
    #expect(URLEncoding.url("https://x/y", adding: one) == "https://x/y?a%20b=c%26d")
    #expect(URLEncoding.url("https://x/y?z=1", adding: one) == "https://x/y?z=1&a%20b=c%26d")
    #expect(URLEncoding.url("https://x/y?", adding: one) == "https://x/y?a%20b=c%26d")
    #expect(URLEncoding.url("https://x/y", adding: []) == "https://x/y")
    #expect(URLEncoding.form(one + one) == Array("a+b=c%26d&a+b=c%26d".utf8))
  }

  @Test func `a secret is text only when it is requested`() {
    #expect(Secret(copying: Array("s3cret".utf8)).revealed == "s3cret")
    #expect(Secret(copying: []).revealed == "")
  }
}
