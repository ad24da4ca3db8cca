import Crypto
import Encodings
import Testing
import Tokens

struct ProviderTokenTests {
  let now: Int64 = 1_700_000_000
  let signer: Signer
  let rules = ProviderTokenRules(
    issuers: ["https://issuer.example", "issuer.example"], clientIDs: ["web", "ios"], algorithms: [.es256])

  init() throws {
    signer = try Signer()
  }

  /// Claims that pass, with some changed (a JSON text) or removed (nil).
  func claims(_ changes: [String: String?] = [:]) -> String {
    var members: [String: String] = [
      "iss": #""https://issuer.example""#, "aud": #""web""#, "sub": #""subject-1""#, "exp": "\(now + 300)",
      "iat": "\(now - 10)",
    ]
    for (name, value) in changes { members[name] = value }
    return "{" + members.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",") + "}"
  }

  func verify(
    _ changes: [String: String?] = [:], rules: ProviderTokenRules? = nil, accessToken: String? = nil
  ) throws -> ProviderClaims {
    try (rules ?? self.rules).verify(
      JWS(signer.token(claims(changes))), keys: keySet(signer.jwk()), accessToken: accessToken, now: now)
  }

  func refusal(_ changes: [String: String?]) throws -> TokenRefusal? {
    do {
      _ = try verify(changes)
      return nil
    } catch let refusal as TokenRefusal {
      return refusal
    }
  }

  @Test func `a token that follows every rule returns its claims and its nonce`() throws {
    let claims = try verify(["nonce": #""n-1""#, "email": #""ada@example.com""#])
    #expect(claims.issuer == "https://issuer.example" && claims.subject == "subject-1" && claims.audiences == ["web"])
    #expect(claims.issuedAt == now - 10 && claims.expiresAt == now + 300)
    #expect(claims.nonce == "n-1" && !claims.accessTokenIsBound)
    #expect(claims.all["email"]?.string == "ada@example.com")
    #expect(try verify().nonce == nil)
    #expect(try verify(["iss": #""issuer.example""#]).issuer == "issuer.example")
  }

  @Test func `a token for another audience is refused (check 40)`() throws {
    for audience in [#""other""#, #"["other"]"#, "[]", #""""#, "1", #"["web",1]"#, "null", #""WEB""#, #""web ""#, nil] {
      #expect(try refusal(["aud": audience]) == .audience, "aud \(audience ?? "absent")")
    }
  }

  @Test func `several audiences with an unknown one are rejected (check 41)`() throws {
    #expect(try refusal(["aud": #"["web","other"]"#, "azp": #""web""#]) == .untrustedAudience)
    #expect(try refusal(["aud": #"["web","ios"]"#, "azp": #""web""#]) == nil)
    #expect(try refusal(["aud": #"["web"]"#]) == nil)
  }

  @Test(arguments: [
    (#"["web","project"]"#, #""web""#, nil), (#"["project","web","ios"]"#, #""ios""#, nil),
    (#"["web","project"]"#, nil, .authorizedParty), (#"["web","project"]"#, #""project""#, .authorizedParty),
    (#""project""#, #""web""#, .audience), (#"["project"]"#, #""web""#, .audience),
    (#"["web","project","other"]"#, #""web""#, .untrustedAudience),
    (#"["web","Project"]"#, #""web""#, .untrustedAudience),
  ] as [(String, String?, TokenRefusal?)])
  func `an additional audience is accepted only next to a known client id and azp (check 41)`(
    audience: String, party: String?, expected: TokenRefusal?
  ) {
    let rules = ProviderTokenRules(
      issuers: ["https://issuer.example"], clientIDs: ["web", "ios"], additionalAudiences: ["project"],
      algorithms: [.es256])
    do {
      let claims = try verify(["aud": audience, "azp": party], rules: rules)
      #expect(expected == nil && claims.audiences.contains("project"))
    } catch {
      #expect(error as? TokenRefusal == expected)
    }
  }

  @Test func `a missing azp with several audiences, and a foreign azp, are rejected (check 41)`() throws {
    #expect(try refusal(["aud": #"["web","ios"]"#]) == .authorizedParty)
    for party in [#""other""#, "1", "null", #""""#, #"["web"]"#] {
      #expect(try refusal(["azp": party]) == .authorizedParty)
    }
    #expect(try refusal(["azp": #""ios""#]) == nil)
  }

  @Test func `an issuer that differs by slash, scheme, host, case or normal form is refused (check 42)`() throws {
    for issuer in [
      #""https://issuer.example/""#, #""http://issuer.example""#, #""https://issuer.example.evil""#,
      #""https://Issuer.example""#, #""""#, "1", #"["https://issuer.example"]"#, nil,
    ] {
      #expect(try refusal(["iss": issuer]) == .issuer, "iss \(issuer ?? "absent")")
    }
    let rules = ProviderTokenRules(issuers: ["https://é.example"], clientIDs: ["web"], algorithms: [.es256])
    #expect(throws: TokenRefusal.issuer) { try verify(["iss": #""https://e\u0301.example""#], rules: rules) }
  }

  @Test func `an algorithm that is not pinned is rejected even if key and signature are valid (check 43)`() throws {
    let signer = try Signer(.rsa, .ps256)
    #expect(throws: TokenRefusal.algorithmNotPinned) {
      try rules.verify(JWS(signer.token(claims())), keys: keySet(signer.jwk()), accessToken: nil, now: now)
    }
  }

  @Test func `an unknown key and a foreign signature are rejected with different errors for the refetch (check 53)`()
    throws
  {
    let attacker = try Signer()
    let stranger = try Signer(keyID: "k2")
    #expect(throws: TokenRefusal.badSignature) {
      try rules.verify(JWS(attacker.token(claims())), keys: keySet(signer.jwk()), accessToken: nil, now: now)
    }
    #expect(throws: TokenRefusal.unknownKey) {
      try rules.verify(JWS(stranger.token(claims())), keys: keySet(signer.jwk()), accessToken: nil, now: now)
    }
  }

  @Test func `a signed payload that is not a JSON object is rejected`() throws {
    for payload in ["", "[]", "null", #"{"a":1,"a":2}"#, "{"] {
      #expect(throws: TokenRefusal.malformedClaims) {
        try rules.verify(JWS(signer.token(payload)), keys: keySet(signer.jwk()), accessToken: nil, now: now)
      }
    }
  }

  @Test func `an expired token is refused, with 60 seconds of leeway to the second (check 45)`() throws {
    #expect(try refusal(["exp": "\(now - 59)"]) == nil)
    #expect(try refusal(["exp": "\(now - 60)"]) == .expired)
    for time in [#""\#(now + 300)""#, "null", "true", nil] { #expect(try refusal(["exp": time]) == .expiryMissing) }
    #expect(try refusal(["exp": "\(Int64.min)"]) == .expired)
    #expect(try refusal(["exp": "\(now).5"]) == nil)
  }

  @Test func `a token issued in the future beyond the leeway, or at no time, is refused (check 45)`() throws {
    #expect(try refusal(["iat": "\(now + 60)"]) == nil)
    #expect(try refusal(["iat": "\(now + 61)"]) == .issuedInFuture)
    #expect(try refusal(["iat": "\(Int64.max)"]) == .issuedInFuture)
    for time in [#""\#(now)""#, "null", nil] { #expect(try refusal(["iat": time]) == .issuedAtMissing) }
  }

  @Test func `a token that is not valid yet is refused (RFC 7519 4.1.5)`() throws {
    #expect(try refusal(["nbf": "\(now + 60)"]) == nil)
    for time in ["\(now + 61)", #""\#(now)""#, "null"] { #expect(try refusal(["nbf": time]) == .notYetValid) }
  }

  @Test func `a subject is a string of 1 to 255 bytes`() throws {
    let edge = String(repeating: "s", count: 255)
    #expect(try refusal(["sub": #""\#(edge)""#]) == nil)
    for subject in [#""\#(edge)s""#, #""""#, "1", "null", nil] { #expect(try refusal(["sub": subject]) == .subject) }
  }

  @Test func `a nonce that is not text is rejected, and does not count as absent (check 46)`() throws {
    for nonce in ["1", "null", "[]"] { #expect(try refusal(["nonce": nonce]) == .nonce) }
  }

  @Test(arguments: [
    (KeyKind.p256, SignatureAlgorithm.es256, HashFunction.sha256), (.ec(.p384), .es384, .sha384),
    (.ec(.p521), .es512, .sha512), (.ed25519, .edDSA, .sha512), (.ed25519, .ed25519, .sha512), (.rsa, .rs512, .sha512),
    (.rsa, .ps256, .sha256), (.rsa, .ps384, .sha384), (.rsa, .ps512, .sha512),
  ])
  func `an at_hash is checked with the hash of the signature's algorithm (check 52)`(
    kind: KeyKind, algorithm: SignatureAlgorithm, hash: HashFunction
  ) throws {
    let signer = try Signer(kind, algorithm)
    let rules = ProviderTokenRules(issuers: rules.issuers, clientIDs: ["web"], algorithms: [algorithm])
    let half = Base64URL.encode(Array(hash.digest(Array("access".utf8)).prefix(hash.byteCount / 2)))
    let token = try JWS(signer.token(claims(["at_hash": #""\#(half)""#])))
    let keys = try keySet(signer.jwk())
    #expect(try rules.verify(token, keys: keys, accessToken: "access", now: now).accessTokenIsBound)
    #expect(throws: TokenRefusal.accessTokenHash) {
      try rules.verify(token, keys: keys, accessToken: "Access", now: now)
    }
  }

  @Test func `the at_hash example of OpenID Connect Core A.3 agrees (check 52)`() throws {
    let claims = try verify(
      ["at_hash": #""77QmUPtjPfzWtF2AnpK9RQ""#], accessToken: "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
    #expect(claims.accessTokenIsBound)
  }

  @Test func `an at_hash that is wrong, short or not text is rejected if the access token is present (check 52)`() {
    for hash in [#""AAAAAAAAAAAAAAAAAAAAAA""#, #""77QmUPtjPfzWtF2AnpK9""#, #""""#, #""!""#, "1", "null"] {
      #expect(throws: TokenRefusal.accessTokenHash) {
        try verify(["at_hash": hash], accessToken: "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
      }
    }
  }

  @Test func `an at_hash without its access token is rejected if the policy requires it (check 52)`() throws {
    let hash = ["at_hash": #""77QmUPtjPfzWtF2AnpK9RQ""#]
    let strict = ProviderTokenRules(
      issuers: rules.issuers, clientIDs: rules.clientIDs, algorithms: [.es256], requireAccessToken: true)
    #expect(throws: TokenRefusal.accessTokenMissing) { try verify(hash, rules: strict) }
    #expect(try !verify(hash).accessTokenIsBound)
    #expect(try !verify(rules: strict).accessTokenIsBound)
    #expect(try !verify(accessToken: "anything").accessTokenIsBound)
  }

  @Test func `the c_hash example of OpenID Connect Core A.4 agrees, and another code does not`() throws {
    let token = try JWS(signer.token(claims(["c_hash": #""LDktKdoQak3Pk0cnXxCltA""#])))
    let keys = try keySet(signer.jwk())
    func verify(_ code: String?) throws {
      _ = try rules.verify(token, keys: keys, accessToken: nil, code: code, now: now)
    }
    try verify("Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk")
    try verify(nil)
    #expect(throws: TokenRefusal.codeHash) { try verify("Qcb0") }
  }

  @Test func `an issuer for many tenants must match the tenant in the token (check 42)`() throws {
    let tenants = ProviderTokenRules(
      issuers: ["https://issuer.example/{tenantid}/v2"], clientIDs: ["web"], algorithms: [.es256], tenantClaim: "tid")
    func issuer(_ issuer: String, _ tenant: String?) throws -> String {
      try verify(["iss": #""\#(issuer)""#, "tid": tenant], rules: tenants).issuer
    }
    #expect(try issuer("https://issuer.example/a/v2", #""a""#) == "https://issuer.example/a/v2")
    for tenant in [#""b""#, nil, "1", #""""#] as [String?] {
      #expect(throws: TokenRefusal.issuer) { try issuer("https://issuer.example/a/v2", tenant) }
    }
    // Without a claim that names the tenant, the placeholder is ordinary text.
    #expect(throws: TokenRefusal.issuer) {
      try verify(["iss": #""https://issuer.example/a/v2""#, "tid": #""a""#])
    }
  }

  @Test func `a key of some tenants cannot sign tokens of another tenant`() throws {
    let tenants = ProviderTokenRules(
      issuers: ["https://issuer.example/{tenantid}/v2"], clientIDs: ["web"], algorithms: [.es256], tenantClaim: "tid")
    func refusal(_ rules: ProviderTokenRules, issuer: String, ofKey member: String) throws -> TokenRefusal? {
      let token = try JWS(signer.token(claims(["iss": #""\#(issuer)""#, "tid": #""a""#])))
      do {
        _ = try rules.verify(token, keys: keySet(signer.jwk(member)), accessToken: nil, now: now)
        return nil
      } catch { return error as? TokenRefusal }
    }
    let own = "https://issuer.example/a/v2"
    for issuer in [own, "https://issuer.example/{tenantid}/v2"] {
      #expect(try refusal(tenants, issuer: own, ofKey: #","issuer":"\#(issuer)""#) == nil)
    }
    #expect(try refusal(tenants, issuer: own, ofKey: "") == nil)
    #expect(try refusal(tenants, issuer: own, ofKey: #","issuer":null"#) == nil)
    for issuer in [own + "/", "https://issuer.example/b/v2", "https://other.example/{tenantid}/v2", ""] {
      #expect(try refusal(tenants, issuer: own, ofKey: #","issuer":"\#(issuer)""#) == .keyIssuer)
    }
    // For a provider without tenants it is an unknown member.
    #expect(try refusal(rules, issuer: "issuer.example", ofKey: #","issuer":"https://other.example""#) == nil)
  }

  @Test(arguments: [
    "at+jwt", "application/at+jwt", "AT+JWT", "Application/At+Jwt", "logout+jwt", "secevent+jwt", "dpop+jwt",
    "token-introspection+jwt", "oauth-authz-req+jwt", "+jwt",
  ])
  func `a token with another type in its header is rejected (RFC 8725 3.11)`(type: String) throws {
    let token = try JWS(signer.token(claims(), header: #"{"alg":"ES256","kid":"k1","typ":"\#(type)"}"#))
    #expect(throws: TokenRefusal.type) {
      try rules.verify(token, keys: keySet(signer.jwk()), accessToken: nil, now: now)
    }
  }

  @Test(arguments: ["JWT", "jwt", "application/jwt", "JWS", "id_token", "", "at+jwt2", "jwt+at"])
  func `a token without a type is accepted`(type: String) throws {
    let token = try JWS(signer.token(claims(), header: #"{"alg":"ES256","kid":"k1","typ":"\#(type)"}"#))
    #expect(try rules.verify(token, keys: keySet(signer.jwk()), accessToken: nil, now: now).subject == "subject-1")
  }

  @Test func `a logout token, or another event, is rejected even if its header has no type`() throws {
    for events in [#"{"http://schemas.openid.net/event/backchannel-logout":{}}"#, "{}", #""{}""#] {
      #expect(try refusal(["events": events]) == .type)
    }
  }
}
