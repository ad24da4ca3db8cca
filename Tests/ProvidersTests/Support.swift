import Crypto
import Encodings
import HTTPClient
import Providers
import Store
import Synchronization
import Tokens

/// The current time of every test, unless it advances.
let now = Timestamp(millis: 1_800_000_000_000)

func later(seconds: Int64) -> Timestamp { now.adding(millis: seconds * 1000) }

/// An identity provider with its own keys, whose tokens can have any contents.
struct Issuer {
  var issuer = "https://idp.example.com"
  var key = Keys.p256
  /// nil: neither its keys nor its tokens have a key id.
  var keyID: String? = "k1"
  var algorithm = SignatureAlgorithm.es256

  var discoveryURL: String { issuer + "/.well-known/openid-configuration" }
  var keysURL: String { issuer + "/keys" }

  var settings: ProviderSettings {
    var settings = configured("oidc.corp", issuer: issuer, clientIDs: ["client-1"])
    settings.algorithms = [algorithm]
    return settings
  }

  /// Claims that pass every rule, with changes; nil removes a claim.
  func claims(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
    var claims: [String: JSONValue] = [
      "iss": .string(issuer), "aud": .string("client-1"), "sub": .string("person-1"), "iat": .int(now.seconds - 10),
      "exp": .int(now.seconds + 3600),
    ]
    for (name, value) in changes { claims[name] = value }
    return .object(claims.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
  }

  func token(_ changes: [String: JSONValue?] = [:], header: [String: JSONValue] = [:]) throws -> String {
    var fields: [String: JSONValue] = ["alg": .string(algorithm.rawValue)]
    fields["kid"] = keyID.map(JSONValue.string)
    for (name, value) in header { fields[name] = value }
    let head = JSONValue.object(fields.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
    let signed = Base64URL.encode(json(head)) + "." + Base64URL.encode(json(claims(changes)))
    return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8), algorithm))
  }

  func keySet(maxAgeSeconds: Int? = nil) -> FetchedBody {
    FetchedBody(status: 200, maxAgeSeconds: maxAgeSeconds, bytes: json(.object([JSONMember("keys", .array([jwk]))])))
  }

  func discovery(_ changes: [String: JSONValue] = [:]) -> FetchedBody {
    var fields: [String: JSONValue] = ["issuer": .string(issuer), "jwks_uri": .string(keysURL)]
    for (name, value) in changes { fields[name] = value }
    return FetchedBody(status: 200, bytes: json(.object(fields.map { JSONMember($0.key, $0.value) })))
  }

  var jwk: JSONValue {
    let fields: [(String, String)] =
      switch key.components {
      case .rsa(let modulus, let exponent):
        [("kty", "RSA"), ("n", Base64URL.encode(modulus)), ("e", Base64URL.encode(exponent))]
      case .ec(let curve, let x, let y):
        [("kty", "EC"), ("crv", curve.rawValue), ("x", Base64URL.encode(x)), ("y", Base64URL.encode(y))]
      case .ed25519(let x): [("kty", "OKP"), ("crv", "Ed25519"), ("x", Base64URL.encode(x))]
      }
    let named = fields + [("use", "sig")] + (keyID.map { [("kid", $0)] } ?? [])
    return .object(named.map { JSONMember($0.0, .string($0.1)) })
  }
}

/// The default settings of a provider for these clients; for `oidc.…`, discovery at the issuer.
func configured(_ id: String, issuer: String? = nil, clientIDs: [String]) -> ProviderSettings {
  guard var settings = ProviderSettings.standard(id: id) else { preconditionFailure("no provider \(id)") }
  settings.clientIDs = clientIDs
  if let issuer {
    settings.issuers = [issuer]
    settings.keys = .discovery(url: ProviderSettings.discoveryURL(of: issuer))
  }
  return settings
}

/// Keys are made once, because generating RSA keys is slow.
enum Keys {
  static let p256 = made(.p256)
  static let otherP256 = made(.p256)
  static let p384 = made(.ec(.p384))
  static let p521 = made(.ec(.p521))
  static let ed25519 = made(.ed25519)
  static let rsa = made(.rsa)

  private static func made(_ kind: KeyKind) -> PrivateKey {
    guard let key = try? PrivateKey.generate(kind) else { preconditionFailure("no key") }
    return key
  }
}

func json(_ value: JSONValue) -> [UInt8] {
  var writer = JSONWriter()
  writer.value(value)
  return writer.bytes
}

/// Returns scripted answers, and records its requests.
final class ScriptedFetcher: HTTPSFetching {
  private struct State {
    var answers: [String: Result<FetchedBody, FetchError>] = [:]
    var requests: [FetchRequest] = []
  }
  private let state = Mutex(State())
  private let delay: Duration

  init(delay: Duration = .zero) { self.delay = delay }

  convenience init(_ issuer: Issuer, maxAgeSeconds: Int? = nil) {
    self.init()
    serve(issuer, maxAgeSeconds: maxAgeSeconds)
  }

  var requests: [FetchRequest] { state.withLock(\.requests) }
  var asked: [String] { requests.map(\.url) }

  func answer(_ url: String, _ answer: Result<FetchedBody, FetchError>) {
    state.withLock { $0.answers[url] = answer }
  }

  func serve(_ issuer: Issuer, maxAgeSeconds: Int? = nil) {
    answer(issuer.discoveryURL, .success(issuer.discovery()))
    answer(issuer.keysURL, .success(issuer.keySet(maxAgeSeconds: maxAgeSeconds)))
  }

  func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    let answer = state.withLock { state in
      state.requests.append(request)
      return state.answers[request.url] ?? .success(FetchedBody(status: 404, bytes: []))
    }
    if delay > .zero { try await Task.sleep(for: delay) }
    return try answer.get()
  }
}

/// One issuer with a registry, for tests of a single token.
struct Bench {
  let issuer: Issuer
  let fetcher: ScriptedFetcher
  let registry: Registry

  init(
    _ issuer: Issuer = Issuer(), _ fetcher: ScriptedFetcher? = nil,
    _ change: (inout ProviderSettings) -> Void = { _ in }
  ) throws {
    self.issuer = issuer
    self.fetcher = fetcher ?? ScriptedFetcher(issuer)
    var settings = issuer.settings
    change(&settings)
    registry = try Registry([settings], fetching: self.fetcher)
  }

  @discardableResult
  func verify(_ token: String, accessToken: String = "", rawNonce: String = "", at: Timestamp = now) async throws
    -> VerifiedToken
  {
    let presented = PresentedToken(idToken: token, accessToken: accessToken, rawNonce: rawNonce)
    return try await registry.verify(presented, of: "oidc.corp", at: at)
  }

  /// The rejection of a token with these claims, or nil if it is accepted.
  func refusal(_ changes: [String: JSONValue?], accessToken: String = "", rawNonce: String = "") async throws
    -> ProviderRefusal?
  {
    await refusal(of: try issuer.token(changes), accessToken: accessToken, rawNonce: rawNonce)
  }

  func refusal(of token: String, accessToken: String = "", rawNonce: String = "", at: Timestamp = now) async
    -> ProviderRefusal?
  {
    do {
      try await verify(token, accessToken: accessToken, rawNonce: rawNonce, at: at)
      return nil
    } catch { return error as? ProviderRefusal }
  }

  func isMisconfigured(_ token: String, at: Timestamp = now) async -> Bool {
    if case .misconfigured = await refusal(of: token, at: at) { true } else { false }
  }

  func isUnavailable(_ token: String, at: Timestamp = now) async -> Bool {
    if case .unavailable = await refusal(of: token, at: at) { true } else { false }
  }
}
