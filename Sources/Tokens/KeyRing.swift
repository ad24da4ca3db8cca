package import Crypto
import Encodings

/// What a token of ours is for. It stands in the header's `typ`, so that none can stand in for another (RFC 8725 3.11).
package enum TokenType: String, Sendable, CaseIterable {
  case idToken = "JWT"
  case customToken = "latchkey-custom+jwt"
}

/// One of our own signing keys and its life, in seconds since 1970: published, so that every verifier has it before it
/// is needed; then signing; then retired, and still verifying until the last token that it signed has expired.
package final class SigningKey: Sendable {
  /// RFC 7638.
  package let keyID: String
  package let algorithm: SignatureAlgorithm
  package let publishedAt: Int64
  package let activeFrom: Int64
  package let retiredAt: Int64?
  let privateKey: PrivateKey
  let publicKey: PublicKey
  private let idTokenHeader: [UInt8]
  private let customTokenHeader: [UInt8]

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
  }

  /// Never before it is published, whatever was configured.
  func isActive(at now: Int64) -> Bool {
    max(publishedAt, activeFrom) <= now && now < retiredAt ?? .max
  }

  /// Also before `publishedAt`, which only a clock that ran ahead leaves in the future: tokens of that time are still
  /// valid.
  func isNeeded(at now: Int64, tokenLifetimeSecondsMax: Int64) -> Bool {
    now - tokenLifetimeSecondsMax < retiredAt ?? .max
  }

  /// The signing input of RFC 7515 5.1.
  func signingInput(_ payload: [UInt8], _ type: TokenType) -> [UInt8] {
    var input: [UInt8] = []
    let header = type == .idToken ? idTokenHeader : customTokenHeader
    input.reserveCapacity(header.count + (payload.count * 4 + 2) / 3)
    input.append(contentsOf: header)
    Base64URL.append(payload, to: &input)
    return input
  }

  /// With the dot that follows it. Made once, since it is the same for every token of a type.
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

/// Our signing keys at one moment. A value: a rotation makes a new one, and calls in flight keep theirs.
package struct KeyRing: Sendable {
  private let keys: [SigningKey]
  private let tokenLifetimeSecondsMax: Int64

  /// The longest life of any token says how long a retired key is still needed (check 101).
  package init(_ keys: [SigningKey], tokenLifetimeSecondsMax: Int64) {
    self.keys = keys
    self.tokenLifetimeSecondsMax = tokenLifetimeSecondsMax
  }

  /// The key that signs now: of several, the one that took over last.
  package func activeKey(at now: Int64) -> SigningKey? {
    keys.lazy.filter { $0.isActive(at: now) }.max { $0.activeFrom < $1.activeFrom }
  }

  /// A token to be signed with the key that is active.
  package func unsigned(_ payload: [UInt8], _ type: TokenType, at now: Int64) throws(TokenError) -> UnsignedToken {
    guard let key = activeKey(at: now) else { throw .noActiveKey }
    return UnsignedToken(key: key, input: key.signingInput(payload, type))
  }

  /// The claims of a token that one of these keys signed for this purpose. Expiry, issuer and audience are the claims'
  /// own checks.
  package func verify(_ compact: String, _ type: TokenType, at now: Int64) throws(TokenError) -> JSONValue {
    let token = try JWS(compact)
    guard let tokenType = token.type, identical(tokenType, type.rawValue) else { throw .wrongType }
    guard let key = neededKeys(at: now).first(where: { $0.keyID == token.keyID }) else { throw .unknownKey }
    guard key.algorithm == token.algorithm else { throw .algorithmNotAllowed }
    guard token.isSigned(by: key.publicKey) else { throw .badSignature }
    return try token.claims()
  }

  /// What other services verify our tokens with (RFC 7517 5): the public halves only.
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

  /// What a verifier of our tokens has to know, in the order of the keys.
  package func algorithms(at now: Int64) -> [String] {
    neededKeys(at: now).map(\.algorithm.rawValue).reduce(into: []) { names, name in
      if !names.contains(name) { names.append(name) }
    }
  }

  private func neededKeys(at now: Int64) -> [SigningKey] {
    keys.filter { $0.isNeeded(at: now, tokenLifetimeSecondsMax: tokenLifetimeSecondsMax) }
  }
}
