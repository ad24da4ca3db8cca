import Crypto
import Identity
import Providers
import Store
import Tokens

extension FuzzTarget {
  /// The text of a token, to a provider's rules and to our own: nothing that is malformed is accepted, no token but
  /// those that were signed, and a refresh token in its one spelling only.
  static let token = FuzzTarget("token", seeds: tokenSeeds) { input in
    let text = String(decoding: input, as: UTF8.self)
    let presented = PresentedToken(idToken: text)
    do {
      let verified = try Keys.registry.verifyNow(presented, of: "oidc.corp", at: now)
      // Without an answer the provider would be asked for its keys, which are here.
      law(verified == nil || signedTokens.contains(text), "a token verifies that nobody signed")
    } catch {}
    for type in TokenType.allCases {
      guard let claims = try? Keys.ring.verify(text, type, at: now.seconds) else { continue }
      law(signedTokens.contains(text), "a token of ours verifies that nobody signed: \(claims)")
    }
    if let refresh = RefreshToken(text, OpenCryptography()) {
      law(refresh.text(OpenCryptography()).utf8.elementsEqual(text.utf8), "a refresh token has two spellings")
    }
  }

  private static let signedTokens = Set(tokenSeeds.map { String(decoding: $0.bytes, as: UTF8.self) })

  /// The claims of a token that its provider did sign: what is accepted says all that a token must say.
  static let claims = FuzzTarget("claims", seeds: claimSeeds) { input in
    let presented = PresentedToken(idToken: Keys.signed(input))
    if let verified = try? Keys.registry.verifyNow(presented, of: "oidc.corp", at: now) {
      checkAssertion(verified.assertion, input)
    }
    checkOurs(input)
  }

  private static func checkAssertion(_ assertion: Assertion, _ payload: [UInt8]) {
    guard let claims = try? JSONValue.parse(payload, byteCountMax: payload.count) else {
      return law(false, "claims are accepted that are no JSON")
    }
    law(claims["iss"]?.string == "https://idp.example", "another issuer")
    let audiences = claims["aud"]?.strings ?? [claims["aud"]?.string ?? ""]
    law(Set(audiences).isSubset(of: ["client-1", "client-2"]) && !audiences.isEmpty, "for \(audiences)")
    law((claims["exp"]?.numericDate ?? .min) > now.seconds - 61, "a token of yesterday")
    law((claims["iat"]?.numericDate ?? .max) < now.seconds + 61, "a token of tomorrow")
    law(claims["nonce"] == nil, "a nonce that nobody presented")
    let subject = assertion.identity.subject
    law((1...255).contains(subject.utf8.count) && subject.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "for nobody")
    for text in [assertion.displayName, assertion.photoURL, assertion.username] {
      law(text.utf8.count <= 1_024, "a text of \(text.utf8.count) bytes")
      law(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "controls in a text")
    }
    law(assertion.photoURL.isEmpty || assertion.photoURL.hasPrefix("http"), "a photo at \(assertion.photoURL)")
    law(assertion.tier == .unverified, "a generic provider proved an address")
    law(Array(assertion.profileJSON.utf8) == payload, "another profile than was signed")
    if let email = assertion.email { checkNormalised(email) }
  }

  /// Only we sign these, so that everything the rules refuse is refused for its claims.
  private static func checkOurs(_ payload: [UInt8]) {
    if let claims = try? Keys.ring.verify(Keys.signedByUs(payload, .idToken), .idToken, at: now.seconds),
      let token = try? IDTokenClaims(claims),
      (try? token.check(issuer: "us", audiences: ["a"], now: now.seconds)) != nil
    {
      law(token.issuer == "us" && token.audience == "a" && token.expiresAt > now.seconds, "an ID token of another")
      let again = (try? JSONValue.parse(token.encoded(), byteCountMax: 65_536)).flatMap { try? IDTokenClaims($0) }
      law(again == token, "an ID token does not read what it wrote")
    }
    if (try? Keys.ring.verify(Keys.signedByUs(payload, .customToken), .customToken, at: now.seconds)) != nil,
      let token = try? CustomTokenClaims(payload: payload),
      (try? token.check(issuer: "us", audience: "us", now: now.seconds)) != nil
    {
      law(now.seconds < token.expiresAt && token.expiresAt <= now.seconds + 3_660, "a custom token for ever")
      law((try? CustomTokenClaims(payload: token.encoded())) == token, "a custom token does not read what it wrote")
    }
  }

  /// A key set of a provider: refused whole, or made of keys that can be asked and believe no nonsense.
  static let keySet = FuzzTarget("key_set", seeds: keySetSeeds) { input in
    guard let keys = try? JWKSet.parse(input) else { return }
    law((try? JSONValue.parse(input, byteCountMax: input.count))?["keys"]?.array != nil, "a key set that is no JSON")
    guard let token = try? JWS(Keys.signed(input)) else { return }
    for keyID in [nil, "k1", "k2"] as [String?] {
      for algorithm in SignatureAlgorithm.allCases {
        guard let key = keys.candidates(keyID: keyID, algorithm: algorithm).first?.publicKey else { continue }
        law(key.kind.algorithms.contains(algorithm), "a key for another algorithm")
        law(!key.verify(signature: input, of: [1], algorithm), "a key believes nonsense")
        _ = token.isSigned(by: key)
      }
    }
  }
}
