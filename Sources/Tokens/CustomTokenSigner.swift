/// Somebody else's backend that may mint custom tokens: by which keys it is known, and for whom it may speak.
package struct CustomTokenSigner: Sendable {
  package let issuer: String
  private let keys: JWKSet
  private let accountIDPrefixes: [String]

  /// - Parameter accountIDPrefixes: of the accounts that are its own; without one it may speak for nobody.
  package init(issuer: String, keys: JWKSet, accountIDPrefixes: [String]) {
    self.issuer = issuer
    self.keys = keys
    self.accountIDPrefixes = accountIDPrefixes
  }

  /// The type is ours, or none is named: a token that says to be of another kind is one (RFC 8725 3.11).
  package func verify(_ token: JWS, audience: String, now: Int64) throws(TokenError) -> CustomTokenClaims {
    let types = [TokenType.customToken.rawValue, "jwt"]
    guard token.type.map({ types.contains($0.lowercased()) }) ?? true else { throw .wrongType }
    switch keys.signer(of: token) {
    case .unknownKey: throw .unknownKey
    case .badSignature: throw .badSignature
    case .signed: break
    }
    var claims = try CustomTokenClaims(payload: token.payload)
    // Only this service knows its cut-offs: a signer's own claim of this name proves nothing.
    claims.cutOffMillis = nil
    try claims.check(issuer: issuer, audience: audience, now: now)
    guard accountIDPrefixes.contains(where: { claims.accountID.utf8.starts(with: $0.utf8) }) else {
      throw .accountNotAllowed
    }
    return claims
  }
}
