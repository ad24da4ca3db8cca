import Crypto
import Encodings
import Providers
import Store
import Testing
import Tokens

/// Requirements on an ID token that a caller presents, by the numbers of the security checks.
struct TokenTests {
  @Test func `a valid token becomes an assertion of its subject`() async throws {
    let bench = try Bench()
    let verified = try await bench.verify(try bench.issuer.token())
    #expect(verified.assertion.identity == IdentityKey(providerID: "oidc.corp", subject: "person-1"))
    #expect(verified.toSpend == nil)
  }

  @Test(arguments: [
    (Keys.rsa, SignatureAlgorithm.rs256), (Keys.rsa, .rs384), (Keys.rsa, .rs512), (Keys.rsa, .ps256),
    (Keys.rsa, .ps384), (Keys.rsa, .ps512), (Keys.p256, .es256), (Keys.p384, .es384), (Keys.p521, .es512),
    (Keys.ed25519, .edDSA), (Keys.ed25519, .ed25519),
  ])
  func `every supported algorithm is verified`(key: PrivateKey, algorithm: SignatureAlgorithm) async throws {
    let bench = try Bench(Issuer(key: key, algorithm: algorithm))
    #expect(try await bench.refusal([:]) == nil)
  }

  @Test func `check 40: a token for another audience is refused`() async throws {
    let bench = try Bench()
    #expect(try await bench.refusal(["aud": .string("client-2")]) == .invalid(why: "AUDIENCE"))
    #expect(try await bench.refusal(["aud": .string("CLIENT-1")]) == .invalid(why: "AUDIENCE"))
    #expect(try await bench.refusal(["aud": nil]) == .invalid(why: "AUDIENCE"))
    #expect(try await bench.refusal(["aud": .array([])]) == .invalid(why: "AUDIENCE"))
  }

  @Test func `check 41: several audiences with an untrusted one are refused`() async throws {
    let bench = try Bench()
    let both: JSONValue = .array([.string("client-1"), .string("stranger")])
    #expect(try await bench.refusal(["aud": both, "azp": .string("client-1")]) == .invalid(why: "UNTRUSTED_AUDIENCE"))
  }

  @Test func `check 41: a missing or foreign authorised party is refused`() async throws {
    let bench = try Bench { $0.clientIDs = ["client-1", "client-2"] }
    let both: JSONValue = .array([.string("client-1"), .string("client-2")])
    #expect(try await bench.refusal(["aud": both]) == .invalid(why: "AUTHORIZED_PARTY"))
    #expect(try await bench.refusal(["azp": .string("stranger")]) == .invalid(why: "AUTHORIZED_PARTY"))
    #expect(try await bench.refusal(["aud": both, "azp": .string("client-2")]) == nil)
  }

  @Test(arguments: [
    "https://idp.example.com/", "http://idp.example.com", "https://idp.example.org", "idp.example.com", "",
  ])
  func `check 42: an issuer that differs by a slash, scheme or host is refused`(issuer: String) async throws {
    #expect(try await Bench().refusal(["iss": .string(issuer)]) == .invalid(why: "ISSUER"))
  }

  @Test(arguments: ["none", "None", "HS256", "HS512", ""])
  func `check 43: an algorithm without a private key is refused`(algorithm: String) async throws {
    let bench = try Bench()
    let token = try bench.issuer.token(header: ["alg": .string(algorithm)])
    #expect(await bench.refusal(of: token) == .invalid(why: "algorithmNotAllowed"))
  }

  @Test func `check 43: HS256 with the public RSA key as its secret is refused`() async throws {
    let bench = try Bench(Issuer(key: Keys.rsa, algorithm: .rs256))
    let header = json(.object([JSONMember("alg", .string("HS256")), JSONMember("kid", .string("k1"))]))
    let signed = Base64URL.encode(header) + "." + Base64URL.encode(json(bench.issuer.claims()))
    guard case .rsa(let modulus, _) = Keys.rsa.components else {
      Issue.record("no RSA key")
      return
    }
    let forged = hmacSHA256(key: Secret(copying: modulus), Array(signed.utf8))
    #expect(await bench.refusal(of: signed + "." + Base64URL.encode(forged)) == .invalid(why: "algorithmNotAllowed"))
  }

  @Test func `check 43: an algorithm that is not pinned is rejected even if the key could verify it`() async throws {
    let bench = try Bench(Issuer(key: Keys.rsa, algorithm: .rs384)) { $0.algorithms = [.rs256, .ps256] }
    #expect(try await bench.refusal([:]) == .invalid(why: "ALGORITHM_NOT_PINNED"))
  }

  @Test func `check 44: a key that the token contains or points to is never used`() async throws {
    let bench = try Bench()
    let thief = Issuer(key: Keys.otherP256)
    let token = try thief.token(header: [
      "jwk": thief.jwk, "jku": .string("https://thief.example.com/keys"),
      "x5u": .string("https://thief.example.com/chain"), "x5c": .array([.string("AAAA")]),
    ])
    #expect(await bench.refusal(of: token) == .invalid(why: "BAD_SIGNATURE"))
    #expect(bench.fetcher.asked.allSatisfy { $0.hasPrefix(bench.issuer.issuer) })
  }

  @Test func `check 45: a token is valid until the skew after its expiry, and not a second longer`() async throws {
    let bench = try Bench()
    let token = try bench.issuer.token(["exp": .int(now.seconds)])
    #expect(await bench.refusal(of: token, at: later(seconds: 59)) == nil)
    #expect(await bench.refusal(of: token, at: later(seconds: 60)) == .expired)
  }

  @Test func `check 45: a token issued in the future beyond the skew is refused`() async throws {
    let bench = try Bench()
    #expect(try await bench.refusal(["iat": .int(now.seconds + 60)]) == nil)
    #expect(try await bench.refusal(["iat": .int(now.seconds + 61)]) == .invalid(why: "ISSUED_IN_FUTURE"))
    #expect(try await bench.refusal(["nbf": .int(now.seconds + 61)]) == .invalid(why: "NOT_YET_VALID"))
  }

  @Test func `check 45: a token without exp or iat is refused`() async throws {
    let bench = try Bench()
    #expect(try await bench.refusal(["exp": nil]) == .invalid(why: "EXPIRY_MISSING"))
    #expect(try await bench.refusal(["iat": nil]) == .invalid(why: "ISSUED_AT_MISSING"))
  }

  @Test(arguments: ["", String(repeating: "s", count: 256), "a\0b", "é", "e\u{301}", "line\n"])
  func `a subject that is empty, too long or not printable ASCII is refused`(subject: String) async throws {
    #expect(try await Bench().refusal(["sub": .string(subject)]) == .invalid(why: "SUBJECT"))
  }

  @Test(arguments: ["", "x", "a.b", "a.b.c", "....", String(repeating: "a", count: 20_000)])
  func `text that is not a token is rejected without a fetch`(text: String) async throws {
    let bench = try Bench()
    let refusal = await bench.refusal(of: text)
    guard case .invalid = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(bench.fetcher.asked.isEmpty)
  }

  @Test func `check 52: an at_hash of another access token is refused`() async throws {
    let bench = try Bench()
    let hash = Base64URL.encode(Array(sha256(Array("access-1".utf8)).prefix(16)))
    #expect(try await bench.refusal(["at_hash": .string(hash)], accessToken: "access-1") == nil)
    #expect(
      try await bench.refusal(["at_hash": .string(hash)], accessToken: "access-2")
        == .invalid(why: "ACCESS_TOKEN_HASH"))
  }

  @Test func `check 52: an at_hash without its access token is rejected if the policy requires it`() async throws {
    let hash = Base64URL.encode(Array(sha256(Array("access-1".utf8)).prefix(16)))
    let strict = try Bench { $0.requireAccessToken = true }
    #expect(try await strict.refusal(["at_hash": .string(hash)]) == .invalid(why: "ACCESS_TOKEN_MISSING"))
    #expect(try await strict.refusal(["at_hash": .string(hash)], accessToken: "access-1") == nil)
    #expect(try await Bench().refusal(["at_hash": .string(hash)]) == nil)
  }
}

/// Check 46, where the product's rules go further: a token may lack a nonce unless its provider requires one.
struct NonceTests {
  @Test func `check 46: a nonce matches literally, or as the SHA-256 of the raw one in hex`() async throws {
    let bench = try Bench()
    #expect(try await bench.refusal(["nonce": .string("n-0S6_WzA2Mj")], rawNonce: "n-0S6_WzA2Mj") == nil)
    // The hash of "abc" (FIPS 180-4, example).
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(try await bench.refusal(["nonce": .string(hash)], rawNonce: "abc") == nil)
    #expect(try await bench.refusal(["nonce": .string(hash.uppercased())], rawNonce: "abc") == .missingOrInvalidNonce)
  }

  @Test func `check 46: a nonce missing on either side, or different, is refused`() async throws {
    let bench = try Bench()
    #expect(try await bench.refusal(["nonce": .string("n1")]) == .missingOrInvalidNonce)
    #expect(try await bench.refusal([:], rawNonce: "n1") == .missingOrInvalidNonce)
    #expect(try await bench.refusal(["nonce": .string("n1")], rawNonce: "n2") == .missingOrInvalidNonce)
    #expect(try await bench.refusal(["nonce": .string("")], rawNonce: "") == .missingOrInvalidNonce)
    #expect(try await bench.refusal(["nonce": .int(1)], rawNonce: "1") == .missingOrInvalidNonce)
    #expect(try await bench.refusal([:]) == nil)
  }

  @Test func `check 46: a required nonce that is missing on both sides is rejected`() async throws {
    let bench = try Bench { $0.nonce = .required }
    #expect(try await bench.refusal([:]) == .missingOrInvalidNonce)
  }

  @Test func `check 46: a token that needs a nonce is recorded as spent until it expires`() async throws {
    let bench = try Bench { $0.nonce = .required }
    let token = try bench.issuer.token(["nonce": .string("n1"), "exp": .int(now.seconds + 100)])
    let spent = try #require(try await bench.verify(token, rawNonce: "n1").toSpend)
    #expect(spent.expiresAt == later(seconds: 160))
    #expect(await bench.refusal(of: token, rawNonce: "n1", at: spent.expiresAt) == .expired)
    #expect(try await bench.verify(token, rawNonce: "n1").toSpend == spent)
  }

  @Test func `the same claims signed again count as the same spent token, and other claims do not`() async throws {
    let bench = try Bench { $0.nonce = .required }
    // ECDSA signs with a new random number each time, so these are two texts of one statement.
    let first = try bench.issuer.token(["nonce": .string("n1")])
    let second = try bench.issuer.token(["nonce": .string("n1")])
    let third = try bench.issuer.token(["nonce": .string("n2")])
    #expect(first != second)
    let spent = try await bench.verify(first, rawNonce: "n1").toSpend
    #expect(try await bench.verify(second, rawNonce: "n1").toSpend == spent)
    #expect(try await bench.verify(third, rawNonce: "n2").toSpend != spent)
  }

  @Test func `an expiry at the end of time does not overflow`() async throws {
    let bench = try Bench { $0.nonce = .required }
    let token = try bench.issuer.token(["nonce": .string("n1"), "exp": .int(.max)])
    #expect(try await bench.verify(token, rawNonce: "n1").toSpend != nil)
  }
}
