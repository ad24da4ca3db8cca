import Testing
import Tokens

/// Custom tokens of another service's backend.
@Suite struct CustomTokenSignerTests {
  private static let now: Int64 = 1_800_000_000
  private static let audience = "https://auth.example"
  private let backend: Signer
  private let signer: CustomTokenSigner

  init() throws {
    backend = try Signer()
    signer = CustomTokenSigner(
      issuer: "https://billing.example", keys: try keySet(backend.jwk()), accountIDPrefixes: ["billing-", "b/"])
  }

  private static func claims(
    issuer: String = "https://billing.example", audience: String = audience, uid: String = "billing-7",
    issuedAt: Int64 = now, expiresAt: Int64 = now + 3_600, more: String = ""
  ) -> String {
    #"{"iss":"\#(issuer)","aud":"\#(audience)","uid":"\#(uid)","iat":\#(issuedAt),"exp":\#(expiresAt)\#(more)}"#
  }

  private func verify(_ token: String) throws(TokenError) -> CustomTokenClaims {
    try signer.verify(try JWS(token), audience: Self.audience, now: Self.now)
  }

  @Test(arguments: ["billing-7", "billing-", "b/1"])
  func `a token for the signer's own account is accepted, with its claims`(uid: String) throws {
    let claims = try verify(backend.token(Self.claims(uid: uid, more: #","claims":{"plan":"gold"}"#)))
    #expect(claims.accountID == uid && claims.claims.json == #"{"plan":"gold"}"#)
  }

  @Test(arguments: ["", "7", "billing", "Billing-7", "x-billing-7", "0123456789abcdef"])
  func `a signer cannot sign for an account that is not its own`(uid: String) throws {
    let token = try backend.token(Self.claims(uid: uid))
    #expect(throws: TokenError.accountNotAllowed) { try verify(token) }
  }

  @Test(arguments: [
    (claims(issuer: "https://other.example"), TokenError.wrongIssuer),
    (claims(audience: "https://other.example"), .wrongAudience),
    (claims(issuedAt: now - 3_600, expiresAt: now), .expired),
    (claims(expiresAt: now + 3_601), .malformed(.claims)),
    (claims(issuedAt: now + 61, expiresAt: now + 100), .malformed(.claims)),
    (claims(more: #","claims":{"sub":"x"}"#), .malformed(.claims)),
  ])
  func `another issuer or audience, a longer lifetime and reserved claims are rejected`(
    claims: String, expected: TokenError
  ) throws {
    let token = try backend.token(claims)
    #expect(throws: expected) { try verify(token) }
  }

  @Test func `another signer's key, an unknown key and a token of another kind are rejected`() throws {
    let forged = try Signer().token(Self.claims())
    #expect(throws: TokenError.badSignature) { try verify(forged) }
    let unknown = try Signer(keyID: "k2").token(Self.claims())
    #expect(throws: TokenError.unknownKey) { try verify(unknown) }
    for type in ["at+jwt", "logout+jwt", "JOSE"] {
      let token = try backend.token(Self.claims(), header: #"{"alg":"ES256","kid":"k1","typ":"\#(type)"}"#)
      #expect(throws: TokenError.wrongType) { try verify(token) }
    }
    for type in ["JWT", "jwt", "latchkey-custom+jwt"] {
      _ = try verify(backend.token(Self.claims(), header: #"{"alg":"ES256","kid":"k1","typ":"\#(type)"}"#))
    }
  }
}
