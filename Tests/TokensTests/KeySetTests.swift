import Crypto
import Encodings
import Testing
import Tokens

struct KeySetTests {
  @Test func `A key is found by kid and algorithm, and its own alg must agree`() throws {
    let rsa = try Signer(.rsa, .rs256, keyID: "r")
    let pinned = try Signer(.rsa, .rs256, keyID: "p")
    let set = try keySet(
      rsa.jwk(), pinned.jwk(#","alg":"PS256""#), Signer(.ed25519, .edDSA, keyID: "e").jwk(), Signer(keyID: "c").jwk())
    for algorithm in [SignatureAlgorithm.rs256, .rs384, .rs512, .ps256, .ps384, .ps512] {
      #expect(set.key(keyID: "r", algorithm: algorithm) != nil)
      #expect((set.key(keyID: "p", algorithm: algorithm) != nil) == (algorithm == .ps256))
    }
    #expect(set.key(keyID: "e", algorithm: .edDSA) != nil && set.key(keyID: "c", algorithm: .es256) != nil)
    #expect(set.key(keyID: "c", algorithm: .es384) == nil && set.key(keyID: "r", algorithm: .es256) == nil)
    #expect(set.key(keyID: "unknown", algorithm: .rs256) == nil)
  }

  @Test func `Without a kid there must be exactly one key for the algorithm`() throws {
    #expect(try keySet(Signer(keyID: "a").jwk()).key(keyID: nil, algorithm: .es256) != nil)
    #expect(try keySet(Signer(keyID: "a").jwk(), Signer(keyID: "b").jwk()).key(keyID: nil, algorithm: .es256) == nil)
  }

  @Test func `Keys of other types, curves, uses and algorithms are passed over (RFC 7517 5)`() throws {
    let good = try Signer(keyID: "good")
    let set = try keySet(
      #"{"kty":"oct","k":"c2VjcmV0","kid":"s"}"#, #"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#,
      #"{"kty":"OKP","crv":"X25519","x":"AA"}"#, #"{"kty":"new","kid":"n"}"#,
      Signer(keyID: "enc").jwk(#","use":"enc""#), Signer(keyID: "ops").jwk(#","key_ops":["sign"]"#),
      Signer(.rsa, .rs256, keyID: "oaep").jwk(#","alg":"RSA-OAEP""#), Signer(keyID: "alg").jwk(#","alg":"RS256""#),
      good.jwk(#","use":"sig","key_ops":["verify"],"alg":"ES256","x5c":["MIIB"]"#))
    #expect(set.key(keyID: "good", algorithm: .es256) != nil)
    #expect(set.key(keyID: nil, algorithm: .es256) != nil)
    for keyID in ["enc", "ops", "alg", "n"] { #expect(set.key(keyID: keyID, algorithm: .es256) == nil) }
    #expect(set.key(keyID: "oaep", algorithm: .rs256) == nil)
  }

  @Test(arguments: [
    #"{"kty":"RSA","kid":"n","x5c":["MIIB"]}"#, #"{"kty":"RSA","kid":"n","e":"AQAB"}"#,
    #"{"kty":"EC","kid":"n","crv":"P-256","x":"AA"}"#, #"{"kty":"OKP","kid":"n","crv":"Ed25519"}"#,
  ])
  func `A key without what its type must have is passed over (RFC 7517 5)`(jwk: String) throws {
    let set = try keySet(jwk, Signer(keyID: "good").jwk())
    #expect(set.key(keyID: "good", algorithm: .es256) != nil && set.key(keyID: "n", algorithm: .rs256) == nil)
  }

  @Test func `What a key may have and is null, it does not have`() throws {
    let unnamed = try Signer().jwk().replacing(#""kid":"k1""#, with: #""kid":null"#)
    let members = #","use":null,"key_ops":null,"alg":null,"issuer":null"#
    let set = try keySet(unnamed, Signer(.rsa, .rs256, keyID: "r").jwk(members))
    #expect(set.key(keyID: nil, algorithm: .es256) != nil && set.key(keyID: "r", algorithm: .ps256) != nil)
  }

  @Test(arguments: ["kid", "use", "alg", "kty"])
  func `A text that takes the square of its length to compare is none, wherever it stands`(member: String) throws {
    let hostile = "a" + [String](repeating: "\u{301}\u{323}", count: 20_000).joined()
    let jwk = #"{"crv":"P-256",\#(member == "kty" ? "" : #""kty":"EC","#)"\#(member)":"\#(hostile)","x":"AA","y":"AA"}"#
    let took = ContinuousClock().measure { _ = try? JWKSet.parse(Array(#"{"keys":[\#(jwk)]}"#.utf8)) }
    // To compare it once takes three quarters of a second, and more in a debug build.
    #expect(took < .milliseconds(500))
    #expect(JSONValue.string(hostile).string == nil && JSONValue.string("\u{e9}e\u{301}").string != nil)
  }

  @Test func `A set without usable keys is empty and verifies nothing`() throws {
    #expect(try keySet().isEmpty)
    #expect(try keySet(#"{"kty":"oct","k":"AA"}"#).isEmpty)
    #expect(try !keySet(Signer().jwk()).isEmpty)
  }

  @Test func `The same kid twice for one algorithm refuses the set (check 54)`() throws {
    let first = try Signer(keyID: "same")
    for second in [first, try Signer(keyID: "same")] {
      #expect(throws: KeySetError.duplicateKeyID) { try keySet(first.jwk(), second.jwk()) }
    }
    let rsa = try Signer(.rsa, .rs256, keyID: "same")
    #expect(throws: KeySetError.duplicateKeyID) { try keySet(rsa.jwk(), rsa.jwk(#","alg":"RS512""#)) }
  }

  @Test func `The same kid for several algorithms finds the key of each (RFC 7517 4.5)`() throws {
    let (rsa, edwards) = (try Signer(.rsa, .rs256, keyID: "same"), try Signer(.ed25519, .edDSA, keyID: "same"))
    let set = try keySet(rsa.jwk(#","alg":"RS256""#), rsa.jwk(#","alg":"RS512""#), edwards.jwk())
    for algorithm in [SignatureAlgorithm.rs256, .rs512] {
      #expect(set.key(keyID: "same", algorithm: algorithm)?.publicKey.kind == rsa.key.kind)
    }
    #expect(set.key(keyID: "same", algorithm: .edDSA)?.publicKey.kind == edwards.key.kind)
    #expect(set.key(keyID: "same", algorithm: .rs384) == nil)
  }

  @Test(arguments: [
    (#"{"kty":"RSA","n":"Dw","e":"AQAB"}"#, KeyDefect.modulusSize),
    (#"{"kty":"RSA","n":"!!!","e":"AQAB"}"#, .malformed),
    (#"{"kty":"RSA","n":17,"e":"AQAB"}"#, .malformed), (#"{"kty":"RSA","n":"","e":"AQAB"}"#, .malformed),
    (#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, .malformed),
    (#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, .malformed),
  ])
  func `A malformed or short key refuses the set and the process lives (check 54)`(jwk: String, defect: KeyDefect) {
    #expect(throws: KeySetError.unusableKey(defect)) { try keySet(Signer().jwk(), jwk) }
  }

  @Test func `A point off the curve and an RSA exponent of 1 refuse the set (check 54)`() throws {
    let ones = Base64URL.encode([UInt8](repeating: 1, count: 32))
    #expect(throws: KeySetError.unusableKey(.notOnCurve)) {
      try keySet(#"{"kty":"EC","crv":"P-256","x":"\#(ones)","y":"\#(ones)"}"#)
    }
    guard case .rsa(let modulus, _) = try Signer(.rsa, .rs256).key.components else {
      Issue.record("an RSA key has RSA components")
      return
    }
    #expect(throws: KeySetError.unusableKey(.exponent)) {
      try keySet(#"{"kty":"RSA","n":"\#(Base64URL.encode(modulus))","e":"AQ"}"#)
    }
  }

  @Test func `A body of 5 MB is refused before it is read, 65 keys before any is made (check 54)`() throws {
    let space = [UInt8](repeating: 0x20, count: 5_000_000)
    #expect(throws: KeySetError.tooLarge) { try JWKSet.parse(Array(#"{"keys":[]}"#.utf8) + space) }
    let other = #"{"kty":"other"}"#
    let many = [String](repeating: other, count: 65).joined(separator: ",")
    #expect(throws: KeySetError.tooManyKeys) { try keySet(many) }
    #expect(try keySet(String(many.dropLast(other.utf8.count + 1))).isEmpty)
  }

  @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[1]}"#, #"{"keys":[{}]}"#, "<html>", #"{"keys":[]}}"#])
  func `A document that is no key set is refused`(body: String) {
    #expect(throws: KeySetError.notAKeySet) { try JWKSet.parse(Array(body.utf8)) }
  }

  @Test func `Thumbprints are those of the examples of RFC 7638 3.1 and RFC 8037 A.3`() throws {
    let modulus = """
      0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3ok\
      njhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu\
      6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8a\
      wapJzKnqDKgw
      """
    let rsa = PublicKeyComponents.rsa(modulus: try #require(Base64URL.decode(modulus)), exponent: [1, 0, 1])
    #expect(rsa.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    let ed25519 = try #require(Base64URL.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
    #expect(PublicKeyComponents.ed25519(ed25519).thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
  }
}
