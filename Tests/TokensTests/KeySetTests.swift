import Crypto
import Encodings
import Testing
import Tokens

private struct Missing: Error {}

private func isSigned(_ token: String, by set: JWKSet) throws -> Bool {
  if case .signed = set.signer(of: try JWS(token)) { true } else { false }
}

struct KeySetTests {
  @Test func `a key is found by kid and algorithm, and its own alg must agree`() throws {
    let rsa = try Signer(.rsa, .rs256, keyID: "r")
    let pinned = try Signer(.rsa, .rs256, keyID: "p")
    let set = try keySet(
      rsa.jwk(), pinned.jwk(#","alg":"PS256""#), Signer(.ed25519, .edDSA, keyID: "e").jwk(), Signer(keyID: "c").jwk())
    for algorithm in [SignatureAlgorithm.rs256, .rs384, .rs512, .ps256, .ps384, .ps512] {
      #expect(set.candidates(keyID: "r", algorithm: algorithm).first != nil)
      #expect((set.candidates(keyID: "p", algorithm: algorithm).first != nil) == (algorithm == .ps256))
    }
    #expect(set.candidates(keyID: "e", algorithm: .edDSA).first != nil)
    #expect(set.candidates(keyID: "c", algorithm: .es256).first != nil)
    #expect(set.candidates(keyID: "c", algorithm: .es384).first == nil)
    #expect(set.candidates(keyID: "r", algorithm: .es256).first == nil)
    #expect(set.candidates(keyID: "unknown", algorithm: .rs256).first == nil)
  }

  @Test func `without a kid every key that fits the algorithm is tried, eight at most`() throws {
    let (first, second) = (try Signer(keyID: "a"), try Signer(keyID: "b"))
    let set = try keySet(first.jwk(), second.jwk(), Signer(.ed25519, .edDSA, keyID: "c").jwk())
    for signer in [first, second] {
      guard case .signed(by: let key) = set.signer(of: try JWS(try signer.token("{}", header: #"{"alg":"ES256"}"#)))
      else { throw Missing() }
      #expect(key.publicKey.kind == .p256)
    }
    let many = try (0..<9).map { try Signer(keyID: "k\($0)") }
    let crowd = try JWKSet.parse(Array(#"{"keys":[\#(many.map { $0.jwk() }.joined(separator: ","))]}"#.utf8))
    #expect(crowd.candidates(keyID: nil, algorithm: .es256).count == 8)
    #expect(try isSigned(many[8].token("{}"), by: crowd))
  }

  @Test func `keys of other types, curves, uses and algorithms are ignored (RFC 7517 5)`() throws {
    let good = try Signer(keyID: "good")
    let set = try keySet(
      #"{"kty":"oct","k":"c2VjcmV0","kid":"s"}"#, #"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#,
      #"{"kty":"OKP","crv":"X25519","x":"AA"}"#, #"{"kty":"new","kid":"n"}"#,
      Signer(keyID: "enc").jwk(#","use":"enc""#), Signer(keyID: "ops").jwk(#","key_ops":["sign"]"#),
      Signer(.rsa, .rs256, keyID: "oaep").jwk(#","alg":"RSA-OAEP""#), Signer(keyID: "alg").jwk(#","alg":"RS256""#),
      good.jwk(#","use":"sig","key_ops":["verify"],"alg":"ES256","x5c":["MIIB"]"#))
    #expect(set.candidates(keyID: "good", algorithm: .es256).first != nil)
    #expect(set.candidates(keyID: nil, algorithm: .es256).first != nil)
    for keyID in ["enc", "ops", "alg", "n"] { #expect(set.candidates(keyID: keyID, algorithm: .es256).first == nil) }
    #expect(set.candidates(keyID: "oaep", algorithm: .rs256).first == nil)
  }

  @Test(arguments: [
    #"{"kty":"RSA","kid":"n","x5c":["MIIB"]}"#, #"{"kty":"RSA","kid":"n","e":"AQAB"}"#,
    #"{"kty":"EC","kid":"n","crv":"P-256","x":"AA"}"#, #"{"kty":"OKP","kid":"n","crv":"Ed25519"}"#,
  ])
  func `a key without a required member of its type is ignored (RFC 7517 5)`(jwk: String) throws {
    let set = try keySet(jwk, Signer(keyID: "good").jwk())
    #expect(set.candidates(keyID: "good", algorithm: .es256).first != nil)
    #expect(set.candidates(keyID: "n", algorithm: .rs256).first == nil)
  }

  @Test func `a null optional member of a key counts as missing`() throws {
    let unnamed = try Signer().jwk().replacing(#""kid":"k1""#, with: #""kid":null"#)
    let members = #","use":null,"key_ops":null,"alg":null,"issuer":null"#
    let set = try keySet(unnamed, Signer(.rsa, .rs256, keyID: "r").jwk(members))
    #expect(set.candidates(keyID: nil, algorithm: .es256).first != nil)
    #expect(set.candidates(keyID: "r", algorithm: .ps256).first != nil)
  }

  @Test(arguments: ["kid", "use", "alg", "kty"])
  func `text that takes quadratic time to compare does not count as text, in any member`(member: String) throws {
    let hostile = "a" + [String](repeating: "\u{301}\u{323}", count: 20_000).joined()
    let jwk = #"{"crv":"P-256",\#(member == "kty" ? "" : #""kty":"EC","#)"\#(member)":"\#(hostile)","x":"AA","y":"AA"}"#
    var shortest = Duration.seconds(60)
    for _ in 0..<3 {
      let took = ContinuousClock().measure { _ = try? JWKSet.parse(Array(#"{"keys":[\#(jwk)]}"#.utf8)) }
      shortest = min(shortest, took)
    }
    // Comparing it once takes three quarters of a second, and more in a debug build.
    #expect(shortest < .milliseconds(500))
    #expect(JSONValue.string(hostile).string == nil && JSONValue.string("\u{e9}e\u{301}").string != nil)
  }

  @Test func `a set without usable keys is empty and verifies nothing`() throws {
    #expect(try keySet().isEmpty)
    #expect(try keySet(#"{"kty":"oct","k":"AA"}"#).isEmpty)
    #expect(try !keySet(Signer().jwk()).isEmpty)
  }

  @Test func `a duplicate key is one key, and each of two keys with one kid is tried (RFC 7517 4.5)`() throws {
    let (first, second) = (try Signer(keyID: "same"), try Signer(keyID: "same"))
    let twice = try keySet(first.jwk(), first.jwk(#","use":"sig""#))
    #expect(twice.count == 1 && twice.skipped.map(\.reason) == [.repeated])
    let both = try keySet(first.jwk(), second.jwk())
    #expect(both.skipped.isEmpty)
    for signer in [first, second] { #expect(try isSigned(signer.token("{}"), by: both)) }
    #expect(try !isSigned(Signer(keyID: "same").token("{}"), by: both))
    let rsa = try Signer(.rsa, .rs256, keyID: "same")
    #expect(try keySet(rsa.jwk(), rsa.jwk(#","alg":"RS512""#)).skipped.map(\.reason) == [.repeated])
    #expect(try keySet(rsa.jwk(#","alg":"RS512""#), rsa.jwk()).count == 2)
  }

  @Test func `eight keys with one kid and algorithm are kept, and the ninth is skipped`() throws {
    let keys = try (0..<9).map { _ in try Signer(keyID: "same").jwk() }
    let set = try JWKSet.parse(Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8))
    #expect(set.count == 8 && set.skipped == [SkippedKey(reason: .tooMany, keyID: "same", index: 8)])
  }

  @Test func `the same kid for several algorithms finds the key of each (RFC 7517 4.5)`() throws {
    let (rsa, edwards) = (try Signer(.rsa, .rs256, keyID: "same"), try Signer(.ed25519, .edDSA, keyID: "same"))
    let set = try keySet(rsa.jwk(#","alg":"RS256""#), rsa.jwk(#","alg":"RS512""#), edwards.jwk())
    for algorithm in [SignatureAlgorithm.rs256, .rs512] {
      #expect(set.candidates(keyID: "same", algorithm: algorithm).first?.publicKey.kind == rsa.key.kind)
    }
    #expect(set.candidates(keyID: "same", algorithm: .edDSA).first?.publicKey.kind == edwards.key.kind)
    #expect(set.candidates(keyID: "same", algorithm: .rs384).first == nil)
  }

  /// An odd entry, as JSON, and the reason for skipping it.
  private static let odd: [(String, SkippedKey.Reason)] = [
    ("null", .notAnObject), ("1", .notAnObject), (#""k""#, .notAnObject), ("[]", .notAnObject), ("true", .notAnObject),
    ("{}", .missingMember), (#"{"kty":null}"#, .missingMember), (#"{"kty":7}"#, .malformed),
    (#"{"kty":"new"}"#, .unsupported), (#"{"kty":"oct","k":"AA"}"#, .unsupported),
    (#"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#, .unsupported),
    (#"{"kty":"OKP","crv":"X25519","x":"AA"}"#, .unsupported),
    (#"{"kty":"EC","x":"AA","y":"AA"}"#, .missingMember), (#"{"kty":"OKP","x":"AA"}"#, .missingMember),
    (#"{"kty":"RSA","x5c":["MIIB"]}"#, .missingMember), (#"{"kty":"RSA","n":null,"e":"AQAB"}"#, .missingMember),
    (#"{"kty":"RSA","n":"Dw","e":"AQAB"}"#, .modulusSize), (#"{"kty":"RSA","n":"!!!","e":"AQAB"}"#, .malformed),
    (#"{"kty":"RSA","n":17,"e":"AQAB"}"#, .malformed), (#"{"kty":"RSA","n":"","e":"AQAB"}"#, .malformed),
    (#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, .malformed),
    (#"{"kty":"EC","crv":7,"x":"AA","y":"AA"}"#, .malformed),
    (#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, .malformed),
    (#"{"kty":"EC","crv":"P-256","x":"\#(ones)","y":"\#(ones)"}"#, .notOnCurve),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQ"}"#, .exponent),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAC"}"#, .exponent),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"\#(modulus)"}"#, .exponent),
    (#"{"kty":"RSA","n":"\#(evenModulus)","e":"AQAB"}"#, .malformed),
    (#"{"kty":"RSA","n":"\#(factorableModulus)","e":"AQAB"}"#, .roca),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","d":"AQAB"}"#, .privateKey),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","qi":"AQ"}"#, .privateKey),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","alg":"ES256"}"#, .algorithmMismatch),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","alg":"RSA-OAEP"}"#, .unsupported),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","alg":5}"#, .malformed),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","kid":5}"#, .malformed),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","use":"enc"}"#, .otherUse),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","use":{}}"#, .malformed),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","key_ops":["encrypt"]}"#, .otherUse),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","key_ops":"verify"}"#, .malformed),
    (#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","kid":"a","kid":"b"}"#, .duplicateMember),
    (#"{"kty":"RSA","kty":"EC","n":"\#(modulus)","e":"AQAB"}"#, .duplicateMember),
  ]
  private static let ones = Base64URL.encode([UInt8](repeating: 1, count: 32))
  private static let modulus = Base64URL.encode(number)
  private static let evenModulus = Base64URL.encode(number.dropLast() + [0xFE])
  private static let number = [0xC3] + [UInt8](repeating: 0x5B, count: 255)
  /// The product of two primes `k * M + 65537^a mod M`, where `M` is the product of the first 126 primes.
  private static let factorableModulus = """
    0nD5ff5HjjEfy-GERIj1VLlVWiNVdmky9zWpq175ck7V1KTz4G7FU3eeznLwZtT584aV8_juPZ9phKxX_1oH5K7x2ytI7IbOrcQIO6yLOQ1iEvy-\
    -lWni9E2E5KgQ685lTHx5cVxXcc6ICKi6JqfH_T4FHP51dtmi6470OPJvAA7FnX-C_xsI_7N9OU3w0BoGKUutEilFaE3OapL7Qdo3QhybxljDQwRCe\
    3PqVnwCkINtHXpte2xkD5X43m5yvl0QlkqPlkwD2sb3_z6A5TVY6bw5ZP4jiqyYHMuqfXhZlcPqgBvU_LjjDBXoyQJtTskaVXsIjxFq9SHW9dPvqys\
    Hw
    """

  @Test(arguments: odd)
  func `an odd entry is skipped with its reason, and the valid key next to it verifies (check 54)`(
    entry: String, reason: SkippedKey.Reason
  ) throws {
    let good = try Signer(keyID: "good")
    for (set, place) in [(try keySet(entry, good.jwk()), 0), (try keySet(good.jwk(), entry), 1)] {
      #expect(set.skipped.map(\.reason) == [reason] && set.skipped.map(\.index) == [place])
      #expect(try isSigned(good.token("{}"), by: set))
    }
  }

  @Test(arguments: [
    #""x5c":"odd","x5t":7,"x5u":{}"#, #""n":"AA","k":null"#, #""extra":1e999"#, #""extra":1,"extra":2"#,
    #""kid":"good","kid":"good""#, #""d":null"#, #""use":"","alg":"""#,
    #""deep":\#(String(repeating: "[", count: 40))\#(String(repeating: "]", count: 40))"#,
  ])
  func `odd members without effect leave a key usable`(members: String) throws {
    let good = try Signer(keyID: "good")
    let set = try keySet(good.jwk("," + members))
    #expect(try set.skipped.isEmpty && isSigned(good.token("{}"), by: set))
  }

  @Test func `invalid UTF-8 in one entry leaves the others usable`() throws {
    let good = try Signer(keyID: "good")
    let body = Array(#"{"keys":[{"kty":"new","name":""#.utf8) + [0xFF, 0xC3] + Array(#""},\#(good.jwk())]}"#.utf8)
    #expect(try isSigned(good.token("{}"), by: JWKSet.parse(body)))
  }

  @Test func `a body past 256 KiB is rejected, and at most 1,024 keys are kept`() throws {
    let space = [UInt8](repeating: 0x20, count: 5_000_000)
    #expect(throws: KeySetError.tooLarge) { try JWKSet.parse(Array(#"{"keys":[]}"#.utf8) + space) }
    let good = try Signer(keyID: "good")
    let others = [String](repeating: #"{"kty":"other"}"#, count: 5_000).joined(separator: ",")
    #expect(try isSigned(good.token("{}"), by: keySet(others, good.jwk())))
    let keys = try (0..<1_025).map { try Signer(.ed25519, .edDSA, keyID: "\($0)").jwk() }.joined(separator: ",")
    let set = try keySet(keys)
    #expect(set.count == 1_024 && set.skipped == [SkippedKey(reason: .tooMany, keyID: "1024", index: 1_024)])
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"keys":{}}"#, #"{"keys":null}"#, "<html>", #"{"keys":[]}}"#, #"{"keys":[],"keys":[1]}"#, "null",
  ])
  func `a document that is not a key set is rejected`(body: String) {
    #expect(throws: KeySetError.notAKeySet) { try JWKSet.parse(Array(body.utf8)) }
  }

  @Test func `thumbprints match the examples of RFC 7638 3.1 and RFC 8037 A.3`() throws {
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
