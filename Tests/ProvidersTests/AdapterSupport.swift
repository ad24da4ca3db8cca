import Crypto
import HTTPClient
import Store
import Synchronization
import Testing
import Tokens

@testable import Providers

/// A provider that returns a set answer for each URL, ignoring the query, and records its requests.
final class Script: HTTPSFetching {
  private struct State {
    var answers: [String: Result<FetchedBody, FetchError>] = [:]
    var requests: [FetchRequest] = []
  }
  private let state = Mutex(State())

  var requests: [FetchRequest] { state.withLock(\.requests) }

  func answer(_ url: String, _ text: String, status: Int = 200) {
    answer(url, .success(FetchedBody(status: status, bytes: Array(text.utf8))))
  }

  func answer(_ url: String, _ answer: Result<FetchedBody, FetchError>) {
    state.withLock { $0.answers[url] = answer }
  }

  func requests(to url: String) -> [FetchRequest] { requests.filter { Script.address(of: $0.url) == url } }

  func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    try state.withLock { state in
      state.requests.append(request)
      return state.answers[request.url] ?? state.answers[Script.address(of: request.url)]
        ?? .success(FetchedBody(status: 404, bytes: []))
    }.get()
  }

  private static func address(of url: String) -> String { String(url.prefix { $0 != "?" }) }
}

extension FetchRequest {
  func field(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }

  var form: Form? { body.flatMap { Form(parsing: $0) } }

  var query: Form? { Form(parsing: Array(url.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())) }
}

/// Results without an answer, or without a valid one (check 68).
let faults: [Result<FetchedBody, FetchError>] = [
  .failure(.timedOut), .failure(.tooLarge), .failure(.redirected), .failure(.refusedAddress),
  .failure(.untrusted("expired")),
  .failure(.overloaded), .failure(.unreachable("reset")),
  .success(FetchedBody(status: 500, bytes: Array("{}".utf8))), .success(FetchedBody(status: 503, bytes: [])),
  .success(FetchedBody(status: 429, bytes: Array("{}".utf8))),
]

/// Further invalid answers of an endpoint with JSON.
let brokenDocuments: [Result<FetchedBody, FetchError>] = [
  .success(FetchedBody(status: 200, contentType: "text/html", bytes: Array("<html>sorry</html>".utf8))),
  .success(FetchedBody(status: 200, bytes: Array("{\"id\":".utf8))), .success(FetchedBody(status: 200, bytes: [])),
  .success(FetchedBody(status: 200, bytes: Array(("\"" + String(repeating: "x", count: 262_144) + "\"").utf8))),
]

/// One adapter in front of a script.
struct Adapted {
  let id: String
  let script = Script()
  let registry: Registry

  init(_ id: String, flows: FlowProtocol? = nil, _ change: (inout ProviderSettings) -> Void = { _ in }) throws {
    self.id = id
    registry = try Registry([try Adapted.settings(id, flows: flows, change)], fetching: script)
  }

  static func settings(
    _ id: String, flows: FlowProtocol? = nil, _ change: (inout ProviderSettings) -> Void = { _ in }
  ) throws -> ProviderSettings {
    var settings = try #require(ProviderSettings.standard(id: id, flows: flows))
    settings.clientIDs = ["client-1"]
    settings.client.secret = Secret(copying: Array("s3cret/+".utf8))
    change(&settings)
    return settings
  }

  func start(
    scopes: [String] = [], parameters: [String: String] = [:], loginHint: String = "", freshLogin: Bool = false
  ) async throws -> StartedFlow {
    let flow = Flow.request(scopes: scopes, parameters: parameters, loginHint: loginHint, freshLogin: freshLogin)
    return try await registry.start(flow, at: id, at: now)
  }

  /// - Parameter callback: Changes of `code` and `state`; nil removes one.
  @discardableResult
  func finish(_ callback: [String: String?] = [:], kept: String = "") async throws -> VerifiedToken {
    var begun = Flow.begun
    begun.kept = kept
    return try await registry.finish(Flow.callback(callback), of: begun, at: id, at: now)
  }

  @discardableResult
  func verify(_ accessToken: String, secret: String = "") async throws -> VerifiedToken {
    try await registry.verify(PresentedToken(accessToken: accessToken, tokenSecret: secret), of: id, at: now)
  }
}

/// The reason of a rejection, or nil if the call succeeds.
func refusal<Value>(_ body: () async throws -> Value) async -> ProviderRefusal? {
  do {
    _ = try await body()
    return nil
  } catch { return error as? ProviderRefusal }
}

extension ProviderRefusal? {
  var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
  var isInvalid: Bool { if case .invalid = self { true } else { false } }
  var isRefused: Bool { if case .refused = self { true } else { false } }
  var isDenied: Bool { if case .denied = self { true } else { false } }
  var isFlowMismatch: Bool { if case .flowMismatch = self { true } else { false } }
  var hint: String? { if case .audienceUnverifiable(let hint) = self { hint } else { nil } }
}

/// Every protocol parameter that callers may not set, with the name under which it is reserved (check 66).
let reservedParameters =
  [
    "client_id", "client_secret", "response_type", "response_mode", "redirect_uri", "scope", "state", "nonce", "code",
    "code_challenge", "code_challenge_method", "code_verifier", "grant_type", "request", "request_uri", "registration",
    "id_token_hint", "max_age", "appsecret_proof",
  ].map { ($0, $0) } + [
    ("client_assertion", "client_assertion*"), ("client_assertion_type", "client_assertion*"),
    ("oauth_token", "oauth_*"), ("oauth_callback", "oauth_*"), ("oauth_any", "oauth_*"), ("OAuth_Token", "oauth_*"),
  ]
