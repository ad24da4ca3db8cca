/// The claims of a custom token, by which a trusted backend states that the bearer is this account.
package struct CustomTokenClaims: Equatable, Sendable {
  package static let lifetimeSecondsMax: Int64 = 3_600

  package let issuer: String
  package let audience: String
  package let accountID: String
  package let issuedAt: Int64
  package let expiresAt: Int64
  /// Claims of the session that the token opens, in addition to those of the account.
  package let claims: CustomClaims
  /// The account's last cut-off when we minted the token, in milliseconds; 0 without one. nil in tokens of registered
  /// signers, which do not know it.
  package var cutOffMillis: Int64?

  package init(
    issuer: String, audience: String, accountID: String, issuedAt: Int64, expiresAt: Int64, claims: CustomClaims,
    cutOffMillis: Int64? = nil
  ) {
    self.issuer = issuer
    self.audience = audience
    self.accountID = accountID
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.claims = claims
    self.cutOffMillis = cutOffMillis
  }

  package func encoded() -> [UInt8] {
    var writer = JSONWriter(reservingBytes: 512)
    writer.open(.object)
    writer.member("iss", issuer)
    writer.member("aud", audience)
    writer.member("uid", accountID)
    writer.member("iat", issuedAt)
    writer.member("exp", expiresAt)
    if let cutOffMillis { writer.member("cut_off_millis", cutOffMillis) }
    if !claims.isEmpty {
      writer.name("claims")
      writer.raw(claims.json.utf8)
    }
    writer.close(.object)
    return writer.bytes
  }

  /// Reads the payload of a token with a verified signature. The signer may be another service's registered key, so the
  /// session's claims must follow our rules.
  package init(payload: [UInt8]) throws(TokenError) {
    guard let (token, texts) = try? JSONValue.parseWithTexts(payload, byteCountMax: JWS.byteCountMax) else {
      throw .malformed(.claims)
    }
    var claims = CustomClaims.none
    if let object = texts.first(where: { $0.name == "claims" })?.value {
      let text = String(decoding: object, as: UTF8.self)
      guard let valid = try? CustomClaims(validating: text) else { throw .malformed(.claims) }
      claims = valid
    }
    guard let issuer = token["iss"]?.string, let audience = token["aud"]?.string,
      let accountID = token["uid"]?.string, let issuedAt = token["iat"]?.int, let expiresAt = token["exp"]?.int
    else { throw .malformed(.claims) }
    self.init(
      issuer: issuer, audience: audience, accountID: accountID, issuedAt: issuedAt, expiresAt: expiresAt,
      claims: claims, cutOffMillis: token["cut_off_millis"]?.int)
  }

  /// Checks issuer, audience and times. A lifetime above one hour is invalid for every signer: the leeway is for the
  /// signer's clock, not for the lifetime.
  package func check(
    issuer: String, audience: String, leewaySeconds: Int64 = 60, now: Int64
  ) throws(TokenError) {
    guard identical(self.issuer, issuer) else { throw .wrongIssuer }
    guard identical(self.audience, audience) else { throw .wrongAudience }
    guard now < expiresAt else { throw .expired }
    guard issuedAt <= now + leewaySeconds, expiresAt <= issuedAt + Self.lifetimeSecondsMax else {
      throw .malformed(.claims)
    }
  }
}
