import Crypto
import Encodings
import Testing
import Tokens

struct JWSTests {
  static let es256Key = """
    {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":"a3"}
    """
  static let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
  static let es256Signature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

  @Test func `the ES256 example of RFC 7515 A.3 verifies, and its claims are read`() throws {
    let token = try JWS("eyJhbGciOiJFUzI1NiJ9." + Self.claims + "." + Self.es256Signature)
    let key = try #require(keySet(Self.es256Key).candidates(keyID: nil, algorithm: token.algorithm).first?.publicKey)
    #expect(token.isSigned(by: key))
    #expect(try token.claims()["iss"]?.string == "joe")
    #expect(try token.claims()["exp"]?.numericDate == 1_300_819_380)
  }

  @Test func `the RS256 example of RFC 7515 A.2 verifies`() throws {
    let modulus = """
      ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-\
      pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2Ca\
      pHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb5\
      4h4FRWyuXpoQ
      """
    let signature = """
      cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr\
      7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--x\
      i12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_Ioy\
      pGlUPQGe77Rw
      """
    let token = try JWS("eyJhbGciOiJSUzI1NiJ9." + Self.claims + "." + signature)
    let key = try #require(
      keySet(#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB"}"#).candidates(keyID: nil, algorithm: .rs256).first?.publicKey)
    #expect(token.isSigned(by: key))
  }

  @Test func `the EdDSA example of RFC 8037 A.4 verifies, and its payload need not be JSON`() throws {
    let token = try JWS(
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
        + "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
    let jwk = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    let key = try #require(keySet(jwk).candidates(keyID: nil, algorithm: .edDSA).first?.publicKey)
    #expect(token.isSigned(by: key))
    #expect(token.payload == Array("Example of Ed25519 signing".utf8))
    #expect(throws: TokenError.malformed(.claims)) { try token.claims() }
  }

  @Test(arguments: [#"{"alg":"ES256","kid":"MARKS"}"#, #"{"alg":"MARKS"}"#, #"{"alg":"ES256","MARKS":1}"#])
  func `a header that would take long to compare is refused before it is compared`(header: String) {
    let marks = [String](repeating: "\u{301}\u{323}", count: 3_000).joined()
    let text = Base64URL.encode(Array(header.replacing("MARKS", with: "a" + marks).utf8))
    #expect(text.utf8.count < JWS.byteCountMax - 200)
    var shortest = Duration.seconds(60)
    for _ in 0..<3 {
      let took = ContinuousClock().measure {
        #expect(throws: TokenError.malformed(.header)) { try JWS(text + "." + Self.claims + ".") }
      }
      shortest = min(shortest, took)
    }
    // Comparing it would take a quarter of a second each time.
    #expect(shortest < .milliseconds(100))
  }

  @Test func `an unsigned token, alg none in any case, is refused (check 43)`() {
    #expect(throws: TokenError.algorithmNotAllowed) { try JWS("eyJhbGciOiJub25lIn0." + Self.claims + ".") }
    for name in ["none", "None", "NONE", "nOnE", ""] {
      let header = Base64URL.encode(Array(#"{"alg":"\#(name)"}"#.utf8))
      #expect(throws: TokenError.algorithmNotAllowed) { try JWS(header + "." + Self.claims + ".") }
    }
  }

  @Test func `HS256 with the public key as its secret is refused (check 43)`() throws {
    let signer = try Signer(.rsa, .rs256)
    for name in ["HS256", "HS384", "HS512"] {
      let header = Base64URL.encode(Array(#"{"alg":"\#(name)","kid":"k1"}"#.utf8))
      let input = header + "." + Self.claims
      let mac = hmacSHA256(key: Secret(copying: Array(signer.jwk().utf8)), Array(input.utf8))
      #expect(throws: TokenError.algorithmNotAllowed) { try JWS(input + "." + Base64URL.encode(mac)) }
    }
  }

  @Test func `a key that the token contains or points to is ignored (check 44)`() throws {
    let provider = try Signer()
    let attacker = try Signer()
    for member in [
      #""jwk":\#(attacker.jwk())"#, #""jku":"https://attacker.example/keys""#, #""x5u":"https://attacker.example/x""#,
      #""x5c":["MIIB"]"#,
    ] {
      let header = #"{"alg":"ES256","kid":"k1",\#(member)}"#
      let key = try #require(keySet(provider.jwk()).candidates(keyID: "k1", algorithm: .es256).first?.publicKey)
      #expect(try !JWS(attacker.token("{}", header: header)).isSigned(by: key))
      #expect(try JWS(provider.token("{}", header: header)).isSigned(by: key))
    }
  }

  @Test func `any critical header is rejected (RFC 7515 4.1.11)`() throws {
    for critical in [#"["b64"]"#, "[]", "null"] {
      let token = try Signer().token("{}", header: #"{"alg":"ES256","crit":\#(critical)}"#)
      #expect(throws: TokenError.malformed(.criticalHeader)) { try JWS(token) }
    }
  }

  @Test(arguments: [
    "[]", "{", #"{"kid":"k1"}"#, #"{"alg":1}"#, #"{"alg":"ES256","kid":1}"#, #"{"alg":"ES256","typ":null}"#,
    #"{"alg":"ES256","alg":"none"}"#, "",
  ])
  func `a header that is not an object, lacks alg, repeats a name or has wrong types is rejected`(header: String) {
    let token = Base64URL.encode(Array(header.utf8)) + "." + Self.claims + "." + Self.es256Signature
    #expect(throws: TokenError.malformed(.header)) { try JWS(token) }
  }

  @Test func `a token is three segments of strict base64url, and at most 16 KiB`() throws {
    let good = "eyJhbGciOiJFUzI1NiJ9." + Self.claims + "." + Self.es256Signature
    for text in ["", ".", "a.b", good + ".", good + ".a", "eyJhbGciOiJFUzI1NiJ9"] {
      #expect(throws: TokenError.malformed(.segments)) { try JWS(text) }
    }
    for text in [good + "=", good + "\n", " " + good, good.replacing("-", with: "+"), "." + Self.claims + ".=="] {
      #expect(throws: TokenError.malformed(.encoding)) { try JWS(text) }
    }
    let filler = String(repeating: "A", count: JWS.byteCountMax - "eyJhbGciOiJFUzI1NiJ9..".utf8.count)
    let edge = "eyJhbGciOiJFUzI1NiJ9." + filler.dropLast(filler.utf8.count % 4) + "."
    #expect(try JWS(edge).algorithm == .es256)
    #expect(throws: TokenError.tooLarge) { try JWS(edge + "AAAAAA") }
  }

  @Test func `a truncated, padded, case-changed or bit-flipped token never verifies (check 97)`() throws {
    let key = try #require(keySet(Self.es256Key).candidates(keyID: nil, algorithm: .es256).first?.publicKey)
    let good = Array(("eyJhbGciOiJFUzI1NiJ9." + Self.claims + "." + Self.es256Signature).utf8)
    func verifies(_ bytes: [UInt8]) -> Bool {
      guard let token = try? JWS(String(decoding: bytes, as: UTF8.self)) else { return false }
      return token.isSigned(by: key)
    }
    #expect(verifies(good))
    for index in good.indices {
      #expect(!verifies(Array(good.prefix(index))))
      for bit in [UInt8(1), 0x20] {
        var changed = good
        changed[index] ^= bit
        #expect(!verifies(changed))
      }
    }
    #expect(!verifies(good + Array("=".utf8)) && !verifies(good + Array("A".utf8)))
  }
}
