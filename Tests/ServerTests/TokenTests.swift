import Configuration
import Crypto
import Identity
import Store
import Testing
import Tokens

@testable import Server

private let now = Timestamp(millis: 1_800_000_000_000)
private let later = now.adding(millis: 3_600_000)
private let issuer = "https://auth.example"

private func newRing() throws -> KeyRing {
  let key = try SigningKey(
    try .generate(.p256), algorithm: .es256, publishedAt: now.seconds, activeFrom: now.seconds, retiredAt: nil)
  return KeyRing([key], tokenLifetimeSecondsMax: 3_600)
}

private func newIssuer(_ ring: KeyRing? = nil, issuer: String = issuer) throws -> TokenIssuer {
  TokenIssuer(ring: try ring ?? newRing(), issuer: issuer)
}

private func idToken(_ change: (inout IDToken) -> Void = { _ in }) -> IDToken {
  var token = IDToken(
    accountID: "account", audience: "app", sessionID: "session", issuedAt: now, expiresAt: later, authTime: now,
    methods: ["pwd"], signInProviderID: "password")
  change(&token)
  return token
}

private func customToken(_ claims: String = "") -> CustomToken {
  CustomToken(accountID: "account", issuedAt: now, expiresAt: later, claimsJSON: claims)
}

private func reason<R>(_ body: () throws -> R) throws -> Failure.Reason {
  do {
    let answer = try body()
    throw Taken(text: "\(answer)")
  } catch let failure as Failure {
    return failure.reason
  }
}

private struct Taken: Error { let text: String }

@Test func `an ID token has the claims that it was minted with`() async throws {
  let tokenIssuer = try newIssuer()
  let token = idToken {
    $0.email = "ada@example.com"
    $0.emailVerified = true
    $0.signInSecondFactor = "totp"
    $0.signInSecondFactorID = "factor"
  }
  let minted = try tokenIssuer.mintIDToken(token)
  #expect(try tokenIssuer.verifyIDToken(minted, at: now) == token)
}

@Test func `the claims of an ID token group its identities by provider, and hold custom claims at the top`()
  async throws
{
  let tokenIssuer = try newIssuer()
  let compact = try tokenIssuer.mintIDToken(
    idToken {
      $0.name = "Ada"
      $0.picture = "https://example.com/a.png"
      $0.phoneNumber = "+441632960961"
      $0.identities = [
        IdentityKey(providerID: "oidc.corp", subject: "c-1"), IdentityKey(providerID: "google.com", subject: "g-1"),
        IdentityKey(providerID: "oidc.corp", subject: "c-2"),
      ]
      $0.customClaimsJSON = "{\"role\":\"admin\",\"level\":1}"
      $0.sessionClaimsJSON = "{\"level\":2}"
    })
  let claims = try JSONValue.parse(Array(try tokenIssuer.claimsJSON(compact).utf8), byteCountMax: 10_000)
  #expect(claims["latchkey"]?["identities"]?["oidc.corp"]?.strings == ["c-1", "c-2"])
  #expect(claims["latchkey"]?["identities"]?["google.com"]?.strings == ["g-1"])
  #expect(claims["role"]?.string == "admin" && claims["level"]?.int == 2)
  #expect(claims["name"]?.string == "Ada" && claims["phone_number"]?.string == "+441632960961")
  #expect(claims["picture"]?.string == "https://example.com/a.png")
}

@Test func `check 100: a custom token is not accepted as an ID token, nor an ID token as a custom token`()
  async throws
{
  let tokenIssuer = try newIssuer()
  let custom = try tokenIssuer.mintCustomToken(customToken())
  let id = try tokenIssuer.mintIDToken(idToken())
  #expect(try reason { try tokenIssuer.verifyIDToken(custom, at: now) } == .invalidIDToken)
  #expect(try reason { try tokenIssuer.verifyCustomToken(id, at: now) } == .invalidCustomToken)
  #expect(try tokenIssuer.verifyCustomToken(custom, at: now) == customToken())
}

@Test func `check 100: a session cookie is not accepted as an ID token, nor an ID token as a session cookie`() throws {
  let tokenIssuer = try newIssuer()
  let token = idToken {
    $0.email = "ada@example.com"
    $0.customClaimsJSON = #"{"plan":"gold"}"#
  }
  let (cookie, id) = (try tokenIssuer.mintSessionCookie(token), try tokenIssuer.mintIDToken(token))
  #expect(try tokenIssuer.verifySessionCookie(cookie, at: now).email == "ada@example.com")
  #expect(try reason { try tokenIssuer.verifyIDToken(cookie, at: now) } == .invalidIDToken)
  #expect(try reason { try tokenIssuer.verifySessionCookie(id, at: now) } == .invalidIDToken)
  #expect(try reason { try tokenIssuer.verifyCustomToken(cookie, at: now) } == .invalidCustomToken)
  // A verifier that ignores `typ` compares `iss`.
  let claims = try tokenIssuer.claimsJSON(cookie)
  #expect(claims.hasPrefix(#"{"iss":"https://auth.example/session","aud":"app","sub":"account""#))
  #expect(claims.hasSuffix(#""plan":"gold"}"#))
}

@Test func `a key that signed a session cookie is published until the cookie has expired, in 14 days`() throws {
  let fortnight = Timestamp(millis: now.millis + 1_209_600_000)
  var policy = KeyPolicy()
  policy.tokenLifetimeMaxMillis = Policy.sessionCookieMillis.upperBound
  let key = try SigningKey(
    try .generate(.p256), algorithm: .es256, publishedAt: now.seconds - 10, activeFrom: now.seconds - 10,
    retiredAt: now.seconds + 1)
  let tokenIssuer = try newIssuer(KeyRing([key], tokenLifetimeSecondsMax: policy.keptMillis / 1_000))
  let cookie = try tokenIssuer.mintSessionCookie(idToken { $0.expiresAt = fortnight })
  let last = fortnight.adding(millis: -1_000)
  #expect(try tokenIssuer.verifySessionCookie(cookie, at: last).accountID == "account")
  #expect(try reason { try tokenIssuer.verifySessionCookie(cookie, at: fortnight) } == .tokenExpired)
}

@Test func `a token is valid until its expiry and expired from then on`() async throws {
  let tokenIssuer = try newIssuer()
  let (id, custom) = (try tokenIssuer.mintIDToken(idToken()), try tokenIssuer.mintCustomToken(customToken()))
  let last = later.adding(millis: -1_000)
  #expect(try tokenIssuer.verifyIDToken(id, at: last).accountID == "account")
  #expect(try tokenIssuer.verifyCustomToken(custom, at: last).accountID == "account")
  #expect(try reason { try tokenIssuer.verifyIDToken(id, at: later) } == .tokenExpired)
  #expect(try reason { try tokenIssuer.verifyCustomToken(custom, at: later) } == .tokenExpired)
}

@Test func `a token of another issuer, another key or without a signature is rejected`() async throws {
  let ring = try newRing()
  let tokenIssuer = try newIssuer(ring)
  for other in [try newIssuer(ring, issuer: "https://other.example"), try newIssuer()] {
    let foreign = try other.mintIDToken(idToken())
    #expect(try reason { try tokenIssuer.verifyIDToken(foreign, at: now) } == .invalidIDToken)
    #expect(
      try reason { try tokenIssuer.verifyCustomToken(try other.mintCustomToken(customToken()), at: now) }
        == .invalidCustomToken)
  }
  let good = try tokenIssuer.mintIDToken(idToken())
  #expect(try tokenIssuer.verifyIDToken(good, at: now).accountID == "account")
  for bad in ["", "a.b.c", String(good.dropLast(4)), good + ".", String(good.dropFirst())] {
    #expect(try reason { try tokenIssuer.verifyIDToken(bad, at: now) } == .invalidIDToken)
    #expect(try reason { try tokenIssuer.verifyCustomToken(bad, at: now) } == .invalidCustomToken)
  }
}

@Test func `a custom token adds its claims, and none of the standard claims`() throws {
  let tokenIssuer = try newIssuer()
  let token = customToken("{\"role\":\"admin\"}")
  #expect(try tokenIssuer.verifyCustomToken(try tokenIssuer.mintCustomToken(token), at: now) == token)
  let reserved = "{\"sub\":\"x\",\"role\":\"admin\"}"
  #expect(try reason { try tokenIssuer.validateCustomClaims(reserved, field: "claims") } == .forbiddenClaim)
  // Stored by an earlier version, which allowed reserved claims: they are omitted.
  #expect(try tokenIssuer.verifyCustomToken(try tokenIssuer.mintCustomToken(customToken(reserved)), at: now) == token)
}

@Test(arguments: [
  ("[]", Failure.Reason.invalidField), ("{", .invalidField), ("{\"sub\":1}", .forbiddenClaim),
  ("{\"latchkey\":{}}", .forbiddenClaim), ("{\"a\":\"\(String(repeating: "x", count: 1_000))\"}", .claimsTooLarge),
])
func `forbidden custom claims are rejected with their field`(json: String, expected: Failure.Reason) throws {
  let tokenIssuer = try newIssuer()
  do {
    try tokenIssuer.validateCustomClaims(json, field: "claims_json")
    Issue.record("taken")
  } catch let failure as Failure {
    #expect(failure.reason == expected && failure.field == "claims_json")
  }
  try tokenIssuer.validateCustomClaims("{\"role\":\"admin\"}", field: "claims_json")
}

@Test func `the published keys verify signed tokens`() async throws {
  let key = try SigningKey(
    try .generate(.p256), algorithm: .es256, publishedAt: 0, activeFrom: 0, retiredAt: nil)
  let tokenIssuer = TokenIssuer(ring: KeyRing([key], tokenLifetimeSecondsMax: 3_600), issuer: issuer)
  let published = try JWKSet.parse(Array(tokenIssuer.signingKeys().utf8))
  let token = try JWS(try tokenIssuer.mintIDToken(idToken()))
  let verifier = try #require(published.candidates(keyID: token.keyID, algorithm: .es256).first?.publicKey)
  #expect(token.isSigned(by: verifier))
}
