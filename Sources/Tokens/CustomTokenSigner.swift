/// Another service's backend that may mint custom tokens, with its keys and the accounts that it may mint them for.
package struct CustomTokenSigner: Sendable {
  package let issuer: String
  private let keys: JWKSet
  private let accountIDPrefixes: [String]

  /// - Parameter accountIDPrefixes: prefixes of its own accounts' ids. Without one it may mint tokens for no account.
  package init(issuer: String, keys: JWKSet, accountIDPrefixes: [String]) {
    self.issuer = issuer
    self.keys = keys
    self.accountIDPrefixes = accountIDPrefixes
  }

  /// Verifies a token. Its type must be ours, `jwt` or absent: any other type states another kind of token (RFC 8725
  /// 3.11).
  package func verify(_ token: JWS, audience: String, now: Int64) throws(TokenError) -> CustomTokenClaims {
    let types = [TokenType.customToken.rawValue, "jwt"]
    guard token.type.map({ types.contains($0.lowercased()) }) ?? true else { throw .wrongType }
    switch keys.signer(of: token) {
    case .unknownKey: throw .unknownKey
    case .badSignature: throw .badSignature
    case .signed: break
    }
    var claims = try CustomTokenClaims(payload: token.payload)
    // Only this service knows its cut-offs, so a signer's own claim of this name proves nothing.
    claims.cutOffMillis = nil
    try claims.check(issuer: issuer, audience: audience, now: now)
    guard accountIDPrefixes.contains(where: { claims.accountID.utf8.starts(with: $0.utf8) }) else {
      throw .accountNotAllowed
    }
    return claims
  }
}
