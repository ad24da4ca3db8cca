package import Crypto
import Encodings

/// The rule that a provider's ID token broke.
package enum TokenRefusal: String, Error, Sendable, CaseIterable {
  case algorithmNotPinned = "ALGORITHM_NOT_PINNED"
  /// The token is of another kind.
  case type = "TYPE"
  /// Reading the key set again can help after this refusal and after `badSignature`: a new key may have the old key's
  /// name, or none.
  case unknownKey = "UNKNOWN_KEY"
  case badSignature = "BAD_SIGNATURE"
  case malformedClaims = "MALFORMED_CLAIMS"
  case issuer = "ISSUER"
  /// The key signs the tokens of another issuer.
  case keyIssuer = "KEY_ISSUER"
  case audience = "AUDIENCE"
  case untrustedAudience = "UNTRUSTED_AUDIENCE"
  case authorizedParty = "AUTHORIZED_PARTY"
  case expiryMissing = "EXPIRY_MISSING"
  case expired = "EXPIRED"
  case issuedAtMissing = "ISSUED_AT_MISSING"
  case issuedInFuture = "ISSUED_IN_FUTURE"
  case notYetValid = "NOT_YET_VALID"
  case subject = "SUBJECT"
  case accessTokenMissing = "ACCESS_TOKEN_MISSING"
  case accessTokenHash = "ACCESS_TOKEN_HASH"
  case codeHash = "CODE_HASH"
  case nonce = "NONCE"
}

/// The claims of a token that passed every rule.
package struct ProviderClaims: Equatable, Sendable {
  package let issuer: String
  package let subject: String
  package let audiences: [String]
  package let issuedAt: Int64
  package let expiresAt: Int64
  /// The nonce, which the caller compares. Providers differ in whether they need one, and whether it is hashed.
  package let nonce: String?
  /// Whether the ID token proves that the accompanying access token belongs to it.
  package let accessTokenIsBound: Bool
  /// All claims, for those that only the provider's adapter knows (email, profile, tenant).
  package let all: JSONValue
}

/// The rules for ID tokens of one provider (OpenID Connect Core 3.1.3.7).
package struct ProviderTokenRules: Sendable {
  /// Represents the token's tenant in an issuer.
  package static let tenantPlaceholder = "{tenantid}"

  /// Compared byte by byte: a trailing slash makes another issuer (check 42).
  package let issuers: [String]
  package let clientIDs: [String]
  /// Accepted in `aud` next to a client id, with a client id in `azp`, and never alone.
  package let additionalAudiences: [String]
  package let algorithms: [SignatureAlgorithm]
  /// Whether a token with `at_hash` must come with the access token that it refers to.
  package let requireAccessToken: Bool
  /// The claim that names the tenant, for a provider whose issuers have the placeholder. It must agree with `iss`.
  package let tenantClaim: String?
  package let leewaySeconds: Int64

  package init(
    issuers: [String], clientIDs: [String], additionalAudiences: [String] = [], algorithms: [SignatureAlgorithm],
    requireAccessToken: Bool = false, tenantClaim: String? = nil, leewaySeconds: Int64 = 60
  ) {
    self.issuers = issuers
    self.clientIDs = clientIDs
    self.additionalAudiences = additionalAudiences
    self.algorithms = algorithms
    self.requireAccessToken = requireAccessToken
    self.tenantClaim = tenantClaim
    self.leewaySeconds = leewaySeconds
  }

  /// Verifies a token. The signature comes first, because nothing else in an unsigned token matters.
  ///
  /// - Parameter code: code for which the token was redeemed, if any.
  /// - Parameter now: in seconds since 1970.
  package func verify(
    _ token: JWS, keys: JWKSet, accessToken: String?, code: String? = nil, now: Int64
  ) throws(TokenRefusal) -> ProviderClaims {
    guard ProviderTokenRules.mayBeIDToken(type: token.type) else { throw .type }
    let (claims, key) = try signedClaims(token, keys)
    let checked = try check(claims, signedWith: token.algorithm, accessToken: accessToken, code: code, now: now)
    guard speaks(key, for: checked) else { throw .keyIssuer }
    return checked
  }

  /// Returns when a token with a missing key claims to have been issued, in seconds since 1970.
  ///
  /// Returns nil if its claims break another rule, so that no key would help. This does not verify the signature.
  package func claimedIssuance(_ token: JWS, accessToken: String?, now: Int64) -> Int64? {
    guard let claims = try? token.claims() else { return nil }
    return (try? check(claims, signedWith: token.algorithm, accessToken: accessToken, now: now))?.issuedAt
  }

  /// Verifies a signed userinfo response (OpenID Connect Core 5.3.2), which need not name its issuer and audience.
  package func verifyUserinfo(
    _ token: JWS, keys: JWKSet, beside idToken: ProviderClaims
  ) throws(TokenRefusal) -> JSONValue {
    let (claims, key) = try signedClaims(token, keys)
    guard speaks(key, for: idToken) else { throw .keyIssuer }
    if let issuer = claims["iss"] {
      guard let issuer = issuer.string, identical(issuer, idToken.issuer) else { throw .issuer }
    }
    if let audience = claims["aud"] {
      let audiences = audience.string.map { [$0] } ?? audience.strings ?? []
      guard audiences.contains(where: isOurs) else { throw .audience }
    }
    return claims
  }

  private func signedClaims(
    _ token: JWS, _ keys: JWKSet
  ) throws(TokenRefusal) -> (claims: JSONValue, key: JWKSet.Key) {
    guard algorithms.contains(token.algorithm) else { throw .algorithmNotPinned }
    switch keys.signer(of: token) {
    case .unknownKey: throw .unknownKey
    case .badSignature: throw .badSignature
    case .signed(by: let key):
      guard let claims = try? token.claims() else { throw .malformedClaims }
      return (claims, key)
    }
  }

  /// Returns whether the type may be that of an ID token (RFC 8725, 3.11). Services that sign access tokens, logout
  /// tokens and events with the same keys state that in the type. ID tokens have `JWT`, no type, or one that their
  /// provider chose.
  private static func mayBeIDToken(type: String?) -> Bool { type?.lowercased().hasSuffix("+jwt") != true }

  /// Returns whether the key may sign these claims. A multi-tenant provider has keys for the tokens of some tenants
  /// only. Elsewhere the member means nothing (RFC 7517, 4).
  private func speaks(_ key: JWKSet.Key, for claims: ProviderClaims) -> Bool {
    guard tenantClaim != nil, let issuer = key.issuer else { return true }
    return identical(filled(issuer, claims.all), claims.issuer)
  }

  private func filled(_ issuer: String, _ claims: JSONValue) -> String {
    guard let tenantClaim, let tenant = claims[tenantClaim]?.string else { return issuer }
    return issuer.replacing(ProviderTokenRules.tenantPlaceholder, with: tenant)
  }

  func check(
    _ claims: JSONValue, signedWith algorithm: SignatureAlgorithm, accessToken: String?, code: String? = nil,
    now: Int64
  ) throws(TokenRefusal) -> ProviderClaims {
    let issuer = try checkIssuer(claims)
    let audiences = try checkAudience(claims)
    let (issuedAt, expiresAt) = try checkTimes(claims, now: now)
    // Logout tokens and other events need not have their own type (Back-Channel Logout 1.0, 2.4; RFC 8417, 2.2).
    guard claims["events"] == nil else { throw .type }
    // OpenID Connect Core 2: at most 255 characters. All users would share an empty subject.
    guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count) else { throw .subject }
    guard claims["nonce"] == nil || claims["nonce"]?.string != nil else { throw .nonce }
    if let code, let claim = claims["c_hash"] {
      guard ProviderTokenRules.isHash(claim, of: code, algorithm) else { throw .codeHash }
    }
    return ProviderClaims(
      issuer: issuer, subject: subject, audiences: audiences, issuedAt: issuedAt, expiresAt: expiresAt,
      nonce: claims["nonce"]?.string,
      accessTokenIsBound: try checkAccessToken(claims["at_hash"], algorithm, accessToken), all: claims)
  }

  private func checkIssuer(_ claims: JSONValue) throws(TokenRefusal) -> String {
    guard let issuer = claims["iss"]?.string else { throw .issuer }
    guard issuers.contains(where: { identical(filled($0, claims), issuer) }) else { throw .issuer }
    return issuer
  }

  private func isOurs(_ clientID: String) -> Bool {
    clientIDs.contains { identical($0, clientID) }
  }

  private func isAdditional(_ audience: String) -> Bool {
    additionalAudiences.contains { identical($0, audience) }
  }

  private func checkAudience(_ claims: JSONValue) throws(TokenRefusal) -> [String] {
    let audiences = claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.strings ?? []
    guard audiences.contains(where: isOurs) else { throw .audience }
    guard audiences.allSatisfy({ isOurs($0) || isAdditional($0) }) else { throw .untrustedAudience }
    if let party = claims["azp"] {
      guard let clientID = party.string, isOurs(clientID) else { throw .authorizedParty }
    } else {
      guard audiences.count == 1 else { throw .authorizedParty }
    }
    return audiences
  }

  private func checkTimes(
    _ claims: JSONValue, now: Int64
  ) throws(TokenRefusal) -> (issuedAt: Int64, expiresAt: Int64) {
    guard let expiresAt = claims["exp"]?.numericDate else { throw .expiryMissing }
    guard expiresAt > now - leewaySeconds else { throw .expired }
    guard let issuedAt = claims["iat"]?.numericDate else { throw .issuedAtMissing }
    guard issuedAt <= now + leewaySeconds else { throw .issuedInFuture }
    if let notBefore = claims["nbf"] {
      guard let time = notBefore.numericDate, time <= now + leewaySeconds else { throw .notYetValid }
    }
    return (issuedAt, expiresAt)
  }

  private func checkAccessToken(
    _ claim: JSONValue?, _ algorithm: SignatureAlgorithm, _ accessToken: String?
  ) throws(TokenRefusal) -> Bool {
    guard let claim else { return false }
    guard let accessToken else {
      guard !requireAccessToken else { throw .accessTokenMissing }
      return false
    }
    guard ProviderTokenRules.isHash(claim, of: accessToken, algorithm) else { throw .accessTokenHash }
    return true
  }

  /// Checks a hash claim (OpenID Connect Core 3.1.3.6 and 3.3.2.11): the left half of the hash, with the signature's
  /// hash function.
  private static func isHash(_ claim: JSONValue, of text: String, _ algorithm: SignatureAlgorithm) -> Bool {
    let digest = algorithm.hash.digest(Array(text.utf8))
    guard let claimed = claim.string.flatMap(Base64URL.decode) else { return false }
    return constantTimeEquals(claimed, Array(digest.prefix(digest.count / 2)))
  }
}
