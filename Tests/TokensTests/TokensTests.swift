import Crypto
import Encodings
import Testing
import Tokens

/// A key pair of a provider or an attacker, which can sign any header and any claims.
struct Signer {
  let key: PrivateKey
  let algorithm: SignatureAlgorithm
  let keyID: String

  init(_ kind: KeyKind = .p256, _ algorithm: SignatureAlgorithm = .es256, keyID: String = "k1") throws {
    key = try PrivateKey.generate(kind)
    self.algorithm = algorithm
    self.keyID = keyID
  }

  func token(_ claims: String, header: String? = nil) throws -> String {
    let header = header ?? #"{"alg":"\#(algorithm.rawValue)","kid":"\#(keyID)"}"#
    let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    return input + "." + Base64URL.encode(try key.sign(Array(input.utf8), algorithm))
  }

  func jwk(_ more: String = "") -> String {
    let keyID = #""kid":"\#(keyID)""#
    switch key.components {
    case .rsa(let modulus, let exponent):
      let numbers = #""n":"\#(Base64URL.encode(modulus))","e":"\#(Base64URL.encode(exponent))""#
      return #"{"kty":"RSA",\#(numbers),\#(keyID)\#(more)}"#
    case .ec(let curve, let x, let y):
      let point = #""x":"\#(Base64URL.encode(x))","y":"\#(Base64URL.encode(y))""#
      return #"{"kty":"EC","crv":"\#(curve.rawValue)",\#(point),\#(keyID)\#(more)}"#
    case .ed25519(let x):
      return #"{"kty":"OKP","crv":"Ed25519","x":"\#(Base64URL.encode(x))",\#(keyID)\#(more)}"#
    }
  }
}

func keySet(_ jwks: String...) throws -> JWKSet {
  try JWKSet.parse(Array(#"{"keys":[\#(jwks.joined(separator: ","))]}"#.utf8))
}

func json(_ text: String) throws -> JSONValue {
  try JSONValue.parse(Array(text.utf8), byteCountMax: 65_536)
}
