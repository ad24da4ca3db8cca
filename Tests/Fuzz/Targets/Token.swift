import Crypto
import Identity
import Providers
import Store
import Tokens

extension FuzzTarget {
  /// The text of a token, checked by a provider's rules and by our own: no malformed token is accepted, only tokens
  /// that were signed, and a refresh token in its one spelling only.
  static let token = FuzzTarget("token", seeds: tokenSeeds) { input in
    let text = String(decoding: input, as: UTF8.self)
    let presented = PresentedToken(idToken: text)
    do {
      let verified = try Keys.registry.verifyNow(presented, of: "oidc.corp", at: now)
      // Without a result, the registry would fetch the provider's keys, which it already has.
      law(verified == nil || signedTokens.contains(text), "an unsigned token verifies")
    } catch {}
    for type in TokenType.allCases {
      guard let claims = try? Keys.ring.verify(text, type, at: now.seconds) else { continue }
      law(signedTokens.contains(text), "an unsigned token of ours verifies: \(claims)")
    }
    if let refresh = RefreshToken(text, OpenCryptography()) {
      law(refresh.text(OpenCryptography()).utf8.elementsEqual(text.utf8), "a refresh token has two spellings")
    }
  }

  private static let signedTokens = Set(tokenSeeds.map { String(decoding: $0.bytes, as: UTF8.self) })

  /// The claims of a token that its provider signed: an accepted token has all required claims.
  static let claims = FuzzTarget("claims", seeds: claimSeeds) { input in
    let presented = PresentedToken(idToken: Keys.signed(input))
    if let verified = try? Keys.registry.verifyNow(presented, of: "oidc.corp", at: now) {
      checkAssertion(verified.assertion, input)
    }
    checkOurs(input)
  }

  private static func checkAssertion(_ assertion: Assertion, _ payload: [UInt8]) {
    guard let claims = try? JSONValue.parse(payload, byteCountMax: payload.count) else {
      return law(false, "claims that are not JSON are accepted")
    }
    law(claims["iss"]?.string == "https://idp.example", "another issuer")
    let audiences = claims["aud"]?.strings ?? [claims["aud"]?.string ?? ""]
    law(Set(audiences).isSubset(of: ["client-1", "client-2"]) && !audiences.isEmpty, "for \(audiences)")
    law((claims["exp"]?.numericDate ?? .min) > now.seconds - 61, "a token of yesterday")
    law((claims["iat"]?.numericDate ?? .max) < now.seconds + 61, "a token of tomorrow")
    law(claims["nonce"] == nil, "a nonce that was not presented")
    let subject = assertion.identity.subject
    law((1...255).contains(subject.utf8.count) && subject.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "for nobody")
    for text in [assertion.displayName, assertion.photoURL, assertion.username] {
      law(text.utf8.count <= 1_024, "a text of \(text.utf8.count) bytes")
      law(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "controls in a text")
    }
    law(assertion.photoURL.isEmpty || assertion.photoURL.hasPrefix("http"), "a photo at \(assertion.photoURL)")
    law(assertion.tier == .unverified, "a generic provider verified an address")
    law(Array(assertion.profileJSON.utf8) == payload, "a profile that was not signed")
    if let email = assertion.email { checkNormalised(email) }
  }

  /// Only the service signs these, so the rules reject a token only for its claims.
  private static func checkOurs(_ payload: [UInt8]) {
    if let claims = try? Keys.ring.verify(Keys.signedByUs(payload, .idToken), .idToken, at: now.seconds),
      let token = try? IDTokenClaims(claims),
      (try? token.check(issuer: "us", audiences: ["a"], now: now.seconds)) != nil
    {
      law(token.issuer == "us" && token.audience == "a" && token.expiresAt > now.seconds, "an ID token of another")
      let again = (try? JSONValue.parse(token.encoded(), byteCountMax: 65_536)).flatMap { try? IDTokenClaims($0) }
      law(again == token, "an ID token does not read back")
    }
    if (try? Keys.ring.verify(Keys.signedByUs(payload, .customToken), .customToken, at: now.seconds)) != nil,
      let token = try? CustomTokenClaims(payload: payload),
      (try? token.check(issuer: "us", audience: "us", now: now.seconds)) != nil
    {
      law(now.seconds < token.expiresAt && token.expiresAt <= now.seconds + 3_660, "a custom token without a limit")
      law((try? CustomTokenClaims(payload: token.encoded())) == token, "a custom token does not read back")
    }
  }

  /// A key set of a provider: rejected whole, or made of usable keys that accept no invalid signature.
  static let keySet = FuzzTarget("key_set", seeds: keySetSeeds) { input in
    guard let keys = try? JWKSet.parse(input) else { return }
    law((try? JSONValue.parse(input, byteCountMax: input.count))?["keys"]?.array != nil, "a key set that is not JSON")
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
