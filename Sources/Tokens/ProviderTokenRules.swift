package import Crypto
import Encodings

/// Which rule an ID token of a provider broke.
package enum TokenRefusal: String, Error, Sendable, CaseIterable {
  case algorithmNotPinned = "ALGORITHM_NOT_PINNED"
  /// It is a token of another kind.
  case type = "TYPE"
  /// Reading the key set again can help after this refusal and after `badSignature`: a new key may have the name of the
  /// old one, or none.
  case unknownKey = "UNKNOWN_KEY"
  case badSignature = "BAD_SIGNATURE"
  case malformedClaims = "MALFORMED_CLAIMS"
  case issuer = "ISSUER"
  /// Its key signs the tokens of another issuer.
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

/// What a token that passed every rule says.
package struct ProviderClaims: Equatable, Sendable {
  package let issuer: String
  package let subject: String
  package let audiences: [String]
  package let issuedAt: Int64
  package let expiresAt: Int64
  /// For the caller to compare: whether one is needed, and hashed or not, differs from provider to provider.
  package let nonce: String?
  /// Whether the access token that came along is proved to belong to this ID token.
  package let accessTokenIsBound: Bool
  /// All claims, for what only the provider knows (e-mail, profile, tenant).
  package let all: JSONValue
}

/// What an ID token of one provider must say (OpenID Connect Core 3.1.3.7).
package struct ProviderTokenRules: Sendable {
  /// Stands in an issuer for the tenant that the token names.
  package static let tenantPlaceholder = "{tenantid}"

  /// Compared byte by byte: a trailing slash makes another issuer (check 42).
  package let issuers: [String]
  package let clientIDs: [String]
  /// Accepted in `aud` next to a client id, with `azp` a client id, and never alone.
  package let additionalAudiences: [String]
  package let algorithms: [SignatureAlgorithm]
  /// An `at_hash` must then be accompanied by the access token that it is about.
  package let requireAccessToken: Bool
  /// Which claim names the tenant of a provider whose issuers have the placeholder; it must then agree with `iss`.
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

  /// Signature first: nothing else of an unsigned token is worth a look. `now` is in seconds since 1970.
  /// - Parameter code: That the token was redeemed for, where it was.
  package func verify(
    _ token: JWS, keys: JWKSet, accessToken: String?, code: String? = nil, now: Int64
  ) throws(TokenRefusal) -> ProviderClaims {
    guard ProviderTokenRules.mayBeIDToken(type: token.type) else { throw .type }
    let (claims, key) = try signedClaims(token, keys)
    let checked = try check(claims, signedWith: token.algorithm, accessToken: accessToken, code: code, now: now)
    guard speaks(key, for: checked) else { throw .keyIssuer }
    return checked
  }

  /// When a token with a missing key says that it was issued, in seconds since 1970.
  ///
  /// nil: its claims break another rule, so that no key would help. The signature is not verified here.
  package func claimedIssuance(_ token: JWS, accessToken: String?, now: Int64) -> Int64? {
    guard let claims = try? token.claims() else { return nil }
    return (try? check(claims, signedWith: token.algorithm, accessToken: accessToken, now: now))?.issuedAt
  }

  /// A signed answer of userinfo (OpenID Connect Core 5.3.2), which need not say whose it is and for whom.
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

  /// RFC 8725, 3.11: who signs access tokens, logout tokens and events with the same keys says so in their type. ID
  /// tokens have `JWT`, none, or whatever their provider thought of.
  private static func mayBeIDToken(type: String?) -> Bool { type?.lowercased().hasSuffix("+jwt") != true }

  /// A provider of many tenants has keys that are for the tokens of some only. Elsewhere the member means nothing
  /// (RFC 7517, 4).
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
    // Logout tokens and other events need not have a type of their own (Back-Channel Logout 1.0, 2.4; RFC 8417, 2.2).
    guard claims["events"] == nil else { throw .type }
    // OpenID Connect Core 2: at most 255 characters; an empty one would be everybody's identity.
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

  /// OpenID Connect Core 3.1.3.6 and 3.3.2.11: the left half of the hash, with the signature's hash function.
  private static func isHash(_ claim: JSONValue, of text: String, _ algorithm: SignatureAlgorithm) -> Bool {
    let digest = algorithm.hash.digest(Array(text.utf8))
    guard let claimed = claim.string.flatMap(Base64URL.decode) else { return false }
    return constantTimeEquals(claimed, Array(digest.prefix(digest.count / 2)))
  }
}
