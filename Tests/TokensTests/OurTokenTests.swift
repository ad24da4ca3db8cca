import Crypto
import Testing
import Tokens

struct KeyRingTests {
  static let now: Int64 = 1_700_000_000
  let now = Self.now

  func key(
    _ kind: KeyKind = .p256, _ algorithm: SignatureAlgorithm = .es256, publishedAt: Int64 = Self.now - 100,
    activeFrom: Int64 = Self.now - 50, retiredAt: Int64? = nil
  ) throws -> SigningKey {
    try SigningKey(
      .generate(kind), algorithm: algorithm, publishedAt: publishedAt, activeFrom: activeFrom, retiredAt: retiredAt)
  }

  @Test(arguments: [(KeyKind.p256, SignatureAlgorithm.es256), (.ed25519, .edDSA), (.rsa, .rs256)])
  func `the ring and any verifier with its published keys verify its tokens (check 101)`(
    kind: KeyKind, algorithm: SignatureAlgorithm
  ) throws {
    let ring = KeyRing([try key(kind, algorithm)], tokenLifetimeSecondsMax: 3_600)
    let compact = try ring.unsigned(Array(#"{"sub":"a"}"#.utf8), .idToken, at: now).signed()
    #expect(try ring.verify(compact, .idToken, at: now)["sub"]?.string == "a")
    let token = try JWS(compact)
    #expect(token.algorithm == algorithm && token.type == "JWT")
    let published = try JWKSet.parse(Array(ring.jwks(at: now).utf8))
    let verifier = try #require(published.candidates(keyID: token.keyID, algorithm: algorithm).first?.publicKey)
    #expect(token.isSigned(by: verifier))
  }

  @Test func `the published set has kid, use and alg, and no private member`() throws {
    let key = try key()
    let ring = KeyRing([key, try self.key(.rsa, .rs256)], tokenLifetimeSecondsMax: 3_600)
    let keys = try #require(json(ring.jwks(at: now))["keys"]?.array)
    #expect(keys.count == 2)
    #expect(keys[0].members?.map(\.name) == ["crv", "kty", "x", "y", "kid", "use", "alg"])
    #expect(keys[0]["kid"]?.string == key.keyID && keys[0]["use"]?.string == "sig")
    #expect(keys[1].members?.map(\.name) == ["e", "kty", "n", "kid", "use", "alg"])
    #expect(keys[1]["alg"]?.string == "RS256")
  }

  @Test func `an ID token and a custom token cannot replace each other (check 100)`() throws {
    let ring = KeyRing([try key()], tokenLifetimeSecondsMax: 3_600)
    for type in TokenType.allCases {
      for other in TokenType.allCases where other != type {
        let compact = try ring.unsigned(Array("{}".utf8), type, at: now).signed()
        #expect(try ring.verify(compact, type, at: now).members == [])
        #expect(throws: TokenError.wrongType) { try ring.verify(compact, other, at: now) }
      }
    }
  }

  @Test func `a token of no type, another ring, another key's name, or a changed payload is refused`() throws {
    let signing = try key()
    let ring = KeyRing([signing], tokenLifetimeSecondsMax: 3_600)
    let other = KeyRing([try key()], tokenLifetimeSecondsMax: 3_600)
    let compact = try ring.unsigned(Array("{}".utf8), .idToken, at: now).signed()
    #expect(throws: TokenError.unknownKey) { try other.verify(compact, .idToken, at: now) }
    let forger = try Signer()
    func forged(_ header: String) throws -> String { try forger.token("{}", header: header) }
    #expect(throws: TokenError.wrongType) {
      try ring.verify(forged(#"{"alg":"ES256","kid":"\#(signing.keyID)"}"#), .idToken, at: now)
    }
    #expect(throws: TokenError.wrongType) {
      try ring.verify(forged(#"{"alg":"ES256","kid":"\#(signing.keyID)","typ":"jwt"}"#), .idToken, at: now)
    }
    #expect(throws: TokenError.unknownKey) {
      try ring.verify(forged(#"{"alg":"ES256","typ":"JWT"}"#), .idToken, at: now)
    }
    #expect(throws: TokenError.badSignature) {
      try ring.verify(forged(#"{"alg":"ES256","kid":"\#(signing.keyID)","typ":"JWT"}"#), .idToken, at: now)
    }
    #expect(throws: TokenError.algorithmNotAllowed) {
      try ring.verify(forged(#"{"alg":"RS256","kid":"\#(signing.keyID)","typ":"JWT"}"#), .idToken, at: now)
    }
  }

  @Test func `a signed payload that is not a JSON object is rejected as claims`() throws {
    let ring = KeyRing([try key()], tokenLifetimeSecondsMax: 3_600)
    #expect(throws: TokenError.malformed(.claims)) {
      try ring.verify(ring.unsigned(Array("[]".utf8), .idToken, at: now).signed(), .idToken, at: now)
    }
  }

  @Test func `a key is published before it signs, and verifies until its last token has expired (check 101)`() throws {
    let old = try key(publishedAt: 0, activeFrom: 0, retiredAt: 1_000)
    let new = try key(publishedAt: 500, activeFrom: 1_000)
    let ring = KeyRing([old, new], tokenLifetimeSecondsMax: 3_600)
    func published(_ time: Int64) throws -> [String?] {
      try #require(json(ring.jwks(at: time))["keys"]?.array).map { $0["kid"]?.string }
    }
    // Even if the clock was set back since then: earlier signatures are still valid.
    for time in [499, 500] as [Int64] { #expect(try published(time) == [old.keyID, new.keyID]) }
    #expect(ring.activeKey(at: 999)?.keyID == old.keyID)
    #expect(ring.activeKey(at: 1_000)?.keyID == new.keyID)
    let last = try ring.unsigned(Array("{}".utf8), .idToken, at: 999).signed()
    #expect(try ring.verify(last, .idToken, at: 4_599).members == [])
    #expect(try published(4_599) == [old.keyID, new.keyID])
    #expect(throws: TokenError.unknownKey) { try ring.verify(last, .idToken, at: 4_600) }
    #expect(try published(4_600) == [new.keyID])
  }

  @Test func `the active key that took over last signs, and no key signs before it is published`() throws {
    let first = try key(activeFrom: now - 50)
    let second = try key(activeFrom: now - 20)
    let early = try key(publishedAt: now + 1, activeFrom: now - 1)
    let ring = KeyRing([second, first, early], tokenLifetimeSecondsMax: 3_600)
    #expect(ring.activeKey(at: now)?.keyID == second.keyID)
    #expect(ring.activeKey(at: now + 1)?.keyID == early.keyID)
  }

  @Test func `a ring without an active key signs nothing`() throws {
    let ring = KeyRing([try key(retiredAt: now)], tokenLifetimeSecondsMax: 3_600)
    #expect(throws: TokenError.noActiveKey) { try ring.unsigned([], .idToken, at: now) }
    let empty = KeyRing([], tokenLifetimeSecondsMax: 1)
    #expect(throws: TokenError.noActiveKey) { try empty.unsigned([], .idToken, at: now) }
  }

  @Test func `a key cannot be given an algorithm of another kind`() throws {
    #expect(throws: CryptoError.wrongAlgorithm) { try key(.p256, .rs256) }
  }
}

struct IDTokenClaimsTests {
  func claims() -> IDTokenClaims {
    IDTokenClaims(
      issuer: "https://latchkey.example", audience: "shop", accountID: "acc1", issuedAt: 100, expiresAt: 3_700,
      authenticatedAt: 90, sessionID: "s1", methods: ["pwd", "otp"], signInProvider: "password")
  }

  func full() throws -> IDTokenClaims {
    var claims = claims()
    claims.email = #"a"b\@example.com"#
    claims.emailVerified = true
    claims.phoneNumber = "+16505553434"
    claims.name = "Åsa \u{1F600}\n"
    claims.picture = "https://example.com/a.png"
    claims.identities = [
      .init(providerID: "google.com", subjects: ["1", "2"]), .init(providerID: "email", subjects: ["a@example.com"]),
    ]
    claims.secondFactor = "totp"
    claims.secondFactorID = "factor"
    claims.customClaims = try CustomClaims(validating: #"{"role":"admin","levels":[1,2]}"#)
    return claims
  }

  @Test func `the minimal claims give exactly this document`() {
    #expect(
      String(decoding: claims().encoded(), as: UTF8.self) == """
        {"iss":"https://latchkey.example","aud":"shop","sub":"acc1","iat":100,"exp":3700,"auth_time":90,"sid":"s1",\
        "amr":["pwd","otp"],"latchkey":{"identities":{},"sign_in_provider":"password"}}
        """)
  }

  @Test func `every claim reads back as it was written, with custom claims at the top level`() throws {
    let full = try full()
    let document = try JSONValue.parse(full.encoded(), byteCountMax: 4_096)
    #expect(try IDTokenClaims(document) == full)
    #expect(try IDTokenClaims(JSONValue.parse(claims().encoded(), byteCountMax: 4_096)) == claims())
    #expect(document["role"]?.string == "admin")
    #expect(document["latchkey"]?["identities"]?["google.com"]?.strings == ["1", "2"])
    #expect(document["latchkey"]?["sign_in_second_factor"]?.string == "totp")
    #expect(document["latchkey"]?["second_factor_identifier"]?.string == "factor")
    #expect(document["email_verified"]?.bool == true)
  }

  @Test func `claims that lack what every ID token has are refused, one by one`() throws {
    let members = try #require(JSONValue.parse(claims().encoded(), byteCountMax: 4_096).members)
    for index in members.indices {
      var fewer = members
      fewer.remove(at: index)
      #expect(throws: TokenError.malformed(.claims)) { try IDTokenClaims(.object(fewer)) }
    }
    #expect(throws: TokenError.malformed(.claims)) { try IDTokenClaims(.array([])) }
  }

  @Test func `another issuer, another audience, and the second of expiry are refused by name (check 100)`() throws {
    let claims = claims()
    try claims.check(issuer: "https://latchkey.example", audiences: ["web", "shop"], now: 3_699)
    #expect(throws: TokenError.expired) {
      try claims.check(issuer: "https://latchkey.example", audiences: ["shop"], now: 3_700)
    }
    #expect(throws: TokenError.wrongIssuer) {
      try claims.check(issuer: "https://latchkey.example/", audiences: ["shop"], now: 100)
    }
    for audiences in [[], ["web"], ["SHOP"]] {
      #expect(throws: TokenError.wrongAudience) {
        try claims.check(issuer: "https://latchkey.example", audiences: audiences, now: 100)
      }
    }
  }
}

struct CustomClaimsTests {
  @Test(arguments: [
    "iss", "sub", "aud", "exp", "nbf", "iat", "jti", "acr", "amr", "at_hash", "auth_time", "azp", "c_hash", "cnf",
    "nonce", "firebase", "sid", "email", "email_verified", "phone_number", "name", "picture", "latchkey", "uid",
  ])
  func `a reserved name is forbidden and named in the error, also if it is escaped`(name: String) {
    let first = String(name.unicodeScalars.first?.value ?? 0, radix: 16)
    for spelling in [name, #"\u00\#(first)"# + name.dropFirst()] {
      #expect(throws: CustomClaimsError.forbidden(name)) {
        try CustomClaims(validating: #"{"role":"admin","\#(spelling)":1}"#)
      }
    }
  }

  @Test(arguments: [
    "SUB", "Sub", "i\u{17F}s", "i\u{17F}\u{17F}", "\u{130}ss", "\u{131}at", "Latch\u{212A}ey", "LATCHKEY",
    "Email_Verified", "iß", "NONCE",
  ])
  func `a reserved name in any case is forbidden: some readers match names without regard to case`(name: String) {
    #expect(throws: CustomClaimsError.forbidden(name)) { try CustomClaims(validating: #"{"\#(name)":1}"#) }
    #expect(throws: TokenError.self) {
      try CustomTokenClaims(
        payload: Array(#"{"iss":"i","aud":"a","uid":"u","iat":1,"exp":2,"claims":{"\#(name)":1}}"#.utf8))
    }
  }

  @Test(arguments: [#"{"role":1,"Role":2}"#, #"{"kind":1,"\u212Aind":2}"#, #"{"straße":1,"STRASSE":2}"#])
  func `two names that differ only in case are forbidden`(text: String) {
    #expect(throws: CustomClaimsError.self) { try CustomClaims(validating: text) }
  }

  @Test(arguments: [
    #"{"su\u0000b":1}"#, #"{"sub\u0000":1}"#, #"{"a":{"\n":1}}"#, #"{"a":[{"\u202e":1}]}"#, #"{"\u007f":1}"#,
    #"{"\ufeffsub":1}"#,
  ])
  func `a name with a control character is forbidden, at any depth`(text: String) {
    #expect(throws: CustomClaimsError.controlCharacter) { try CustomClaims(validating: text) }
  }

  @Test func `claims that an earlier version stored lose forbidden names, and keep the rest`() throws {
    let stored = try CustomClaims.stored(#"{"SUB":1, "role" : 1e15, "Role":2,"\u0000":3}"#)
    #expect(stored.json == #"{"role" : 1e15}"#)
    #expect(try CustomClaims.stored(#"{"a":1}"#).json == #"{"a":1}"#)
    #expect(throws: CustomClaimsError.malformed) { try CustomClaims.stored("[]") }
  }

  @Test func `a session's claim replaces the account's of the same name in another case`() throws {
    let account = try CustomClaims(validating: #"{"role":"reader"}"#)
    #expect(account.overridden(by: try CustomClaims(validating: #"{"ROLE":"admin"}"#)).json == #"{"ROLE":"admin"}"#)
  }

  @Test func `a reserved name inside a custom claim is allowed`() throws {
    let claims = try CustomClaims(validating: #"{"tenant":{"sub":"x"},"subs":1}"#)
    #expect(claims.json == #"{"tenant":{"sub":"x"},"subs":1}"#)
  }

  @Test func `claims of a session override those of the account with the same name, and the others stay`() throws {
    let account = try CustomClaims(validating: #"{"role":"reader","tenant":7}"#)
    let session = try CustomClaims(validating: #"{"role":"admin"}"#)
    #expect(account.overridden(by: session).json == #"{"tenant":7,"role":"admin"}"#)
    #expect(account.overridden(by: .none) == account)
    #expect(CustomClaims.none.overridden(by: session) == session)
  }

  @Test func `1000 bytes of claims are allowed and 1001 are too large, counted in bytes, not characters`() throws {
    let frame = #"{"a":""}"#.utf8.count
    func text(_ count: Int) -> String { #"{"a":"\#(String(repeating: "x", count: count - frame))"}"# }
    #expect(try CustomClaims(validating: text(1_000)).json == text(1_000))
    #expect(throws: CustomClaimsError.tooLarge) { try CustomClaims(validating: text(1_001)) }
    let umlauts = #"{"a":"\#(String(repeating: "ä", count: 500))"}"#
    #expect(throws: CustomClaimsError.tooLarge) { try CustomClaims(validating: umlauts) }
  }

  @Test(arguments: ["", "null", "[]", "1", #""{}""#, "{", "{}}", #"{"a":1,"a":2}"#, "{a:1}", #"{"a":1} x"#])
  func `claims that are not a strict JSON object are rejected`(text: String) {
    #expect(throws: CustomClaimsError.malformed) { try CustomClaims(validating: text) }
  }

  @Test func `an empty object counts as no claims, and numbers keep every digit`() throws {
    #expect(try CustomClaims(validating: " { } ") == .none)
    #expect(CustomClaims.none.json == "{}")
    let exact = #"{"n":12345678901234567890.10}"#
    #expect(try CustomClaims(validating: " \(exact)\n").json == exact)
    let both = try CustomClaims(validating: exact).overridden(by: CustomClaims(validating: #"{"m" : 1e15 }"#))
    #expect(both.json == #"{"n":12345678901234567890.10,"m" : 1e15}"#)
  }

  @Test func `claims can nest as deep as in a custom token, and no deeper`() throws {
    func nested(_ depth: Int) -> String {
      #"{"a":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
    }
    let deep = try CustomClaims(validating: nested(CustomClaims.depthMax))
    #expect(deep.json == nested(CustomClaims.depthMax))
    #expect(throws: CustomClaimsError.malformed) { try CustomClaims(validating: nested(CustomClaims.depthMax + 1)) }
  }
}

struct CustomTokenTests {
  func claims(issuedAt: Int64 = 100, expiresAt: Int64 = 3_700) throws -> CustomTokenClaims {
    CustomTokenClaims(
      issuer: "https://latchkey.example", audience: "https://latchkey.example", accountID: "acc1",
      issuedAt: issuedAt, expiresAt: expiresAt, claims: try CustomClaims(validating: #"{"role":"guest"}"#))
  }

  func check(_ claims: CustomTokenClaims, now: Int64) throws {
    try claims.check(issuer: "https://latchkey.example", audience: "https://latchkey.example", now: now)
  }

  @Test func `the claims of a custom token read back unchanged, with session claims and without`() throws {
    let claims = try claims()
    #expect(try CustomTokenClaims(payload: claims.encoded()) == claims)
    let text = #"{"iss":"i","aud":"a","uid":"u","iat":1,"exp":2}"#
    let plain = try CustomTokenClaims(payload: Array(text.utf8))
    #expect(plain.claims == .none)
    #expect(String(decoding: plain.encoded(), as: UTF8.self) == text)
  }

  @Test(arguments: [
    #"{"a":[[[[[[1]]]]]]}"#, #"{"n":12345678901234567890.10}"#, "{\"a\":[\(String(repeating: "1e15,", count: 198))0]}",
  ])
  func `all allowed claims pass through a signed token unchanged`(json: String) throws {
    let claims = CustomTokenClaims(
      issuer: "i", audience: "a", accountID: "u", issuedAt: 1, expiresAt: 2, claims: try CustomClaims(validating: json))
    _ = try JSONValue.parse(claims.encoded(), byteCountMax: JWS.byteCountMax)
    #expect(try CustomTokenClaims(payload: claims.encoded()).claims.json == json)
  }

  @Test func `reserved session claims are rejected even in a token with a valid signature`() {
    for session in [#"{"sub":"other"}"#, "[]", #""{}""#, "null"] {
      let text = #"{"iss":"i","aud":"a","uid":"u","iat":1,"exp":2,"claims":\#(session)}"#
      #expect(throws: TokenError.malformed(.claims)) { try CustomTokenClaims(payload: Array(text.utf8)) }
    }
  }

  @Test func `a custom token that is expired, misdirected, from the future or too long-lived is rejected`() throws {
    try check(claims(), now: 3_699)
    #expect(throws: TokenError.expired) { try check(claims(), now: 3_700) }
    #expect(throws: TokenError.malformed(.claims)) { try check(claims(expiresAt: 3_701), now: 100) }
    #expect(throws: TokenError.malformed(.claims)) { try check(claims(issuedAt: .min, expiresAt: .max), now: 100) }
    try check(claims(), now: 40)
    #expect(throws: TokenError.malformed(.claims)) { try check(claims(), now: 39) }
    #expect(throws: TokenError.wrongIssuer) { try claims().check(issuer: "x", audience: "y", now: 100) }
    #expect(throws: TokenError.wrongAudience) {
      try claims().check(issuer: "https://latchkey.example", audience: "y", now: 100)
    }
  }
}
