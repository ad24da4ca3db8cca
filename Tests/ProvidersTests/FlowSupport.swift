import Crypto
import HTTPClient
import Providers
import Store
import Tokens

/// A flow with fixed random parts.
enum Flow {
  static let redirectURI = "https://app.example.com/callback?from=us"
  static let state = "state-3f1c9d0a7b5e4c2d8f6a1b0c9d8e7f6a5b4"
  static let nonce = "nonce-8e7d6c5b4a392817f6e5d4c3b2a190817263"
  /// RFC 7636, Appendix B.
  static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
  static let code = "code/4+x ~&="

  static func request(
    scopes: [String] = [], parameters: [String: String] = [:], loginHint: String = "", freshLogin: Bool = false
  ) -> FlowRequest {
    FlowRequest(
      redirectURI: redirectURI, scopes: scopes, parameters: parameters, loginHint: loginHint, freshLogin: freshLogin,
      state: state, nonce: nonce, codeVerifier: verifier)
  }

  static var begun: FlowState {
    FlowState(redirectURI: redirectURI, state: state, nonce: nonce, codeVerifier: verifier)
  }

  static func callback(_ changes: [String: String?] = [:]) -> Callback {
    var parameters = ["state": state, "code": code]
    for (name, value) in changes { parameters[name] = value }
    return Callback(parameters)
  }
}

/// A parsed authorization URL or form.
struct Asked: Equatable {
  var base: String
  var parameters: [String: String] = [:]

  init(_ url: String) {
    let parts = url.split(separator: "?", maxSplits: 1)
    base = String(parts[0])
    parameters = parts.count > 1 ? Asked.parameters(String(parts[1])) : [:]
  }

  init(form body: [UInt8]?) {
    base = ""
    parameters = Asked.parameters(String(decoding: body ?? [], as: UTF8.self))
  }

  subscript(_ name: String) -> String? { parameters[name] }

  private static func parameters(_ query: String) -> [String: String] {
    let pairs = query.split(separator: "&").map { pair in
      pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    }
    return Dictionary(uniqueKeysWithValues: pairs.map { (decoded($0[0]), decoded($0.count > 1 ? $0[1] : "")) })
  }

  static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var left = text.utf8[...]
    while let byte = left.popFirst() {
      if byte == UInt8(ascii: "%") {
        bytes.append(UInt8(String(left.prefix(2)) ?? "", radix: 16) ?? 0)
        left = left.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A provider for flows. A test sets the contents of its tokens.
struct FlowBench {
  let issuer: Issuer
  let fetcher: ScriptedFetcher
  let registry: Registry
  let id: String
  let tokenURL: String
  let profileURL: String

  /// - Parameter settings: Any provider that signs with `issuer`'s key.
  init(_ settings: ProviderSettings, _ issuer: Issuer, metadata: [String: JSONValue] = [:]) throws {
    self.issuer = issuer
    id = settings.id
    fetcher = ScriptedFetcher()
    tokenURL = settings.endpoints.token.isEmpty ? issuer.issuer + "/token" : settings.endpoints.token
    profileURL = settings.endpoints.profile.isEmpty ? issuer.issuer + "/userinfo" : settings.endpoints.profile
    switch settings.keys {
    case .discovery(let url):
      let endpoints = [
        "authorization_endpoint": "/authorize", "token_endpoint": "/token", "userinfo_endpoint": "/userinfo",
      ]
      let said = endpoints.mapValues { JSONValue.string(issuer.issuer + $0) }
      fetcher.answer(url, .success(issuer.discovery(said.merging(metadata) { _, changed in changed })))
      fetcher.answer(issuer.keysURL, .success(issuer.keySet()))
    case .jwks(let url): fetcher.answer(url, .success(issuer.keySet()))
    case .none: break
    }
    registry = try Registry([settings], fetching: fetcher)
  }

  /// `oidc.corp`, with a client secret.
  init(
    metadata: [String: JSONValue] = [:], _ change: (inout ProviderSettings) throws -> Void = { _ in }
  ) throws {
    let issuer = Issuer()
    var settings = issuer.settings
    settings.client.secret = Secret(copying: Array("s3cret: +".utf8))
    try change(&settings)
    try self.init(settings, issuer, metadata: metadata)
  }

  func start(_ flow: FlowRequest = Flow.request()) async throws -> StartedFlow {
    try await registry.start(flow, at: id, at: now)
  }

  /// The claims of a complete ID token of this flow, with changes.
  func claims(_ changes: [String: JSONValue?] = [:]) -> [String: JSONValue?] {
    let complete: [String: JSONValue?] = [
      "nonce": .string(Flow.nonce), "email": .string("ann@corp.com"), "email_verified": .bool(true),
      "name": .string("Ann Example"),
    ]
    return complete.merging(changes) { _, changed in changed }
  }

  /// Sets the answer of the token endpoint; nil removes a member.
  func redeems(_ claims: [String: JSONValue?], _ changes: [String: JSONValue?] = [:], status: Int = 200) throws {
    var members: [String: JSONValue] = [
      "access_token": .string("access-1"), "token_type": .string("Bearer"), "expires_in": .int(3600),
      "id_token": .string(try issuer.token(claims)),
    ]
    for (name, value) in changes { members[name] = value }
    answers(tokenURL, members, status: status)
  }

  func answers(_ url: String, _ members: [String: JSONValue], status: Int = 200) {
    let body = JSONValue.object(members.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
    fetcher.answer(url, .success(FetchedBody(status: status, contentType: "application/json", bytes: json(body))))
  }

  func answers(_ url: String, text: String, status: Int = 200) {
    fetcher.answer(url, .success(FetchedBody(status: status, bytes: Array(text.utf8))))
  }

  @discardableResult
  func finish(_ callback: Callback = Flow.callback(), of flow: FlowState = Flow.begun) async throws -> VerifiedToken {
    try await registry.finish(callback, of: flow, at: id, at: now)
  }

  func refusal(_ callback: Callback = Flow.callback(), of flow: FlowState = Flow.begun) async -> ProviderRefusal? {
    do {
      try await finish(callback, of: flow)
      return nil
    } catch { return error as? ProviderRefusal }
  }

  /// The rejection of the flow after this change of its ID token.
  func refusal(_ changes: [String: JSONValue?]) async throws -> ProviderRefusal? {
    try redeems(claims(changes))
    return await refusal()
  }

  var tokenRequest: FetchRequest? { fetcher.requests.last { $0.url == tokenURL } }
}

extension ProviderRefusal {
  /// The name of the case, for tests that ignore the text.
  var name: String { String("\(self)".prefix { $0 != "(" }) }
}
