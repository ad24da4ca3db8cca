import Crypto
import Encodings
import HTTPClient
import Store
import Tokens

/// The method by which a client authenticates to the token endpoint (RFC 6749, 2.3).
package enum ClientAuthentication: String, Hashable, Sendable, CaseIterable {
  case basic = "client_secret_basic"
  case post = "client_secret_post"
  /// RFC 7523: an assertion that we sign. We share no secret with the provider.
  case privateKeyJWT = "private_key_jwt"
  /// A public client, which has only its proof key.
  case none
}

/// The authentication method with its secret or key.
enum ClientProof: Sendable {
  case basic(Secret)
  case post(Secret)
  case assertion(AssertionKey)
  /// The client secret is a JWT that we sign again for each use (Apple).
  case signedSecret(AssertionKey, team: String, audience: String)
  case none

  /// Adds the authentication to the request that redeems a code.
  func attach(
    to request: inout TokenRequest, clientID: String, at endpoint: String, now: Timestamp
  ) throws(ProviderRefusal) {
    switch self {
    case .basic(let secret):
      request.fields.append(.init("authorization", ClientProof.basic(clientID, secret)))
    case .post(let secret):
      request.add("client_id", clientID)
      request.add("client_secret", secret.revealed)
    case .assertion(let key):
      request.add("client_id", clientID)
      request.add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      request.add(
        "client_assertion",
        try key.statement(
          issuer: clientID, subject: clientID, audience: endpoint, at: now, uniqueTo: request.uniqueText))
    case .signedSecret(let key, let team, let audience):
      request.add("client_id", clientID)
      request.add("client_secret", try key.statement(issuer: team, subject: clientID, audience: audience, at: now))
    case .none: request.add("client_id", clientID)
    }
  }

  /// Returns the proof for a token endpoint that supports only these methods (OpenID Connect Discovery 1.0, 3). A
  /// secret goes into the header or the form, as the endpoint supports.
  func fitting(_ methods: [String]) throws(ProviderRefusal) -> ClientProof {
    let secret: Secret
    switch self {
    case .basic(let own), .post(let own): secret = own
    case .assertion, .signedSecret, .none: return self
    }
    if methods.contains(ClientAuthentication.basic.rawValue) { return .basic(secret) }
    if methods.contains(ClientAuthentication.post.rawValue) { return .post(secret) }
    throw .misconfigured(
      why: "the token endpoint supports no client secret: " + LoggedText.of(methods.joined(separator: ", "), nil),
      fix: "Set `client_authentication` to a method that the provider supports, such as `private_key_jwt`.")
  }

  /// RFC 6749, 2.3.1: both parts are form-encoded first, so that a colon in an id separates nothing.
  static func basic(_ clientID: String, _ secret: Secret) -> String {
    let pair = URLEncoding.formEncoded(clientID) + ":" + URLEncoding.formEncoded(secret.revealed)
    return "Basic " + Base64.padded(Array(pair.utf8))
  }
}

/// A key of ours, of which a provider knows the public half.
struct AssertionKey: Sendable {
  /// The client uses an assertion immediately. Apple allows six months, RFC 7523 leaves the limit to the server.
  static let lifeSeconds: Int64 = 300

  let key: PrivateKey
  /// Empty if the provider needs none.
  let keyID: String

  private var algorithm: SignatureAlgorithm { key.kind.algorithms[0] }

  /// Returns a signed client assertion (RFC 7523, 3). It needs `jti` if a server accepts it only once. A flow is used
  /// once and its texts are random.
  func statement(
    issuer: String, subject: String, audience: String, at now: Timestamp, uniqueTo text: String? = nil
  ) throws(ProviderRefusal) -> String {
    var head = JSONWriter()
    head.open(.object)
    head.member("alg", algorithm.rawValue)
    if !keyID.isEmpty { head.member("kid", keyID) }
    head.member("typ", "JWT")
    head.close(.object)
    var claims = JSONWriter()
    claims.open(.object)
    claims.member("iss", issuer)
    claims.member("sub", subject)
    claims.member("aud", audience)
    claims.member("iat", now.seconds)
    claims.member("exp", now.seconds + AssertionKey.lifeSeconds)
    if let text { claims.member("jti", Base64URL.encode(sha256(Array(text.utf8)))) }
    claims.close(.object)
    let input = Base64URL.encode(head.bytes) + "." + Base64URL.encode(claims.bytes)
    do throws(CryptoError) {
      return input + "." + Base64URL.encode(try key.sign(Array(input.utf8), algorithm))
    } catch {
      throw .unavailable(why: "the client assertion cannot be signed: \(error)")
    }
  }
}
