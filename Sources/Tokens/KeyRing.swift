package import Crypto
import Encodings

/// The purpose of one of our tokens. The header's `typ` contains it, so that no kind of token can replace another (RFC
/// 8725 3.11).
package enum TokenType: String, Sendable, CaseIterable {
  case idToken = "JWT"
  case customToken = "latchkey-custom+jwt"
  case sessionCookie = "latchkey-session+jwt"
}

/// One of our own signing keys and its life cycle, in seconds since 1970.
///
/// First it is published, so that every verifier has it before its first signature. Then it signs. After retirement it
/// still verifies, until the last token that it signed has expired.
package final class SigningKey: Sendable {
  /// The JWK thumbprint (RFC 7638).
  package let keyID: String
  package let algorithm: SignatureAlgorithm
  package let publishedAt: Int64
  package let activeFrom: Int64
  package let retiredAt: Int64?
  let privateKey: PrivateKey
  let publicKey: PublicKey
  private let idTokenHeader: [UInt8]
  private let customTokenHeader: [UInt8]
  private let sessionCookieHeader: [UInt8]

  /// Throws `wrongAlgorithm` if the key cannot sign with the algorithm.
  package init(
    _ privateKey: PrivateKey, algorithm: SignatureAlgorithm, publishedAt: Int64, activeFrom: Int64, retiredAt: Int64?
  ) throws(CryptoError) {
    guard privateKey.kind.algorithms.contains(algorithm) else { throw .wrongAlgorithm }
    let keyID = privateKey.components.thumbprint
    self.keyID = keyID
    self.algorithm = algorithm
    self.publishedAt = publishedAt
    self.activeFrom = activeFrom
    self.retiredAt = retiredAt
    self.privateKey = privateKey
    publicKey = try privateKey.publicKey()
    idTokenHeader = Self.header(algorithm, keyID: keyID, .idToken)
    customTokenHeader = Self.header(algorithm, keyID: keyID, .customToken)
    sessionCookieHeader = Self.header(algorithm, keyID: keyID, .sessionCookie)
  }

  /// Returns whether the key may sign now. A key never signs before it is published, regardless of the configuration.
  func isActive(at now: Int64) -> Bool {
    max(publishedAt, activeFrom) <= now && now < retiredAt ?? .max
  }

  /// Returns whether a token of this key may still be valid. True also before `publishedAt`: only a clock that ran
  /// ahead leaves it in the future, and tokens from that time are still valid.
  func isNeeded(at now: Int64, tokenLifetimeSecondsMax: Int64) -> Bool {
    now - tokenLifetimeSecondsMax < retiredAt ?? .max
  }

  /// Returns the signing input (RFC 7515 5.1).
  func signingInput(_ payload: [UInt8], _ type: TokenType) -> [UInt8] {
    var input: [UInt8] = []
    let header =
      switch type {
      case .idToken: idTokenHeader
      case .customToken: customTokenHeader
      case .sessionCookie: sessionCookieHeader
      }
    input.reserveCapacity(header.count + (payload.count * 4 + 2) / 3)
    input.append(contentsOf: header)
    Base64URL.append(payload, to: &input)
    return input
  }

  /// Returns the encoded header with the dot that follows it. It is the same for every token of a type, so it is made
  /// once.
  private static func header(_ algorithm: SignatureAlgorithm, keyID: String, _ type: TokenType) -> [UInt8] {
    var writer = JSONWriter()
    writer.open(.object)
    writer.member("alg", algorithm.rawValue)
    writer.member("kid", keyID)
    writer.member("typ", type.rawValue)
    writer.close(.object)
    return Array((Base64URL.encode(writer.bytes) + ".").utf8)
  }
}

/// Our signing keys at one point in time. A rotation makes a new value, and calls in flight keep theirs.
package struct KeyRing: Sendable {
  private let keys: [SigningKey]
  private let tokenLifetimeSecondsMax: Int64

  /// - Parameter tokenLifetimeSecondsMax: the longest lifetime of any token. It determines how long a retired key is
  ///   still needed (check 101).
  package init(_ keys: [SigningKey], tokenLifetimeSecondsMax: Int64) {
    self.keys = keys
    self.tokenLifetimeSecondsMax = tokenLifetimeSecondsMax
  }

  /// Returns the key that signs now. If there are several, it is the one that became active last.
  package func activeKey(at now: Int64) -> SigningKey? {
    keys.lazy.filter { $0.isActive(at: now) }.max { $0.activeFrom < $1.activeFrom }
  }

  /// Returns a token for the active key to sign.
  package func unsigned(_ payload: [UInt8], _ type: TokenType, at now: Int64) throws(TokenError) -> UnsignedToken {
    guard let key = activeKey(at: now) else { throw .noActiveKey }
    return UnsignedToken(key: key, input: key.signingInput(payload, type))
  }

  /// Verifies a token for this purpose and returns its claims. The claims check expiry, issuer and audience themselves.
  package func verify(_ compact: String, _ type: TokenType, at now: Int64) throws(TokenError) -> JSONValue {
    let token = try JWS(compact)
    guard let tokenType = token.type, identical(tokenType, type.rawValue) else { throw .wrongType }
    guard let key = neededKeys(at: now).first(where: { $0.keyID == token.keyID }) else { throw .unknownKey }
    guard key.algorithm == token.algorithm else { throw .algorithmNotAllowed }
    guard token.isSigned(by: key.publicKey) else { throw .badSignature }
    return try token.claims()
  }

  /// Returns the public keys with which other services verify our tokens (RFC 7517 5).
  package func jwks(at now: Int64) -> String {
    var writer = JSONWriter()
    writer.open(.object)
    writer.name("keys")
    writer.open(.array)
    for key in neededKeys(at: now) {
      writer.open(.object)
      for (name, value) in key.privateKey.components.requiredMembers { writer.member(name, value) }
      writer.member("kid", key.keyID)
      writer.member("use", "sig")
      writer.member("alg", key.algorithm.rawValue)
      writer.close(.object)
    }
    writer.close(.array)
    writer.close(.object)
    return writer.text
  }

  /// Returns the algorithms that a verifier of our tokens needs, in the order of the keys.
  package func algorithms(at now: Int64) -> [String] {
    neededKeys(at: now).map(\.algorithm.rawValue).reduce(into: []) { names, name in
      if !names.contains(name) { names.append(name) }
    }
  }

  private func neededKeys(at now: Int64) -> [SigningKey] {
    keys.filter { $0.isNeeded(at: now, tokenLifetimeSecondsMax: tokenLifetimeSecondsMax) }
  }
}
