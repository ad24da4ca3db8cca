import Crypto
import Dispatch
import Encodings
import HTTPClient
import Identity
import Providers
import Store
import Tokens

/// The current time for every input.
let now = Timestamp(millis: 1_800_000_000_000)

/// Keys without value, the same in every process, so that an input has the same meaning in every run. Ed25519, because
/// its signatures are deterministic.
enum Keys {
  static let provider = made(1)
  static let ours = made(2)

  private static func made(_ seed: UInt8) -> PrivateKey {
    // RFC 8410 7: a PKCS#8 header and 32 bytes.
    let head: [UInt8] = [0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20]
    let secret = Secret(copying: head + [UInt8](repeating: seed, count: 32))
    guard let key = try? PrivateKey(pkcs8: secret) else { fatalError("no key") }
    return key
  }

  /// A compact JWS with any payload.
  static func signed(_ payload: [UInt8], keyID: String = "k1") -> String {
    let header = "{\"alg\":\"EdDSA\",\"kid\":\"\(keyID)\"}"
    let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(payload)
    guard let signature = try? provider.sign(Array(input.utf8), .edDSA) else { fatalError("no signature") }
    return input + "." + Base64URL.encode(signature)
  }

  static let ring: KeyRing = {
    guard let key = try? SigningKey(ours, algorithm: .edDSA, publishedAt: 0, activeFrom: 0, retiredAt: nil) else {
      fatalError("no ring")
    }
    return KeyRing([key], tokenLifetimeSecondsMax: 3_600)
  }()

  static func signedByUs(_ payload: [UInt8], _ type: TokenType) -> String {
    guard let token = try? ring.unsigned(payload, type, at: now.seconds).signed() else { fatalError("no signature") }
    return token
  }

  static var providersSet: [UInt8] {
    guard case .ed25519(let x) = provider.components else { fatalError("another key") }
    let fields = "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"k1\",\"x\":\"\(Base64URL.encode(x))\""
    return Array("{\"keys\":[{\(fields)}]}".utf8)
  }

  /// One provider whose keys are available.
  static let registry: Registry = {
    guard var settings = ProviderSettings.standard(id: "oidc.corp") else { fatalError("no provider") }
    settings.clientIDs = ["client-1", "client-2"]
    settings.issuers = ["https://idp.example"]
    settings.algorithms = [.edDSA]
    settings.keys = .jwks(url: "https://idp.example/keys")
    guard let registry = try? Registry([settings], fetching: KeySetFetcher()) else { fatalError("no registry") }
    // The registry loads the keys with the first token, and keeps them for a day of a clock that does not advance.
    let isDone = DispatchSemaphore(value: 0)
    let token = PresentedToken(idToken: signed([]))
    Task.detached {
      _ = try? await registry.verify(token, of: "oidc.corp", at: now)
      isDone.signal()
    }
    isDone.wait()
    return registry
  }()

  private struct KeySetFetcher: HTTPSFetching {
    func fetch(_ request: FetchRequest) async throws -> FetchedBody {
      FetchedBody(status: 200, maxAgeSeconds: 86_400, bytes: providersSet)
    }
  }
}

/// Tags and seals without a secret, so that the fuzzer reaches the code behind them.
struct OpenCryptography: Cryptography {
  func sha256(_ bytes: [UInt8]) -> Digest { Digest(Crypto.sha256(bytes)) }
  var masterKeyCount: Int { 1 }
  var masterKeyIDs: [MasterKeyID] { [MasterKeyID(text: "00000001")] }
  func successor(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] { Crypto.sha256(token) }
  func refreshTag(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] { [UInt8](repeating: 0, count: 32) }
  func throttleKey(_ bytes: [UInt8], masterKey: Int) -> Digest { sha256(bytes) }
  func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] { Crypto.hmacSHA1(key: Secret(copying: key), bytes) }
  func keyedDigest(_ bytes: [UInt8], purpose: String) -> Digest { sha256(bytes) }
  func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool { left == right }
  func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8] { plaintext }
  func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? { sealed }
}
